// The controls above the panes: tabs, event, thread, search, chips, the selection.

const VIEW_WORDS = { table: "Table", flame: "Flame graph", tree: "Call tree", calls: "Callers and callees", source: "Source", memory: "Memory" };
const WHOSE_WORDS = { own: "mine", dependency: "dependencies", std: "std", system: "system", kernel: "kernel", unknown: "unknown" };

const makeControls = (app, views) => {
  const { model } = app;
  const tabs = views.map((view) => h("button", { type: "button", "data-tab": view, onclick: () => app.choose({ view }) }, VIEW_WORDS[view]));
  const events = h("select", { "aria-label": "Event", onchange: () => app.choose({ event: events.value }) },
    ...model.events.map(({ name }) => h("option", { value: name }, visible(name))));
  const threads = model.header.threads && h("select", { "aria-label": "Thread", onchange: () => app.choose({ thread: threads.value }) },
    h("option", { value: "" }, "all threads"), ...model.header.threads.filter(Boolean).slice(0, 200).map((name) => h("option", { value: name }, visible(name))));
  const base = comparisonChoice(app);
  const search = h("input", { type: "search", "aria-label": "Search functions and files", placeholder: "search functions, files", autocomplete: "off", spellcheck: "false" });
  const status = h("span", { role: "status", "data-matches": "0" });
  const next = h("button", { type: "button", "aria-label": "Next match", onclick: () => app.match(1) }, "↓");
  const previous = h("button", { type: "button", "aria-label": "Previous match", onclick: () => app.match(-1) }, "↑");
  const chips = model.header.whose.map((word) => h("button", { type: "button", class: "chip", "data-whose": word, "aria-pressed": "false", onclick: () => app.toggleWhose(word) }));
  const selection = h("p", { class: "selection" });
  listenToSearch(search, app);
  const bar = h("div", { class: "bar" },
    h("nav", { "aria-label": "Views" }, ...tabs),
    h("div", { class: "tools" }, events, threads, base, h("span", { role: "search" }, search, next, previous, status)),
    h("div", { class: "chips", role: "group", "aria-label": "Whose code" }, ...chips), selection);
  const update = () => {
    const { state } = app;
    for (const tab of tabs) tab.setAttribute("aria-current", tab.dataset.tab === state.view ? "page" : "false");
    events.value = state.event;
    if (threads) threads.value = state.thread;
    if (base) base.value = app.base === null ? "" : String(app.base);
    if (search.value !== state.q) search.value = state.q;
    const count = app.shown.length;
    status.dataset.matches = String(count);
    status.textContent = state.q || state.whose ? `${grouped(count)} of ${grouped(app.rowsOfSnapshot)}` : `${grouped(count)} ${count === 1 ? "row" : "rows"}`;
    const sums = app.sumsByWhose();
    const pressed = new Set(state.whose ? state.whose.split(",") : []);
    for (const chip of chips) {
      const word = chip.dataset.whose;
      const sum = sums.get(word);
      chip.dataset.self = String(sum);
      chip.setAttribute("aria-pressed", String(pressed.has(word)));
      const text = model.isFindings ? `${grouped(sum)}` : percentText(shareOf(sum, app.total)) || grouped(sum);
      const label = `${WHOSE_WORDS[word] ?? word} ${text}`;
      if (chip.textContent !== label) chip.textContent = label;
    }
    updateSelection(app, selection);
  };
  return { bar, update };
};

/** Updates the line about the selection. */
const updateSelection = (app, place) => {
  const { model, state } = app;
  place.hidden = state.fn === null;
  if (state.fn === null) return place.replaceChildren();
  const functions = app.selected();
  const parts = [];
  const isSelected = model.isSelectedRow(state);
  const rows = app.ordered.filter(isSelected);
  if (rows.length === 1) {
    const figures = figuresOf(model, app.eventIndex);
    const [at] = rows;
    const [own, incl] = [figures.self(at), figures.incl(at)];
    if (own !== null) parts.push(`self ${figureText(own, app.total).replaceAll("\u2007", "")}`);
    if (incl !== null) parts.push(`inclusive ${figureText(incl, app.total).replaceAll("\u2007", "")}`);
    if (model.isDiff) parts.push(signed(figures.delta(at)));
  } else if (rows.length) parts.push(`${grouped(rows.length)} rows`);
  if (functions.length) parts.push(visible(model.fn.file(functions[0]) || model.fn.obj(functions[0])));
  place.replaceChildren(h("strong", {}, nameText(state.fn)), ` ${parts.filter(Boolean).join(" · ")} `,
    h("button", { type: "button", "aria-label": "Clear the selection", onclick: () => app.choose({ fn: null, file: null, obj: null }) }, "×"));
};
