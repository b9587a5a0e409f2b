// Tests of the parts of the script that do not need a page (`node --test`). Expectations were computed by hand.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { deflateSync } from "node:zlib";

const files = ["data", "state", "units", "search", "narrow", "model", "stacks", "difference", "lines", "source", "compare", "dom", "columns", "groups", "label", "names", "flame", "timeline", "table"];
const source = files.map((name) => readFileSync(new URL(`../${name}.js`, import.meta.url), "utf8")).join("\n");
const names = [
  "unpack", "readNumbers", "readData", "parseHash", "printHash", "grouped", "percentText", "visible", "makeModel", "orderRows",
  "filterRows", "sumsByWhose", "makeStacks", "sumStacks", "flameTrees", "layOut", "arcsOfStacks", "sumFunctions", "branchOf", "innerBranches", "makeCode", "arcsOfCalls",
  "timeText", "matcherOf", "parseTime", "timesOf", "narrowingOf", "activityOf", "roundTimes", "axisText", "differenceTree", "changeOf", "changeText", "boxAddress", "functionLines", "alignLines", "nearCosts", "leftOut", "movedTo", "fittedLabel", "fittedForm", "flameMove", "groupRows", "orderGroups", "compareRows", "comparedStatus", "groupFigures", "groupCount", "listGroups", "groupingsOf", "shownColumns", "printColumns", "parseColumns", "allColumns", "runTitles", "cellText", "tableCsv",
];
const page = new Function(`${source}\nreturn {${names.join()}};`)();

const SIGNED = 1, OPTIONAL = 2, RISING = 4, COUNT = 8;

/** Encodes numbers as LEB128. The caller applies the form. */
const leb = (numbers) => numbers.flatMap((number) => {
  const bytes = [];
  let left = BigInt(number);
  do {
    bytes.push(Number(left & 127n) | (left > 127n ? 128 : 0));
    left >>= 7n;
  } while (left);
  return bytes;
});

/** The bytes of a page's data: texts, and arrays as [name, form, numbers]. */
const block = (header, texts, arrays) => {
  const encoder = new TextEncoder();
  const text = encoder.encode(texts.join("\n"));
  const said = { rows: 0, events: [], whose: ["own", "dependency", "std", "system", "kernel"], others: [], notes: [], aliases: [], big: false, separator: "\n", ...header };
  const head = encoder.encode(JSON.stringify({ ...said, texts: text.length, arrays: arrays.map(([name, form, numbers]) => [name, numbers.length, form]) }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, head.length, true);
  return new Uint8Array([...length, ...head, ...text, ...arrays.flatMap(([, , numbers]) => leb(numbers))]);
};

const modelOf = (header, texts, arrays) => page.makeModel(page.readData(block(header, texts, arrays)));

test("numbers in all forms are read", () => {
  const read = (form, numbers, isBig = false) => page.readNumbers(new Uint8Array(leb(numbers)), 0, numbers.length, form, isBig)[0];
  assert.deepEqual(read(0, [0, 127, 128, 300]), [0, 127, 128, 300]);
  // Zigzag: 0, -1, 1, -2.
  assert.deepEqual(read(SIGNED, [0, 1, 2, 3]), [0, -1, 1, -2]);
  assert.deepEqual(read(OPTIONAL, [0, 1, 2]), [null, 0, 1]);
  assert.deepEqual(read(SIGNED | RISING, [20, 2, 1]), [10, 11, 10]);
  assert.deepEqual(read(OPTIONAL | SIGNED, [0, 2, 3]), [null, -1, 1]);
});

test("counts are exact up to 2^64 and have one type in a page", () => {
  const read = (form, numbers, isBig) => page.readNumbers(new Uint8Array(leb(numbers)), 0, numbers.length, form, isBig)[0];
  const most = 2n ** 64n - 1n;
  assert.deepEqual(read(COUNT, [most, 5], true), [most, 5n]);
  assert.deepEqual(read(COUNT | OPTIONAL, [0, most + 1n], true), [null, most]);
  // 2^64 - 1 and 2^64 - 2: the zigzag form of the difference.
  assert.deepEqual(read(COUNT | SIGNED | RISING, [2n * most, 1], true), [most, most - 1n]);
  // 2^52 and 2^52 - 1, whose zigzag form exceeds a double, in a page without large sums.
  assert.deepEqual(read(COUNT | SIGNED | RISING, [2n ** 53n, 1], false), [2 ** 52, 2 ** 52 - 1]);
  assert.deepEqual(read(COUNT | SIGNED | RISING, [2n ** 54n, 1], false), [2 ** 53, 2 ** 53 - 1]);
  assert.equal(page.grouped(most), "18,446,744,073,709,551,615");
});

test("packed data are decompressed", async () => {
  const bytes = block({ aliases: [["r.y", "r.x"]] }, ["", "é💡", "b"], [["r.x", 0, [1, 2]]]);
  const opened = await page.unpack(deflateSync(bytes).toString("base64"));
  const data = page.readData(opened);
  assert.deepEqual([data.text(1), data.text(2), data.array("r.x"), data.array("r.y"), data.array("none")], ["é💡", "b", [1, 2], [1, 2], null]);
});

test("an address is a state, and unknown keys are skipped", () => {
  assert.deepEqual(page.parseHash("#view=flame&fn=a%20%26%3Db&x=1&=&q&event=%zz"), { view: "flame", fn: "a &=b" });
  const usual = { view: "table", event: "Ir", fn: null, sort: "", q: "" };
  assert.equal(page.printHash({ ...usual, fn: "a &=b", sort: "-incl" }, usual), "#view=table&event=Ir&fn=a%20%26%3Db&sort=-incl");
  assert.equal(page.printHash({ ...usual, fn: "" }, usual), "#view=table&event=Ir&fn=");
});

test("the address of a comparison has each flame graph except the difference", () => {
  const usual = { view: "memory", event: "bytes", flame: "icicle", base: "" };
  const flameOf = (state) => page.parseHash(page.printHash({ ...usual, ...state }, usual)).flame;
  assert.deepEqual([flameOf({}), flameOf({ flame: "time" }), flameOf({ base: "9" }), flameOf({ base: "9", flame: "differential" })], [undefined, "time", "icicle", undefined]);
});

test("numbers and names have the form of the other tools", () => {
  assert.deepEqual([0, 999, 1000, -1234567].map(page.grouped), ["0", "999", "1,000", "-1,234,567"]);
  assert.deepEqual([1, 0.99967, 0.5, 0.12345, 1.5].map(page.percentText), ["100.00%", "99.97%", "50.00%", "12.35%", "150.00%"]);
  assert.equal(page.visible("a\u001b[2J\n\u202e"), "a\\u{1b}[2J\\n\\u{202e}");
});

/** Three functions: `b` in two files, `a`; two events. */
const rows = () => modelOf(
  { rows: 3, events: [["Ir", ["60"]], ["Dr", ["9"]]] },
  ["", "b", "a", "x.c", "Y.c"],
  [
    ["f.name", 0, [1, 2, 1]], ["f.file", 0, [3, 3, 4]], ["f.obj", 0, [0, 0, 0]], ["f.whose", 0, [0, 2, 0]], ["r.function", 0, [0, 1, 2]],
    ["r.self.0", COUNT, [30, 20, 10]], ["r.self.1", COUNT | OPTIONAL, [2, 0, 9]], ["r.calls", COUNT, [1, 5, 3]],
  ],
);

test("rows are sorted by any column, counts down and names up, empty entries last", () => {
  const model = rows();
  const order = (sort, event = 0) => page.orderRows(model, [0, 1, 2], { sort, event });
  assert.deepEqual(order(""), [0, 1, 2]);
  assert.deepEqual(order("calls"), [1, 2, 0]);
  assert.deepEqual(order("-calls"), [0, 2, 1]);
  assert.deepEqual(order("fn"), [1, 0, 2]);
  assert.deepEqual(order("self", 1), [2, 0, 1]);
  assert.deepEqual(order("-self", 1), [0, 2, 1]);
  assert.deepEqual(order("-self"), [2, 1, 0]);
});

test("rows of three runs are sorted by the greatest change between any two runs", () => {
  const model = modelOf({ rows: 3, events: [["n", ["9", "9"]]], runs: ["a", "b", "c"], compared: [0, 2] }, ["", "f", "g", "h"], [
    ["f.name", 0, [1, 2, 3]], ["f.file", 0, [0, 0, 0]], ["f.obj", 0, [0, 0, 0]], ["f.whose", 0, [0, 0, 0]], ["r.function", 0, [0, 1, 2]],
    // From the first run to the last one, the changes are 0, 5 and 2; between any two runs, they are 9, 5 and 7.
    ["r.old.0", COUNT, [4, 1, 3]], ["r.new.0", COUNT, [4, 6, 5]],
    ["r.run.0.0", COUNT, [4, 1, 3]], ["r.run.1.0", COUNT, [13, 1, 10]], ["r.run.2.0", COUNT, [4, 6, 5]],
  ]);
  assert.deepEqual([0, 1, 2].map(model.spread(0)), [9, 5, 7]);
  assert.deepEqual(page.orderRows(model, [0, 1, 2], { sort: "", event: 0 }), [0, 2, 1]);
  assert.deepEqual(page.orderRows(model, [0, 1, 2], { sort: "-spread", event: 0 }), [1, 2, 0]);
  assert.deepEqual(page.orderRows(model, [0, 1, 2], { sort: "delta", event: 0 }), [1, 2, 0]);
});

test("filters keep rows by class of code and by words of function and file, ignoring case", () => {
  const model = rows();
  const kept = (state) => page.filterRows(model, { q: "", whose: "", ...state }, null);
  assert.deepEqual(kept({ whose: "std" }), [1]);
  assert.deepEqual(kept({ q: "y.C" }), [2]);
  assert.deepEqual(kept({ q: "B" }), [0, 2]);
  assert.deepEqual(kept({ q: "b", whose: "std" }), []);
  const sums = page.sumsByWhose(model, 0, null);
  assert.deepEqual([sums.get("own"), sums.get("std"), sums.get("kernel")], [40, 20, 0]);
});

test("the file distinguishes functions with the same name", () => {
  const model = rows();
  assert.deepEqual(model.address("b", "Y.c", ""), { fn: "b", file: "Y.c", obj: null, finding: "" });
  assert.deepEqual(model.address("a", "x.c", ""), { fn: "a", file: null, obj: null, finding: "" });
  assert.deepEqual(model.selected({ fn: "b", file: "Y.c", obj: null }), [2]);
  assert.deepEqual(model.selected({ fn: "b", file: null, obj: null }), [0, 2]);
});

/** main;f;g 5, main;g 2, main;f;f 3, main 1: nodes 1 main, 2 f, 3 g, 4 f, 5 g. */
const stacks = () => {
  const model = modelOf(
    { events: [["n", ["11"]]] }, ["", "main", "f", "g"],
    [["f.name", 0, [1, 2, 3]], ["f.file", 0, [0, 0, 0]], ["f.obj", 0, [0, 0, 0]], ["f.whose", 0, [0, 0, 0]],
      ["t.depth", 0, [1, 2, 3, 3, 2]], ["t.fn", 0, [0, 1, 2, 1, 2]], ["s.node", 0, [3, 5, 4, 1]], ["s.cost.0", COUNT, [5, 2, 3, 1]]],
  );
  return appOf(model);
};

/** The parts of a page that stacks need, in a state. */
const appOf = (model, state = {}) => {
  const app = { model, stacks: page.makeStacks(model), times: page.timesOf(model), eventIndex: 0, snapshot: null, base: null, state: { thread: "", time: "", focus: null, hide: [], side: "both", ...state } };
  app.narrowing = page.narrowingOf(app);
  app.sums = () => page.sumStacks(app, app.eventIndex);
  return { app, of: app.stacks, sums: app.times && !model.has("s.node") ? null : app.sums() };
};

const WIDE = 1e9;

/** The name, level, x and cost of each box. */
const boxesOf = (app, tree, options = {}) =>
  page.layOut(tree, { width: WIDE, byCost: false, ...options }).boxes.map(({ branch, x }) => [branch.fn < 0 ? "all" : app.model.fn.name(branch.fn), branch.level, x, branch.incl]);

const boxes = (app, kind, functions, byCost = false, side = 0) => boxesOf(app, page.flameTrees(app, kind, functions)[side], { byCost });

test("samples are drawn in order of time, thread after thread", () => {
  // `main` calls `a` and `b`. Thread `one`: a, b, a, main. Thread `two`: a.
  const model = modelOf({ events: [["n", ["13"]]], threads: ["", "one", "two"] }, ["", "main", "a", "b"],
    [["f.name", 0, [1, 2, 3]], ["f.file", 0, [0, 0, 0]], ["f.obj", 0, [0, 0, 0]], ["f.whose", 0, [0, 0, 0]], ["t.depth", 0, [1, 2, 2]], ["t.fn", 0, [0, 1, 2]],
      ["q.node", 0, [2, 3, 2, 1, 2]], ["q.thread", 0, [1, 1, 1, 1, 2]], ["q.time", 0, [1000000000, 2000000000, 3000000000, 4000000000, 5000000000]], ["q.cost.0", COUNT, [1, 2, 1, 4, 5]]]);
  const inTime = (thread, time = "") => {
    const { app } = appOf(model, { thread, time });
    const [tree] = page.flameTrees(app, "time", []);
    return page.layOut(tree, { width: WIDE, byCost: false }).boxes.map(({ branch, x }) => [branch.fn < 0 ? "all" : model.fn.name(branch.fn), branch.level, x, branch.incl, branch.self]);
  };
  const one = [["main", 2, 0, 8, 4], ["a", 3, 0, 1, 1], ["b", 3, 1, 2, 2], ["a", 3, 3, 1, 1]];
  assert.deepEqual(inTime("one"), [["all", 1, 0, 8, 0], ...one]);
  assert.deepEqual(inTime(""), [["all", 1, 0, 13, 0], ...one, ["main", 2, 8, 5, 0], ["a", 3, 8, 5, 5]]);
  // Seconds count from the first sample. A range has its beginning and lacks its end, unless the end is the last sample.
  assert.deepEqual(inTime("", "1-3"), [["all", 1, 0, 3, 0], ["main", 2, 0, 3, 0], ["b", 3, 0, 2, 2], ["a", 3, 2, 1, 1]]);
  assert.deepEqual(inTime("", "3-4").map(([name, , , incl]) => [name, incl]), [["all", 9], ["main", 4], ["main", 5], ["a", 5]]);
});

test("frames are as wide as their costs in all kinds of flame graphs", () => {
  const { app } = stacks();
  assert.deepEqual(boxes(app, "icicle", []), [["all", 1, 0, 11], ["main", 2, 0, 11], ["f", 3, 0, 8], ["g", 4, 0, 5], ["f", 4, 5, 3], ["g", 3, 8, 2]]);
  assert.deepEqual(boxes(app, "left-heavy", [], true)[2], ["f", 3, 0, 8]);
  assert.deepEqual(boxes(app, "reversed", []).filter(([, level]) => level === 2), [["main", 2, 0, 1], ["g", 2, 1, 7], ["f", 2, 8, 3]]);
  // The cost of the outer `f` includes the `f` below it.
  assert.deepEqual(boxes(app, "sandwich", [1], false, 0), [["f", 1, 0, 8], ["main", 2, 0, 8]]);
  assert.deepEqual(boxes(app, "sandwich", [1], false, 1), [["f", 1, 0, 8], ["g", 2, 0, 5], ["f", 2, 5, 3]]);
});

test("frames narrower than the limit are left out with the frames below them", () => {
  const { app } = stacks();
  const [tree] = page.flameTrees(app, "icicle", []);
  // A pixel has a cost of 11 / 2.
  assert.deepEqual(boxesOf(app, tree, { width: 2 }).map(([, , , incl]) => incl), [11, 11, 8]);
});

test("keys move through a flame graph", () => {
  const { app } = stacks();
  const [tree] = page.flameTrees(app, "icicle", []);
  const all = page.layOut(tree, { width: WIDE, byCost: false }).boxes;
  const go = (at, key) => page.flameMove(all, at, key, 2);
  // 0 all, 1 main, 2 f, 3 g, 4 f, 5 g.
  assert.deepEqual([go(1, "ArrowDown"), go(2, "ArrowRight"), go(5, "ArrowLeft"), go(3, "ArrowUp"), go(3, "Home"), go(0, "End"), go(0, "PageDown"), go(0, "x")], [2, 5, 2, 2, 0, 3, 2, null]);
});

test("callers and callees from stacks count a recursion once", () => {
  const { of, sums } = stacks();
  const arcs = page.arcsOfStacks(of, sums, [1]);
  assert.deepEqual([Array.from(arcs.callers), Array.from(arcs.callees)], [[[0, 8], [1, 3]], [[2, 5], [1, 3]]]);
});

test("self costs come from innermost frames, and inclusive costs count each stack once", () => {
  const { of, sums } = stacks();
  const { self, incl } = page.sumFunctions(of, sums);
  assert.deepEqual([Array.from(self), Array.from(incl)], [[[0, 1], [1, 3], [2, 7]], [[0, 11], [1, 8], [2, 7]]]);
});

test("the cost of a branch is its self cost and the cost of its children", () => {
  const { of, sums } = stacks();
  const root = page.branchOf(of, sums, -1, [0], null);
  const waiting = [root];
  for (const branch of waiting) {
    const children = page.innerBranches(of, sums, branch);
    assert.equal(children.reduce((sum, child) => sum + child.incl, branch.self), branch.incl);
    waiting.push(...children);
  }
  assert.equal(waiting.length, 6);
});

/** `f` in x.c has line 3 (self cost 5, calls `g` for 7), line 4 (self cost 2), and a cost of 9 in another file. */
const code = () => page.makeCode(modelOf(
  { events: [["n", ["16"]]] }, ["", "f", "g", "x.c", "three", "four", "five"],
  [["f.name", 0, [1, 2]], ["f.file", 0, [3, 3]], ["f.obj", 0, [0, 0]], ["f.whose", 0, [0, 0]],
    ["l.fn", 0, [0, 0, 0]], ["l.file", 0, [0, 0, 2]], ["l.line", 0, [3, 4, 1]], ["l.self.0", COUNT, [5, 2, 9]],
    ["c.from", 0, [0]], ["c.to", 0, [1]], ["c.line", 0, [3]], ["c.site", 0, [0]], ["c.calls", COUNT, [4]], ["c.incl.0", COUNT, [7]],
    ["src.file", 0, [3, 3, 3]], ["src.line", 0, [3, 4, 5]], ["src.text", 0, [4, 5, 6]]],
));

test("the lines of a function have costs, calls and text, and costs in other files are added up", () => {
  const { rows: lines, elsewhere, file } = page.functionLines(code(), 0, 0, 0);
  assert.deepEqual(lines.map(({ number, text, self, incl }) => [number, text, self, incl]), [[3, "three", 5, 12], [4, "four", 2, 2], [5, "five", null, null]]);
  assert.deepEqual([elsewhere, file, lines[0].calls], [9, "x.c", [{ fn: 1, incl: 7, calls: 4 }]]);
  const arcs = page.arcsOfCalls(code(), [1], 0, 0);
  assert.deepEqual([Array.from(arcs.callers), Array.from(arcs.callees)], [[[0, { incl: 7, calls: 4 }]], []]);
});

test("equal lines of two runs are in one row", () => {
  const side = (from, text) => text.split(" ").map((word, at) => ({ number: from + at, text: word }));
  const rowsOf = page.alignLines(side(1, "a b c d"), side(5, "a x c d e")).map(([old, now]) => [old?.number ?? 0, now?.number ?? 0]);
  assert.deepEqual(rowsOf, [[1, 5], [2, 0], [0, 6], [3, 7], [4, 8], [0, 9]]);
  // Without texts, the numbers of the lines are compared.
  const bare = (...numbers) => numbers.map((number) => ({ number, text: null }));
  assert.deepEqual(page.alignLines(bare(3, 4, 7), bare(4, 7, 8)).map(([old, now]) => [old?.number ?? 0, now?.number ?? 0]), [[3, 0], [4, 4], [7, 7], [0, 8]]);
});

test("lines that are too many for the pane are one row with their costs", () => {
  const model = { zero: 0 };
  const rows = Array.from({ length: 1000 }, (_, at) => [at % 2 ? { number: at, self: 3, incl: 3, calls: [] } : null, { number: at, self: at, incl: at, calls: [] }]);
  const kept = page.nearCosts(rows);
  const left = page.leftOut(model, rows, kept);
  const sum = (shown, side) => shown.reduce((total, row) => total + (row[side]?.self ?? 0), 0);
  assert.equal(kept.length, 900);
  for (const side of [0, 1]) assert.equal(sum([...kept.map((at) => rows[at]), left], side), sum(rows, side));
  assert.equal(page.leftOut(model, rows.slice(0, 9), page.nearCosts(rows.slice(0, 9))), null);
});

/** Two snapshots with rows [stack, snapshot, places, bytes]. The stacks are `f:1 m:9`, `g:2 m:9`, `g:2 m:4`, the root and `g:2`. */
const heaps = (rows) => modelOf(
  { events: [["bytes", ["9"]]], rows: rows.length, others: [["places", "places", "count"]] }, ["", "f", "g", "m"],
  [["f.name", 0, [1, 2, 3]], ["f.file", 0, [0, 0, 0]], ["f.obj", 0, [0, 0, 0]], ["f.whose", 0, [0, 0, 0]],
    ["h.length", 0, [2, 2, 2, 0, 1]], ["h.fn", 0, [0, 2, 1, 2, 1, 2, 1]], ["h.line", 0, [1, 9, 2, 9, 2, 4, 2]],
    ["r.stack", 0, rows.map(([stack]) => stack)], ["r.snapshot", 0, rows.map(([, snapshot]) => snapshot)],
    ["r.self.0", COUNT, rows.map(([, , , bytes = 1]) => bytes)], ["x.places", COUNT | OPTIONAL, rows.map(([, , places]) => (places ? places + 1 : 0))]],
);

test("rows of two snapshots are joined by their stacks, and rows that merged places may hide are not changed", () => {
  const compared = (rows) => Array.from(page.compareRows(heaps(rows), 0, 1), ([row, pair]) => [row, page.comparedStatus(pair, pair.now === null ? null : 2, pair.old === null ? null : 1)]).sort();
  assert.deepEqual(compared([[0, 0], [0, 1]]), [[1, "changed"]]);
  // Nothing is hidden if the tree shows all places.
  assert.deepEqual(compared([[0, 0], [1, 0], [0, 1]]), [[1, "removed"], [2, "changed"]]);
  assert.deepEqual(compared([[0, 0], [0, 1], [1, 1]]), [[1, "changed"], [2, "added"]]);
  // The merged places of the root hide `g:2`, but not stacks below a shown frame.
  assert.deepEqual(compared([[0, 0], [1, 0], [0, 1], [3, 1, 4]]), [[1, "below-threshold"], [2, "changed"], [3, "below-threshold"]]);
  assert.deepEqual(compared([[1, 0], [1, 1], [2, 1], [3, 0, 4], [3, 1, 4]]), [[1, "changed"], [2, "added"], [4, "changed"]]);
  // Merged places without bytes hide nothing.
  assert.deepEqual(compared([[1, 0], [0, 1], [3, 1, 4, 0]]), [[0, "removed"], [1, "added"], [2, "added"]]);
  // The merged places of `g:2` hide its callers.
  assert.deepEqual(compared([[1, 0], [4, 0, 2], [1, 1], [2, 1], [4, 1, 2]]), [[2, "changed"], [3, "below-threshold"], [4, "below-threshold"]]);
});

test("a label is the longest form that fits, or the beginning of the own name", () => {
  const forms = ["store::Map<int>::put_back(int)", "store::Map<…>::put_back(…)", "…::put_back(…)", "put_back"];
  const label = (letters) => page.fittedLabel(forms, letters);
  assert.deepEqual([30, 29, 15, 13, 8, 7, 6, 5].map(label), [forms[0], forms[1], forms[2], "put_back", "put_back", "put_ba…", "put_b…", ""]);
  // A form of fewer than five letters says less than the whole own name.
  assert.equal(page.fittedLabel(["shop::tax::of", "…::of", "of"], 5), "of");
});

test("names are shortened by the forms in the data of the page", () => {
  // The forms of `a::b<x::C>(int)` are `a::b<…>(int)` and `a::b<C>(…)`, without the path of the argument.
  const model = modelOf({ events: [["n", ["1"]]] }, ["", "c", "a::b<x::C>(int)"],
    [["f.name", 0, [1, 2]], ["f.file", 0, [0, 0]], ["f.obj", 0, [0, 0]], ["f.whose", 0, [0, 0]],
      ["n.forms", 0, [0, 2]], ["n.cuts", 0, [1, 2]], ["n.kept", 0, [5, 5, 3]], ["n.cut", 0, [9, 6, 7]]]);
  const forms = ["a::b<x::C>(int)", "a::b<…>(int)", "a::b<C>(…)"];
  assert.deepEqual([model.fn.forms(0), model.fn.forms(1), rows().fn.forms(0)], [["c"], forms, ["b"]]);
});

/** Two crates: `a` has rows 0 and 2 (30 and 10), `b` has row 1 (20). Row 3 has no known file, and 0 in the first event. */
const crates = () => modelOf(
  { rows: 4, events: [["Ir", ["60"]], ["Dr", ["9"]]] },
  ["", "f", "g", "x.c", "b", "a", "???"],
  [
    ["f.name", 0, [1, 2, 1]], ["f.file", 0, [3, 3, 0]], ["f.obj", 0, [0, 0, 0]], ["f.whose", 0, [0, 2, 0]], ["f.crate", 0, [5, 4, 6]],
    ["r.function", 0, [0, 1, 0, 2]], ["r.self.0", COUNT | OPTIONAL, [31, 21, 11, 0]], ["r.self.1", COUNT | OPTIONAL, [0, 3, 0, 8]],
  ],
);

test("groups have sums and are sorted, and their rows keep their order", () => {
  const model = crates();
  const groups = (by, sort = "", event = 0) => page.orderGroups(model, page.groupRows(model, [0, 1, 2, 3], by), { sort, event, by });
  const summaries = (listed, event = 0) => listed.map((group) => [group.label, group.rows.join(""), page.groupFigures(model, event).self(group)]);
  assert.deepEqual(summaries(groups("crate")), [["a", "02", 40], ["b", "1", 20], ["???", "3", null]]);
  assert.deepEqual(summaries(groups("crate", "-self")), [["b", "1", 20], ["a", "02", 40], ["???", "3", null]]);
  assert.deepEqual(summaries(groups("crate", "", 1), 1), [["???", "3", 7], ["b", "1", 2], ["a", "02", null]]);
  assert.deepEqual(groups("crate", "event.Dr").map(({ label }) => label), ["???", "b", "a"]);
  assert.deepEqual(groups("crate", "fn").map(({ label }) => label), ["???", "a", "b"]);
  assert.deepEqual(groups("crate", "-calls").map(({ label }) => label), ["a", "b", "???"]);
  assert.deepEqual(summaries(groups("file")).map(([label, , self]) => [label, self]), [["x.c", 60], ["???", null]]);
  assert.deepEqual(summaries(groups("whose")).map(([label, , self]) => [label, self]), [["own", 40], ["std", 20]]);
  assert.deepEqual(page.listGroups(groups("crate"), ({ label }) => label === "a"), [-1, 0, 2, -2, -3]);
  assert.deepEqual(groups("crate").map((group) => page.groupCount(model, group)), ["1 function", "1 function", "1 function"]);
  assert.deepEqual(page.groupingsOf(model), ["fn", "crate", "file", "whose"]);
  assert.deepEqual(summaries(groups("fn")).map(([label, , self]) => [label, self]), [["f", 40], ["g", 20]]);
  assert.deepEqual(groups("fn").map((group) => page.groupCount(model, group, "fn")), ["3 rows", "1 row"]);
});

test("a group has no difference if the difference of one of its rows is unknown", () => {
  const model = modelOf(
    { rows: 3, events: [["Ir", ["9", "14"]]], runs: ["old", "new"], compared: [0, 1] }, ["", "f", "a", "b", "changed", "below-threshold"],
    [["f.name", 0, [1, 1]], ["f.file", 0, [0, 0]], ["f.obj", 0, [0, 0]], ["f.whose", 0, [0, 0]], ["f.crate", 0, [2, 3]], ["r.function", 0, [0, 0, 1]],
      ["r.status", 0, [4, 5, 4]], ["r.old.0", COUNT | OPTIONAL, [5, 6, 0]], ["r.new.0", COUNT | OPTIONAL, [9, 0, 7]]],
  );
  const groups = page.orderGroups(model, page.groupRows(model, [0, 1, 2], "crate"), { sort: "", event: 0, by: "crate" });
  const { self, old, delta } = page.groupFigures(model, 0);
  assert.deepEqual(groups.map((group) => [group.label, old(group), self(group), delta(group)]), [["b", null, 6, 6], ["a", 9, 8, null]]);
  assert.deepEqual([0, 1, 2].map(model.delta(0)), [4, null, 6]);
});

test("a narrow window hides columns that are not chosen, except the function and the sorted column", () => {
  const column = (key, isFirst = false) => ({ key, givesWay: key, width: "20ch", isUsual: key !== "event.Dr", isFirst });
  const all = [column("self", true), column("event.Dr"), column("calls"), column("fn", true), column("file"), column("obj")];
  const shown = (width, chosen = "", sort = "self") => page.shownColumns(all, { chosen: page.parseColumns(chosen), sort, width }).map(({ key }) => key).join();
  assert.equal(shown(1200), "self,calls,fn,file,obj");
  // Each column takes 169 pixels, and there are 16 pixels around them.
  assert.deepEqual([861, 860, 701, 690].map((width) => shown(width)), ["self,calls,fn,file,obj", "self,calls,fn,file", "self,calls,fn,file", "self,fn"]);
  const isEmpty = ({ key }) => key === "calls" || key === "self";
  assert.equal(page.shownColumns(all, { chosen: new Set(), sort: "self", width: 1200, isEmpty }).map(({ key }) => key).join(), "self,fn,file,obj");
  assert.equal(shown(701, "", "obj"), "self,fn,file,obj");
  assert.deepEqual([shown(300, "obj,event.Dr"), shown(300, "x"), shown(1200, "file", "calls")], ["self,event.Dr,fn,obj", "self,fn", "calls,fn,file"]);
  assert.deepEqual(Array.from(page.parseColumns(page.printColumns(["a,b", "50%,", "fn"]))), ["a,b", "50%,", "fn"]);
});

test("a frame that is zoomed fills the width below its callers, and all frames keep their places", () => {
  const { app } = stacks();
  const [tree] = page.flameTrees(app, "icicle", []);
  const all = page.layOut(tree, { width: WIDE, byCost: false });
  const f = all.boxes.findIndex(({ branch }) => branch.level === 3 && app.model.fn.name(branch.fn) === "f");
  const zoom = page.boxAddress(all.boxes[f]);
  assert.deepEqual(boxesOf(app, tree, { zoom }), [["all", 1, 0, 11], ["main", 2, 0, 11], ["f", 3, 0, 8], ["g", 4, 0, 5], ["f", 4, 5, 3]]);
  const laid = page.layOut(tree, { width: WIDE, byCost: false, zoom });
  assert.deepEqual([laid.start, laid.whole, laid.zoomed], [0, 8, 2]);
  // An address of no frame shows all.
  assert.equal(page.layOut(tree, { width: WIDE, byCost: false, zoom: "3.zzzz" }).boxes.length, all.boxes.length);
});

test("a focus keeps the stacks through a function, and a hidden function takes its stacks away", () => {
  const { app } = stacks();
  const shown = (state) => {
    const narrowed = appOf(app.model, state);
    return [narrowed.sums.incl[0], Array.from(page.sumFunctions(narrowed.of, narrowed.sums).self).filter(([, cost]) => cost)];
  };
  // main;f;g 5, main;g 2, main;f;f 3, main 1.
  assert.deepEqual(shown({ focus: "f" }), [8, [[1, 3], [2, 5]]]);
  assert.deepEqual(shown({ hide: ["g"] }), [4, [[0, 1], [1, 3]]]);
  assert.deepEqual(shown({ focus: "f", hide: ["g"] }), [3, [[1, 3]]]);
  assert.deepEqual(shown({ focus: "main" })[0], 11);
});

test("of a span, the part inside a range counts, and parts add up", () => {
  // `f` from 0 to 4 s, `g` from 4 s to 10 s; a count of slices belongs to the beginning.
  const second = 1e9;
  const model = modelOf({ events: [["time", [String(10 * second)]], ["slices", ["2"]]], spans: true }, ["", "f", "g"],
    [["f.name", 0, [1, 2]], ["f.file", 0, [0, 0]], ["f.obj", 0, [0, 0]], ["f.whose", 0, [0, 0]], ["t.depth", 0, [1, 1]], ["t.fn", 0, [0, 1]], ["s.node", 0, [1, 2]],
      ["s.cost.0", COUNT, [4 * second, 6 * second]], ["s.cost.1", COUNT, [1, 1]],
      ["q.node", 0, [1, 2]], ["q.time", 0, [7 * second, 11 * second]], ["q.cost.0", COUNT, [4 * second, 6 * second]], ["q.cost.1", COUNT, [1, 1]]]);
  const cost = (time, event = 0) => page.sumStacks(appOf(model, { time }).app, event).self.slice(1);
  assert.deepEqual(cost("1-5"), [3 * second, second]);
  assert.deepEqual(cost("0-3"), [3 * second, 0]);
  assert.deepEqual(cost("3-10"), [second, 6 * second]);
  assert.deepEqual(cost("1-5", 1), [0, 1]);
  const { app } = appOf(model);
  assert.equal(app.times.length, 10 * second);
  const [lane] = page.activityOf(app).values();
  assert.equal(lane.reduce((sum, one) => sum + one), 10 * second);
  assert.deepEqual(page.parseTime("2-1"), null);
  assert.deepEqual(page.roundTimes(10), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual([page.axisText(0.05, 0.3), page.axisText(2, 10)], ["50 ms", "2 s"]);
});

/** A diff whose stacks are [names, old, new]. */
const diffOf = (paths) => {
  const names = ["", ...new Set(paths.flatMap(([path]) => path.split(";")))];
  const nodes = [], costs = [];
  const walk = (depth, rest) => {
    for (const name of new Set(rest.map(([path]) => path[0]))) {
      nodes.push([depth, names.indexOf(name) - 1]);
      const node = nodes.length;
      const below = rest.filter(([path]) => path[0] === name).map(([path, ...counts]) => [path.slice(1), ...counts]);
      for (const [path, old, now] of below) if (!path.length) costs.push([node, old, now]);
      walk(depth + 1, below.filter(([path]) => path.length));
    }
  };
  walk(1, paths.map(([path, ...counts]) => [path.split(";"), ...counts]));
  const none = names.slice(1).map(() => 0);
  const part = (at) => costs.map((one) => one[at]);
  return modelOf({ events: [["n", ["0", "0"]]], runs: ["old", "new"], compared: [0, 1] }, names, [
    ["f.name", 0, names.slice(1).map((_, at) => at + 1)], ["f.file", 0, none], ["f.obj", 0, none], ["f.whose", 0, none],
    ["t.depth", 0, nodes.map(([depth]) => depth)], ["t.fn", 0, nodes.map(([, fn]) => fn)], ["s.node", 0, part(0)], ["s.old.0", COUNT, part(1)], ["s.new.0", COUNT, part(2)],
  ]);
};

test("a differential flame graph shows what is gone, and a subtree below another caller has its old cost", () => {
  const model = diffOf([["main;draw;blur", 400, 0], ["main;draw;blur;kernel", 200, 0], ["main;scope;draw;blur", 0, 400], ["main;scope;draw;blur;kernel", 0, 200], ["main;load", 300, 303], ["main;gone", 70, 0]]);
  const frames = (side) => {
    const { app } = appOf(model, { side });
    const [tree] = page.flameTrees(app, "differential", []);
    return page.layOut(tree, { width: WIDE, byCost: false }).boxes.map(({ branch }) => [branch.fn < 0 ? "all" : model.fn.name(branch.fn), branch.old, branch.now, branch.status]);
  };
  assert.deepEqual(frames("both"), [["all", 970, 903, "changed"], ["main", 970, 903, "changed"], ["scope", 0, 600, "added"], ["draw", 600, 600, "same"], ["blur", 600, 600, "same"], ["kernel", 200, 200, "same"],
    ["load", 300, 303, "changed"], ["gone", 70, 0, "removed"]]);
  assert.deepEqual(frames("new").map(([name]) => name), ["all", "main", "scope", "draw", "blur", "kernel", "load"]);
  assert.deepEqual(frames("old").map(([name, old]) => [name, old]), [["all", 970], ["main", 970], ["draw", 600], ["blur", 600], ["kernel", 200], ["load", 300], ["gone", 70]]);
  assert.deepEqual([page.changeOf({ old: 100, now: 200 }), page.changeOf({ old: 200, now: 100 }), page.changeOf({ old: 0, now: 5 }), page.changeOf({ old: 0, now: 0 })], [0.5, -0.5, 1, 0]);
});

test("the data have the words and units of events", () => {
  const { events } = modelOf({ events: [["cpu-clock:u", ["9"], "CPU time", true], ["page-faults:u", ["1"], "page faults"], ["Ir", ["2"]]] }, [""], []);
  assert.deepEqual(events.map(({ words, isTime, totals }) => [words, isTime, totals]), [["CPU time", true, [9]], ["page faults", false, [1]], ["Ir", false, [2]]]);
});

test("times have a unit, and a change has a percentage of the old figure", () => {
  assert.deepEqual([5, 4567, 367332966, 12e9].map(page.timeText), ["5 ns", "4.567 µs", "367.3 ms", "12.00 s"]);
  assert.deepEqual([page.changeText(50, 1000, 1050), page.changeText(-5, 5, null), page.changeText(7, null, 7)], ["+5.0 %", "gone", "new"]);
});

test("a search is a text in letters of either case, or an expression between slashes", () => {
  const matches = (words, text) => page.matcherOf(words).test(text);
  assert.deepEqual([matches("WASH", "a wash"), matches("/^wa/", "wash"), matches("/WA/", "wash"), matches("/WA/i", "wash")], [true, true, false, true]);
  const invalid = page.matcherOf("/(/");
  assert.deepEqual([invalid.isValid, invalid.isActive, page.matcherOf("").isActive], [false, false, false]);
});

test("the headings of runs are the parts of their paths that differ", () => {
  assert.deepEqual(page.runTitles(["old.out", "a/new.out"]), ["old.out", "new.out"]);
  assert.deepEqual(page.runTitles(["v/3.19/call/x_old.out", "v/3.24/call/x.out", "v/3.27/call/x.out"]), ["3.19", "3.24", "3.27"]);
  assert.deepEqual(page.runTitles(["x", "x", "y"]), ["x", "x", "y"]);
  assert.deepEqual(page.runTitles([]), []);
});

test("an inclusive cost that is a bound has a mark, and sorts as a number", () => {
  const model = modelOf({ events: [["Ir", ["1000"]]], rows: 2, others: [["incl_bound", "incl. is at most", "text"]] }, ["", "f", "g", "true"], [
    ["f.name", 0, [1, 2]], ["f.file", 0, [0, 0]], ["f.obj", 0, [0, 0]], ["f.whose", 0, [0, 0]], ["r.function", 0, [0, 1]],
    ["r.self.0", COUNT, [600, 400]], ["r.incl.0", COUNT, [600, 1000]], ["x.incl_bound", 0, [0, 3]],
  ]);
  const app = { model, eventIndex: 0, total: 1000, groups: null, shown: [0, 1], state: { sort: "incl" } };
  const columns = page.allColumns(app, true);
  const incl = columns.find(({ key }) => key === "incl");
  const text = (row) => page.cellText(app, incl, row).replaceAll("\u2007", "");
  assert.deepEqual([text(0), text(1)], ["600 60.00%", "≤1,000 ≤100.00%"]);
  assert.deepEqual(page.orderRows(model, [0, 1], { sort: "incl", event: 0 }), [1, 0]);
  // The mark of the rows is a column for CSV, which is shown on request.
  const bound = columns.find(({ key }) => key === "incl_bound");
  assert.equal(bound.isUsual, false);
  assert.equal(page.tableCsv(app, [incl, bound]), "incl.Ir,incl_bound\n600,\n1000,true\n");
});

test("a name that does not fit keeps the function's own name", () => {
  const forms = ["a::b<int>::find(int)", "a::b<…>::find(…)", "…::find(…)", "find"];
  const within = (letters) => page.fittedForm(forms, (form) => form.length <= letters);
  assert.equal(within(20), "a::b<int>::find(int)");
  assert.equal(within(19), "a::b<…>::find(…)");
  assert.equal(within(10), "…::find(…)");
  // The last form is never left out, because the place cuts its end.
  assert.equal(within(9), "find");
  assert.equal(within(2), "find");
});
