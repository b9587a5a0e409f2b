// The table: rows in sight are elements, all others are numbers.

const ROW_HEIGHT = 24;

const tablePane = (app) => {
  const { model } = app;
  const head = h("div", { role: "row", "aria-rowindex": 1, class: "row head" });
  const body = h("div", { role: "rowgroup", class: "rows" });
  const grid = h("div", { role: "grid", class: "grid scroller", tabindex: 0, "aria-label": "Rows" },
    h("div", { role: "rowgroup", class: "heads" }, head), body);
  const stack = h("div", { class: "stack", hidden: true });
  const pane = h("section", { "data-view": "table", "aria-label": "Table" }, grid, stack);
  let columns = [];
  let headings = "";

  const render = () => {
    const { shown, state } = app;
    const total = app.total;
    const at = app.eventIndex;
    const [first, last] = inSight(grid, ROW_HEIGHT, shown.length, ROW_HEIGHT);
    const isSelected = model.isSelectedRow(state);
    const own = figuresOf(model, at);
    const rows = [];
    for (let position = first; position < last; position++) {
      const row = shown[position];
      const data = rowData(model, at, row, own);
      const element = h("div", {
        role: "row", class: "row", id: `r${row}`, "aria-rowindex": position + 2, "aria-selected": String(isSelected(row)),
        style: `top:${position * ROW_HEIGHT}px`,
      });
      Object.assign(element.dataset, data);
      for (const column of columns) {
        const text = column.text(row, total);
        element.append(h("div", {
          role: "gridcell", class: column.isCount ? "n" : column.key === "fn" ? "name" : "t",
          style: column.share ? `--p:${Math.min(1, Math.abs(column.share(row, total))).toFixed(4)}` : null,
          title: column.isCount || text.length < 12 ? null : text,
        }, text));
      }
      rows.push(element);
    }
    body.replaceChildren(...rows);
    const active = app.activeRow;
    if (rows.some((one) => one.id === `r${active}`)) grid.setAttribute("aria-activedescendant", `r${active}`);
    else grid.removeAttribute("aria-activedescendant");
  };

  const renderHead = () => {
    const sorted = app.state.sort || usualSort(model);
    const { turned, name } = parseSort(sorted);
    const key = columns.map((one) => one.key + one.title).join() + sorted + app.state.event;
    if (key === headings) return;
    headings = key;
    head.replaceChildren(...columns.map((column) => {
      const isSorted = column.key === name;
      const down = column.isCount !== turned;
      return h("div", {
        role: "columnheader", "data-column": column.key, class: column.isCount ? "n" : "t",
        "aria-sort": isSorted ? (down ? "descending" : "ascending") : null,
      }, h("button", { type: "button", tabindex: -1, onclick: () => app.sortBy(column.key) }, column.title));
    }));
  };

  const update = ({ isNewOrder, isNewSelection }) => {
    columns = tableColumns(app, grid.clientWidth || innerWidth);
    pane.style.setProperty("--columns", columns.map((one) => one.width).join(" "));
    renderHead();
    grid.setAttribute("aria-rowcount", app.shown.length + 1);
    grid.setAttribute("aria-colcount", columns.length);
    body.style.height = `${app.shown.length * ROW_HEIGHT}px`;
    if (isNewOrder) grid.scrollTop = 0;
    if (isNewSelection && app.state.fn !== null) {
      const isSelected = model.isSelectedRow(app.state);
      const at = app.shown.indexOf(app.activeRow ?? -1);
      const position = at >= 0 && isSelected(app.activeRow) ? at : app.shown.findIndex(isSelected);
      if (position >= 0) {
        app.activeRow = app.shown[position];
        reveal(grid, ROW_HEIGHT, position, ROW_HEIGHT);
      }
    }
    renderStack(app, stack);
    render();
  };

  grid.addEventListener("scroll", oncePerFrame(render));
  body.addEventListener("click", (event) => {
    const row = event.target.closest("[role=row]");
    if (row) app.selectRow(Number(row.id.slice(1)), "push");
  });
  grid.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const button = event.target.closest("button");
    if (button) return headingKeys(event, head, grid);
    const at = app.shown.indexOf(app.activeRow ?? -1);
    if (event.key === "ArrowUp" && at <= 0) {
      event.preventDefault();
      head.querySelector("button").focus();
      return;
    }
    if (event.key === "Enter" && at >= 0) return app.selectRow(app.shown[at], "push");
    const page = Math.max(1, Math.floor(grid.clientHeight / ROW_HEIGHT) - 2);
    const to = movedTo(event.key, at, app.shown.length, page);
    if (to === null) return;
    event.preventDefault();
    app.selectRow(app.shown[to], "replace");
  });
  return { view: "table", pane, update, clear: () => body.replaceChildren() };
};

/** Left and right go through the headings, down back to the rows. */
const headingKeys = (event, head, grid) => {
  const buttons = Array.from(head.querySelectorAll("button"));
  const at = buttons.indexOf(event.target);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to !== undefined) buttons[Math.max(0, Math.min(buttons.length - 1, to))].focus();
  else if (event.key === "ArrowDown") grid.focus();
  else return;
  event.preventDefault();
};

/** The figures that rows are told by. */
const figuresOf = (model, event) => ({
  self: model.isFindings ? findingFigure(model) : model.figures.self(event), incl: model.figures.incl(event),
  old: model.figures.old(event), delta: model.delta(event),
});

/** Errors are counted, leaks have bytes: the first event that a finding has. */
const findingFigure = (model) => {
  const known = model.events.map((_, event) => model.figures.self(event));
  return (row) => {
    for (const figure of known) if (figure(row) !== null) return figure(row);
    return null;
  };
};

const rowData = (model, event, row, figures) => {
  const of = model.row;
  const text = (value) => (value === null ? "" : String(value));
  const data = {
    fn: of.fn(row), file: of.file(row), line: text(of.line(row)), self: text(figures.self(row)),
    incl: text(figures.incl(row)), calls: text(of.calls(row)), whose: of.whose(row), kind: of.kind(row),
  };
  if (!model.isDiff) return data;
  return { ...data, old: text(figures.old(row)), new: text(figures.self(row)), delta: text(figures.delta(row)), status: of.status(row) };
};

/** What gives way first where there is no room. */
const GIVE_WAY = ["obj", "event.", "file", "line", "status", "whose", "calls", "what", "incl", "old", "new", "kind"];

/** The columns that there is room for, with what they say of a row. */
const tableColumns = (app, width) => {
  const columns = allColumns(app, width);
  if (width > 700 || !columns.length) columns.push(...otherColumns(app.model));
  const least = (column) => (column.width.endsWith("ch") ? parseFloat(column.width) * 7.8 : parseFloat(column.width.slice(7)) * 16) + 13;
  for (const key of ["x.", ...GIVE_WAY]) {
    for (let at = columns.length - 1; at > 0; at--) {
      if (columns.reduce((sum, column) => sum + least(column), 16) <= width) return columns;
      if (key === "x." ? columns[at].isOther : columns[at].key.startsWith(key)) columns.splice(at, 1);
    }
  }
  return columns;
};

/** Columns that a format brings of its own. */
const otherColumns = (model) => model.others.map(({ name, title, form, value }) => ({
  key: name, title, isCount: form !== "text", isOther: model.events.length > 0, width: form === "text" ? "minmax(9rem,2fr)" : "12ch",
  text: (at) => (form === "text" ? visible(value(at)) : form === "count" ? grouped(value(at)) : value(at) === null ? "" : (Number(value(at)) / 100).toFixed(2)),
}));

const allColumns = (app, width) => {
  const { model } = app;
  const { row } = model;
  const event = app.eventIndex;
  const figures = figuresOf(model, event);
  const name = model.events[event]?.name ?? "";
  const isWide = width > 700;
  const count = (key, title, value, columnWidth = "11ch") => ({
    key, title, isCount: true, width: columnWidth, text: (at) => grouped(value(at)), value,
  });
  const figure = (key, title, value) => ({
    key, title, isCount: true, width: isWide ? "22ch" : "17ch", value,
    text: (at, total) => figureText(value(at), total), share: (at, total) => shareOf(value(at), total),
  });
  const text = (key, title, value, columnWidth) => ({ key, title, isCount: false, width: columnWidth, text: (at) => visible(value(at)) });
  const fn = { ...text("fn", "function", (at) => row.fn(at), "minmax(9rem,3fr)"), text: (at) => nameText(row.fn(at)) };
  const columns = [];
  if (!model.events.length) return [];
  if (model.isDiff) {
    columns.push({ ...count("delta", `${name} delta`, figures.delta, "13ch"), text: (at) => signed(figures.delta(at)) });
    if (isWide) columns.push(count("old", "old", figures.old, "12ch"), count("new", "new", figures.self, "12ch"), text("status", "status", row.status, "9ch"));
  } else if (model.isFindings) {
    columns.push({ ...count("self", "figure", figures.self, isWide ? "16ch" : "12ch"), text: (at) => findingText(model, at) });
    columns.push(text("kind", "kind", row.kind, isWide ? "16ch" : "9ch"));
  } else {
    columns.push(figure("self", name, figures.self));
  }
  if (!isWide) return [...columns, fn];
  if (!model.isFindings && model.has(`r.${model.isDiff ? "incl.new" : "incl"}.${event}`) && !model.isInclusive) columns.push(figure("incl", `incl. ${name}`, figures.incl));
  if (model.isFindings || model.header.events.length > 1) columns.push(...app.chosenOthers(count));
  if (model.has("r.calls") || model.has("r.calls.new")) columns.push(count("calls", "calls", row.calls, "10ch"));
  columns.push(fn);
  if (model.has("r.what")) columns.push(text("what", "what", row.what, "minmax(8rem,2fr)"));
  columns.push(text("whose", "whose", row.whose, "11ch"));
  columns.push(text("file", "file", row.file, "minmax(6rem,1.5fr)"));
  if (model.has("r.line")) columns.push({ ...count("line", "line", row.line, "7ch"), isCount: false, text: (at) => String(row.line(at) ?? "") });
  columns.push(text("obj", "object", row.obj, "minmax(5rem,1fr)"));
  return columns;
};

/** `40 bytes`, `2 errors`. */
const findingText = (model, at) => {
  for (let event = 0; event < model.events.length; event++) {
    const own = model.figures.self(event)(at);
    if (own === null) continue;
    const { name } = model.events[event];
    return name === "count" ? `${grouped(own)}×` : `${grouped(own)} ${name}`;
  }
  return "";
};

/** The stack of the selected row, where rows have their own: innermost function first. */
const renderStack = (app, place) => {
  const { model } = app;
  const at = app.activeRow;
  const lengths = model.column("k.length");
  const has = at !== null && lengths[at] > 0 && model.isSelectedRow(app.state)(at);
  place.hidden = !has;
  if (!has) return place.replaceChildren();
  let start = 0;
  for (let row = 0; row < at; row++) start += lengths[row];
  const items = [];
  const most = 120;
  for (let frame = start; frame < start + Math.min(lengths[at], most); frame++) {
    const fn = model.column("k.fn")[frame];
    const site = model.data.text(model.column("k.site")[frame]) || model.fn.file(fn);
    const line = model.column("k.line")[frame];
    items.push(h("li", {}, app.link(fn), h("span", { class: "place" }, ` ${visible(site)}${line ? `:${line}` : ""}`)));
  }
  if (lengths[at] > most) items.push(h("li", {}, `${lengths[at] - most} more frames`));
  place.replaceChildren(h("h2", {}, "Stack of the selected row"), h("ol", {}, ...items));
};
