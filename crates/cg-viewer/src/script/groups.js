// Rows in groups: by function, crate, file, object or class of code. `cg-fmt --group-by` has the same groups.

/** The kinds of groups, with their words for people. */
const GROUPINGS = { fn: "by function", crate: "by crate", file: "by file", obj: "by object", whose: "by whose code" };

/**
 * @typedef {object} Group
 * @property {string} label
 * @property {number[]} rows in their order
 */

/** The kinds of groups for this input: its costs must add up, and some row must have a group. @returns {string[]} */
const groupingsOf = (model) => {
  const hasSelf = model.isDiff ? !model.isInclusive : model.events.some((_, event) => model.has(`r.self.${event}`));
  const functions = model.column("r.function");
  const names = new Set(functions.map((fn) => model.column("f.name")[fn]));
  const hasLabels = (by) => (by === "fn" ? names.size < functions.length : ["crate", "whose"].includes(by)) || functions.some((fn) => model.column(`f.${by}`)[fn] > 0);
  return hasSelf ? Object.keys(GROUPINGS).filter(hasLabels) : [];
};

/** Groups rows. Sorts the groups by label. @returns {Group[]} */
const groupRows = (model, rows, by) => {
  const ids = model.column(by === "fn" ? "f.name" : `f.${by}`);
  const label = (id) => (by === "whose" ? model.header.whose[id] : model.data.text(id) || NAMELESS);
  /** @type {Map<string, Group>} */
  const byLabel = new Map();
  const byId = [];
  for (const row of rows) {
    const id = ids[model.row.function(row)];
    if (!byId[id]) {
      const name = label(id);
      if (!byLabel.has(name)) byLabel.set(name, { label: name, rows: [] });
      byId[id] = byLabel.get(name);
    }
    byId[id].rows.push(row);
  }
  return Array.from(byLabel.values()).sort((a, b) => (a.label < b.label ? -1 : 1));
};

/** The sum over the rows of a group; null if no row has an entry. */
const groupSum = (model, group, value) => {
  let sum = null;
  for (const row of group.rows) {
    const own = value(row);
    if (own !== null) sum = (sum ?? model.zero) + own;
  }
  return sum;
};

/** The difference of a group; null if the difference of any row is unknown. */
const groupDelta = (model, group, event) => (group.rows.some(model.isBelowThreshold) ? null : groupSum(model, group, model.delta(event)));

/** The change of a group's share, in percentage points. */
const groupPoints = (group, points) => group.rows.reduce((sum, row) => sum + (points(row) ?? 0), 0);

/** The greatest change of a group between any two runs. */
const groupSpread = (model, group, event) => spreadOf(model.runs.map((run) => groupSum(model, group, run.value(event)) ?? model.zero));

/** The figures of groups, like those of rows. Findings do not add up, so their number is used. */
const groupFigures = (model, event) => {
  const { figures } = model;
  const sum = (value) => (group) => groupSum(model, group, value);
  return {
    self: model.isFindings ? (group) => group.rows.reduce((count, row) => count + model.records(row), 0) : sum(figures.self(event)), old: sum(figures.old(event)),
    delta: (group) => groupDelta(model, group, event),
  };
};

/** Sorts groups. If groups have no value in the column, sorts by cost. */
const orderGroups = (model, groups, { sort, event, by }) => {
  const { turned, name } = parseSort(sort || usualSort(model));
  if (name === "fn" || name === by) return turned ? groups.slice().reverse() : groups;
  const { self, old, delta } = groupFigures(model, event);
  const size = (group) => {
    const own = delta(group);
    return own < 0 ? -own : own;
  };
  const points = (group) => Math.abs(groupPoints(group, model.points(event)));
  const spread = (group) => groupSpread(model, group, event);
  const figures = { self, new: self, old, delta: size, points, spread };
  model.events.forEach((known, other) => (figures[`event.${known.name}`] = groupFigures(model, other).self));
  const has = Object.hasOwn(figures, name);
  const keys = groups.map(figures[has ? name : usualSort(model)]);
  return sortByKeys(Array.from(groups.keys()), keys, !(turned && has)).map((at) => groups[at]);
};

/** The number of functions, rows or findings of a group, as text. */
const groupCount = (model, group, by) => {
  const count = model.isFindings ? group.rows.reduce((sum, row) => sum + model.records(row), 0) : by === "fn" ? group.rows.length : new Set(group.rows.map(model.row.function)).size;
  const noun = model.isFindings ? "finding" : by === "fn" ? "row" : "function";
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
};

/** The entry of a group in a list of rows: a negative number. @param {number} at */
const groupEntry = (at) => -1 - at;

/** The group of an entry; null for a row. @returns {Group | null} */
const groupOf = (groups, entry) => (entry < 0 ? groups[-1 - entry] : null);

/** The listed entries: groups, and the rows of unfolded groups. @returns {number[]} */
const listGroups = (groups, isOpen) => {
  const listed = [];
  groups.forEach((group, at) => {
    listed.push(groupEntry(at));
    if (isOpen(group)) for (const row of group.rows) listed.push(row);
  });
  return listed;
};
