// The differential flame graph: the new run, with the old costs of its frames, and what is gone among its former siblings.

/**
 * Finds the nodes of the old run whose subtree hangs below another caller in the new run: a node that is gone and a node that is new, of
 * the same function. Their callees are matched by function too.
 * @returns {Int32Array} by node that is gone, the node of the new run; -1 if there is none
 */
const movedNodes = (stacks, sums) => {
  const { count, fn, inner } = stacks;
  const old = sums.before.incl, now = sums.incl;
  const moved = new Int32Array(count).fill(-1);
  const isGone = (node) => old[node] > 0 && !(now[node] > 0);
  const isNew = (node) => now[node] > 0 && !(old[node] > 0);
  const taken = new Uint8Array(count);
  /** @type {Map<number, number[]>} */
  const gone = new Map();
  for (let node = 1; node < count; node++) {
    if (!isGone(node)) continue;
    const known = gone.get(fn[node]);
    if (known) known.push(node);
    else gone.set(fn[node], [node]);
  }
  for (const nodes of gone.values()) nodes.sort((a, b) => (old[a] < old[b] ? 1 : old[a] > old[b] ? -1 : a - b));
  const join = (from, to) => {
    const pairs = [[from, to]];
    while (pairs.length) {
      const [a, b] = pairs.pop();
      moved[a] = b;
      taken[b] = 1;
      const below = new Map(inner(b).filter((node) => isNew(node) && !taken[node]).map((node) => [fn[node], node]));
      for (const child of inner(a)) {
        const other = below.get(fn[child]);
        if (other !== undefined && moved[child] < 0 && isGone(child)) pairs.push([child, other]);
      }
    }
  };
  for (let node = 1; node < count; node++) {
    if (!isNew(node) || taken[node]) continue;
    const from = gone.get(fn[node])?.find((one) => moved[one] < 0);
    if (from !== undefined) join(from, node);
  }
  return moved;
};

/** The old costs by node of the new run and of what is gone. What moved counts where it is now. */
const joinedRuns = (stacks, sums) => {
  const { count, parent, model } = stacks;
  const { zero } = model;
  const moved = sums.unknown ? new Int32Array(count).fill(-1) : movedNodes(stacks, sums);
  const isGhost = (node) => node > 0 && !(sums.incl[node] > 0) && moved[node] < 0;
  const outer = (node) => (moved[parent[node]] >= 0 ? moved[parent[node]] : parent[node]);
  const old = new Array(count).fill(zero), slot = new Array(count).fill(zero), isTarget = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    const to = moved[node] >= 0 ? moved[node] : node;
    old[to] += sums.before.self[node];
    if (moved[node] >= 0) isTarget[to] = 1;
  }
  /** @type {Map<number, number[]>} */
  const ghosts = new Map();
  // A heap that hides a place in a sum may still have it, so it is not shown as gone.
  const isShown = (node) => !sums.unknown?.[node];
  const add = (node) => {
    old[outer(node)] += old[node];
    if (!isShown(node)) return;
    const known = ghosts.get(outer(node));
    if (known) known.push(node);
    else ghosts.set(outer(node), [node]);
  };
  // A ghost's caller is an earlier ghost, or no ghost.
  for (let node = count - 1; node > 0; node--) if (isGhost(node) && sums.before.incl[node] > 0) add(node);
  const widths = new Array(count).fill(zero);
  for (let node = count - 1; node > 0; node--) {
    if (!isGhost(node) || !isShown(node)) continue;
    slot[node] = old[node];
    if (!isGhost(outer(node))) widths[outer(node)] += slot[node];
  }
  for (let node = count - 1; node >= 0; node--) {
    if (isGhost(node) || (moved[node] >= 0 && node > 0)) continue;
    // The frames below a function may be wider than the function, because what is gone adds to them.
    const needed = widths[node] + sums.self[node];
    slot[node] = needed > sums.incl[node] ? needed : sums.incl[node];
    if (node === 0) break;
    old[parent[node]] += old[node];
    widths[parent[node]] += slot[node];
  }
  const hadOld = (node) => isTarget[node] === 1 || sums.before.incl[node] > 0;
  return { old, slot, isGhost, hadOld, ghosts: (node) => ghosts.get(node) ?? [] };
};

const statusOfCosts = (old, now, isSame) => (old === null ? "" : !(old > 0) && now > 0 ? "added" : old > 0 && !(now > 0) ? "removed" : isSame ? "same" : "changed");

/** The change from old to new, from -1 to 1, as a part of the larger one. Null if it is unknown. Old costs are multiplied by `scale`. */
const changeOf = ({ old, now, scale = 1 }) => {
  if (old === null || old === undefined) return null;
  const [a, b] = [Number(old) * scale, Number(now)];
  return a === b ? 0 : (b - a) / Math.max(Math.abs(a), Math.abs(b));
};

/** The tree of a differential flame graph. @param {string} side `both`, `old` or `new` */
const differenceTree = (stacks, sums, side) => {
  const { zero } = stacks.model;
  if (!sums.joined) sums.joined = joinedRuns(stacks, sums);
  const { old, slot, isGhost, hadOld, ghosts } = sums.joined;
  const isOld = side === "old";
  // Runs of different lengths are compared by their shares.
  const scale = stacks.model.header.shares && sums.before.incl[0] ? Number(sums.incl[0]) / Number(sums.before.incl[0]) : 1;
  const isUnknown = (node) => sums.unknown !== undefined && costBefore(zero, sums, [node], sums.incl[node]) === null;
  const branch = (node, outer) => {
    const isGone = !isOld && isGhost(node);
    const before = isUnknown(node) ? null : isOld ? sums.before.incl[node] : hadOld(node) || node === 0 ? old[node] : zero;
    const now = isGone ? zero : sums.incl[node];
    return {
      fn: stacks.fn[node], nodes: [node], weights: null, outer, level: outer ? outer.level + 1 : 1, isInlined: stacks.isInlined(node),
      incl: isOld ? sums.before.incl[node] : isGone ? old[node] : now, self: isOld ? sums.before.self[node] : sums.self[node],
      old: before, now, scale, status: statusOfCosts(before, now, before === now), isGhost: isGone, slot: side === "both" ? slot[node] : undefined,
    };
  };
  const below = (outer) => {
    const [node] = outer.nodes;
    if (isOld) return stacks.inner(node).filter((one) => sums.before.incl[one] > 0).map((one) => branch(one, outer));
    const kept = outer.isGhost ? [] : stacks.inner(node).filter((one) => sums.incl[one] > 0);
    const all = side === "both" ? [...kept, ...ghosts(node)].sort((a, b) => a - b) : kept;
    return all.map((one) => branch(one, outer));
  };
  return { side: "", root: branch(0, null), below };
};

/** The parts of the scale of colours, with their changes. */
const CHANGES = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1];

/** The legend of the colours. */
const changeLegend = () => h("div", { class: "legend", "data-legend": "change", role: "img", "aria-label": "Colours from 100 % less over no change to 100 % more" },
  ...CHANGES.map((change) => h("span", { style: `--change:${change}`, class: change < 0 ? "less" : change > 0 ? "more" : "same" }, `${change > 0 ? "+" : ""}${Math.round(change * 100)} %`)));
