// The columns of the table: the set of columns, the shown columns, and the cells of a row.

/**
 * @typedef {object} TableColumn
 * @property {string} key
 * @property {string} title
 * @property {string} hint the title in full
 * @property {string} saved the name in CSV; empty if the column is not saved
 * @property {boolean} isCount
 * @property {string} width a track of a grid
 * @property {boolean} isUsual shown by default if there is room
 * @property {boolean} isFirst shown even in the narrowest window
 * @property {((group: Group) => any) | null} sum the sum over rows; null if the column does not add up
 * @property {(row: number) => any} value
 * @property {(value: any, total: any, row?: number) => string} show
 * @property {((value: any, entry: number) => any) | null} element the contents of the cell, if it is more than a text
 * @property {boolean} hasBar
 * @property {string} givesWay the prefix in `GIVE_WAY` that selects when the column is hidden
 */

/** The order in which columns are hidden if there is no room. */
const GIVE_WAY = ["x.", "obj", "event.", "status", "line", "whose", "calls", "what", "callers", "file", "incl", "run.", "old", "new", "kind"];

/** The width in pixels below which only the first columns are shown. */
const NARROW = 700;

/** The maximum number of other events with columns by default. */
const USUAL_OTHERS = 2;

/** The column that marks inclusive costs that are upper bounds. The costs have a `≤`, so the column is for CSV. */
const BOUND = "incl_bound";

/** The least and most width of file names, in characters. */
const FILE_WIDTH = [12, 30];

/** @returns {{all: TableColumn[], shown: TableColumn[]}} */
const tableColumns = (app, width) => {
  const all = allColumns(app, width > NARROW);
  const { name } = parseSort(app.state.sort || usualSort(app.model));
  return { all, shown: shownColumns(all, { chosen: parseColumns(app.state.cols), sort: name, width, isEmpty: emptyColumns(app) }) };
};

/** True if no row has a value in a column, or if all rows have the same object. @returns {(column: TableColumn) => boolean} */
const emptyColumns = (app) => {
  const rows = app.shown.length ? app.shown : app.ordered;
  return (column) => {
    const first = rows.length ? column.value(rows[0]) : null;
    if (column.key === "obj") return rows.every((row) => column.value(row) === first);
    return !rows.some((row) => {
      const value = column.value(row);
      return value !== null && value !== "" && value !== undefined;
    });
  };
};

/** The chosen columns, or else the columns that fit and are not empty. Always includes the function and the sorted column. */
const shownColumns = (all, { chosen, sort, width, isEmpty = (_) => false }) => {
  const stays = ({ key }) => key === "fn" || key === sort;
  if (all.some(({ key }) => chosen.has(key))) return all.filter((column) => chosen.has(column.key) || stays(column));
  const shown = all.filter((column) => stays(column) || ((width > NARROW ? column.isUsual : column.isFirst) && !isEmpty(column)));
  for (const key of GIVE_WAY) {
    for (let at = shown.length - 1; at > 0; at--) {
      if (leastWidth(shown) <= width) return shown;
      if (shown[at].givesWay.startsWith(key) && !stays(shown[at])) shown.splice(at, 1);
    }
  }
  return shown;
};

/** The width of a digit in the table, in pixels. */
let digitWidth = 7.8;

/** Measures a digit in the font of an element. */
const measureDigit = (element) => {
  const probe = h("span", { style: "position:absolute;visibility:hidden;width:100ch" });
  element.append(probe);
  digitWidth = probe.offsetWidth / 100 || digitWidth;
  probe.remove();
};

/** The number of pixels that columns need. @param {TableColumn[]} columns */
const leastWidth = (columns) => {
  const least = ({ width }) => (width.endsWith("ch") ? parseFloat(width) * digitWidth : parseFloat(width.slice(7)) * (width.includes("ch") ? digitWidth : 16)) + 13;
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
  const { name = "", words = "" } = model.events[event] ?? {};
  const column = (key, title, value, width, more) => ({
    key, title, hint: title, saved: key, value, width, isCount: false, isUsual: true, isFirst: false, sum: null, hasBar: false, givesWay: key, show: (text) => visible(text), element: null, ...more,
  });
  const count = (key, title, value, width, more = {}) => column(key, title, value, width, { isCount: true, show: grouped, ...more });
  const adds = (value) => ({ sum: (group) => groupSum(model, group, value) });
  const ofEvent = { show: (value) => eventFigure(model, event, value) };
  const withShare = { show: (value, total) => figureText(model, event, value, total), hasBar: true };
  const widthOf = (title, least) => `${Math.max(least, title.length + 3)}ch`;
  const figure = (key, title, value, more = {}) => count(key, title, value, isWide ? widthOf(title, 20) : "17ch", { ...withShare, ...more });
  if (!model.events.length) return otherColumns(model, column, isWide);
  const others = otherColumns(model, column);
  // The benchmark precedes the figures.
  const columns = others.filter(({ key }) => key === "bench");
  if (model.isDiff) {
    const runWidth = `${Math.max(10, eventFigure(model, event, model.events[event].totals.reduce((most, one) => (one > most ? one : most), model.zero)).length + 1)}ch`;
    const most = greatestChange(app, figures);
    const isShares = model.header.shares;
    const points = model.points(event);
    if (isShares) columns.push(count("points", "points", points, "10ch", { hint: "the change of the share of the total, in percentage points", saved: `${name}.points`, isFirst: true, show: pointsText, sum: (group) => groupPoints(group, points) }));
    columns.push(count("delta", `${words} change`, figures.delta, isWide ? "32ch" : `${signedFigure(model, event, most).length + 12}ch`, {
      saved: `${name}.delta`, show: (value) => signedFigure(model, event, value), isFirst: !isShares && !model.runs.length, sum: (group) => groupDelta(model, group, event), element: deltaCell(app, figures, Number(most) || 1, isWide),
    }));
    if (model.runs.length && !isShares) columns.push(count("spread", "largest change", model.spread(event), "18ch", { hint: "the greatest change between any two runs", saved: "", isFirst: true, show: ofEvent.show, sum: (group) => groupSpread(model, group, event) }));
    const titles = runTitles(model.runs.map((run) => run.name));
    if (model.runs.length) columns.push(...model.runs.map((run, at) => count(run.key, titles[at], run.value(event), `minmax(${runWidth},${titles[at].length + 2}ch)`, { ...ofEvent, hint: visible(run.name), saved: `${name}.${run.name}`, givesWay: "run.", ...adds(run.value(event)) })));
    else columns.push(count("old", `old ${words}`, figures.old, widthOf(`old ${words}`, 14), { ...ofEvent, saved: `${name}.old`, ...adds(figures.old) }), count("new", `new ${words}`, figures.self, widthOf(`new ${words}`, 14), { ...ofEvent, saved: `${name}.new`, givesWay: "new", ...adds(figures.self) }));
    columns.push(column("status", "status", row.status, "9ch"));
    if (model.has("r.kind")) columns.push(column("kind", "kind", row.kind, "12ch", { isFirst: true }));
  } else if (model.isFindings) {
    columns.push(count("self", "found", (at) => findingText(model, at), isWide ? "16ch" : "12ch", { isFirst: true, show: (text) => text }), column("kind", "kind", row.kind, isWide ? "16ch" : "12ch", { isFirst: true }));
  } else columns.push(figure("self", words, figures.self, { saved: name, isFirst: true, ...adds(figures.self) }));
  if (!model.isFindings && model.has(`r.${model.isDiff ? "incl.new" : "incl"}.${event}`) && !model.isInclusive) columns.push(figure("incl", `${words}, inclusive`, figures.incl, { saved: `incl.${name}`, show: (value, total, at) => figureText(model, event, value, total, row.isBound(at)) }));
  columns.push(...eventColumns(app, count, adds));
  if (model.has("r.calls") || model.has("r.calls.new")) columns.push(count("calls", "calls", row.calls, "10ch"));
  columns.push(column("fn", "function", row.fn, isWide ? "minmax(19rem,6fr)" : "minmax(9rem,6fr)", { show: nameText, isFirst: true }));
  if (model.stackOf) columns.push(column("callers", "called by", row.callers, "minmax(12rem,4fr)", { saved: "" }));
  if (model.has("r.what")) columns.push(column("what", "what", row.what, "minmax(8rem,2fr)"));
  columns.push(column("whose", "whose", row.whose, "11ch"), column("file", "file", row.file, `minmax(${fileWidth(app)}ch,1.5fr)`, { element: pathCell }));
  if (model.has("r.line")) columns.push(column("line", "line", row.line, "7ch", { show: (line) => String(line ?? "") }));
  columns.push(column("obj", "object", row.obj, "minmax(11rem,1fr)", { element: pathCell }), ...others.filter((one) => !columns.includes(one)));
  return columns;
};

/** The headings of runs: the last part of their paths that is different in all of them. */
const runTitles = (names) => {
  const parts = names.map((name) => name.split("/").reverse());
  const place = parts[0]?.findIndex((_, at) => new Set(parts.map((one) => one[at])).size === names.length) ?? -1;
  return names.map((name, run) => visible(parts[run][place] || name));
};

/** The width of the longest file name, in characters. */
const fileWidth = (app) => {
  const { model } = app;
  model.fileWidth ??= model.column("f.file").reduce((most, _, id) => Math.max(most, model.fn.file(id).split("/").pop().length + 2), FILE_WIDTH[0]);
  return Math.min(FILE_WIDTH[1], model.fileWidth);
};

/** A path in two parts, so that the directory can be cut at its left while the file name stays. */
const pathCell = (path) => {
  const at = path.lastIndexOf("/");
  const name = visible(path.slice(at + 1));
  return at < 0 ? [name] : [h("span", "folder", h("bdi", {}, visible(path.slice(0, at)))), h("span", "base", `/${name}`)];
};

/** The size of the greatest change of a row or a group. */
const greatestChange = (app, figures) => {
  const changes = app.groups ? app.groups.map((group) => groupDelta(app.model, group, app.eventIndex)) : app.shown.map(figures.delta);
  return changes.reduce((most, one) => (one > most ? one : -one > most ? -one : most), app.model.zero);
};

/** The cell of a change: the count, its share of the old figure, and a bar from the middle. */
const deltaCell = (app, figures, most, isWide) => {
  const { model } = app;
  return (delta, entry) => {
    const group = groupOf(app.groups, entry);
    if (delta === null) return [h("span"), h("span", "percent", (group?.rows ?? [entry]).some(model.isBelowThreshold) ? "unknown" : "")];
    const at = (value) => (group ? groupSum(model, group, value) : value(entry));
    const share = changeText(delta, at(figures.old), at(figures.self));
    const p = Number(delta) / most;
    const tone = toneOf(delta);
    return [
      h("span", `delta ${tone}`, signedFigure(model, app.eventIndex, delta)), h("span", `percent ${tone}`, share),
      isWide && h("span", "change-bar", h("span", { "data-bar": p.toFixed(4), class: tone, style: `left:${p < 0 ? 50 + p * 50 : 50}%;width:${Math.abs(p) * 50}%` })),
    ];
  };
};

/** A change of a share, in percentage points. */
const pointsText = (points) => (points === null ? "" : `${points > 0 ? "+" : ""}${points.toFixed(2)}`);

/** A change in percent of the old figure; words if a side is missing. */
const changeText = (delta, old, now) => {
  if (old === null || Number(old) === 0) return delta > 0 ? "new" : "";
  if (now === null) return "gone";
  const percent = (100 * Number(delta)) / Math.abs(Number(old));
  return `${percent > 0 ? "+" : ""}${grouped(percent.toFixed(Math.abs(percent) >= 1000 ? 0 : 1))} %`;
};

/** The columns for the costs of other events. */
const eventColumns = (app, count, adds) => {
  const { model } = app;
  const others = model.events.map((event, at) => ({ ...event, event: at })).filter(({ event }) => event !== app.eventIndex);
  return others.map(({ name, words, event }, at) => {
    const value = model.figures.self(event);
    return count(`event.${name}`, model.isDiff ? `new ${words}` : words, value, `${Math.max(12, words.length + (model.isDiff ? 6 : 2))}ch`, {
      saved: model.isDiff ? `${name}.new` : name, isUsual: at < USUAL_OTHERS && !model.isFindings, show: (figure) => eventFigure(model, event, figure), ...adds(value),
    });
  });
};

/** The columns of totals that are hidden in the narrowest window. */
const WIDE_TOTALS = ["description", "tool", "detail", "ratio"];

/** The columns that are specific to a format. If rows have no cost, there are no other columns of figures. */
const otherColumns = (model, column, isWide = true) => model.others.map(({ name, title, form, value }) => {
  const show = { text: visible, count: grouped, ratio: (hundredths) => (hundredths === null ? "" : (Number(hundredths) / 100).toFixed(2)) }[form];
  const isAll = model.events.length === 0;
  // The names of benchmarks are the names of rows without functions.
  const isBench = name === "bench";
  const longest = () => Array.from({ length: model.rows }, (_, row) => value(row).length).reduce((most, one) => Math.max(most, one + 1), 6);
  return column(name, (title || name).replaceAll("_", " "), value, isBench && !isAll ? `${Math.min(26, longest())}ch` : form === "text" ? `minmax(${isWide ? 9 : 6}rem,${isBench ? 6 : 2}fr)` : `${Math.max(12, title.length + 3)}ch`, { isCount: form !== "text", isUsual: name !== BOUND, isFirst: isAll && !WIDE_TOTALS.includes(name), givesWay: isAll ? name : isBench ? "kind" : "x.", show });
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
