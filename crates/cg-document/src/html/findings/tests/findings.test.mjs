// Tests of the parts of the script that do not need a page (`node --test`). Expectations were computed by hand.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const source = readFileSync(new URL("../model.js", import.meta.url), "utf8");
const names = ["everything", "parseHash", "printHash", "passes", "weightOf", "countsBy", "orderKinds", "namedBySeveral", "placesOf", "placesIn"];
const page = new Function(`${source}\nreturn {${names.join()}};`)();

test("an address is a state, and unknown keys are skipped", () => {
  const state = { ...page.everything(), q: "a &=b", kind: ["definite", "possible"], fn: "f(int)" };
  const hash = "#q=a%20%26%3Db&kind=definite&kind=possible&fn=f(int)";
  assert.equal(page.printHash(state), hash);
  assert.deepEqual(page.parseHash(hash), state);
  assert.deepEqual(page.parseHash("#x=1&=&q&constructor=1&kind=%zz&kind=a&kind=a"), { ...page.everything(), kind: ["a"] });
  assert.equal(page.printHash(page.everything()), "#");
});

test("a single finding is an anchor, and a finding with filters is a key", () => {
  const alone = { ...page.everything(), finding: "0123-2" };
  assert.equal(page.printHash(alone), "#finding-0123-2");
  assert.deepEqual(page.parseHash("#finding-0123-2"), alone);
  assert.equal(page.printHash({ ...alone, q: "x" }), "#q=x&finding=0123-2");
  assert.deepEqual(page.parseHash("#q=x&finding=0123-2"), { ...alone, q: "x" });
});

/** Two entries of kind `definite`, one of them with three findings, and an error. */
const entries = () => [
  { id: "1", kind: "definite", status: "new", processes: ["0", "1", "1"], fns: new Set(["make", "main"]), files: new Set(["a.c"]), text: "make leaks 8 bytes\nat malloc" },
  { id: "2", kind: "definite", status: "known", processes: ["1"], fns: new Set(["grow", "main"]), files: new Set(["b.c"]), text: "grow leaks 9 bytes" },
  { id: "3", kind: "InvalidRead", status: "new", processes: ["0"], fns: new Set(["make"]), files: new Set(["a.c"]), text: "make reads" },
];

const kept = (change) => entries().filter((entry) => page.passes(entry, { ...page.everything(), ...change })).map(({ id }) => id).join("");

test("findings must pass all filters", () => {
  assert.equal(kept({}), "123");
  assert.equal(kept({ q: " LEAKS " }), "12");
  assert.equal(kept({ q: "malloc" }), "1");
  assert.equal(kept({ kind: ["definite"] }), "12");
  assert.equal(kept({ kind: ["definite", "InvalidRead"], status: ["new"] }), "13");
  assert.equal(kept({ process: "0" }), "13");
  assert.equal(kept({ fn: "make" }), "13");
  assert.equal(kept({ fn: "mak" }), "");
  assert.equal(kept({ file: "b.c", q: "grow" }), "2");
});

test("counts ignore the filter of their own key and respect the process", () => {
  const counts = (key, change) => Object.fromEntries(page.countsBy(key, entries(), { ...page.everything(), ...change }));
  assert.deepEqual(counts("kind", {}), { definite: 4, InvalidRead: 1 });
  assert.deepEqual(counts("kind", { kind: ["InvalidRead"] }), { definite: 4, InvalidRead: 1 });
  assert.deepEqual(counts("status", { kind: ["InvalidRead"] }), { new: 1, known: 0 });
  assert.deepEqual(counts("status", { process: "1" }), { new: 2, known: 1 });
  assert.equal(page.weightOf(entries()[0], { ...page.everything(), process: "1" }), 2);
});

test("kinds are sorted, and names that occur in several findings are found", () => {
  assert.deepEqual(page.orderKinds(["reachable", "InvalidRead", "definite", "FishyValue"]), ["FishyValue", "InvalidRead", "definite", "reachable"]);
  assert.deepEqual(Array.from(page.namedBySeveral(entries(), "fns")), ["main", "make"]);
  assert.deepEqual(Array.from(page.namedBySeveral(entries(), "files")), ["a.c"]);
});

test("words are found across the pieces of a text", () => {
  assert.deepEqual(page.placesOf("Ab aB ab", "ab"), [[0, 2], [3, 5], [6, 8]]);
  assert.deepEqual(page.placesOf("aaa", "aa"), [[0, 2]]);
  assert.deepEqual(page.placesOf("anything", ""), []);
  // The lower case of this letter has two letters.
  assert.deepEqual(page.placesOf("\u0130ab", "ab"), []);
  assert.deepEqual(page.placesIn([[1, 4], [6, 8]], 0, 3), [[1, 3]]);
  assert.deepEqual(page.placesIn([[1, 4], [6, 8]], 3, 9), [[0, 1], [3, 5]]);
  assert.deepEqual(page.placesIn([[1, 4]], 4, 9), []);
});
