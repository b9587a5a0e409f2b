// The state of the page, and its form in the address: `#view=table&event=Ir&fn=main`.

/** @typedef {{view: string, event: string, fn: string | null, file: string | null, obj: string | null, finding: string, sort: string, whose: string, q: string, thread: string, time: string, focus: string | null, hide: string[], flame: string, zoom: string, side: string, snapshot: string, base: string, group: string, cols: string, runtime: string, open: string}} State */

const VIEWS = ["table", "flame", "timeline", "tree", "calls", "source", "memory"];
const KEYS = ["view", "event", "fn", "file", "obj", "finding", "sort", "whose", "q", "thread", "time", "focus", "hide", "flame", "zoom", "side", "snapshot", "base", "group", "cols", "runtime", "open"];

/** Parses an address. Skips unknown keys. `hide` may be repeated, so it is a list. @param {string} hash @returns {Record<string, any>} */
const parseHash = (hash) => {
  const given = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    const key = part.slice(0, at);
    if (!KEYS.includes(key)) continue;
    try {
      const value = decodeURIComponent(part.slice(at + 1));
      if (key === "hide") given.hide = [...(given.hide ?? []), value];
      else given[key] = value;
    } catch {
      // Skips a value that was cut inside an escape.
    }
  }
  return given;
};

/** The keys whose empty value is a function without a name. */
const NAME_KEYS = ["fn", "focus", "hide"];

/** The address of a state: the values that differ from the default state. @param {Record<string, any>} state @param {Record<string, any>} usual */
const printHash = (state, usual) => {
  const parts = [];
  for (const key of KEYS) {
    const value = state[key];
    if (value === null || value === undefined) continue;
    // A comparison of snapshots opens with the difference, so the address has any other flame graph.
    const isUsual = key === "flame" && state.base ? value === "differential" : value === usual[key] && key !== "view" && key !== "event";
    if (isUsual) continue;
    if (value === "" && !NAME_KEYS.includes(key)) continue;
    for (const one of Array.isArray(value) ? value : [value]) parts.push(`${key}=${encodeURIComponent(one)}`);
  }
  return "#" + parts.join("&");
};
