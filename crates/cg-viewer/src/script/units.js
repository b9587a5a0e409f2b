// The figures of events, with their units. The data of the page have the words of events.

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
