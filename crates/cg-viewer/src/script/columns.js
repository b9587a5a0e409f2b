// The columns of the table: the set of columns, the shown columns, and the cells of a row.

/**
 * @typedef {object} TableColumn
 * @property {string} key
 * @property {string} title
 * @property {boolean} isCount
 * @property {string} width a track of a grid
 * @property {boolean} isUsual shown by default if there is room
 * @property {boolean} isFirst shown even in the narrowest window
 * @property {((group: Group) => any) | null} sum the sum over rows; null if the column does not add up
 * @property {(row: number) => any} value
 * @property {(value: any, total: any) => string} show
 * @property {boolean} hasBar
 * @property {string} givesWay the prefix in `GIVE_WAY` that selects when the column is hidden
 */

/** The order in which columns are hidden if there is no room. */
const GIVE_WAY = ["x.", "obj", "event.", "file", "line", "status", "whose", "calls", "what", "incl", "old", "new", "kind"];

/** The width in pixels below which only the first columns are shown. */
const NARROW = 700;

/** The maximum number of other events with columns by default. */
const USUAL_OTHERS = 2;

/** @returns {{all: TableColumn[], shown: TableColumn[]}} */
const tableColumns = (app, width) => {
  const all = allColumns(app, width > NARROW);
  const { name } = parseSort(app.state.sort || usualSort(app.model));
  return { all, shown: shownColumns(all, { chosen: parseColumns(app.state.cols), sort: name, width }) };
};

/** The chosen columns, or else the columns that fit. Always includes the function and the sorted column. */
const shownColumns = (all, { chosen, sort, width }) => {
  const stays = ({ key }) => key === "fn" || key === sort;
  if (all.some(({ key }) => chosen.has(key))) return all.filter((column) => chosen.has(column.key) || stays(column));
  const shown = all.filter((column) => (width > NARROW ? column.isUsual : column.isFirst) || stays(column));
  for (const key of GIVE_WAY) {
    for (let at = shown.length - 1; at > 0; at--) {
      if (leastWidth(shown) <= width) return shown;
      if (shown[at].givesWay.startsWith(key) && !stays(shown[at])) shown.splice(at, 1);
    }
  }
  return shown;
};

/** The number of pixels that columns need. @param {TableColumn[]} columns */
const leastWidth = (columns) => {
  const least = ({ width }) => (width.endsWith("ch") ? parseFloat(width) * 7.8 : parseFloat(width.slice(7)) * 16) + 13;
  return columns.reduce((sum, column) => sum + least(column), 16);
};

/** The keys of columns in the form of the address. Encodes commas in a key. @param {string[]} keys */
const printColumns = (keys) => keys.map((key) => key.replace(/[%,]/g, encodeURIComponent)).join(",");

/** @param {string} text */
const parseColumns = (text) => new Set(text.split(",").map((key) => key.replace(/%25|%2C/g, decodeURIComponent)));

const allColumns = (app, isWide) => {
  const { model } = app;
  const { row } = model;
  const event = app.eventIndex;
  const figures = figuresOf(model, event);
  const name = model.events[event]?.name ?? "";
  const column = (key, title, value, width, more) => ({
    key, title, value, width, isCount: false, isUsual: true, isFirst: false, sum: null, hasBar: false, givesWay: key, show: (text) => visible(text), ...more,
  });
  const count = (key, title, value, width, more = {}) => column(key, title, value, width, { isCount: true, show: grouped, ...more });
  const adds = (value) => ({ sum: (group) => groupSum(model, group, value) });
  const figure = (key, title, value, more = {}) => count(key, title, value, isWide ? "22ch" : "17ch", { show: figureText, hasBar: true, ...more });
  if (!model.events.length) return otherColumns(model, column);
  const columns = [];
  if (model.isDiff) {
    columns.push(count("delta", `${name} delta`, figures.delta, "13ch", { show: signed, isFirst: true, sum: (group) => groupDelta(model, group, event) }),
      count("old", "old", figures.old, "12ch", adds(figures.old)), count("new", "new", figures.self, "12ch", adds(figures.self)), column("status", "status", row.status, "9ch"));
  } else if (model.isFindings) {
    columns.push(count("self", "figure", (at) => findingText(model, at), isWide ? "16ch" : "12ch", { show: (text) => text, isFirst: true }));
    columns.push(column("kind", "kind", row.kind, isWide ? "16ch" : "9ch", { isFirst: true }));
  } else columns.push(figure("self", name, figures.self, { isFirst: true, ...adds(figures.self) }));
  if (!model.isFindings && model.has(`r.${model.isDiff ? "incl.new" : "incl"}.${event}`) && !model.isInclusive) columns.push(figure("incl", `incl. ${name}`, figures.incl));
  columns.push(...eventColumns(app, count, adds));
  if (model.has("r.calls") || model.has("r.calls.new")) columns.push(count("calls", "calls", row.calls, "10ch"));
  columns.push(column("fn", "function", row.fn, "minmax(9rem,3fr)", { show: nameText, isFirst: true }));
  if (model.has("r.what")) columns.push(column("what", "what", row.what, "minmax(8rem,2fr)"));
  columns.push(column("whose", "whose", row.whose, "11ch"), column("file", "file", row.file, "minmax(6rem,1.5fr)"));
  if (model.has("r.line")) columns.push(column("line", "line", row.line, "7ch", { show: (line) => String(line ?? "") }));
  columns.push(column("obj", "object", row.obj, "minmax(5rem,1fr)"), ...otherColumns(model, column));
  return columns;
};

/** The columns for the costs of other events. */
const eventColumns = (app, count, adds) => {
  const { model } = app;
  const others = model.events.map(({ name }, event) => ({ name, event })).filter(({ event }) => event !== app.eventIndex);
  return others.map(({ name, event }, at) => {
    const value = model.figures.self(event);
    return count(`event.${name}`, model.isDiff ? `new ${name}` : name, value, "12ch", { isUsual: at < USUAL_OTHERS && !model.isFindings, ...adds(value) });
  });
};

/** The columns that are specific to a format. If rows have no cost, there are no other columns of figures. */
const otherColumns = (model, column) => model.others.map(({ name, title, form, value }) => {
  const show = { text: visible, count: grouped, ratio: (hundredths) => (hundredths === null ? "" : (Number(hundredths) / 100).toFixed(2)) }[form];
  const isAll = model.events.length === 0;
  return column(name, title, value, form === "text" ? "minmax(9rem,2fr)" : "12ch", { isCount: form !== "text", isFirst: isAll, givesWay: isAll ? name : "x.", show });
});

/** The figures of rows. */
const figuresOf = (model, event) => ({
  self: model.isFindings ? findingFigure(model) : model.figures.self(event), incl: model.figures.incl(event),
  old: model.figures.old(event), delta: model.delta(event),
});

/** The figure of a finding: its first event. Errors have a count, leaks have bytes. */
const findingFigure = (model) => {
  const known = model.events.map((_, event) => model.figures.self(event));
  return (row) => {
    for (const figure of known) if (figure(row) !== null) return figure(row);
    return null;
  };
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
