// Stacks: the costs of functions in the context of their callers, and the trees and flame graphs made from them.

/** The nodes. Each node follows its caller; the first node is the root. */
const makeStacks = (model) => {
  const depths = model.column("t.depth");
  const count = depths.length + 1;
  const parent = new Int32Array(count), fn = new Int32Array(count), end = new Int32Array(count).fill(count);
  fn[0] = -1;
  parent[0] = -1;
  const functions = model.column("t.fn");
  const path = [0];
  for (let node = 1; node < count; node++) {
    const depth = depths[node - 1];
    for (let closed = path.length - 1; closed >= depth; closed--) end[path[closed]] = node;
    path.length = depth;
    parent[node] = path[depth - 1];
    fn[node] = functions[node - 1];
    path.push(node);
  }
  /** The callees of a node. */
  const inner = (node) => {
    const found = [];
    for (let at = node + 1; at < end[node]; at = end[at]) found.push(at);
    return found;
  };
  const inlined = model.column("t.inlined");
  return { model, count, parent, fn, end, inner, isInlined: (node) => inlined[node - 1] === 1, sums: new Map(), sumsKey: "", passing: null };
};

/**
 * Self and inclusive costs of all nodes for an event, a snapshot and a part of the profile. A diff or a comparison of snapshots also has
 * the old costs.
 */
const sumStacks = (app, event) => {
  const { stacks, model, snapshot, base, narrowing } = app;
  const key = `${snapshot} ${base} ${narrowing.key}`;
  if (stacks.sumsKey !== key) stacks.sums.clear();
  stacks.sumsKey = key;
  const known = stacks.sums.get(event);
  if (known) return known;
  const { count, parent } = stacks;
  const nodes = model.column("s.node");
  const snapshots = model.column("s.snapshot"), threads = model.column("s.thread");
  const passes = passingNodes(stacks, narrowing);
  const thread = narrowing.thread ? model.header.threads.indexOf(narrowing.thread) : null;
  const summed = (self) => {
    const incl = self.slice();
    for (let node = count - 1; node > 0; node--) incl[parent[node]] += incl[node];
    return { self, incl };
  };
  const add = (name, of = snapshot) => {
    const costs = model.column(`s.${name}.${event}`);
    const self = new Array(count).fill(model.zero);
    for (let at = 0; at < nodes.length; at++) {
      if (snapshots.length && of !== null && snapshots[at] !== of) continue;
      if (thread !== null && threads[at] !== thread) continue;
      if (passes && !passes[nodes[at]]) continue;
      self[nodes[at]] += costs[at];
    }
    return summed(self);
  };
  const inRange = () => {
    const self = new Array(count).fill(model.zero);
    timedSamples(app, event, narrowing.time, (node, of, cost) => {
      if ((thread === null || of === thread) && (!passes || passes[node])) self[node] += cost;
    });
    return summed(self);
  };
  const ofRuns = () => (model.isDiff ? { ...add("new"), before: add("old") } : narrowing.time ? inRange() : add("cost"));
  const sums = base === null ? ofRuns() : { ...add("cost"), before: add("cost", base), unknown: nodesWithUnknownChanges(stacks) };
  stacks.sums.set(event, sums);
  return sums;
};

/** Self and inclusive costs of each function. Recursive calls count once per stack. */
const sumFunctions = (stacks, sums) => {
  const { zero } = stacks.model;
  const self = new Map(), incl = new Map();
  const add = (to, fn, cost) => to.set(fn, (to.get(fn) ?? zero) + cost);
  const open = new Map();
  for (let node = 1; node < stacks.count; node++) {
    if (!sums.incl[node]) continue;
    const fn = stacks.fn[node];
    add(self, fn, sums.self[node]);
    // The cost of a recursive call is already counted in the outer call.
    if ((open.get(fn) ?? 0) > node) continue;
    open.set(fn, stacks.end[node]);
    add(incl, fn, sums.incl[node]);
  }
  return { self, incl };
};

/**
 * @typedef {object} Branch a drawn element: a function in a context, made of one or more nodes
 * @property {number} fn -1 for all
 * @property {any} incl
 * @property {any} self
 * @property {any} old the old cost in a diff
 * @property {number} level 1 for the root
 * @property {number[]} nodes
 * @property {any[] | null} weights in a tree of callers, the cost that each node passes on
 * @property {Branch | null} outer
 * @property {boolean} [isGap] in a graph by time, true while the outer function is the innermost one
 */

/** Returns the children of a branch in a tree of callees, one per function. An inlined function has its own. */
const innerBranches = (stacks, sums, branch) => {
  const groups = new Map();
  for (const node of branch.nodes) {
    for (const inner of stacks.inner(node)) {
      if (!sums.incl[inner] && !(sums.before && sums.before.incl[inner])) continue;
      const key = stacks.fn[inner] * 2 + (stacks.isInlined(inner) ? 1 : 0);
      const group = groups.get(key);
      if (group) group.push(inner);
      else groups.set(key, [inner]);
    }
  }
  return Array.from(groups.values(), (nodes) => branchOf(stacks, sums, stacks.fn[nodes[0]], nodes, branch));
};

const total = (zero, nodes, of) => nodes.reduce((sum, node) => sum + of[node], zero);

const branchOf = (stacks, sums, fn, nodes, outer) => {
  const { zero } = stacks.model;
  const incl = total(zero, nodes, sums.incl);
  return {
    fn, nodes, weights: null, outer, level: outer ? outer.level + 1 : 1, isInlined: nodes.length > 0 && stacks.isInlined(nodes[0]),
    incl, self: total(zero, nodes, sums.self), old: sums.before ? costBefore(zero, sums, nodes, incl) : null,
  };
};

/** The old cost of nodes; null if it is unknown, because a snapshot may have them below Massif's threshold. */
const costBefore = (zero, sums, nodes, incl) => {
  const old = total(zero, nodes, sums.before.incl);
  const { unknown } = sums;
  if (!unknown) return old;
  const isUnknown = old && incl ? nodes.every((node) => unknown[node] === 2) : nodes.some((node) => unknown[node]);
  return isUnknown ? null : old;
};

/** Returns the children of a branch in a tree of callers, one per function. */
const outerBranches = (stacks, branch) => {
  const groups = new Map();
  branch.nodes.forEach((node, at) => {
    const caller = stacks.parent[node];
    if (caller <= 0) return;
    let group = groups.get(stacks.fn[caller]);
    if (!group) groups.set(stacks.fn[caller], (group = { nodes: [], weights: [] }));
    group.nodes.push(caller);
    group.weights.push(branch.weights[at]);
  });
  return Array.from(groups, ([fn, group]) => callerBranch(stacks, fn, group, branch));
};

const callerBranch = (stacks, fn, { nodes, weights }, outer) => {
  const { zero } = stacks.model;
  let ends = zero;
  nodes.forEach((node, at) => {
    if (stacks.parent[node] === 0) ends += weights[at];
  });
  const incl = weights.reduce((sum, weight) => sum + weight, zero);
  return { fn, nodes, weights, outer, level: outer ? outer.level + 1 : 1, incl, self: ends, old: null };
};

/** The nodes of functions except nodes below other such nodes. Their costs add up. */
const outermost = (stacks, functions) => {
  const wanted = new Set(functions);
  const nodes = [];
  for (let node = 1; node < stacks.count; node++) {
    if (!wanted.has(stacks.fn[node])) continue;
    nodes.push(node);
    node = stacks.end[node] - 1;
  }
  return nodes;
};

/** Samples in order of time, thread after thread. A branch is a function for as long as it stays on the stack. */
const timeTree = (app) => {
  const { stacks, model, eventIndex, narrowing } = app;
  const { zero } = model;
  const nodes = [], costs = [], whose = [];
  const passes = passingNodes(stacks, narrowing);
  const only = narrowing.thread ? model.header.threads.indexOf(narrowing.thread) : null;
  timedSamples(app, eventIndex, narrowing.time, (node, thread, cost) => {
    if ((only !== null && only !== thread) || (passes && !passes[node])) return;
    nodes.push(node);
    costs.push(cost);
    whose.push(thread);
  });
  /** Finds the node of a sorted list that is an ancestor of `node`: the last one that does not follow it. */
  const towards = (inner, node) => {
    let first = 0, last = inner.length - 1;
    while (first < last) {
      const middle = (first + last + 1) >> 1;
      if (inner[middle] <= node) first = middle;
      else last = middle - 1;
    }
    return inner[first];
  };
  const branchOfNode = (node, level, outer, from, to, isGap) => {
    let incl = zero, self = zero;
    for (let at = from; at < to; at++) {
      incl += costs[at];
      if (nodes[at] === node) self += costs[at];
    }
    return { fn: stacks.fn[node], nodes: [node], weights: null, outer, level, old: null, incl, self, from, to, isGap };
  };
  /** The callees for as long as they stay on the stack. There is a gap while the function itself is the innermost one. */
  const below = (branch) => {
    const [outer] = branch.nodes;
    const inner = stacks.inner(outer);
    const children = [];
    for (let from = branch.from, to; from < branch.to; from = to) {
      const isGap = nodes[from] === outer;
      const node = isGap ? outer : towards(inner, nodes[from]);
      // The descendants of a node follow it. A gap has no descendants.
      const end = isGap ? outer + 1 : stacks.end[node];
      for (to = from + 1; to < branch.to && nodes[to] >= node && nodes[to] < end && whose[to] === whose[from];) to++;
      children.push(branchOfNode(node, branch.level + 1, branch, from, to, isGap));
    }
    return children;
  };
  return { side: "", root: branchOfNode(0, 1, null, 0, nodes.length, false), below };
};

/** The trees of a kind of flame graph: a root, and the function that returns the children of a branch. */
const flameTrees = (app, kind, functions) => {
  const { stacks } = app;
  if (kind === "time") return [timeTree(app)];
  const sums = app.sums();
  if (kind === "differential" && sums.before) return [differenceTree(stacks, sums, app.state.side)];
  const { zero } = stacks.model;
  const inner = (branch) => innerBranches(stacks, sums, branch);
  const outer = (branch) => outerBranches(stacks, branch);
  if (kind === "sandwich") {
    const nodes = outermost(stacks, functions);
    const fn = functions[0] ?? -1;
    const weights = nodes.map((node) => sums.incl[node]);
    return [
      { side: "callers", root: callerBranch(stacks, fn, { nodes, weights }, null), below: outer },
      { side: "callees", root: branchOf(stacks, sums, fn, nodes, null), below: inner },
    ];
  }
  if (kind === "reversed") {
    const groups = new Map();
    for (let node = 1; node < stacks.count; node++) {
      if (!sums.self[node]) continue;
      let group = groups.get(stacks.fn[node]);
      if (!group) groups.set(stacks.fn[node], (group = { nodes: [], weights: [] }));
      group.nodes.push(node);
      group.weights.push(sums.self[node]);
    }
    const root = { fn: -1, nodes: [], weights: [], outer: null, level: 1, incl: sums.incl[0], self: zero, old: null };
    const first = Array.from(groups, ([fn, group]) => callerBranch(stacks, fn, group, root));
    return [{ side: "", root, below: (branch) => (branch === root ? first : outer(branch)) }];
  }
  return [{ side: "", root: branchOf(stacks, sums, -1, [0], null), below: inner }];
};

/** The cost that a branch takes from the width: its own one, or that with what is gone below it. */
const slotOf = (branch) => branch.slot ?? branch.incl;

/** A number for a box that is the same wherever the box is drawn: from the number of its caller and its function. */
const boxKey = (outer, branch) => {
  let hash = outer;
  for (const part of [branch.fn, branch.from ?? 0, branch.isInlined ? 1 : 0]) hash = Math.imul(hash ^ (part + 0x9e3779b9), 0x01000193) >>> 0;
  return hash;
};

const FIRST_KEY = 0x811c9dc5;

/** If there are at most this many outermost functions, all have a box, so that none is missing in the picture. */
const FEW_ROOTS = 20;

/** The address of a box: its level and its number. */
const boxAddress = (box) => `${box.level}.${box.key.toString(36)}`;

const childrenInOrder = (below, branch, byCost) => {
  const children = below(branch).filter((child) => slotOf(child) > 0);
  if (byCost) children.sort((a, b) => (a.incl < b.incl ? 1 : a.incl > b.incl ? -1 : 0));
  return children;
};

/** The boxes from the root to the one with an address; an empty list if there is none. */
const pathTo = ({ root, below }, address, byCost) => {
  const level = parseInt(address, 10);
  const waiting = [{ branch: root, x: root.incl - root.incl, level: root.level, key: FIRST_KEY, outer: null }];
  while (waiting.length) {
    const box = waiting.pop();
    if (box.level === level && boxAddress(box) === address) {
      const path = [];
      for (let one = box; one; one = one.outer) path.unshift(one);
      return path;
    }
    if (box.level >= level) continue;
    let next = box.x;
    for (const child of childrenInOrder(below, box.branch, byCost)) {
      if (!child.isGap) waiting.push({ branch: child, x: next, level: child.level, key: boxKey(box.key, child), outer: box });
      next += slotOf(child);
    }
  }
  return [];
};

/**
 * Lays out boxes with the width of their costs, in the order of levels. Leaves out boxes narrower than `width` pixels show, and the boxes
 * below them. `zoom` is the address of the box that fills the width, below its callers.
 * @returns {{boxes: {branch: Branch, x: any, level: number, up: number, key: number}[], start: any, whole: any, zoomed: number}}
 */
const layOut = (tree, { width, byCost, zoom = "" }) => {
  const { root, below } = tree;
  const path = zoom ? pathTo(tree, zoom, byCost) : [];
  const boxes = [];
  path.slice(0, -1).forEach(({ branch, x, level, key }, at) => boxes.push({ branch, x, level, key, up: at - 1 }));
  const first = path.length ? path[path.length - 1] : { branch: root, x: root.incl - root.incl, key: FIRST_KEY };
  const whole = slotOf(first.branch);
  const least = Number(whole) / Math.max(1, width);
  const waiting = [{ branch: first.branch, x: first.x, key: first.key, up: boxes.length - 1 }];
  while (waiting.length) {
    const { branch, x, up, key } = waiting.pop();
    const at = boxes.length;
    boxes.push({ branch, x, level: branch.level, up, key });
    let next = x;
    const wide = [];
    const children = childrenInOrder(below, branch, byCost);
    const isShort = branch.level === 1 && children.length <= FEW_ROOTS;
    for (const child of children) {
      const slot = slotOf(child);
      if ((isShort || Number(slot) >= least) && !child.isGap) wide.push({ branch: child, x: next, up: at, key: boxKey(key, child) });
      next += slot;
    }
    waiting.push(...wide.reverse());
  }
  return { boxes, start: first.x, whole, zoomed: path.length ? path.length - 1 : -1 };
};

/** Returns callers and callees of functions, from stacks. Counts each arc once per stack. */
const arcsOfStacks = (stacks, sums, functions) => {
  const wanted = new Set(functions);
  const callers = new Map(), callees = new Map();
  const add = (arcs, fn, cost) => arcs.set(fn, (arcs.get(fn) ?? stacks.model.zero) + cost);
  // The arcs of the current path to the root, which must not count again.
  const active = [];
  for (let node = 1; node < stacks.count; node++) {
    while (active.length && active[active.length - 1].end <= node) active.pop();
    const caller = stacks.parent[node];
    if (caller <= 0 || !sums.incl[node]) continue;
    const isIn = wanted.has(stacks.fn[node]), isFrom = wanted.has(stacks.fn[caller]);
    if (!isIn && !isFrom) continue;
    const arc = `${stacks.fn[caller]} ${stacks.fn[node]}`;
    if (active.some((one) => one.arc === arc)) continue;
    active.push({ arc, end: stacks.end[node] });
    if (isIn) add(callers, stacks.fn[caller], sums.incl[node]);
    if (isFrom) add(callees, stacks.fn[node], sums.incl[node]);
  }
  return { callers, callees };
};
