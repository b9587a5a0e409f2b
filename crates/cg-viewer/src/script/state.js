// The state of the page, and its form in the address: `#view=table&event=Ir&fn=main`.

/** @typedef {{view: string, event: string, fn: string | null, file: string | null, obj: string | null, sort: string, whose: string, q: string, flame: string, snapshot: string, base: string, thread: string, group: string, cols: string}} State */

const VIEWS = ["table", "flame", "tree", "calls", "source", "memory"];
const KEYS = ["view", "event", "fn", "file", "obj", "sort", "whose", "q", "flame", "snapshot", "base", "thread", "group", "cols"];

/** Parses an address. Skips unknown keys. @param {string} hash @returns {Record<string, string>} */
const parseHash = (hash) => {
  const given = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    const key = part.slice(0, at);
    if (!KEYS.includes(key)) continue;
    try {
      given[key] = decodeURIComponent(part.slice(at + 1));
    } catch {
      // Skips a value that was cut inside an escape.
    }
  }
  return given;
};

/** The address of a state: the values that differ from the default state. @param {Record<string, any>} state @param {Record<string, any>} usual */
const printHash = (state, usual) => {
  const parts = [];
  for (const key of KEYS) {
    const value = state[key];
    if (value === null || value === undefined) continue;
    if (value === usual[key] && key !== "view" && key !== "event") continue;
    if (value === "" && key !== "fn") continue;
    parts.push(`${key}=${encodeURIComponent(value)}`);
  }
  return "#" + parts.join("&");
};
