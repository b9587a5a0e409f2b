// The pane of flame graphs. Each frame that is wide enough has an item for assistive technology on top of the drawing.

/** The maximum number of items. Visible frames take precedence, then the widest frames. */
const MOST_ITEMS = 1200;

const FLAMES = [["icicle", "callers on top"], ["left-heavy", "callers on top, largest left"], ["time", "in order of time"], ["reversed", "innermost on top"], ["sandwich", "around the selection"], ["differential", "difference of the runs"]];
const SIDES = [["both", "both runs"], ["old", "the old run"], ["new", "the new run"]];

/** Returns true if a kind of flame graph exists: `differential` needs a comparison, `time` needs samples with times. */
const hasFlame = (model, kind, isDiff) => (kind === "time" ? model.column("q.node").length > 0 : kind !== "differential" || isDiff);

const FLAME_HINT = "Click: zoom in. Escape: zoom out. Right click: focus or hide.";

const usualFlame = (model) => (model.isDiff ? "differential" : "icicle");

const flamePane = (app) => {
  const { model } = app;
  const kinds = FLAMES.filter(([kind]) => hasFlame(model, kind, model.isDiff || comparable(app).length > 0));
  const select = (name, choices, change) => {
    const one = h("select", { "aria-label": name, onchange: () => app.choose(change(one.value)) }, ...choices.map(([value, words]) => h("option", { value }, words)));
    return one;
  };
  const choice = select("Flame graph", kinds, (flame) => ({ flame, zoom: "" }));
  const side = select("Runs shown", SIDES, (value) => ({ side: value, zoom: "" }));
  const reset = h("button", { onclick: () => app.choose({ zoom: "" }) }, "Reset zoom");
  const save = h("button", { onclick: () => saveFlame(app, parts) }, "Save as SVG");
  const matched = h("span", "matched");
  const legend = changeLegend();
  const note = h("p", "note");
  const place = h("div", "flames");
  const line = h("p", { class: "frame-line", "data-frame": "" });
  const pane = h("section", { "data-view": "flame", "aria-label": "Flame graph" },
    h("div", "tools", choice, side, reset, matched, h("span", "end", save)), note, legend, place, line);
  let drawn = "";
  let parts = [];

  /** Shows a frame in the status line; the frame with the keyboard focus if there is none at the pointer. */
  const report = (part, box) => {
    const of = box ?? (part.element === document.activeElement ? part.activeBox() : null);
    for (const key of ["fn", "incl", "share", "parentShare"]) delete line.dataset[key];
    line.textContent = "";
    if (!of) return line.append(h("span", "note", FLAME_HINT));
    const { branch } = of;
    const caller = of.branch.outer;
    const share = percentNumber(branch.incl, part.tree.root.incl), ofCaller = percentNumber(branch.incl, caller ? caller.incl : branch.incl);
    Object.assign(line.dataset, { fn: branch.fn < 0 ? "" : model.fn.name(branch.fn), incl: branch.incl, share, parentShare: ofCaller });
    line.append(h("strong", {}, branchName(model, branch)), ` ${branchWords(app, branch)} · ${share} % of all · ${ofCaller} % of ${caller ? branchName(model, caller) : "itself"}`, h("span", "note", branch.fn < 0 ? "" : ` ${visible(model.fn.file(branch.fn) || model.fn.obj(branch.fn))}`));
  };
  const update = () => {
    const { state } = app;
    for (const option of choice.options) option.hidden = option.disabled = !hasFlame(model, option.value, model.isDiff);
    choice.value = state.flame;
    side.value = state.side;
    const isDifferential = state.flame === "differential";
    side.hidden = legend.hidden = !isDifferential;
    const width = Math.floor(place.clientWidth - scrollbarWidth());
    const key = [state.flame, state.side, state.zoom, app.eventIndex, app.snapshot, app.base, app.narrowing.key, width, state.flame === "sandwich" ? `${state.fn} ${state.file} ${state.obj}` : ""].join("|");
    if (key !== drawn) {
      drawn = key;
      const trees = flameTrees(app, state.flame, app.selected());
      if (trees.length !== parts.length) {
        parts.forEach((part) => part.close());
        parts = trees.map((_, at) => flamePart(app, { most: Math.floor(MOST_ITEMS / trees.length), at, report }));
        place.replaceChildren(...parts.flatMap((part) => (parts.length > 1 ? [part.heading, part.element] : [part.element])));
      }
      parts.forEach((part, at) => part.show(trees[at], width));
    }
    const zoomed = parts.map((part) => part.zoomedFunction()).find((fn) => fn !== null) ?? null;
    reset.hidden = zoomed === null;
    if (zoomed === null) delete pane.dataset.zoom;
    else pane.dataset.zoom = zoomed;
    showMatched(app, matched);
    note.textContent = flameNotes(app).join(" ");
    note.hidden = !note.textContent;
    parts.forEach((part) => part.update());
    if (!line.firstChild) report({ element: null }, null);
  };
  const clear = () => {
    drawn = "";
    parts.forEach((part) => part.close());
    parts = [];
    place.replaceChildren();
  };
  return { view: "flame", pane, update, clear };
};

const percentNumber = (part, whole) => (shareOf(part, whole) * 100).toFixed(2);

/** The figures of a frame: its cost; in a comparison, also its old cost. */
const branchWords = (app, branch) => {
  const { model, eventIndex } = app;
  const own = figureWithEvent(model, eventIndex, branch.incl);
  if (branch.old === null || branch.old === undefined) return own;
  const now = branch.now ?? branch.incl;
  if (branch.isGhost) return `${figureWithEvent(model, eventIndex, branch.old)} before, now gone`;
  return `${figureWithEvent(model, eventIndex, now)}, before ${eventFigure(model, eventIndex, branch.old)} (${signedFigure(model, eventIndex, now - branch.old)})`;
};

const flameNotes = (app) => {
  const { model, state } = app;
  const sentences = [];
  if (model.header.estimated) sentences.push(estimateText(app));
  if (state.flame === "sandwich" && state.fn === null) sentences.push("Select a function to see its callers and callees.");
  if (state.flame === "time" && model.header.threads && !state.thread) sentences.push("Threads are shown one after the other.");
  if (state.flame === "differential") {
    sentences.push(comparisonText(app));
    if (model.header.shares) sentences.push("Colours compare shares of the totals, because the runs have different lengths.");
    if (state.side === "both") sentences.push("Frames are as wide as they cost now. Dashed frames are gone, and as wide as they were.");
  }
  return sentences.filter(Boolean);
};

/** Shows the share of the frames that match the search. A match inside a match counts once. */
const showMatched = (app, place) => {
  const { matcher, stacks } = app;
  place.hidden = !matcher.isActive;
  place.textContent = "";
  delete place.dataset.matched;
  if (!matcher.isActive) return;
  const sums = app.sums();
  const { incl } = app.state.side === "old" && sums.before ? sums.before : sums;
  const matches = app.matches();
  let sum = app.model.zero;
  for (let node = 1; node < stacks.count; node++) {
    if (!matches(stacks.fn[node])) continue;
    sum += incl[node];
    node = stacks.end[node] - 1;
  }
  place.dataset.matched = String(sum);
  place.textContent = `matched ${(shareOf(sum, incl[0]) * 100).toFixed(1)} %`;
};

const saveFlame = (app, parts) => {
  const drawings = parts.filter((part) => part.laid.boxes.length).map((part) => ({ ...drawingOf(part, depthOf(part) * FLAME_ROW, 0), whole: part.tree.root.incl }));
  const words = ({ branch }, whole) => `${branchWords(app, branch)}, ${percentNumber(branch.incl, whole)} %`;
  if (drawings.length) saveFile(`${fileStem()}-${app.state.flame}.svg`, "image/svg+xml", flameSvg(drawings, words));
};

const NOTHING_LAID = { boxes: [], start: 0, whole: 1, zoomed: -1 };

/** One tree of a flame graph. The element stays when another tree is shown in it, so that it keeps the focus. */
const flamePart = (app, { most, at, report }) => {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const items = h("div", "items");
  const part = {
    app, most, prefix: `f${at}-`, report, canvas, items, heading: h("p", "part-head"), element: h("div", { class: "flame scroller", tabindex: 0 }, canvas, items),
    tree: null, laid: NOTHING_LAID, places: [], width: 0, focused: 0, redraw: () => {},
  };
  const redraw = oncePerFrame(() => drawPart(part));
  part.redraw = redraw;
  listenToFlame(part);
  const watch = matchMedia("(prefers-color-scheme: dark)");
  on(watch, "change", redraw);
  return Object.assign(part, {
    show: (tree, width) => showTree(part, tree, width), update: () => markItems(part),
    activeBox: () => part.laid.boxes[part.focused] ?? null,
    zoomedFunction: () => (part.laid.zoomed > 0 ? app.model.fn.name(part.laid.boxes[part.laid.zoomed].branch.fn) : null),
    close: () => watch.removeEventListener("change", redraw),
  });
};

/** The width of the scroll bar of a flame graph, measured once. */
let barWidth = -1;
const scrollbarWidth = () => {
  if (barWidth >= 0) return barWidth;
  const probe = h("div", { class: "flame scroller", style: "position:absolute;visibility:hidden;width:100px;height:100px" });
  document.body.append(probe);
  barWidth = Math.max(0, 100 - probe.clientWidth);
  probe.remove();
  return barWidth;
};

const depthOf = (part) => part.laid.boxes.reduce((deepest, box) => Math.max(deepest, box.level), 0);

/** Shows a tree. The frame with the keyboard focus keeps it if it is still there. */
const showTree = (part, tree, width) => {
  const { app, element, items } = part;
  const { state } = app;
  const before = part.laid.boxes[part.focused]?.key;
  const address = state.zoom.startsWith(tree.side) ? state.zoom.slice(tree.side.length) : "";
  Object.assign(part, { tree, width });
  part.laid = slotOf(tree.root) > 0 ? layOut(tree, { width, byCost: state.flame === "left-heavy", zoom: address }) : NOTHING_LAID;
  const { boxes, start, whole, zoomed } = part.laid;
  boxes.forEach((box, index) => (box.index = index));
  const scale = width / Number(whole);
  // The callers of the zoomed frame have the full width.
  part.places = boxes.map((box, index) => (index < zoomed ? { x: 0, w: width } : { x: (Number(box.x) - Number(start)) * scale, w: Number(box.branch.incl) * scale }));
  part.focused = Math.max(0, boxes.findIndex((box) => box.key === before));
  items.style.height = `${depthOf(part) * FLAME_ROW}px`;
  set(element, "role", boxes.length ? "tree" : "group");
  set(element, "aria-label", { callers: "Callers of the selection", callees: "Callees of the selection" }[tree.side] ?? "Frames");
  part.heading.textContent = element.getAttribute("aria-label");
  if (tree.side) element.dataset.side = tree.side;
  else delete element.dataset.side;
  fillItems(part);
};

const drawingOf = ({ app, laid, places, width, element, focused }, height, top) => ({
  model: app.model, boxes: laid.boxes, left: (box) => places[box.index].x, wide: (box) => places[box.index].w, width, height, top, selected: new Set(app.selected()),
  active: document.activeElement === element ? laid.boxes[focused] : null, matches: app.matches(), isDifferential: app.state.flame === "differential",
});

const drawPart = (part) => {
  const { canvas, element, width } = part;
  const height = element.clientHeight;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  if (context) paintFlame(context, drawingOf(part, height, element.scrollTop), scale);
};

/** The boxes with an item: all boxes, or the visible and the widest ones. */
const boxesWithItems = ({ laid, places, most, element }) => {
  const indexes = laid.boxes.map((_, index) => index);
  if (indexes.length <= most) return indexes;
  const top = element.scrollTop / FLAME_ROW, bottom = (element.scrollTop + element.clientHeight) / FLAME_ROW + 1;
  const isSeen = (index) => Number(laid.boxes[index].level >= top && laid.boxes[index].level <= bottom);
  indexes.sort((a, b) => isSeen(b) - isSeen(a) || places[b].w - places[a].w);
  return indexes.slice(0, most).sort((a, b) => a - b);
};

const itemOf = ({ app, laid, places, prefix, tree }, index) => flameItem(app, laid.boxes[index], { id: prefix + index, place: places[index], whole: tree.root.incl });

const fillItems = (part) => part.items.replaceChildren(...boxesWithItems(part).map((index) => itemOf(part, index)));

/** The position of the box of an item. */
const boxIndex = (item) => Number(item.id.split("-")[1]);

/** Marks the items of the selection and of the search. */
const markItems = (part) => {
  const { app, element, items, laid, prefix, focused } = part;
  const selected = new Set(app.selected()), matches = app.matches();
  for (const one of items.children) {
    const { fn } = laid.boxes[boxIndex(one)].branch;
    const isSelected = String(selected.has(fn));
    // Attributes of many items take longer to set than to read.
    if (one.ariaSelected !== isSelected) set(one, "aria-selected", isSelected);
    if (matches(fn)) one.dataset.match = "true";
    else if (one.dataset.match) delete one.dataset.match;
  }
  if (document.getElementById(prefix + focused)) set(element, "aria-activedescendant", prefix + focused);
  else element.removeAttribute("aria-activedescendant");
  part.redraw();
};

/** Moves the keyboard focus to a box. */
const focusBox = (part, index) => {
  const { element, items, laid, prefix } = part;
  part.focused = index;
  const top = (laid.boxes[index].level - 1) * FLAME_ROW;
  if (top < element.scrollTop || top + FLAME_ROW > element.scrollTop + element.clientHeight) element.scrollTop = top - element.clientHeight / 2;
  if (!document.getElementById(prefix + index)) items.append(itemOf(part, index));
  markItems(part);
  part.report(part, null);
};

/** Selects the function of a box, and zooms to the box. */
const zoomTo = (part, index) => {
  const { app, laid, tree } = part;
  part.focused = index;
  const { fn } = laid.boxes[index].branch;
  // A graph around the selection begins at the function then.
  const zoom = fn < 0 || (tree.side && !app.selected().includes(fn)) ? "" : `${tree.side}${boxAddress(laid.boxes[index])}`;
  app.choose(fn < 0 ? { zoom } : { zoom, ...app.model.addressOf(fn) }, "push");
};

const listenToFlame = (part) => {
  const { app, element, items, report } = part;
  const itemAt = (event) => event.target.closest?.("[role=treeitem]");
  const boxAt = (event) => part.laid.boxes[itemAt(event) ? boxIndex(itemAt(event)) : part.focused];
  on(element, "scroll", oncePerFrame(() => {
    if (part.laid.boxes.length > part.most) fillItems(part);
    markItems(part);
  }));
  on(items, "click", (event) => itemAt(event) && zoomTo(part, boxIndex(itemAt(event))));
  on(items, "pointermove", (event) => report(part, itemAt(event) ? boxAt(event) : null));
  on(element, "pointerleave", () => report(part, null));
  on(element, "keydown", (event) => {
    const { boxes } = part.laid;
    if (hasModifier(event) || !boxes.length) return;
    if (event.key === "Escape" && app.state.zoom) app.choose({ zoom: "" });
    else if (event.key === "Enter") zoomTo(part, part.focused);
    else if (!narrowKeys(app, event, boxes[part.focused].branch.fn)) {
      const to = flameMove(boxes, part.focused, event.key, Math.floor(element.clientHeight / FLAME_ROW));
      if (to === null) return;
      focusBox(part, to);
    }
    event.preventDefault();
  });
  openMenu(app, element, (event) => boxAt(event)?.branch.fn ?? -1);
  on(element, "focus", () => {
    part.redraw();
    report(part, null);
  });
  on(element, "blur", part.redraw);
};

/** The item of a frame. */
const flameItem = (app, box, { id, place, whole }) => {
  const { model } = app;
  const { branch } = box;
  const one = h("div", {
    role: "treeitem", id, "aria-level": box.level, "aria-selected": "false", "aria-label": `${branchName(model, branch)}, ${branchWords(app, branch)}, ${percentText(shareOf(branch.incl, whole))}`,
    style: `left:${place.x.toFixed(2)}px;top:${(box.level - 1) * FLAME_ROW}px;width:${Math.max(1, place.w).toFixed(2)}px`,
  });
  Object.assign(one.dataset, {
    fn: branch.fn < 0 ? "" : model.fn.name(branch.fn), incl: branch.incl, self: branch.self, x: box.x,
    whose: branch.fn < 0 ? "" : model.fn.whose(branch.fn), label: boxLabel(model, branch, place.w),
  });
  if (branch.isInlined) one.dataset.inlined = "true";
  if (branch.old !== null && branch.old !== undefined) Object.assign(one.dataset, { old: branch.old, new: branch.now ?? branch.incl });
  if (branch.status) {
    one.dataset.status = branch.status;
    const change = changeOf(branch);
    if (change !== null) one.style.setProperty("--change", change.toFixed(4));
  }
  return one;
};

/** The box that a key moves to: down to the widest callee, up to the caller, right and left to the siblings. */
const flameMove = (boxes, at, key, page) => {
  const siblings = () => boxes.flatMap((box, index) => (box.up === boxes[at].up ? [index] : []));
  const sibling = (step) => siblings()[siblings().indexOf(at) + step] ?? at;
  const down = (from) => {
    let best = from;
    boxes.forEach((box, index) => {
      if (box.up === from && (best === from || box.branch.incl > boxes[best].branch.incl)) best = index;
    });
    return best;
  };
  const repeat = (step, times) => {
    let to = at;
    for (let i = 0; i < times; i++) to = step(to);
    return to;
  };
  const deepest = () => boxes.reduce((best, box, index) => (box.level > boxes[best].level ? index : best), 0);
  const moves = {
    ArrowDown: () => down(at), ArrowUp: () => Math.max(0, boxes[at].up), ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1),
    Home: () => 0, End: deepest, PageDown: () => repeat(down, page), PageUp: () => repeat((to) => Math.max(0, boxes[to].up), page),
  };
  return Object.hasOwn(moves, key) ? moves[key]() : null;
};
