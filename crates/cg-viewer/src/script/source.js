// The source of the selection with its costs. A diff shows both sides next to each other.

/** The maximum number of shown lines. If there are more, shows the lines around costs. */
const MOST_LINES = 900;
/** The maximum number of links to callees. More links would make the page slow. */
const MOST_LINKS = 100;

const sourcePane = (app) => {
  const { model, code } = app;
  const heading = h("h2", {});
  const note = h("p", "note");
  const lines = h("div", "lines");
  const pane = h("section", { "data-view": "source", "aria-label": "Source" },
    h("div", { class: "scroller pad", tabindex: 0 }, heading, note, lines));

  /** The first selected function that has lines. */
  const chosen = () => app.selected().find((fn) => code.lines(fn).length > 0);
  const missing = "The profile has no lines of this function.";

  const update = () => {
    const fn = chosen();
    delete pane.dataset.elsewhere;
    delete pane.dataset.oldElsewhere;
    lines.replaceChildren();
    if (fn === undefined) {
      showHeading(app, heading, "No function is selected");
      note.textContent = app.state.fn === null ? "Select one to see its lines." : missing;
      return;
    }
    const now = functionLines(code, fn, app.eventIndex, newest(model));
    showHeading(app, heading, "");
    const before = model.isDiff ? functionLines(code, fn, app.eventIndex, 0) : null;
    pane.dataset.elsewhere = String(now.elsewhere);
    if (before) pane.dataset.oldElsewhere = String(before.elsewhere);
    const sentences = [visible(now.file)];
    if (!app.narrowing.isWhole) sentences.push("The lines have the costs of the whole profile.");
    if (now.elsewhere || before?.elsewhere) {
      const figure = ({ elsewhere }) => eventFigure(model, app.eventIndex, elsewhere);
      sentences.push(`${before ? `${figure(before)} of its old and ${figure(now)} of its new cost are` : `${figure(now)} of its cost is`} in lines of other files, which were inlined.`);
    }
    if (!now.rows.some((row) => row.text !== null)) sentences.push("The file was not found where the page was written (--source=DIR).");
    else if (before && before.file === now.file) sentences.push("Both runs name this file. The text is the version that existed when the page was written.");
    const hasLines = now.rows.length || before?.rows.length;
    note.textContent = hasLines ? sentences.join(" · ") : missing;
    const rows = before ? alignLines(before.rows, now.rows) : now.rows.map((row) => [null, row]);
    const most = rows.reduce((max, [, row]) => Math.max(max, Number(row?.self ?? 0)), 0);
    const kept = nearCosts(rows);
    const parts = [];
    const links = { left: MOST_LINKS };
    let last = -1;
    const show = (row) => parts.push(sourceLine(app, row, { isDiff: before !== null, most, links }));
    for (const at of kept) {
      if (last >= 0 && at > last + 1) parts.push(h("div", "gap", "⋯"));
      last = at;
      show(rows[at]);
    }
    const left = leftOut(model, rows, kept);
    if (left) show(left);
    lines.replaceChildren(...parts);
  };
  return { view: "source", pane, update, clear: () => lines.replaceChildren() };
};

/** The positions of the shown lines: all lines, or the lines around costs if there are too many. */
const nearCosts = (rows) => {
  const all = rows.map((_, at) => at);
  if (rows.length <= MOST_LINES) return all;
  const has = ([before, now]) => before?.self || now?.self || now?.calls.length;
  const near = all.filter((at) => rows.slice(Math.max(0, at - 2), at + 3).some(has));
  if (near.length <= MOST_LINES) return near;
  const cost = (at) => Number(rows[at][1]?.incl ?? rows[at][0]?.incl ?? 0);
  return near.sort((a, b) => cost(b) - cost(a)).slice(0, MOST_LINES).sort((a, b) => a - b);
};

/** A row for the costs of the lines that are not shown; null if there are none. */
const leftOut = (model, rows, kept) => {
  const isKept = new Set(kept);
  const left = rows.filter((row, at) => !isKept.has(at) && row.some((line) => line?.self));
  const line = (side) => ({ number: null, text: `${grouped(left.length)} more lines`, self: left.reduce((sum, row) => sum + (row[side]?.self ?? model.zero), model.zero), incl: null, calls: [] });
  return left.length ? [line(0), line(1)] : null;
};

/** Creates a line. Figures, number and code are one text in a monospaced font, which saves elements. */
const sourceLine = (app, [before, now], { isDiff, most, links }) => {
  const whole = app.wholeTotal;
  const figure = (value) => eventFigure(app.model, app.eventIndex, value);
  const text = visible((now?.text ?? before?.text ?? "").replace(/\t/g, "    "));
  const heat = most && now?.number ? Number(now.self ?? 0) / most : 0;
  const change = isDiff && (!before || !now) ? (now ? " added" : " removed") : "";
  const dataText = (value) => (value === null || value === undefined ? "" : String(value));
  const line = h("div", { class: `line${change}`, style: heat ? `--heat:${heat.toFixed(4)}` : null });
  if (isDiff) {
    Object.assign(line.dataset, { oldLine: dataText(before?.number), newLine: dataText(now?.number), old: dataText(before?.self), new: dataText(now?.self) });
    line.append(`${figure(before?.self).padStart(13)} ${dataText(before?.number).padStart(5)} ${figure(now?.self).padStart(13)} ${dataText(now?.number).padStart(5)}  ${text}`);
  } else {
    Object.assign(line.dataset, { line: dataText(now.number), self: dataText(now.self), incl: dataText(now.incl) });
    line.append(`${figureText(app.model, app.eventIndex, now.self, whole).padStart(21)} ${dataText(now.number).padStart(5)}  ${text}`);
  }
  for (const call of now?.calls ?? []) {
    if (links.left-- <= 0) break;
    line.append("  → ", app.link(call.fn), ` ${grouped(call.calls)}× ${figure(call.incl)}`);
  }
  return line;
};
