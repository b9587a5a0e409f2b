// Elements, and common functions of all panes.

/** Sets an attribute. */
const set = (element, name, value) => element.setAttribute(name, value);

/** Listens to an event of an element, if there is one. */
const on = (element, event, act, options = false) => element?.addEventListener(event, act, options);

/** True if a key is pressed together with Ctrl, Alt or the command key. */
const hasModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;

/** Creates an element with attributes and children. Skips those that are null or false. A text instead of attributes is a class. @returns {any} */
const h = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  if (tag === "button") element.type = "button";
  for (const [name, value] of Object.entries(typeof attributes === "string" ? { class: attributes } : attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) on(element, name.slice(2), value);
    else set(element, name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};

/** A function's name as text. */
const nameText = (name) => visible(name) || NAMELESS;

/** The class of a change. */
const toneOf = (change) => (change > 0 ? "more" : change < 0 ? "less" : "same");

/** A share of a whole, between 0 and 1. */
const shareOf = (part, whole) => (part === null || !whole ? 0 : Number(part) / Number(whole));

/** A figure of an event with its percentage, in columns of equal width. `≤` marks an upper bound. */
const figureText = (model, event, part, whole, isBound = false) => {
  if (part === null || part === undefined) return "";
  const mark = isBound ? "≤" : "";
  const figure = mark + eventFigure(model, event, part);
  if (!whole) return figure;
  return `${figure} ${(mark + percentText(shareOf(part, whole))).padStart(7, "\u2007")}`;
};

/** The range of visible rows in a list of rows of equal height, and some rows around them. */
const inSight = (scroller, height, count, head) => {
  const around = 6;
  const first = Math.max(0, Math.floor((scroller.scrollTop - head) / height) - around);
  const last = Math.min(count, Math.ceil((scroller.scrollTop + scroller.clientHeight - head) / height) + around);
  return [first, last];
};

/** A sentence on the estimated share of the stacks; in a diff, for each side. */
const estimateText = (app) => {
  const { model } = app;
  const sums = app.sums();
  const wholes = model.isDiff ? [sums.before.incl[0], sums.incl[0]] : [sums.incl[0]];
  const shares = wholes.map((whole, side) => shareOf(model.count(model.header.estimated[app.eventIndex][side]), whole));
  if (shares.every((share) => share >= 0.9995)) return "These stacks are estimated from a call graph.";
  const { words } = model.events[app.eventIndex];
  const parts = shares.map((share, side) => `${percentText(share)} of ${words}${model.isDiff ? ` in the ${["old", "new"][side]} run` : ""}`);
  return `Stacks with ${parts.join(" and ")} are estimated from a call graph.`;
};

/** Scrolls a list to make an entry visible. Moves the entry to the middle if it was not visible. */
const reveal = (scroller, height, at, head) => {
  const top = at * height + head;
  if (top >= scroller.scrollTop + head && top + height <= scroller.scrollTop + scroller.clientHeight) return;
  scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 2);
};

/** Calls a function at most once per frame. */
const oncePerFrame = (run) => {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      run();
    });
  };
};

/** The position in a list that a key moves to; null for other keys. */
const movedTo = (key, at, count, page) => {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: count - 1, PageDown: at + page, PageUp: at - page }[key];
  return to === undefined || !count ? null : Math.max(0, Math.min(count - 1, to));
};
