// The model of the data: rows, functions, totals, filters, order, search.

/** Digits in groups of three. @param {number | bigint | string | null | undefined} count */
const grouped = (count) => {
  if (count === null || count === undefined) return "";
  const text = String(count);
  return text.length < 4 ? text : text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
};

/** A share as a percentage with two decimals, in the form of all tools. @param {number} share */
const percentText = (share) => (Number.isFinite(share) ? `${(share * 100).toFixed(2)}%` : "");

/** Spells out control characters, in the form of all tools. @param {string} text */
const visible = (text) =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) =>
    c === "\n" ? "\\n" : c === "\t" ? "\\t" : c === "\r" ? "\\r" : `\\u{${c.charCodeAt(0).toString(16)}}`);

const NAMELESS = "???";

/** The number of callers in a cell, and the length of their names. */
const MOST_CALLERS = 5, CALLER_LETTERS = 24;

/** The class of the cost that no row has: a difference lacks the rows that did not change. */
const UNLISTED = "unlisted";

/** The order of kinds of findings: errors first. */
const KINDS = ["definite", "indirect", "possible", "reachable"];

/** @param {Data} data */
const makeModel = (data) => {
  const { header } = data;
  const zero = header.big ? 0n : 0;
  const count = (value) => (value === null || value === undefined ? null : header.big ? BigInt(value) : Number(value));
  const events = header.events.map(([name, totals, words = name, isTime = false]) => ({ name, words, isTime, totals: totals.map(count) }));
  const isDiff = Boolean(header.runs);
  const rows = header.rows;
  const column = (name) => data.array(name) ?? [];
  const texts = (name) => {
    const ids = column(name);
    return (row) => (ids.length ? data.text(ids[row]) : "");
  };
  const numbers = (name) => {
    const known = column(name);
    return (row) => known[row] ?? null;
  };
  // Functions by id.
  const fnName = texts("f.name"), fnFile = texts("f.file"), fnObj = texts("f.obj");
  const fn = {
    count: column("f.name").length, name: fnName, file: fnFile, obj: fnObj,
    whose: (id) => header.whose[column("f.whose")[id] ?? 0] ?? "own",
    shown: (id) => visible(fnName(id)) || NAMELESS, forms: (_) => /** @type {string[]} */ ([]),
  };
  addForms(fn, data);
  const functions = column("r.function"), bounds = texts(`x.${BOUND}`);
  const row = {
    fn: (at) => fn.name(functions[at]), file: (at) => fn.file(functions[at]), obj: (at) => fn.obj(functions[at]),
    function: (at) => functions[at], whose: (at) => fn.whose(functions[at]), kind: texts("r.kind"), what: texts("r.what"),
    status: (at) => statusOf(at), line: numbers("r.line"), snapshot: numbers("r.snapshot"),
    calls: numbers(isDiff ? "r.calls.new" : "r.calls"), oldCalls: numbers("r.calls.old"), callers: (at) => callersOf(at),
    /** @type {(at: number) => boolean} true if the inclusive cost is an upper bound */
    isBound: (at) => bounds(at) !== "",
  };
  const recordedStatus = texts("r.status");
  const of = (part) => (event) => numbers(`r.${part}.${event}`);
  /** Returns the costs by function in the part of the profile that is shown; null if the whole is shown. @type {{costs: ((event: number) => any) | null}} */
  const shownPart = { costs: null };
  /** Two snapshots that are compared, by the row that represents both; null if none are compared. @type {{key: string, rows: Map<number, any> | null, event: number}} */
  const pair = { key: "", rows: null, event: 0 };
  const orOfPart = (part, usual) => (event) => {
    if (!shownPart.costs) return usual(event);
    const costs = shownPart.costs(event)[part];
    return (at) => costs?.get(functions[at]) ?? null;
  };
  const ofSelf = of(isDiff ? "new" : "self");
  const orOfPair = (side, usual) => (event) => (pair.rows ? (at) => ofRow(ofSelf(event), pair.rows.get(at)?.[side]) : usual(event));
  const ofRow = (count, at) => (at === null || at === undefined ? null : count(at));
  const figures = {
    plain: ofSelf, self: orOfPair("now", orOfPart("self", ofSelf)), incl: orOfPart("incl", of(isDiff ? "incl.new" : "incl")),
    old: orOfPair("old", orOfPart("old", of("old"))), oldIncl: orOfPart("oldIncl", of("incl.old")),
  };
  /** The figures of each run, if there are more than two. */
  const runs = header.runs?.length > 2 ? header.runs.map((name, run) => ({ name, key: `run.${run + 1}`, value: of(`run.${run}`) })) : [];
  /** The functions in the stack of a row; null if rows have no stacks of their own. */
  const stackOf = stacksOfRows(column);
  /** The own names of the nearest callers in the stack of a row. */
  const callersOf = (at) => {
    const stack = stackOf?.(at) ?? [];
    const from = stack.indexOf(functions[at]) + 1;
    return stack.slice(from, from + MOST_CALLERS).map((id) => fittedForm(fn.forms(id), (form) => form.length <= CALLER_LETTERS)).join(" ← ");
  };
  // Arcs are compared only by inclusive cost, because they have no self cost.
  const isInclusive = isDiff && !column("r.old.0").length && !column("r.new.0").length;
  if (isInclusive) [figures.self, figures.old] = [figures.incl, figures.oldIncl];
  const has = (name) => column(name).length > 0;
  const isBelowThreshold = (at) => row.status(at) === "below-threshold";
  const delta = (event) => {
    // A change is unknown if one of the runs does not count the event.
    if (header.notCompared?.includes(events[event]?.name)) return () => null;
    const [before, after] = [figures.old(event), figures.self(event)];
    return (at) => ((before(at) === null && after(at) === null) || isBelowThreshold(at) ? null : (after(at) ?? zero) - (before(at) ?? zero));
  };
  /** The change of a row's share of the totals, in percentage points. */
  const points = (event) => {
    const shares = [figures.old, figures.self].map((of, side) => {
      const [value, whole] = [of(event), Number(events[event]?.totals[side])];
      return (at) => (whole ? (100 * Number(value(at) ?? 0)) / whole : 0);
    });
    const change = delta(event);
    return (at) => (change(at) === null ? null : shares[1](at) - shares[0](at));
  };
  /** The greatest change between any two runs. A run without the row has no cost. */
  const spread = (event) => {
    const values = runs.map((run) => run.value(event));
    return (at) => (isBelowThreshold(at) ? null : spreadOf(values.map((value) => value(at) ?? zero)));
  };
  const statusOf = (at) => {
    if (!pair.rows) return recordedStatus(at);
    const own = pair.rows.get(at);
    return own ? comparedStatus(own, figures.self(pair.event)(at), figures.old(pair.event)(at)) : "";
  };
  const others = header.others.map(([name, title, form]) => ({
    name, title, form, value: form === "text" ? texts(`x.${name}`) : numbers(`x.${name}`),
  }));
  /** @type {Map<string, number[]> | null} */
  let byName = null;
  const functionsNamed = (name) => {
    if (!byName) {
      byName = new Map();
      for (let id = 0; id < fn.count; id++) {
        const known = byName.get(fnName(id));
        if (known) known.push(id);
        else byName.set(fnName(id), [id]);
      }
    }
    return byName.get(name) ?? [];
  };
  const narrow = (state) => (file, obj) =>
    (state.file === null || state.file === file) && (state.obj === null || state.obj === obj);
  const addressOf = (name, file, obj) => {
    const ids = functionsNamed(name);
    const files = new Set(ids.map(fn.file)), objs = new Set(ids.map(fn.obj));
    return { fn: name, file: files.size > 1 ? file : null, obj: objs.size > 1 ? obj : null, finding: "" };
  };
  return {
    data, header, zero, count, events, isDiff, rows, row, figures, runs, shownPart, pair, delta, points, spread, isBelowThreshold, others, fn, has, column, isInclusive, functionsNamed,
    isFindings: header.findings, stackOf,
    /** The number of records that a row stands for. */
    records: (at) => column("r.records")[at] ?? 1,
    /** The ids of the selected functions. */
    selected: (state) => {
      if (state.fn === null) return [];
      const fits = narrow(state);
      const ids = functionsNamed(state.fn);
      const narrowed = ids.filter((id) => fits(fn.file(id), fn.obj(id)));
      return narrowed.length ? narrowed : ids;
    },
    isSelectedRow: (state) => {
      if (state.finding !== "") return (at) => String(at) === state.finding;
      if (state.fn === null) return () => false;
      const fits = narrow(state);
      return (at) => row.fn(at) === state.fn && fits(row.file(at), row.obj(at));
    },
    addressOf: (id) => addressOf(fnName(id), fnFile(id), fnObj(id)),
    /** The parts of a state that distinguish a function from others with the same name. */
    address: addressOf,
  };
};

/** The difference between the largest and the smallest count. */
const spreadOf = (counts) => {
  const sorted = counts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[sorted.length - 1] - sorted[0];
};

/** Adds the forms of each name, from the full name to the shortest. The writer of the page shortens names by their structure. */
const addForms = (fn, data) => {
  const [forms, cuts, kept, cut] = ["n.forms", "n.cuts", "n.kept", "n.cut"].map((name) => data.array(name) ?? []);
  const [firstForms, firstCuts] = [startsOf(forms), startsOf(cuts)];
  const formOf = (name, form) => {
    let text = "", from = 0;
    for (let at = firstCuts[form]; at < firstCuts[form + 1]; at++) {
      // If the last bit is set, `…` replaces the cut text.
      text += name.slice(from, from + kept[at]) + (cut[at] % 2 ? "…" : "");
      from += kept[at] + (cut[at] >> 1);
    }
    return visible(text + name.slice(from));
  };
  const known = new Array(fn.count);
  fn.forms = (id) => (known[id] ??= [fn.shown(id), ...Array.from({ length: forms[id] ?? 0 }, (_, at) => formOf(fn.name(id), firstForms[id] + at))]);
};

/** The column that rows are sorted by unless the user chooses another one. */
const usualSort = (model) => (model.header.shares ? "points" : model.runs.length ? "spread" : model.isDiff ? "delta" : "self");

/** Parses an order into its column and its direction; `turned` is true if the order is reversed. @param {string} sort */
const parseSort = (sort) => {
  const turned = sort.startsWith("-");
  return { turned, name: turned ? sort.slice(1) : sort };
};

/** Sorts rows. Rows with equal keys keep the order of the input. */
const orderRows = (model, rows, { sort, event }) => {
  const { turned, name } = parseSort(sort || usualSort(model));
  const key = sortKey(model, name, event);
  if (!key) return turned ? rows.slice().reverse() : rows;
  const keys = new Array(model.rows);
  for (const at of rows) keys[at] = key.value(at);
  return sortByKeys(rows, keys, key.isCount !== turned);
};

/** Sorts numbers by their entries in `keys`, down or up. Numbers without an entry are last in both directions. @param {number[]} items */
const sortByKeys = (items, keys, down) => {
  const isNone = (value) => value === null || value === "";
  return items.slice().sort((a, b) => {
    const x = keys[a], y = keys[b];
    if (x === y) return a - b;
    if (isNone(x) || isNone(y)) return isNone(x) ? (isNone(y) ? a - b : 1) : -1;
    return (x < y) === down ? 1 : x > y || x < y ? -1 : a - b;
  });
};

/** @returns {{value: (row: number) => any, isCount: boolean} | null} null for the order of the input */
const sortKey = (model, name, event) => {
  const { row, figures } = model;
  const size = (value) => (at) => {
    const own = value(at);
    return own === null ? null : own < 0 ? -own : own;
  };
  const counts = {
    self: figures.self(event), incl: figures.incl(event), new: figures.self(event), old: figures.old(event),
    delta: size(model.delta(event)), calls: row.calls, ...(model.header.shares ? { points: size(model.points(event)) } : {}), ...(model.runs.length ? { spread: model.spread(event) } : {}),
  };
  if (model.isFindings && name === "self") return null;
  if (Object.hasOwn(counts, name)) return { value: counts[name], isCount: true };
  const texts = { fn: row.fn, file: row.file, obj: row.obj, whose: row.whose, callers: row.callers, what: row.what, status: row.status };
  if (Object.hasOwn(texts, name)) return { value: texts[name], isCount: false };
  if (name === "line") return { value: row.line, isCount: false };
  if (name === "kind") return { value: (at) => severity(row.kind(at)) + row.kind(at), isCount: false };
  const ofEvent = model.events.findIndex((known) => `event.${known.name}` === name);
  if (ofEvent >= 0) return { value: figures.self(ofEvent), isCount: true };
  const run = model.runs.find((one) => one.key === name);
  if (run) return { value: run.value(event), isCount: true };
  const other = model.others.find((one) => one.name === name);
  return other ? { value: other.value, isCount: other.form !== "text" } : null;
};

/** The position of a kind of finding in the order: errors first. @param {string} kind */
const severity = (kind) => {
  const at = KINDS.indexOf(kind);
  return at + 1;
};

/** Returns the rows that pass the filters, in the order of the input. */
const filterRows = (model, state, snapshot, { matcher = matcherOf(state.q), narrowing = null } = {}) => {
  const { row } = model;
  const whose = state.whose ? new Set(state.whose.split(",")) : null;
  const matches = matcher.isActive ? functionMatcher(model, matcher) : null;
  const hasSnapshots = model.has("r.snapshot") && (snapshot !== null || model.header.levels);
  const kept = [];
  for (let at = 0; at < model.rows; at++) {
    if (model.pair.rows ? !model.pair.rows.has(at) : hasSnapshots && row.snapshot(at) !== snapshot) continue;
    if (narrowing && !rowPasses(model, at, narrowing)) continue;
    if (whose && !whose.has(row.whose(at))) continue;
    if (matches && !matches(row.function(at))) continue;
    kept.push(at);
  }
  return kept;
};

/** True if a row has cost in the part of the profile that is shown. A row with a stack of its own passes if the stack does. */
const rowPasses = (model, at, narrowing) => {
  if (model.stackOf) return stackPasses(narrowing, model.stackOf(at));
  if (!model.shownPart.costs) return true;
  const fn = model.row.function(at);
  return model.events.some((_, event) => {
    const { incl, oldIncl } = model.shownPart.costs(event);
    return incl.get(fn) || oldIncl?.get(fn);
  });
};

/** Returns the function that gives the functions of a row's stack, innermost first; null if rows have no stacks. */
const stacksOfRows = (column) => {
  const lengths = column("k.length"), stacks = column("r.stack");
  if (!lengths.length && !stacks.length) return null;
  const functions = column("k.fn"), ofHeap = column("h.fn");
  const starts = startsOf(lengths), heapStarts = startsOf(column("h.length"));
  return (at) => {
    const stack = stacks[at];
    return stack === null || stack === undefined ? functions.slice(starts[at], starts[at + 1]) : ofHeap.slice(heapStarts[stack], heapStarts[stack + 1]);
  };
};

/** The cost of each class of code over the rows of a snapshot; for findings, their number. */
const sumsByWhose = (model, event, snapshot, narrowing = null) => {
  const { row } = model;
  const sums = new Map(model.header.whose.map((word) => [word, model.zero]));
  if (model.shownPart.costs) {
    for (const [fn, cost] of model.shownPart.costs(event).self) sums.set(model.fn.whose(fn), sums.get(model.fn.whose(fn)) + cost);
    return sums;
  }
  const self = model.figures.self(event);
  // A diff contains only the changed rows, so the header has the sums over all rows.
  const known = narrowing ? null : model.header.sums?.[event];
  if (known) return new Map(model.header.whose.map((word, at) => [word, model.count(known[at])]));
  for (let at = 0; at < model.rows; at++) {
    if (snapshot !== null && model.has("r.snapshot") && row.snapshot(at) !== snapshot) continue;
    if (narrowing && !rowPasses(model, at, narrowing)) continue;
    sums.set(row.whose(at), sums.get(row.whose(at)) + (model.isFindings ? model.count(model.records(at)) : (self(at) ?? model.zero)));
  }
  return sums;
};
