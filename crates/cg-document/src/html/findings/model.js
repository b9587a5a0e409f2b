// The filters of the page, their form in the address, and the findings that pass.

/** @typedef {{q: string, kind: string[], status: string[], process: string, fn: string, file: string, finding: string}} State */
/** @typedef {{id: string, kind: string, status: string, processes: string[], fns: Set<string>, files: Set<string>, text: string, words?: string, isFound?: boolean}} Entry */

const ANCHOR = "finding-";

/** @returns {State} */
const everything = () => ({ q: "", kind: [], status: [], process: "", fn: "", file: "", finding: "" });

/** Parses an address. Skips unknown keys. @param {string} hash */
const parseHash = (hash) => {
  const state = everything();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, value] = part.startsWith(ANCHOR) ? ["finding", part.slice(ANCHOR.length)] : cut(part);
    if (!Object.hasOwn(state, key) || !value) continue;
    try {
      const said = decodeURIComponent(value);
      if (!Array.isArray(state[key])) state[key] = said;
      else if (!state[key].includes(said)) state[key].push(said);
    } catch {
      // Skips a value that was cut inside an escape.
    }
  }
  return state;
};

/** The text before and after the first `=`. */
const cut = (part) => {
  const at = part.indexOf("=");
  return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
};

/** The address of a state. If the state has only a finding, the address is its anchor. @param {Partial<State>} state */
const printHash = (state) => {
  const parts = [];
  for (const [key, value] of Object.entries(state)) {
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) if (one !== "") parts.push([key, encodeURIComponent(one)]);
  }
  if (parts.length === 1 && parts[0][0] === "finding") return `#${ANCHOR}${parts[0][1]}`;
  return "#" + parts.map((pair) => pair.join("=")).join("&");
};

/** The words of the search, in lower case. @param {State} state */
const wordsOf = (state) => state.q.trim().toLowerCase();

/** Returns true if a finding passes all filters except the filter of one key. @param {Entry} entry @param {State} state */
const passes = (entry, state, except = "") => {
  const isOf = (key) => key === except || state[key].length === 0 || state[key].includes(entry[key]);
  if (!isOf("kind") || !isOf("status")) return false;
  if (state.process && !entry.processes.includes(state.process)) return false;
  if (state.fn && !entry.fns.has(state.fn)) return false;
  if (state.file && !entry.files.has(state.file)) return false;
  const words = wordsOf(state);
  // Each entry is searched once, even if it is counted several times.
  if (words !== entry.words) Object.assign(entry, { words, isFound: words === "" || entry.text.includes(words) });
  return entry.isFound;
};

/** The number of findings of an entry, restricted to the process of the filter. @param {Entry} entry @param {State} state */
const weightOf = (entry, state) => (state.process ? entry.processes.filter((one) => one === state.process).length : entry.processes.length);

/** The number of findings of each kind or status that pass all other filters. @param {Entry[]} entries @param {State} state */
const countsBy = (key, entries, state) => {
  const counts = new Map();
  for (const entry of entries) {
    const more = passes(entry, state, key) ? weightOf(entry, state) : 0;
    counts.set(entry[key], (counts.get(entry[key]) ?? 0) + more);
  }
  return counts;
};

const LEAKS = ["definite", "indirect", "possible", "reachable"];

/** Sorts kinds: errors by name, then leaks by severity. */
const orderKinds = (kinds) => Array.from(kinds).sort((a, b) => LEAKS.indexOf(a) - LEAKS.indexOf(b) || (a < b ? -1 : 1));

/** The names that occur in several findings. @param {Entry[]} entries @param {"fns" | "files"} key */
const namedBySeveral = (entries, key) => {
  const once = new Set();
  const several = new Set();
  for (const entry of entries) for (const name of entry[key]) (once.has(name) ? several : once).add(name);
  return several;
};

/** The places of words in a text, ignoring case. */
const placesOf = (text, words) => {
  const lower = text.toLowerCase();
  const places = [];
  // The lower case of a few letters has another length, which would shift the places after them.
  if (words === "" || lower.length !== text.length) return places;
  for (let at = lower.indexOf(words); at >= 0; at = lower.indexOf(words, at + words.length)) places.push([at, at + words.length]);
  return places;
};

/** The parts of places in a piece of the text, relative to the start of the piece. */
const placesIn = (places, from, to) => {
  const parts = [];
  for (const [start, end] of places) if (start < to && end > from) parts.push([Math.max(start, from) - from, Math.min(end, to) - from]);
  return parts;
};
