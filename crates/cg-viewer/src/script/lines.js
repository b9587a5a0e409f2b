// Lines with their costs and calls, and the text of sources.

/** Calls and lines by function. @param {any} model */
const makeCode = (model) => {
  const index = (name) => {
    /** @type {Map<number, number[]>} */
    const of = new Map();
    model.column(name).forEach((fn, at) => {
      const known = of.get(fn);
      if (known) known.push(at);
      else of.set(fn, [at]);
    });
    return of;
  };
  const oldFiles = new Map();
  model.column("o.fn").forEach((fn, at) => oldFiles.set(fn, model.column("o.file")[at]));
  let texts = null;
  /** The lines of a file with known text. @param {number} file the id of its name */
  const textOf = (file) => {
    if (!texts) {
      texts = new Map();
      const [files, lines, ids] = ["src.file", "src.line", "src.text"].map(model.column);
      files.forEach((of, at) => {
        if (!texts.has(of)) texts.set(of, new Map());
        texts.get(of).set(lines[at], model.data.text(ids[at]));
      });
    }
    return texts.get(file) ?? new Map();
  };
  let lines = null, from = null, to = null;
  return {
    model, textOf,
    lines: (fn) => (lines ??= index("l.fn")).get(fn) ?? [],
    from: (fn) => (from ??= index("c.from")).get(fn) ?? [],
    to: (fn) => (to ??= index("c.to")).get(fn) ?? [],
    /** The file of a function; in a diff, the file in one of the runs. */
    fileOf: (fn, side) => (side === 0 && oldFiles.has(fn) ? oldFiles.get(fn) : model.column("f.file")[fn]),
  };
};

/** The side of the new run in a diff; the only side otherwise. */
const newest = (model) => (model.isDiff ? 1 : 0);

/** Returns callers and callees of functions with inclusive cost and calls, from counted calls. */
const arcsOfCalls = (code, functions, event, side) => {
  const { model } = code;
  const sides = model.column("c.side"), calls = model.column("c.calls"), incl = model.column(`c.incl.${event}`);
  const sum = (list, other) => {
    const arcs = new Map();
    for (const at of list) {
      if ((sides[at] ?? 0) !== side) continue;
      const fn = model.column(other)[at];
      const arc = arcs.get(fn) ?? { incl: model.zero, calls: model.zero };
      arc.incl += incl[at];
      arc.calls += calls[at];
      arcs.set(fn, arc);
    }
    return arcs;
  };
  return {
    callers: sum(functions.flatMap(code.to), "c.from"),
    callees: sum(functions.flatMap(code.from), "c.to"),
  };
};

/** The number of lines shown before the first and after the last line of a function. */
const AROUND = 4;

/** Returns the lines of a function in its file, with costs, calls and text, and the cost of its lines in other files. */
const functionLines = (code, fn, event, side) => {
  const { model } = code;
  const sides = model.column("l.side"), files = model.column("l.file"), numbers = model.column("l.line");
  const costs = model.column(`l.self.${event}`);
  /** @type {Map<number, {self: any, incl: any, calls: any[]}>} */
  const lines = new Map();
  let elsewhere = model.zero;
  for (const at of code.lines(fn)) {
    if ((sides[at] ?? 0) !== side) continue;
    if (files[at] !== 0 || !numbers[at]) {
      elsewhere += costs[at];
      continue;
    }
    lines.set(numbers[at], { self: costs[at], incl: costs[at], calls: [] });
  }
  for (const at of code.from(fn)) {
    if ((model.column("c.side")[at] ?? 0) !== side || model.column("c.site")[at]) continue;
    const number = model.column("c.line")[at];
    if (!number) continue;
    let line = lines.get(number);
    if (!line) lines.set(number, (line = { self: null, incl: model.zero, calls: [] }));
    const incl = model.column(`c.incl.${event}`)[at];
    line.incl += incl;
    line.calls.push({ fn: model.column("c.to")[at], incl, calls: model.column("c.calls")[at] });
  }
  const text = code.textOf(code.fileOf(fn, side));
  const listed = Array.from(lines.keys()).sort((a, b) => a - b);
  const [first, last] = [(listed[0] ?? 1) - AROUND, (listed[listed.length - 1] ?? 0) + AROUND];
  for (const number of text.keys()) {
    if (number >= first && number <= last && !lines.has(number)) listed.push(number);
  }
  listed.sort((a, b) => a - b);
  const rows = listed.map((number) => ({
    number, text: text.get(number) ?? null, self: null, incl: null, calls: [], ...lines.get(number),
  }));
  return { rows, elsewhere, file: model.data.text(code.fileOf(fn, side)) };
};

/** The maximum number of pairs of lines for an alignment. With more pairs, the old lines precede the new lines. */
const MOST_PAIRS = 4e6;

/** Aligns two lists of lines: rows with equal lines form the longest common subsequence. */
const alignLines = (old, now) => {
  // Lines without a text are equal if they have the same number.
  const equal = (a, b) => (a.text === null || b.text === null ? a.text === b.text && a.number === b.number : a.text.trim() === b.text.trim());
  const width = now.length + 1;
  if (old.length * now.length > MOST_PAIRS) return [...old.map((one) => [one, null]), ...now.map((one) => [null, one])];
  const longest = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      longest[i * width + j] = equal(old[i], now[j])
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const rows = [];
  let i = 0, j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && equal(old[i], now[j])) rows.push([old[i++], now[j++]]);
    else if (j >= now.length || (i < old.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) rows.push([old[i++], null]);
    else rows.push([null, now[j++]]);
  }
  return rows;
};
