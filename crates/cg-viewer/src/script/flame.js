// The pane of flame graphs. Each frame that is wide enough has an item for assistive technology on top of the drawing.

/** The maximum number of items. Visible frames take precedence, then the widest frames. */
const MOST_ITEMS = 1200;

const FLAMES = [["icicle", "in order"], ["left-heavy", "largest left"], ["time", "in order of time"], ["reversed", "innermost first"], ["sandwich", "around the selection"], ["differential", "old and new"]];
const SIDES = [["both", "both runs"], ["old", "the old run"], ["new", "the new run"]];

/** Returns true if a kind of flame graph exists: `differential` needs a comparison, `time` needs samples with times. */
const hasFlame = (model, kind, isDiff) => (kind === "time" ? model.column("q.node").length > 0 : kind !== "differential" || isDiff);

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
  const reset = h("button", { type: "button", onclick: () => app.choose({ zoom: "" }) }, "Reset zoom");
  const save = h("button", { type: "button", onclick: () => saveFlame(app, parts) }, "Save as SVG");
  const matched = h("span", { class: "matched" });
  const legend = changeLegend();
  const note = h("p", { class: "note" });
  const place = h("div", { class: "flames" });
  const line = h("p", { class: "frame-line", "data-frame": "" });
  const pane = h("section", { "data-view": "flame", "aria-label": "Flame graph" },
    h("div", { class: "tools" }, choice, side, reset, matched, h("span", { class: "end" }, save)), note, legend, place, line);
  let drawn = "";
  let parts = [];

  /** Shows a frame in the status line; the frame with the keyboard focus if there is none at the pointer. */
  const report = (part, box) => {
    const of = box ?? (part.element === document.activeElement ? part.activeBox() : null);
    for (const key of ["fn", "incl", "share", "parentShare"]) delete line.dataset[key];
    line.textContent = "";
    if (!of) return;
    const { branch } = of;
    const caller = of.branch.outer;
    const share = percentNumber(branch.incl, part.tree.root.incl), ofCaller = percentNumber(branch.incl, caller ? caller.incl : branch.incl);
    Object.assign(line.dataset, { fn: branch.fn < 0 ? "" : model.fn.name(branch.fn), incl: branch.incl, share, parentShare: ofCaller });
    line.append(h("strong", {}, branchName(model, branch)), ` ${branchWords(app, branch)} · ${share} % of all · ${ofCaller} % of ${caller ? branchName(model, caller) : "itself"}`);
  };
  const update = () => {
    const { state } = app;
    for (const option of choice.options) option.hidden = option.disabled = !hasFlame(model, option.value, model.isDiff);
    choice.value = state.flame;
    side.value = state.side;
    const isDifferential = state.flame === "differential";
    side.hidden = legend.hidden = !isDifferential;
    const width = Math.floor(place.clientWidth);
    const key = [state.flame, state.side, state.zoom, app.eventIndex, app.snapshot, app.base, app.narrowing.key, width, state.flame === "sandwich" ? `${state.fn} ${state.file} ${state.obj}` : ""].join("|");
    if (key !== drawn) {
      drawn = key;
      const trees = flameTrees(app, state.flame, app.selected());
      if (trees.length !== parts.length) {
        parts.forEach((part) => part.close());
        parts = trees.map((_, at) => flamePart(app, { most: Math.floor(MOST_ITEMS / trees.length), at, report }));
        place.replaceChildren(...parts.map((part) => part.element));
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
  const part = parts.find((one) => one.hasBoxes());
  if (part) saveFile(`${fileStem()}-${app.state.flame}.svg`, "image/svg+xml", part.svg());
};

/** One tree of a flame graph. The element stays when another tree is shown in it, so that it keeps the focus. */
const flamePart = (app, { most, at, report }) => {
  const { model } = app;
  const canvas = h("canvas", { "aria-hidden": "true" });
  const items = h("div", { class: "items" });
  const element = h("div", { class: "flame scroller", tabindex: 0 }, canvas, items);
  const part = { element, tree: null };
  let laid = { boxes: [], start: 0, whole: 1, zoomed: -1 };
  let width = 0, active = 0;
  /** The left end and the width of each box in pixels. The callers of the zoomed frame have the full width. */
  const placed = () => {
    const [start, scale] = [Number(laid.start), width / Number(laid.whole)];
    return laid.boxes.map((box, index) => (index < laid.zoomed ? { x: 0, w: width } : { x: (Number(box.x) - start) * scale, w: Number(box.branch.incl) * scale }));
  };
  let places = [];
  const drawing = (height, top) => ({
    model, boxes: laid.boxes, left: (box) => places[box.index].x, wide: (box) => places[box.index].w, width, height, top, selected: new Set(app.selected()),
    active: document.activeElement === element ? laid.boxes[active] : null, matches: app.matches(), isDifferential: app.state.flame === "differential",
  });
  const draw = () => {
    const height = element.clientHeight;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== width * scale || canvas.height !== height * scale) {
      canvas.width = width * scale;
      canvas.height = height * scale;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    if (context) paintFlame(context, drawing(height, element.scrollTop), scale);
  };
  /** The boxes with an item: all boxes, or the visible and the widest ones. */
  const shownItems = () => {
    const indexes = laid.boxes.map((_, index) => index);
    if (indexes.length <= most) return indexes;
    const top = element.scrollTop / FLAME_ROW, bottom = (element.scrollTop + element.clientHeight) / FLAME_ROW + 1;
    const isSeen = (box) => box.level >= top && box.level <= bottom;
    indexes.sort((a, b) => Number(isSeen(laid.boxes[b])) - Number(isSeen(laid.boxes[a])) || places[b].w - places[a].w);
    return indexes.slice(0, most).sort((a, b) => a - b);
  };
  const item = (index) => flameItem(app, laid.boxes[index], { id: `f${at}-${index}`, place: places[index], whole: part.tree.root.incl });
  const fillItems = () => items.replaceChildren(...shownItems().map(item));
  const indexOf = (one) => Number(one.id.split("-")[1]);
  const mark = () => {
    const selected = new Set(app.selected()), matches = app.matches();
    for (const one of items.children) {
      const { fn } = laid.boxes[indexOf(one)].branch;
      one.setAttribute("aria-selected", String(selected.has(fn)));
      if (matches(fn)) one.dataset.match = "true";
      else delete one.dataset.match;
    }
    if (document.getElementById(`f${at}-${active}`)) element.setAttribute("aria-activedescendant", `f${at}-${active}`);
    else element.removeAttribute("aria-activedescendant");
    draw();
  };
  const move = (index) => {
    active = index;
    const top = (laid.boxes[index].level - 1) * FLAME_ROW;
    if (top < element.scrollTop || top + FLAME_ROW > element.scrollTop + element.clientHeight) element.scrollTop = top - element.clientHeight / 2;
    if (!document.getElementById(`f${at}-${index}`)) items.append(item(index));
    mark();
    report(part, null);
  };
  const zoom = (index) => {
    const box = laid.boxes[index];
    active = index;
    const { fn } = box.branch;
    const change = { zoom: fn < 0 ? "" : `${part.tree.side}${boxAddress(box)}` };
    app.choose(fn < 0 ? change : { ...change, ...model.addressOf(fn) }, "push");
  };
  element.addEventListener("scroll", oncePerFrame(() => {
    if (laid.boxes.length > most) fillItems();
    mark();
  }));
  items.addEventListener("click", (event) => {
    const one = event.target.closest("[role=treeitem]");
    if (one) zoom(indexOf(one));
  });
  const atPointer = (event) => {
    const one = event.target.closest("[role=treeitem]");
    report(part, one ? laid.boxes[indexOf(one)] : null);
  };
  items.addEventListener("pointermove", atPointer);
  element.addEventListener("pointerleave", () => report(part, null));
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !laid.boxes.length) return;
    if (event.key === "Escape" && app.state.zoom) app.choose({ zoom: "" });
    else if (event.key === "Enter") zoom(active);
    else if (!narrowKeys(app, event, laid.boxes[active].branch.fn)) {
      const to = flameMove(laid.boxes, active, event.key, Math.floor(element.clientHeight / FLAME_ROW));
      if (to === null) return;
      move(to);
    }
    event.preventDefault();
  });
  openMenu(app, element, (event) => {
    const one = event.target.closest?.("[role=treeitem]");
    return one ? laid.boxes[indexOf(one)].branch.fn : laid.boxes[active]?.branch.fn ?? -1;
  });
  element.addEventListener("focus", () => {
    draw();
    report(part, null);
  });
  element.addEventListener("blur", draw);
  const watch = matchMedia("(prefers-color-scheme: dark)");
  watch.addEventListener("change", draw);
  return Object.assign(part, {
    show: (tree, newWidth) => {
      const before = laid.boxes[active]?.key;
      part.tree = tree;
      width = newWidth;
      const { state } = app;
      const address = state.zoom.startsWith(tree.side) ? state.zoom.slice(tree.side.length) : "";
      laid = slotOf(tree.root) > 0 ? layOut(tree, { width, byCost: state.flame === "left-heavy", zoom: address }) : { boxes: [], start: 0, whole: 1, zoomed: -1 };
      laid.boxes.forEach((box, index) => (box.index = index));
      places = placed();
      active = Math.max(0, laid.boxes.findIndex((box) => box.key === before));
      const depth = laid.boxes.reduce((deepest, box) => Math.max(deepest, box.level), 0);
      items.style.height = `${depth * FLAME_ROW}px`;
      element.setAttribute("role", laid.boxes.length ? "tree" : "group");
      element.setAttribute("aria-label", { callers: "Callers of the selection", callees: "Callees of the selection" }[tree.side] ?? "Frames");
      if (tree.side) element.dataset.side = tree.side;
      else delete element.dataset.side;
      fillItems();
      requestAnimationFrame(draw);
    },
    update: mark, hasBoxes: () => laid.boxes.length > 0, activeBox: () => laid.boxes[active] ?? null,
    zoomedFunction: () => (laid.zoomed > 0 ? model.fn.name(laid.boxes[laid.zoomed].branch.fn) : null),
    svg: () => flameSvg(drawing(laid.boxes.reduce((deepest, box) => Math.max(deepest, box.level), 0) * FLAME_ROW, 0), (box) => `${branchWords(app, box.branch)}, ${percentNumber(box.branch.incl, part.tree.root.incl)} %`),
    close: () => watch.removeEventListener("change", draw),
  });
};

/** The item of a frame. */
const flameItem = (app, box, { id, place, whole }) => {
  const { model } = app;
  const { branch } = box;
  const one = h("div", {
    role: "treeitem", id, "aria-level": box.level, "aria-label": `${branchName(model, branch)}, ${branchWords(app, branch)}, ${percentText(shareOf(branch.incl, whole))}`,
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
