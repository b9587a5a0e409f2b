// Callers and callees of the selection, with the costs of the arcs as bars.

/** The maximum number of listed arcs. The number of further arcs is shown. */
const MOST_ARCS = 300;

const callsPane = (app) => {
  const { model } = app;
  const heading = h("h2", {});
  const fitted = nameFitter(model, heading);
  const note = h("p", "note");
  const lists = ["Callers", "Callees"].map((name) => h("ul", { "aria-label": name, class: "arcs" }));
  const pane = h("section", { "data-view": "calls", "aria-label": "Callers and callees" },
    h("div", { class: "scroller pad", tabindex: 0 }, heading, note, h("div", "two",
      ...lists.map((list) => h("div", {}, h("h3", {}, list.getAttribute("aria-label")), list)))));

  const arcs = () => {
    const functions = app.selected();
    if (model.header.calls && app.narrowing.isWhole) {
      const now = arcsOfCalls(app.code, functions, app.eventIndex, newest(model));
      if (!model.isDiff) return now;
      const before = arcsOfCalls(app.code, functions, app.eventIndex, 0);
      for (const part of ["callers", "callees"]) {
        for (const [fn, arc] of before[part]) {
          const known = now[part].get(fn);
          if (known) known.old = arc.incl;
          else now[part].set(fn, { incl: model.zero, calls: model.zero, old: arc.incl });
        }
      }
      return now;
    }
    const sums = app.sums();
    const of = arcsOfStacks(app.stacks, sums, functions);
    // An arc that one of the snapshots lacks may be below Massif's threshold there, so its change is unknown.
    const before = app.base === null ? { callers: new Map(), callees: new Map() } : arcsOfStacks(app.stacks, sums.before, functions);
    const plain = (part) => new Map(Array.from(of[part], ([fn, incl]) => [fn, { incl, calls: null, old: before[part].get(fn) }]));
    return { callers: plain("callers"), callees: plain("callees") };
  };
  const update = () => {
    const { fn } = app.state;
    showHeading(app, heading, "No function is selected");
    note.textContent = fn === null ? "Select one in the table, the flame graph or the tree." : model.header.calls && app.narrowing.isWhole ? "" : `From stacks: a recursion counts once.${app.model.header.estimated ? ` ${estimateText(app)}` : ""}`;
    const found = fn === null ? { callers: new Map(), callees: new Map() } : arcs();
    const whole = app.total;
    // A name has the room of two lines beside the figures.
    const room = (lists[0].clientWidth - 32 * digitWidth) * 1.7;
    [found.callers, found.callees].forEach((arcsOf, at) => {
      const sorted = Array.from(arcsOf).sort(([, a], [, b]) => (a.incl < b.incl ? 1 : a.incl > b.incl ? -1 : 0));
      const items = sorted.slice(0, MOST_ARCS).map(([id, arc]) => {
        const old = arc.old === undefined ? "" : ` (${signedFigure(model, app.eventIndex, arc.incl - arc.old)})`;
        const times = arc.calls ? ` ${grouped(arc.calls)}×` : "";
        const item = h("li", { class: old ? "changed" : null, style: `--p:${shareOf(arc.incl, whole).toFixed(4)}` }, h("span", "n", figureText(model, app.eventIndex, arc.incl, whole)), app.link(id, fitted(id, room)), h("span", "more-figures", `${old}${times}`));
        Object.assign(item.dataset, { fn: model.fn.name(id), incl: arc.incl, calls: arc.calls ?? "" });
        return item;
      });
      if (sorted.length > MOST_ARCS) items.push(h("li", {}, `${grouped(sorted.length - MOST_ARCS)} more`));
      lists[at].replaceChildren(...items);
    });
  };
  return { view: "calls", pane, update, clear: () => lists.forEach((list) => list.replaceChildren()) };
};

/** Shows the selected function in a heading. */
const showHeading = (app, heading, words) => {
  const { fn } = app.state;
  heading.textContent = fn === null ? words : nameInLine(app.model, app.selected()[0]);
  heading.title = fn === null ? "" : nameText(fn);
};
