// The printed page: the sentences, the first rows, one flame graph.

const PRINTED_ROWS = 30;
const PRINTED_LEVELS = 30;
const PRINTED_WIDTH = 1000;

const makePrint = (app) => {
  const place = h("section", { class: "print", "aria-label": "Printed" });
  const print = () => {
    const { model } = app;
    const columns = tableColumns(app, 1000).shown;
    const entries = app.groups ? listGroups(app.groups, () => false) : app.shown;
    const cells = (entry) => columns.map((column) => h("td", { class: column.isCount ? "n" : null }, cellText(app, column, entry)));
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", {}, column.title)))),
      h("tbody", {}, ...entries.slice(0, PRINTED_ROWS).map((entry) => h("tr", {}, ...cells(entry)))));
    const left = entries.length - PRINTED_ROWS;
    place.replaceChildren(table, h("p", {}, left > 0 ? `${grouped(left)} more rows are in the page itself.` : ""));
    if (!app.stacks) return;
    const [tree] = flameTrees(app, usualFlame(model), []);
    if (!(slotOf(tree.root) > 0)) return;
    const whole = Number(slotOf(tree.root));
    const boxes = layOut(tree, { width: PRINTED_WIDTH, byCost: false }).boxes.filter((box) => box.level <= PRINTED_LEVELS);
    const height = boxes.reduce((deepest, box) => Math.max(deepest, box.level), 0) * FLAME_ROW;
    const canvas = h("canvas", { width: PRINTED_WIDTH * 2, height: height * 2 });
    place.append(canvas);
    const context = canvas.getContext("2d");
    if (context) paintFlame(context, { model, boxes, left: (box) => (Number(box.x) / whole) * PRINTED_WIDTH, wide: (box) => (Number(box.branch.incl) / whole) * PRINTED_WIDTH,
      width: PRINTED_WIDTH, height, top: 0, selected: new Set(), active: null, matches: () => false, isDifferential: model.isDiff }, 2);
  };
  addEventListener("beforeprint", print);
  addEventListener("afterprint", () => place.replaceChildren());
  return place;
};
