// Two snapshots of one run: what the heap held at one against what it held at another. Rows are joined by their stacks.

/** The snapshots that can be compared with another. */
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

/** What the tree of a snapshot tells: of a stack that it does not have, the row of places among which that may be. */
const toldPlaces = (stackOf, framesOf, hides, rows) => {
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
 * The rows of two snapshots as one, by the row that stands for both: that of the newer one, or of what it lacks the older
 * one's. Places below Massif's threshold are one sum: what one tree shows and the other may have in such a sum is no change,
 * and neither is the sum.
 * @returns {Map<number, {old: number | null, now: number | null, isTold: boolean}>}
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
    const pair = { old: old.get(stack) ?? null, now: now.get(stack) ?? null, isTold: true };
    pairs.set(pair.now ?? pair.old, pair);
    ofStack.set(stack, pair);
  }
  const leaveUntold = (rows, others) => {
    const hiding = toldPlaces(stackOf, framesOf, hides, others.values());
    for (const stack of rows.keys()) {
      const places = others.has(stack) || isPlaces(rows.get(stack)) ? null : hiding(stack);
      if (places === null) continue;
      ofStack.get(stack).isTold = false;
      ofStack.get(stackOf[places]).isTold = false;
    }
  };
  leaveUntold(old, now);
  leaveUntold(now, old);
  return pairs;
};

/** What became of a row. */
const comparedStatus = (pair, isSame) => {
  if (!pair.isTold) return "below-threshold";
  if (pair.old === null) return "added";
  return pair.now === null ? "removed" : isSame ? "same" : "changed";
};

/** Puts the chosen pair of snapshots into the model; its figures are those of the pair then. */
const comparePair = (app) => {
  const { model, base, snapshot } = app;
  const key = base === null ? "" : `${base} ${snapshot}`;
  if (model.pair.key === key) return;
  model.pair.key = key;
  model.pair.rows = base === null ? null : compareRows(model, base, snapshot);
  model.isDiff = base !== null || Boolean(model.header.runs);
};

/** By node: 1 where of some stacks through it no change is told, 2 where of none is. */
const untoldNodes = (stacks) => {
  const { model } = stacks;
  const told = new Uint8Array(stacks.count), untold = new Uint8Array(stacks.count);
  const stackOf = model.column("r.stack");
  const framesOf = framesOfHeap(model);
  for (const [row, { isTold }] of model.pair.rows) {
    const path = framesOf(stackOf[row]).map(({ fn }) => fn).reverse();
    let node = 0;
    for (const fn of path.length ? path : [model.row.function(row)]) {
      node = stacks.inner(node).find((one) => stacks.fn[one] === fn);
      // What is too narrow for a page has no node.
      if (node === undefined) break;
      (isTold ? told : untold)[node] = 1;
    }
  }
  return untold.map((isUntold, node) => isUntold && (told[node] ? 1 : 2));
};

/** What is said of a comparison beside its figures. */
const comparisonText = (app) => {
  if (app.base === null) return "";
  const said = `Snapshot ${app.snapshot} compared with snapshot ${app.base}.`;
  const isTold = Array.from(app.model.pair.rows.values()).every((pair) => pair.isTold);
  return isTold ? said : `${said} No change is told of what one of them has in places that are too small for its tree.`;
};

/** The choice of the other snapshot; null where there is none to choose. */
const comparisonChoice = (app) => {
  const listed = comparable(app);
  if (!listed.length) return null;
  const choice = h("select", { "aria-label": "Compared with", onchange: () => app.choose({ base: choice.value, flame: choice.value ? "differential" : app.usual.flame, ...app.levels() }) },
    h("option", { value: "" }, "compared with nothing"), ...listed.map(({ number }) => h("option", { value: String(number) }, `compared with snapshot ${number}`)));
  return choice;
};
