// The words and figures of events: `cpu-clock:u` is "CPU time", and its figures are times.

/** The names of events in words. Other events keep their names. */
const EVENT_WORDS = {
  "cpu-clock": "CPU time", "task-clock": "CPU time", cpu: "CPU time", wall: "wall time", "page-faults": "page faults",
  alloc_space: "allocated bytes", alloc_objects: "allocated objects", inuse_space: "bytes in use", inuse_objects: "objects in use",
  total_bytes: "allocated bytes", total_blocks: "allocated blocks", gmax_bytes: "bytes at the peak", gmax_blocks: "blocks at the peak",
  peak_bytes: "bytes at the peak", end_bytes: "bytes at the end", end_blocks: "blocks at the end", leaked_bytes: "leaked bytes",
  suppressed_bytes: "suppressed bytes", temporary: "temporary allocations",
};

const CLOCKS = ["cpu-clock", "task-clock"];

/** The name of an event without the modifiers of perf. */
const plainEvent = (name) => name.replace(/:[ukhGHpPSDIWeb]+$/, "");

/** True if an event counts nanoseconds. */
const isTime = (header, name) => CLOCKS.includes(plainEvent(name)) || header.units?.[name] === "ns";

/** The words for each event. Two events with the same words keep their own names. @param {any} header @param {string[]} names */
const eventWords = (header, names) => {
  const words = names.map((name) => EVENT_WORDS[plainEvent(name)] ?? (isTime(header, name) ? plainEvent(name) : name));
  return words.map((own, at) => (words.some((other, place) => place !== at && other === own) ? names[at] : own));
};

/** The units of times, with their lengths in nanoseconds. @type {[string, number][]} */
const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

/** A time with its unit, in four digits. @param {number} nanoseconds */
const timeText = (nanoseconds) => {
  const size = Math.abs(nanoseconds);
  const [unit, length] = TIME_UNITS.find(([, least]) => size >= least) ?? TIME_UNITS[3];
  const value = unit === "ns" ? nanoseconds : Number((nanoseconds / length).toPrecision(4));
  const decimals = unit === "ns" ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
  return `${grouped(value.toFixed(decimals))} ${unit}`;
};

/** A figure of an event. @param {any} model @param {number} event */
const eventFigure = (model, event, value) => {
  if (value === null || value === undefined) return "";
  return model.events[event]?.isTime ? timeText(Number(value)) : grouped(value);
};

const signedFigure = (model, event, value) => (value === null || value === undefined ? "" : (value > 0 ? "+" : "") + eventFigure(model, event, value));

/** A figure with its event: `40 bytes`, `3.2 ms`. */
const figureWithEvent = (model, event, value) => {
  const figure = eventFigure(model, event, value);
  return model.events[event]?.isTime ? figure : `${figure} ${model.events[event]?.words ?? ""}`.trim();
};
