// Rows in groups: by crate, file or object, or by whose code it is. `cg-fmt --group-by` has the same groups.

/** By what rows are grouped, with the words for it. */
const GROUPINGS = { crate: "by crate", file: "by file", obj: "by object", whose: "by whose code" };

/**
 * @typedef {object} Group
 * @property {string} label
 * @property {number[]} rows in their order
 */

/** What rows of this input can be grouped by: costs have to add up, and some row has to tell its group. @returns {string[]} */
const groupingsOf = (model) => {
  const hasSelf = model.isDiff ? !model.isInclusive : model.events.some((_, event) => model.has(`r.self.${event}`));
  const functions = model.column("r.function");
  const tells = (by) => ["crate", "whose"].includes(by) || functions.some((fn) => model.column(`f.${by}`)[fn] > 0);
  return hasSelf ? Object.keys(GROUPINGS).filter(tells) : [];
};

/** The groups of rows, in the order of their labels. @returns {Group[]} */
const groupRows = (model, rows, by) => {
  const ids = model.column(`f.${by}`);
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

/** What the rows of a group come to; null where none has an entry. */
const groupSum = (model, group, value) => {
  let sum = null;
  for (const row of group.rows) {
    const own = value(row);
    if (own !== null) sum = (sum ?? model.zero) + own;
  }
  return sum;
};

/** The difference of a group; null where a row's is not told, as what is not told may be anything. */
const groupDelta = (model, group, event) => (group.rows.some(model.isUntold) ? null : groupSum(model, group, model.delta(event)));

/** The figures that groups are told by, as rows are; findings do not add up, so how many there are. */
const groupFigures = (model, event) => {
  const { figures } = model;
  const sum = (value) => (group) => groupSum(model, group, value);
  return {
    self: model.isFindings ? (group) => group.rows.length : sum(figures.self(event)), old: sum(figures.old(event)),
    delta: (group) => groupDelta(model, group, event),
  };
};

/** Groups in the order of the sort; by a column that groups have nothing in, in that of their cost. */
const orderGroups = (model, groups, { sort, event, by }) => {
  const { turned, name } = parseSort(sort || usualSort(model));
  if (name === "fn" || name === by) return turned ? groups.slice().reverse() : groups;
  const { self, old, delta } = groupFigures(model, event);
  const size = (group) => {
    const own = delta(group);
    return own < 0 ? -own : own;
  };
  const figures = { self, new: self, old, delta: size };
  model.events.forEach((known, other) => (figures[`event.${known.name}`] = groupFigures(model, other).self));
  const has = Object.hasOwn(figures, name);
  const keys = groups.map(figures[has ? name : usualSort(model)]);
  return sortByKeys(Array.from(groups.keys()), keys, !(turned && has)).map((at) => groups[at]);
};

/** Of how many functions a group is, or of how many findings. */
const groupCount = (model, group) => {
  const count = model.isFindings ? group.rows.length : new Set(group.rows.map(model.row.function)).size;
  const noun = model.isFindings ? "finding" : "function";
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
};

/** A group as it stands among rows: a number below nothing. @param {number} at */
const groupEntry = (at) => -1 - at;

/** The group that an entry stands for; null for a row. @returns {Group | null} */
const groupOf = (groups, entry) => (entry < 0 ? groups[-1 - entry] : null);

/** What is listed: groups, and the rows of those that are unfolded. @returns {number[]} */
const listGroups = (groups, isOpen) => {
  const listed = [];
  groups.forEach((group, at) => {
    listed.push(groupEntry(at));
    if (isOpen(group)) for (const row of group.rows) listed.push(row);
  });
  return listed;
};
