// Comparison of the heap in two snapshots of one run. Rows are joined by their stacks.

/** The snapshots that can be compared. */
const comparable = (app) => {
  const isOne = app.model.column("r.stack").length > 0 && app.snapshots.every((one) => !one.event);
  const withTree = isOne ? app.snapshots.filter((one) => app.trees.has(one.number)) : [];
  return withTree.length > 1 ? withTree : [];
};

/** The frames of a stack, innermost first. @returns {(stack: number) => {fn: number, line: number}[]} */
const framesOfHeap = (model) => {
  const lengths = model.column("h.length"), fns = model.column("h.fn"), lines = model.column("h.line");
  const starts = startsOf(lengths);
  return (stack) => Array.from({ length: lengths[stack] }, (_, at) => ({ fn: fns[starts[stack] + at], line: lines[starts[stack] + at] }));
};

/** Indexes the tree of a snapshot. The result maps a missing stack to the row of merged places that may contain it. */
const hidingPlaces = (stackOf, framesOf, hides, rows) => {
  const next = new Map(), places = new Map();
  const step = (node, { fn, line }) => `${node} ${fn} ${line}`;
  for (const row of rows) {
    let node = 0;
    for (const frame of framesOf(stackOf[row])) {
      const key = step(node, frame);
      if (!next.has(key)) next.set(key, next.size + 1);
      node = next.get(key);
    }
    if (hides(row)) places.set(node, row);
  }
  return (stack) => {
    let node = 0;
    for (const frame of framesOf(stack)) {
      const inner = next.get(step(node, frame));
      if (inner === undefined) return places.get(node) ?? null;
      node = inner;
    }
    return null;
  };
};

/**
 * Joins the rows of two snapshots. The key is the row of the newer snapshot, or of the older one if the newer one lacks it.
 * Massif merges places below its threshold into one sum. If a stack is only in one tree and may be in such a sum of the other,
 * its change is unknown, and so is the change of the sum.
 * @returns {Map<number, {old: number | null, now: number | null, isKnown: boolean}>}
 */
const compareRows = (model, base, snapshot) => {
  const stackOf = model.column("r.stack"), snapshots = model.column("r.snapshot"), counts = model.column("x.places");
  const framesOf = framesOfHeap(model);
  const isPlaces = (row) => counts.length > 0 && counts[row] !== null;
  const bytes = model.figures.plain(Math.max(0, model.events.findIndex(({ name }) => name === model.header.levels)));
  const hides = (row) => isPlaces(row) && bytes(row) > 0;
  const rowsOf = (number) => new Map(snapshots.flatMap((one, row) => (one === number ? [[stackOf[row], row]] : [])));
  const old = rowsOf(base), now = rowsOf(snapshot);
  const pairs = new Map(), ofStack = new Map();
  for (const stack of new Set([...now.keys(), ...old.keys()])) {
    const pair = { old: old.get(stack) ?? null, now: now.get(stack) ?? null, isKnown: true };
    pairs.set(pair.now ?? pair.old, pair);
    ofStack.set(stack, pair);
  }
  const markUnknown = (rows, others) => {
    const hiding = hidingPlaces(stackOf, framesOf, hides, others.values());
    for (const stack of rows.keys()) {
      const places = others.has(stack) || isPlaces(rows.get(stack)) ? null : hiding(stack);
      if (places === null) continue;
      ofStack.get(stack).isKnown = false;
      ofStack.get(stackOf[places]).isKnown = false;
    }
  };
  markUnknown(old, now);
  markUnknown(now, old);
  return pairs;
};

/** The status of a row, from its figures in the event that is shown. */
const comparedStatus = (pair, now, old) => {
  if (!pair.isKnown) return "below-threshold";
  if (old === null) return "added";
  return now === null ? "removed" : now === old ? "same" : "changed";
};

/** Stores the chosen pair of snapshots in the model, which then has the figures of the pair. */
const comparePair = (app) => {
  const { model, base, snapshot } = app;
  const key = base === null ? "" : `${base} ${snapshot}`;
  model.pair.event = app.eventIndex;
  if (model.pair.key === key) return;
  model.pair.key = key;
  model.pair.rows = base === null ? null : compareRows(model, base, snapshot);
  model.isDiff = base !== null || Boolean(model.header.runs);
};

/** By node: 1 if the changes of some stacks through it are unknown, 2 if all are unknown. */
const nodesWithUnknownChanges = (stacks) => {
  const { model } = stacks;
  const known = new Uint8Array(stacks.count), unknown = new Uint8Array(stacks.count);
  const stackOf = model.column("r.stack");
  const framesOf = framesOfHeap(model);
  for (const [row, { isKnown }] of model.pair.rows) {
    const path = framesOf(stackOf[row]).map(({ fn }) => fn).reverse();
    let node = 0;
    for (const fn of path.length ? path : [model.row.function(row)]) {
      node = stacks.inner(node).find((one) => stacks.fn[one] === fn);
      // Frames that are too narrow for a page have no node.
      if (node === undefined) break;
      (isKnown ? known : unknown)[node] = 1;
    }
  }
  return unknown.map((isUnknown, node) => isUnknown && (known[node] ? 1 : 2));
};

/** The sentences about a comparison. */
const comparisonText = (app) => {
  if (app.base === null) return "";
  const text = `Snapshot ${app.snapshot} compared with snapshot ${app.base}.`;
  const isKnown = Array.from(app.model.pair.rows.values()).every((pair) => pair.isKnown);
  return isKnown ? text : `${text} Changes are unknown for stacks that may be below Massif's threshold in one snapshot.`;
};

/** The control for choosing the other snapshot; null if there is none to choose. */
const comparisonChoice = (app) => {
  const listed = comparable(app);
  if (!listed.length) return null;
  const choice = h("select", { "aria-label": "Compared with", onchange: () => app.choose({ base: choice.value, flame: choice.value ? "differential" : app.usual.flame, ...app.levels() }) },
    h("option", { value: "" }, "compared with nothing"), ...listed.map(({ number }) => h("option", { value: String(number) }, `compared with snapshot ${number}`)));
  return choice;
};
