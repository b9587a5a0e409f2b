// The controls above the panes: tabs, event, thread, search, chips; below them, the selection.

const VIEW_WORDS = { table: "Table", flame: "Flame graph", timeline: "Timeline", tree: "Call tree", calls: "Callers and callees", source: "Source", memory: "Memory" };

/** The maximum number of threads in the list. */
const MOST_THREADS = 500;

const makeControls = (app, views) => {
  const { model } = app;
  const tabs = views.map((view) => h("button", { "data-tab": view, onclick: () => app.openView(view) }, VIEW_WORDS[view]));
  const events = h("select", { "aria-label": "Event", onchange: () => app.choose({ event: events.value }) },
    ...model.events.map(({ name, words }) => h("option", { value: name }, visible(words))));
  const threads = model.header.threads && h("select", { "aria-label": "Thread", onchange: () => app.choose({ thread: threads.value }) },
    h("option", { value: "" }, "all threads"), ...model.header.threads.filter(Boolean).slice(0, MOST_THREADS).map((name) => h("option", { value: name }, visible(name))));
  const base = comparisonChoice(app);
  const search = h("input", { type: "search", "aria-label": "Search functions and files", placeholder: "search: text or /regex/", autocomplete: "off", spellcheck: "false" });
  const status = h("span", { role: "status", "data-matches": "0" });
  const next = h("button", { "aria-label": "Next match", onclick: () => app.match(1) }, "↓");
  const previous = h("button", { "aria-label": "Previous match", onclick: () => app.match(-1) }, "↑");
  const used = usedClasses(model);
  const chips = [...model.header.whose, UNLISTED].map((word) => h("button", {
    class: "chip", "data-whose": word, hidden: !used.has(word), "aria-pressed": "false", onclick: () => app.toggleWhose(word),
    ...(word === UNLISTED ? { disabled: true, title: "The page lacks the rows of this cost, because they did not change." } : {}),
  }));
  const narrowed = h("span", "narrowed");
  listenToSearch(search, app);
  const more = h("div", { class: "more-tools", id: "more-tools" },
    h("div", "tools", model.events.length ? events : null, threads, base, h("span", { role: "search", class: "search" }, search, next, previous, status)),
    h("div", { class: "chips", role: "group", "aria-label": "Whose code" }, ...chips));
  // Only phones show this button. There the tools are folded at first.
  const opener = h("button", { class: "opener", "aria-expanded": "false", "aria-controls": "more-tools", onclick: () => {
    set(opener, "aria-expanded", String(more.classList.toggle("open")));
  } }, "Filters");
  const bar = h("div", "bar", h("div", "tabs", h("nav", { "aria-label": "Views" }, ...tabs), opener, makeHelp()), more, narrowed);
  const update = () => {
    const { state } = app;
    for (const tab of tabs) {
      const isCurrent = tab.dataset.tab === state.view;
      const isNew = isCurrent && tab.getAttribute("aria-current") !== "page";
      set(tab, "aria-current", isCurrent ? "page" : "false");
      if (isNew) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 40;
    }
    events.value = state.event;
    if (threads) threads.value = state.thread;
    if (base) base.value = app.base === null ? "" : String(app.base);
    if (search.value !== state.q) search.value = state.q;
    set(search, "aria-invalid", String(!app.matcher.isValid));
    const count = app.shown.length;
    status.dataset.matches = String(count);
    status.textContent = !app.matcher.isValid ? "no valid expression" : state.q || state.whose ? `${grouped(count)} of ${grouped(app.rowsOfSnapshot)}` : `${grouped(count)} ${count === 1 ? "row" : "rows"}`;
    const sums = app.sumsByWhose();
    const pressed = new Set(state.whose ? state.whose.split(",") : []);
    for (const chip of chips) {
      const word = chip.dataset.whose;
      const sum = sums.get(word) ?? model.zero;
      chip.dataset.self = String(sum);
      if (word === UNLISTED) chip.hidden = !sum;
      set(chip, "aria-pressed", String(pressed.has(word)));
      const text = model.isFindings ? `${grouped(sum)}` : percentText(shareOf(sum, app.total)) || eventFigure(model, app.eventIndex, sum);
      const label = `${word} ${text}`;
      if (chip.textContent !== label) chip.textContent = label;
    }
    narrowed.replaceChildren(...narrowButtons(app));
    narrowed.hidden = !narrowed.firstChild;
    if (!narrowed.hidden && model.header.estimated) narrowed.append(h("span", "note", estimateText(app)));
  };
  return { bar, update };
};

/** The classes of code to show: the program's own, and the classes that some row or sum has. */
const usedClasses = (model) => {
  const used = new Set(model.events.length ? ["own"] : []);
  for (let row = 0; row < model.rows && model.events.length; row++) used.add(model.row.whose(row));
  for (const sums of model.header.sums ?? []) model.header.whose.forEach((word, at) => Number(sums[at]) && used.add(word));
  return used;
};

/** The line about the selection, below the panes, where it moves no row. */
const makeSelection = (app) => {
  const place = h("p", "selection");
  return { place, update: () => updateSelection(app, place) };
};

const updateSelection = (app, line) => {
  const { model, state } = app;
  if (state.fn === null) return line.replaceChildren(h("span", "note", "Nothing is selected."));
  const functions = app.selected();
  const parts = [];
  let place = "";
  const isSelected = model.isSelectedRow(state);
  const rows = app.ordered.filter(isSelected);
  if (rows.length === 1) {
    const figures = figuresOf(model, app.eventIndex);
    const [at] = rows;
    const figure = (value, isBound = false) => figureText(model, app.eventIndex, value, app.total, isBound).replaceAll("\u2007", "");
    const [own, incl] = [figures.self(at), figures.incl(at)];
    if (model.isFindings) parts.push(findingText(model, at));
    else if (own !== null) parts.push(`self ${figure(own)}`);
    if (incl !== null) parts.push(`inclusive ${figure(incl, model.row.isBound(at))}`);
    if (model.isDiff) parts.push(signedFigure(model, app.eventIndex, figures.delta(at)));
  } else if (rows.length) parts.push(`${grouped(rows.length)} rows`);
  if (functions.length) place = visible(model.fn.file(functions[0]) || model.fn.obj(functions[0]));
  line.replaceChildren(
    h("button", { "aria-label": "Clear the selection", onclick: () => app.choose({ fn: null, file: null, obj: null, finding: "" }) }, "×"),
    h("button", { onclick: () => copyText(state.fn) }, "Copy name"),
    h("span", "what", h("strong", { title: nameText(state.fn) }, functions.length ? nameInLine(model, functions[0]) : nameText(state.fn)), h("span", {}, parts.filter(Boolean).join(" · ")), h("span", "place", place)));
};
