// The part of the profile that is shown: one thread, a range of time, the stacks through a function, the stacks without a function.

/**
 * @typedef {object} Narrowing
 * @property {string} key the same text for the same part
 * @property {boolean} isWhole
 * @property {string} thread
 * @property {[number, number] | null} time from and to, in nanoseconds since the first sample
 * @property {number[] | null} focus the functions of which one must be in each stack
 * @property {number[]} hide the functions of which none may be in a stack
 */

/** Parses a range of time in seconds. Returns null for an invalid range. @param {string} text @returns {[number, number] | null} */
const parseTime = (text) => {
  const parts = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  if (!parts) return null;
  const [from, to] = [Number(parts[1]), Number(parts[2])];
  return from < to ? [from, to] : null;
};

/** Seconds as a decimal number without an exponent. @param {number} seconds */
const secondsText = (seconds) => seconds.toFixed(9).replace(/\.?0+$/, "");

/** @returns {Narrowing} */
const narrowingOf = (app) => {
  const { model, state } = app;
  const seconds = app.times ? parseTime(state.time) : null;
  const time = seconds && /** @type {[number, number]} */ ([seconds[0] * 1e9, seconds[1] * 1e9 >= app.times.length - 0.5 ? Infinity : seconds[1] * 1e9]);
  const focus = state.focus === null ? null : model.functionsNamed(state.focus);
  const hide = state.hide.flatMap(model.functionsNamed);
  const key = JSON.stringify([state.thread, time && state.time, state.focus, state.hide]);
  return { key, isWhole: !state.thread && !time && focus === null && hide.length === 0, thread: state.thread, time, focus, hide };
};

/** By node, 1 if its path passes. Null if all paths pass. */
const passingNodes = (stacks, { focus, hide }) => {
  if (focus === null && hide.length === 0) return null;
  const key = JSON.stringify([focus, hide]);
  if (stacks.passing?.key === key) return stacks.passing.nodes;
  const wanted = new Set(focus ?? []), hidden = new Set(hide);
  const inFocus = new Uint8Array(stacks.count), isHidden = new Uint8Array(stacks.count), nodes = new Uint8Array(stacks.count);
  inFocus[0] = focus === null ? 1 : 0;
  for (let node = 1; node < stacks.count; node++) {
    const outer = stacks.parent[node], fn = stacks.fn[node];
    inFocus[node] = inFocus[outer] || wanted.has(fn) ? 1 : 0;
    isHidden[node] = isHidden[outer] || hidden.has(fn) ? 1 : 0;
    nodes[node] = inFocus[node] && !isHidden[node] ? 1 : 0;
  }
  stacks.passing = { key, nodes };
  return nodes;
};

/** True if the stack of functions passes. */
const stackPasses = ({ focus, hide }, functions) =>
  (focus === null || functions.some((fn) => focus.includes(fn))) && !functions.some((fn) => hide.includes(fn));

/** The times of the samples: the first one, and the length of the whole. Null without times. */
const timesOf = (model) => {
  const at = model.column("q.time");
  if (!at.length) return null;
  const spans = model.header.spans ? model.column(`q.cost.${model.events.findIndex(({ name }) => name === "time")}`) : [];
  let first = Infinity, last = -Infinity;
  at.forEach((time, sample) => {
    first = Math.min(first, Number(time));
    last = Math.max(last, Number(time) + Number(spans[sample] ?? 0));
  });
  return { first, length: last - first, isSpan: (event) => Boolean(model.header.spans) && model.events[event].name === "time" };
};

/** The cost of a sample or a span inside a range. */
const costInside = (model, cost, at, [from, to], isSpan) => {
  if (!isSpan) return at >= from && at < to ? cost : model.zero;
  const length = Number(cost);
  const [start, end] = [Math.max(at, Math.round(from)), Math.min(at + length, to === Infinity ? to : Math.round(to))];
  return start <= at && end >= at + length ? cost : model.count(Math.max(0, end - start));
};

/** Calls a function with the node, the thread and the cost of each timed sample in a range. */
const timedSamples = (app, event, range, add) => {
  const { model, times } = app;
  const nodes = model.column("q.node"), threads = model.column("q.thread"), at = model.column("q.time"), costs = model.column(`q.cost.${event}`);
  const isSpan = times.isSpan(event);
  for (let sample = 0; sample < nodes.length; sample++) {
    const cost = range ? costInside(model, costs[sample], Number(at[sample]) - times.first, range, isSpan) : costs[sample];
    if (cost) add(nodes[sample], threads[sample] ?? 0, cost, Number(at[sample]) - times.first);
  }
};
