// The page: reads the data, shows the state of the address, and follows changes of the address.

const start = async () => {
  const main = document.querySelector("main");
  const block = document.getElementById("data");
  const model = makeModel(readData(await unpack(block.textContent)));
  block.textContent = "";
  document.head.append(h("style", {}, model.header.style));
  const app = makeApp(main, model);
  app.show("none");
};

const makeApp = (main, model) => {
  const { header } = model;
  const hasStacks = model.column("t.depth").length > 0;
  const chart = header.chart ? h("figure", { id: "chart" }) : null;
  if (chart) chart.innerHTML = header.chart;
  const snapshots = (header.snapshots ?? []).map(([number, time, bytes, detail, event]) => ({ number, time, bytes, detail, event }));
  const trees = new Set([...model.column("s.snapshot"), ...model.column("r.snapshot")]);
  const times = hasStacks ? timesOf(model) : null;
  const has = { table: true, flame: hasStacks, timeline: times !== null, tree: hasStacks, calls: hasStacks || header.calls, source: header.lines, memory: snapshots.length > 0 || chart !== null };
  const views = VIEWS.filter((view) => has[view]);
  const usual = { view: snapshots.length ? "memory" : "table", event: model.events[0]?.name ?? "", fn: null, file: null, obj: null, finding: "", sort: "", whose: "", q: "", thread: "", time: "", focus: null, hide: [], flame: usualFlame(model), zoom: "", side: "both", snapshot: "", base: "", group: "", cols: "", runtime: "", open: "" };
  const app = {
    model, chart, snapshots, trees, times, hasFindings: model.isFindings || model.stackOf !== null, stacks: hasStacks ? makeStacks(model) : null, code: makeCode(model), state: { ...usual }, usual, views, groupings: groupingsOf(model),
    narrowing: null, matcher: matcherOf(""), matches: () => () => false, wholeTotal: null, activeRow: null, selectedIn: "", ordered: [], shown: [], groups: null, rowsOfSnapshot: 0, eventIndex: 0, total: null, snapshot: null, base: null,
  };
  addQuestions(app);
  addChoices(app);
  addNarrowing(app);
  const make = { table: tablePane, flame: flamePane, timeline: timelinePane, tree: treePane, calls: callsPane, source: sourcePane, memory: memoryPane };
  const panes = views.map((view) => make[view](app));
  const controls = makeControls(app, views);
  const selection = makeSelection(app);
  const lead = main.querySelector(".lead");
  for (const note of header.notes) lead.append(h("p", "note", note));
  if (lead.children.length > 2) foldLead(lead);
  if (model.isFindings) lead.append(kindList(model));
  const causes = header.causes?.length ? causeList(app) : null;
  main.append(controls.bar, ...[causes].filter(Boolean), h("div", "panes", ...panes.map((pane) => pane.pane)), selection.place, makePrint(app));

  let before = null;
  /** Shows the state. `how` says how the address changes: push, replace or none. */
  app.show = (how) => {
    set(main, "aria-busy", "true");
    const { state } = app;
    const held = /** @type {any} */ (document.activeElement), holder = held.closest("[data-view]");
    if (how !== "none") history[how === "push" ? "pushState" : "replaceState"](null, "", printHash(state, usual));
    app.refresh();
    const order = (of) => [of.sort, of.whose, of.q, of.event, of.snapshot, of.base, of.thread, of.time, of.focus, of.group, ...of.hide].join("\n");
    if (causes && !causes.dataset.held && before?.view !== state.view) causes.open = state.view === "table";
    const isNewOrder = before === null || order(before) !== order(state);
    const isNewSelection = before === null || ["fn", "file", "obj", "finding", "view"].some((key) => before[key] !== state[key]) || app.activeRow !== before.activeRow;
    before = { ...state, activeRow: app.activeRow };
    Object.assign(main.dataset, { current: state.view, event: state.event, thread: state.thread });
    if (!model.isFindings && app.total !== null) main.dataset.total = String(app.total);
    if (app.snapshot !== null) main.dataset.snapshot = String(app.snapshot);
    else delete main.dataset.snapshot;
    if (app.base !== null) main.dataset.base = String(app.base);
    else delete main.dataset.base;
    controls.update();
    selection.update();
    for (const pane of panes) {
      const isHidden = !app.isInSight(pane);
      if (isHidden && !pane.pane.hidden) pane.clear?.();
      pane.pane.hidden = isHidden;
    }
    for (const pane of panes) if (app.isInSight(pane)) pane.update({ isNewOrder, isNewSelection });
    // If the element with the focus is gone, its pane has the focus, or else the pane of the view.
    const isGone = (one) => one === document.body || one.disabled || !one.checkVisibility();
    if (held !== document.body && isGone(document.activeElement)) {
      const place = holder?.checkVisibility() ? holder : panes.find(({ view }) => view === state.view).pane;
      Array.from(place.querySelectorAll("[tabindex='0']")).find((one) => one.checkVisibility())?.focus({ preventScroll: true });
    }
    set(main, "aria-busy", "false");
  };
  const follow = () => {
    app.read(location.hash);
    app.show("none");
  };
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  addEventListener("resize", oncePerFrame(() => app.show("none")));
  app.read(location.hash);
  return app;
};

/** Adds the functions that derive data from the state. */
const addQuestions = (app) => {
  const { model } = app;
  app.selected = () => model.selected(app.state);
  app.sums = () => sumStacks(app, app.eventIndex);
  app.sumsByWhose = () => {
    const sums = sumsByWhose(model, app.eventIndex, app.snapshot, app.narrowing.isWhole ? null : app.narrowing);
    if (!model.isFindings && app.total !== null) sums.set(UNLISTED, Array.from(sums.values()).reduce((left, sum) => left - sum, app.total));
    return sums;
  };
  app.chosenSnapshot = () => app.state.snapshot || (app.snapshot === null ? "" : String(app.snapshot));
  app.isInSight = (pane) => {
    const { view } = app.state;
    if (pane.view === view) return true;
    if (pane.view === "calls" && view === "table") return innerWidth >= 1200 && app.state.fn !== null;
    // Narrow panes leave room for the table.
    return pane.view === "table" && innerWidth >= 1200 && ["tree", "calls", "source", "timeline"].includes(view);
  };
  app.link = (fn, words = model.fn.shown(fn)) => h("button", { class: "link", title: words === model.fn.shown(fn) ? null : model.fn.shown(fn), onclick: () => app.selectFunction(fn, "push") }, words);
  app.refresh = () => {
    const { state } = app;
    app.eventIndex = Math.max(0, model.events.findIndex(({ name }) => name === state.event));
    app.snapshot = heapShown(app, state.snapshot);
    app.base = state.base ? heapShown(app, state.base) : null;
    comparePair(app);
    app.narrowing = narrowingOf(app);
    model.shownPart.costs = app.narrowing.isWhole || !app.stacks || model.stackOf ? null : functionCosts(app);
    if (app.matcher.words !== state.q) {
      app.matcher = { ...matcherOf(state.q), words: state.q };
      const matches = functionMatcher(model, app.matcher);
      app.matches = () => matches;
    }
    const narrowing = app.narrowing.isWhole ? null : app.narrowing;
    app.ordered = orderRows(model, filterRows(model, { q: "", whose: "" }, app.snapshot, { narrowing }), { sort: state.sort, event: app.eventIndex });
    app.rowsOfSnapshot = app.ordered.length;
    const kept = new Set(filterRows(model, state, app.snapshot, { matcher: app.matcher, narrowing }));
    app.shown = state.q || state.whose ? app.ordered.filter((row) => kept.has(row)) : app.ordered;
    const isGrouped = state.group !== "";
    app.groups = isGrouped ? orderGroups(model, groupRows(model, app.shown, state.group), { sort: state.sort, event: app.eventIndex, by: state.group }) : null;
    if (isGrouped) app.shown = app.groups.flatMap(({ rows }) => rows);
    const totals = model.events[app.eventIndex]?.totals ?? [];
    app.wholeTotal = totals[totals.length - 1] ?? null;
    app.total = (app.snapshot !== null || !app.narrowing.isWhole) && app.stacks ? app.sums().incl[0] : app.wholeTotal;
    if (app.activeRow !== null && !model.isSelectedRow(state)(app.activeRow)) app.activeRow = null;
  };
};

/** Returns the function that gives the costs by function of an event in the part of the profile that is shown. */
const functionCosts = (app) => {
  const known = new Map();
  return (event) => {
    if (!known.has(event)) {
      const sums = sumStacks(app, event);
      const of = sumFunctions(app.stacks, sums);
      const before = sums.before ? sumFunctions(app.stacks, sums.before) : { self: null, incl: null };
      known.set(event, { ...of, old: before.self, oldIncl: before.incl });
    }
    return known.get(event);
  };
};

/** The events of snapshots: all events, or only one if there are rows of other events. */
const ofLevels = ({ model }) => (model.header.levels ? [model.header.levels] : model.events.map(({ name }) => name));

/** The snapshot whose heap is shown: the chosen one, or the newest earlier one that has a tree. The default is the peak. */
const heapShown = (app, wanted) => {
  const { snapshots, trees } = app;
  if (!snapshots.length || !trees.size || !ofLevels(app).includes(app.state.event)) return null;
  const withTree = snapshots.filter((one) => trees.has(one.number));
  if (!withTree.length) return null;
  const at = snapshots.findIndex((one) => String(one.number) === wanted);
  if (at >= 0) {
    for (let place = at; place >= 0; place--) if (trees.has(snapshots[place].number)) return snapshots[place].number;
    return withTree[0].number;
  }
  const peak = withTree.find((one) => one.detail === "peak");
  return (peak ?? withTree.reduce((most, one) => (Number(one.bytes) > Number(most.bytes) ? one : most))).number;
};

/** Adds the actions of the user. */
const addChoices = (app) => {
  const { model, usual } = app;
  app.choose = (change, how = "push") => {
    Object.assign(app.state, change);
    if (!ofLevels(app).includes(app.state.event)) Object.assign(app.state, { snapshot: "", base: "" });
    app.show(how);
  };
  /** The change of the event for showing a snapshot, if the current event is not an event of snapshots. */
  app.levels = () => (ofLevels(app).includes(app.state.event) ? {} : { event: ofLevels(app)[0] });
  app.sortBy = (key) => {
    const own = usualSort(model);
    const now = app.state.sort || own;
    app.choose({ sort: now === key ? `-${key}` : now === `-${key}` && key === own ? "" : key });
  };
  /** Shows a view. If nothing is selected, selects the first row that the view has something for. */
  app.openView = (view) => {
    const { state, shown } = app;
    const has = { calls: () => true, source: (row) => app.code.lines(model.row.function(row)).length > 0 }[view];
    const row = has && state.fn === null ? shown.find((at) => model.row.fn(at) && has(at)) : undefined;
    if (row === undefined) return app.choose({ view });
    app.state.view = view;
    app.selectRow(row, "push");
  };
  app.toggleWhose = (word) => {
    const pressed = new Set(app.state.whose ? app.state.whose.split(",") : []);
    if (!pressed.delete(word)) pressed.add(word);
    app.choose({ whose: model.header.whose.filter((known) => pressed.has(known)).join(",") });
  };
  app.selectRow = (row, how) => {
    app.activeRow = row;
    app.choose({ ...eventOfRow(model, row, app.eventIndex), ...model.address(model.row.fn(row), model.row.file(row), model.row.obj(row)), finding: app.hasFindings ? String(row) : "" }, how);
  };
  app.selectFunction = (fn, how) => {
    app.activeRow = null;
    app.choose(model.addressOf(fn), how);
  };
  /** Selects the next or previous row that passes the filters. */
  app.match = (step) => {
    const { shown } = app;
    if (!shown.length) return;
    const isSelected = model.isSelectedRow(app.state);
    const at = app.activeRow !== null ? shown.indexOf(app.activeRow) : shown.findIndex(isSelected);
    const to = at < 0 ? (step > 0 ? 0 : shown.length - 1) : (at + step + shown.length) % shown.length;
    app.selectRow(shown[to], "replace");
  };
  /** Reads the state from an address. Replaces invalid values by defaults. */
  app.read = (hash) => {
    const given = parseHash(hash);
    const state = { ...usual, ...given };
    if (!app.views.includes(state.view)) state.view = usual.view;
    if (!model.events.some(({ name }) => name === state.event)) state.event = usual.event;
    if (given.snapshot && !given.event && model.header.levels) state.event = model.header.levels;
    if (!comparable(app).length || !app.snapshots.some((one) => String(one.number) === state.base)) state.base = "";
    if (state.base && !given.flame) state.flame = "differential";
    const isDiff = Boolean(state.base || model.header.runs);
    if (!FLAMES.some(([kind]) => kind === state.flame && hasFlame(model, kind, isDiff))) state.flame = usual.flame;
    const words = state.whose.split(",").filter((word) => model.header.whose.includes(word));
    state.whose = words.join(",");
    if (!app.snapshots.some((one) => String(one.number) === state.snapshot)) state.snapshot = "";
    if (!(model.header.threads ?? []).includes(state.thread)) state.thread = "";
    if (!app.times || !parseTime(state.time)) state.time = "";
    const isKnown = (name) => app.stacks !== null && model.functionsNamed(name).length > 0;
    if (state.focus !== null && !isKnown(state.focus)) state.focus = null;
    state.hide = state.hide.filter((name, at) => isKnown(name) && state.hide.indexOf(name) === at);
    if (!SIDES.some(([side]) => side === state.side)) state.side = usual.side;
    if (state.runtime !== "hidden") state.runtime = "";
    if (!app.hasFindings || !/^\d+$/.test(state.finding) || Number(state.finding) >= model.rows) state.finding = "";
    if (state.finding !== "") {
      app.activeRow = Number(state.finding);
      if (!given.event) Object.assign(state, eventOfRow(model, app.activeRow, 0));
      if (state.fn === null) Object.assign(state, model.address(model.row.fn(app.activeRow), model.row.file(app.activeRow), model.row.obj(app.activeRow)), { finding: state.finding });
    }
    if (!app.groupings.includes(state.group)) state.group = "";
    const { name: key } = parseSort(state.sort);
    if (key && !sortKey(model, key, 0) && !["self", "delta"].includes(key)) state.sort = "";
    app.state = state;
  };
};

/** The change of the event for showing a finding that the event does not count: leaks have bytes, errors have a count. */
const eventOfRow = (model, row, event) => {
  const counted = (at) => model.figures.self(at)(row) !== null;
  const own = model.events.find((_, at) => counted(at));
  return model.isFindings && own && !counted(event) ? { event: own.name } : {};
};

/** The number of causes that are in sight at first. */
const FIRST_CAUSES = 10;

/** The causes of the difference of the totals, each with its details. Bars to the right and left of zero are beside the text. */
const causeList = (app) => {
  const { model } = app;
  const causes = model.header.causes.map(([fn, words, deltas, details]) => ({ fn, words, delta: model.count(deltas[0]), details }));
  const size = ({ delta }) => Math.abs(Number(delta));
  causes.sort((a, b) => size(b) - size(a));
  const most = causes.reduce((max, cause) => Math.max(max, size(cause)), 1);
  const items = causes.map(({ fn, words, delta, details }) => {
    const link = (name) => h("button", { class: "link", onclick: () => app.choose(model.address(name, null, null)) }, nameText(name));
    const width = (Math.abs(Number(delta)) / most) * 50;
    const parts = details.map(([sentence, deltas]) => h("p", {}, `${signedFigure(model, 0, model.count(deltas[0]))} ${sentence}`));
    const tone = delta < 0 ? "less" : "more";
    return h("li", { "data-delta": delta, class: tone },
      h("span", "n", signedFigure(model, 0, delta)),
      h("span", "change-bar", h("span", { "data-bar": (Number(delta) / most).toFixed(4), class: tone, style: `left:${delta < 0 ? 50 - width : 50}%;width:${width}%` })),
      h("div", "cause", link(fn), words, parts.length ? h("details", "parts", h("summary", {}, `${grouped(parts.length)} ${parts.length === 1 ? "detail" : "details"}`), ...parts) : null));
  });
  const left = model.header.causeCount - items.length;
  items.slice(FIRST_CAUSES).forEach((item) => (item.hidden = true));
  const more = h("button", { class: "link", onclick: () => {
    items.forEach((item) => (item.hidden = false));
    more.remove();
  } }, `${grouped(items.length - FIRST_CAUSES)} more`);
  return h("details", { class: "causes", open: app.state.view === "table" }, h("summary", { onclick: (event) => (event.currentTarget.parentElement.dataset.held = "true") }, `Where the difference comes from: ${grouped(model.header.causeCount)} causes`),
    h("ul", { "aria-label": "Causes" }, ...items), items.length > FIRST_CAUSES ? more : null, left > 0 ? h("p", "note", `${grouped(left)} more causes: cg-diff --causes | cg-fmt --type cause`) : null);
};

/** The records of each kind of finding, and what they lost. Kinds do not add up. */
const kindList = (model) => {
  /** @type {Map<string, {records: number, bytes: any, blocks: any, isLeak: boolean}>} */
  const kinds = new Map();
  const figure = (name) => model.figures.self(model.events.findIndex((event) => event.name === name));
  const [bytes, blocks] = ["bytes", "blocks"].map(figure);
  for (let row = 0; row < model.rows; row++) {
    const kind = model.row.kind(row);
    if (!kinds.has(kind)) kinds.set(kind, { records: 0, bytes: model.zero, blocks: model.zero, isLeak: bytes(row) !== null });
    const sums = kinds.get(kind);
    sums.records += model.records(row);
    sums.bytes += bytes(row) ?? model.zero;
    sums.blocks += blocks(row) ?? model.zero;
  }
  return h("ul", { class: "kinds", "aria-label": "Kinds", tabindex: 0 }, ...Array.from(kinds).sort(([a], [b]) => severity(a) - severity(b)).map(([kind, sums]) => h("li", {
    "data-kind": kind, "data-records": sums.records, "data-bytes": sums.isLeak ? sums.bytes : null, "data-blocks": sums.isLeak ? sums.blocks : null,
  }, h("strong", {}, kind), ` ${grouped(sums.records)} ${sums.records === 1 ? "record" : "records"}${sums.isLeak ? `, ${grouped(sums.bytes)} bytes in ${grouped(sums.blocks)} ${Number(sums.blocks) === 1 ? "block" : "blocks"}` : ""}`)));
};

/** Folds all but the first sentence. */
const foldLead = (lead) => {
  const rest = Array.from(lead.children).slice(1);
  lead.append(h("details", {}, h("summary", {}, `${rest.length} more remarks`), ...rest));
};

start().catch((error) => {
  const main = document.querySelector("main");
  main.append(h("p", "note", `The data of this page could not be read: ${error}`));
  set(main, "aria-busy", "false");
});
