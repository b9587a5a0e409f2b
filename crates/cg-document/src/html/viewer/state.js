// What is shown, and how the address says it: `#view=table&event=Ir&fn=main`.

/** @typedef {{view: string, event: string, fn: string | null, file: string | null, obj: string | null, sort: string, whose: string, q: string, flame: string, snapshot: string, base: string, thread: string, group: string, cols: string}} State */

const VIEWS = ["table", "flame", "tree", "calls", "source", "memory"];
const KEYS = ["view", "event", "fn", "file", "obj", "sort", "whose", "q", "flame", "snapshot", "base", "thread", "group", "cols"];

/** What an address says; what is not known is passed over. @param {string} hash @returns {Record<string, string>} */
const parseHash = (hash) => {
  const said = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    const key = part.slice(0, at);
    if (!KEYS.includes(key)) continue;
    try {
      said[key] = decodeURIComponent(part.slice(at + 1));
    } catch {
      // An address that was cut within an escape says nothing here.
    }
  }
  return said;
};

/** The address of a state: what differs from what is shown by itself. @param {Record<string, any>} state @param {Record<string, any>} usual */
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
