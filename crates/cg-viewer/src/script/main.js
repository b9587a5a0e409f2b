// The page: reads the data, shows the state of the address, and follows changes of the address.

const start = async () => {
  const main = document.querySelector("main");
  const block = document.getElementById("data");
  const model = makeModel(readData(await unpack(block.textContent)));
  block.textContent = "";
  const app = makeApp(main, model);
  app.show("none");
};

const makeApp = (main, model) => {
  const { header } = model;
  const hasStacks = model.column("t.depth").length > 0;
  const snapshots = (header.snapshots ?? []).map(([number, time, bytes, detail, event]) => ({ number, time, bytes, detail, event }));
  const trees = new Set([...model.column("s.snapshot"), ...model.column("r.snapshot")]);
  const has = { table: true, flame: hasStacks, tree: hasStacks, calls: hasStacks || header.calls, source: header.lines, memory: snapshots.length > 0 || document.getElementById("chart") !== null };
  const views = VIEWS.filter((view) => has[view]);
  const usual = { view: "table", event: model.events[0]?.name ?? "", fn: null, file: null, obj: null, sort: "", whose: "", q: "", flame: usualFlame(model), snapshot: "", base: "", thread: "", group: "", cols: "" };
  const app = {
    model, snapshots, trees, stacks: hasStacks ? makeStacks(model) : null, code: makeCode(model), state: { ...usual }, usual, views, groupings: groupingsOf(model),
    activeRow: null, selectedIn: "", ordered: [], shown: [], groups: null, rowsOfSnapshot: 0, eventIndex: 0, total: null, snapshot: null, base: null,
  };
  addQuestions(app);
  addChoices(app);
  const make = { table: tablePane, flame: flamePane, tree: treePane, calls: callsPane, source: sourcePane, memory: memoryPane };
  const panes = views.map((view) => make[view](app));
  const controls = makeControls(app, views);
  const lead = main.querySelector(".lead");
  for (const note of header.notes) lead.append(h("p", { class: "note" }, note));
  if (lead.children.length > 3) foldLead(lead);
  if (header.causes?.length) lead.append(causeList(app));
  main.append(controls.bar, h("div", { class: "panes" }, ...panes.map((pane) => pane.pane)), makePrint(app));

  let before = null;
  /** Shows the state. `how` says how the address changes: push, replace or none. */
  app.show = (how) => {
    main.setAttribute("aria-busy", "true");
    const { state } = app;
    if (how !== "none") history[how === "push" ? "pushState" : "replaceState"](null, "", printHash(state, usual));
    app.refresh();
    const order = (of) => [of.sort, of.whose, of.q, of.event, of.snapshot, of.base, of.thread, of.group].join("\n");
    const isNewOrder = before === null || order(before) !== order(state);
    const isNewSelection = before === null || ["fn", "file", "obj", "view"].some((key) => before[key] !== state[key]) || app.activeRow !== before.activeRow;
    before = { ...state, activeRow: app.activeRow };
    Object.assign(main.dataset, { current: state.view, event: state.event });
    if (!model.isFindings && app.total !== null) main.dataset.total = String(app.total);
    if (app.snapshot !== null) main.dataset.snapshot = String(app.snapshot);
    else delete main.dataset.snapshot;
    if (app.base !== null) main.dataset.base = String(app.base);
    else delete main.dataset.base;
    controls.update();
    for (const pane of panes) {
      const isHidden = !app.isInSight(pane);
      if (isHidden && !pane.pane.hidden) pane.clear?.();
      pane.pane.hidden = isHidden;
    }
    for (const pane of panes) if (app.isInSight(pane)) pane.update({ isNewOrder, isNewSelection });
    main.setAttribute("aria-busy", "false");
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
  app.sums = () => sumStacks(app.stacks, app.eventIndex, app.snapshot, app.state.thread, app.base);
  app.sumsByWhose = () => sumsByWhose(model, app.eventIndex, app.snapshot);
  app.chosenSnapshot = () => app.state.snapshot || (app.snapshot === null ? "" : String(app.snapshot));
  app.isInSight = (pane) => {
    const { view } = app.state;
    if (pane.view === view) return true;
    // Narrow panes leave room for the table.
    return pane.view === "table" && innerWidth >= 1200 && ["tree", "calls", "source"].includes(view);
  };
  app.link = (fn) => h("button", { type: "button", class: "link", onclick: () => app.selectFunction(fn, "push") }, model.fn.shown(fn));
  app.refresh = () => {
    const { state } = app;
    app.eventIndex = Math.max(0, model.events.findIndex(({ name }) => name === state.event));
    app.snapshot = heapShown(app, state.snapshot);
    app.base = state.base ? heapShown(app, state.base) : null;
    comparePair(app);
    Object.assign(model.ofThread, state.thread && app.stacks ? sumFunctions(app.stacks, app.sums()) : { self: null, incl: null });
    app.ordered = orderRows(model, filterRows(model, { q: "", whose: "" }, app.snapshot), { sort: state.sort, event: app.eventIndex });
    app.rowsOfSnapshot = app.ordered.length;
    const kept = new Set(filterRows(model, state, app.snapshot));
    app.shown = state.q || state.whose ? app.ordered.filter((row) => kept.has(row)) : app.ordered;
    const isGrouped = state.group !== "";
    app.groups = isGrouped ? orderGroups(model, groupRows(model, app.shown, state.group), { sort: state.sort, event: app.eventIndex, by: state.group }) : null;
    if (isGrouped) app.shown = app.groups.flatMap(({ rows }) => rows);
    const totals = model.events[app.eventIndex]?.totals ?? [];
    app.total = (app.snapshot !== null || state.thread) && app.stacks ? app.sums().incl[0] : (totals[totals.length - 1] ?? null);
    if (app.activeRow !== null && !model.isSelectedRow(state)(app.activeRow)) app.activeRow = null;
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
  app.toggleWhose = (word) => {
    const pressed = new Set(app.state.whose ? app.state.whose.split(",") : []);
    if (!pressed.delete(word)) pressed.add(word);
    app.choose({ whose: model.header.whose.filter((known) => pressed.has(known)).join(",") });
  };
  app.selectRow = (row, how) => {
    app.activeRow = row;
    app.choose(model.address(model.row.fn(row), model.row.file(row), model.row.obj(row)), how);
  };
  app.selectFunction = (fn, how) => {
    app.activeRow = null;
    app.choose(model.address(model.fn.name(fn), model.fn.file(fn), model.fn.obj(fn)), how);
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
    if (!app.groupings.includes(state.group)) state.group = "";
    const { name: key } = parseSort(state.sort);
    if (key && !sortKey(model, key, 0) && !["self", "delta"].includes(key)) state.sort = "";
    app.state = state;
  };
};

/** The causes of the difference of the totals, as bars to the right and left of zero, with their details. */
const causeList = (app) => {
  const { model } = app;
  const causes = model.header.causes.map(([fn, words, deltas, details]) => ({ fn, words, delta: model.count(deltas[0]), details }));
  const most = causes.reduce((max, { delta }) => Math.max(max, Math.abs(Number(delta))), 1);
  const items = causes.map(({ fn, words, delta, details }) => {
    const link = h("button", { type: "button", class: "link", onclick: () => app.choose(model.address(fn, null, null)) }, nameText(fn));
    const width = (Math.abs(Number(delta)) / most) * 50;
    const parts = details.map(([sentence, deltas]) => h("li", {}, `${signed(model.count(deltas[0]))} ${sentence}`));
    return h("li", { style: `--from:${(delta < 0 ? 50 - width : 50).toFixed(1)}%;--to:${(delta < 0 ? 50 : 50 + width).toFixed(1)}%`, class: delta < 0 ? "less" : "more" },
      `${signed(delta)} `, link, words, h("ul", {}, ...parts));
  });
  const left = model.header.causeCount - items.length;
  return h("details", { open: true }, h("summary", {}, `Where the difference comes from: ${grouped(model.header.causeCount)} causes`),
    h("ul", { class: "causes", "aria-label": "Causes" }, ...items), left > 0 ? h("p", { class: "note" }, `${grouped(left)} more causes: cg-diff --causes | cg-fmt --type cause`) : null);
};

/** Folds all but the first two sentences. */
const foldLead = (lead) => {
  const rest = Array.from(lead.children).slice(2);
  lead.append(h("details", {}, h("summary", {}, `${rest.length} more remarks`), ...rest));
};

start().catch((error) => {
  const main = document.querySelector("main");
  main.append(h("p", { class: "note" }, `The data of this page could not be read: ${error}`));
  main.setAttribute("aria-busy", "false");
});
