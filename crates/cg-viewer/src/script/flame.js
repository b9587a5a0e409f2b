// Flame graphs, drawn on a canvas. Each frame that is wide enough also has an item for assistive technology.

const FLAME_ROW = 18;
/** The maximum number of items. Visible frames take precedence, then the widest frames. */
const MOST_ITEMS = 1500;

const FLAMES = [["icicle", "in order"], ["left-heavy", "largest left"], ["time", "in order of time"], ["reversed", "innermost first"], ["sandwich", "around the selection"], ["differential", "old and new"]];

/** Returns true if a kind of flame graph exists: `differential` needs a comparison, `time` needs samples with times. */
const hasFlame = (model, kind, isDiff) => (kind === "time" ? model.column("q.node").length > 0 : kind !== "differential" || isDiff);

const usualFlame = (model) => (model.isDiff ? "differential" : "icicle");

const flamePane = (app) => {
  const { model } = app;
  const kinds = FLAMES.filter(([kind]) => hasFlame(model, kind, model.isDiff || comparable(app).length > 0));
  const choice = h("select", { "aria-label": "Flame graph", onchange: () => app.choose({ flame: choice.value }) },
    ...kinds.map(([value, words]) => h("option", { value }, words)));
  const note = h("p", { class: "note" });
  const place = h("div", { class: "flames" });
  const pane = h("section", { "data-view": "flame", "aria-label": "Flame graph" }, h("div", { class: "tools" }, choice, note), place);
  let drawn = "";
  let parts = [];

  const update = () => {
    const { state } = app;
    for (const option of choice.options) option.hidden = option.disabled = !hasFlame(model, option.value, model.isDiff);
    choice.value = state.flame;
    const width = Math.floor(place.clientWidth);
    const key = [state.flame, app.eventIndex, app.snapshot, app.base, state.thread, width, state.flame === "sandwich" ? `${state.fn} ${state.file} ${state.obj}` : ""].join("|");
    if (key !== drawn) {
      drawn = key;
      const trees = flameTrees(app.stacks, app.sums(), state.flame, app.selected(), { event: app.eventIndex, thread: state.thread });
      parts.forEach((part) => part.close());
      parts = trees.map((tree, at) => flameTree(app, tree, { width, most: Math.floor(MOST_ITEMS / trees.length), at }));
      place.replaceChildren(...parts.map((part) => part.element));
    }
    const sentences = [];
    if (model.header.estimated) sentences.push(estimateText(app));
    if (state.flame === "sandwich" && state.fn === null) sentences.push("Select a function to see its callers and callees.");
    if (state.flame === "time" && model.header.threads && !state.thread) sentences.push("Threads are shown one after the other.");
    if (model.isDiff && state.flame === "differential") sentences.push(`${comparisonText(app)} As wide as the new ${app.base === null ? "run" : "heap"}; orange costs more than before, blue less.`.trim());
    note.textContent = sentences.join(" ");
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

/** One tree of a flame graph. */
const flameTree = (app, tree, { width, most, at }) => {
  const { model } = app;
  const whole = Number(tree.root.incl) || 1;
  const boxes = tree.root.incl > 0 ? layOut(tree, { least: whole / Math.max(1, width), byCost: app.state.flame === "left-heavy" }) : [];
  const depth = boxes.reduce((deepest, box) => Math.max(deepest, box.level), 0);
  const canvas = h("canvas", { "aria-hidden": "true" });
  const items = h("div", { class: "items", style: `height:${depth * FLAME_ROW}px` });
  const words = { callers: "Callers of the selection", callees: "Callees of the selection" }[tree.side] ?? "Frames";
  const element = h("div", { role: boxes.length ? "tree" : "group", class: "flame scroller", tabindex: 0, "aria-label": words, "data-side": tree.side || null }, canvas, items);
  let active = 0;
  const left = (box) => (Number(box.x) / whole) * width;
  const wide = (box) => (Number(box.branch.incl) / whole) * width;
  const label = (box) => {
    const { branch } = box;
    const name = branch.fn < 0 ? "all" : model.fn.shown(branch.fn);
    const change = branch.old === null ? "" : ` (${signed(branch.incl - branch.old)})`;
    return `${name}, ${grouped(branch.incl)} ${model.events[app.eventIndex].name}, ${percentText(shareOf(branch.incl, tree.root.incl))}${change}`;
  };
  const item = (box, index) => {
    const { branch } = box;
    const one = h("div", {
      role: "treeitem", id: `f${at}-${index}`, "aria-level": box.level, "aria-label": label(box), title: label(box),
      style: `left:${left(box).toFixed(2)}px;top:${(box.level - 1) * FLAME_ROW}px;width:${Math.max(1, wide(box)).toFixed(2)}px`,
    });
    Object.assign(one.dataset, {
      fn: branch.fn < 0 ? "" : model.fn.name(branch.fn), incl: branch.incl, self: branch.self, x: box.x,
      whose: branch.fn < 0 ? "" : model.fn.whose(branch.fn),
    });
    if (branch.old !== null) Object.assign(one.dataset, { old: branch.old, new: branch.incl });
    return one;
  };
  /** The boxes with an item: all boxes, or the visible and the widest ones. */
  const shownItems = () => {
    const indexes = boxes.map((_, index) => index);
    if (boxes.length <= most) return indexes;
    const top = element.scrollTop / FLAME_ROW, bottom = (element.scrollTop + element.clientHeight) / FLAME_ROW + 1;
    const isSeen = (box) => box.level >= top && box.level <= bottom;
    indexes.sort((a, b) => Number(isSeen(boxes[b])) - Number(isSeen(boxes[a])) || wide(boxes[b]) - wide(boxes[a]));
    return indexes.slice(0, most).sort((a, b) => a - b);
  };
  const fillItems = () => items.replaceChildren(...shownItems().map((index) => item(boxes[index], index)));
  const draw = () => drawFlame(app, { canvas, element, boxes, left, wide, width, active });
  const update = () => {
    const selected = new Set(app.selected());
    for (const one of items.children) {
      const { branch } = boxes[Number(one.id.split("-")[1])];
      one.setAttribute("aria-selected", String(selected.has(branch.fn)));
    }
    if (document.getElementById(`f${at}-${active}`)) element.setAttribute("aria-activedescendant", `f${at}-${active}`);
    else element.removeAttribute("aria-activedescendant");
    draw();
  };
  const move = (index) => {
    active = index;
    const top = (boxes[index].level - 1) * FLAME_ROW;
    if (top < element.scrollTop || top + FLAME_ROW > element.scrollTop + element.clientHeight) element.scrollTop = top - element.clientHeight / 2;
    if (!document.getElementById(`f${at}-${index}`)) items.append(item(boxes[index], index));
    update();
  };
  element.addEventListener("scroll", oncePerFrame(() => {
    if (boxes.length > most) fillItems();
    update();
  }));
  items.addEventListener("click", (event) => {
    const one = event.target.closest("[role=treeitem]");
    if (!one) return;
    active = Number(one.id.split("-")[1]);
    const { fn } = boxes[active].branch;
    if (fn >= 0) app.selectFunction(fn, "push");
  });
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !boxes.length) return;
    const { fn } = boxes[active].branch;
    if (event.key === "Enter" && fn >= 0) return app.selectFunction(fn, "push");
    const to = flameMove(boxes, active, event.key, Math.floor(element.clientHeight / FLAME_ROW));
    if (to === null) return;
    event.preventDefault();
    move(to);
  });
  element.addEventListener("focus", draw);
  element.addEventListener("blur", draw);
  const watch = matchMedia("(prefers-color-scheme: dark)");
  watch.addEventListener("change", draw);
  requestAnimationFrame(draw);
  fillItems();
  return { element, update, close: () => watch.removeEventListener("change", draw) };
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

/** The colours of the style sheet. */
const flameColours = () => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    own: colour("--own"), dependency: colour("--dependency"), std: colour("--std"), system: colour("--system"), kernel: colour("--kernel"), unknown: colour("--system"),
    ink: colour("--flame-ink"), edge: colour("--paper"), more: colour("--flame-more"), less: colour("--flame-less"), same: colour("--flame-same"), mark: colour("--ink"), hit: colour("--hit-edge"),
  };
};

/** The colour of a frame: its class of code; in a diff, its change. */
const boxColour = (model, colours, branch, isDifferential) => {
  if (branch.fn < 0) return colours.same;
  if (!isDifferential || branch.old === null) return colours[model.fn.whose(branch.fn)];
  const [before, now] = [Number(branch.old), Number(branch.incl)];
  return Math.abs(now - before) < 0.005 * Math.max(before, now) ? colours.same : now > before ? colours.more : colours.less;
};

/** Draws the visible frames. */
const drawFlame = (app, { canvas, element, boxes, left, wide, width, active }) => {
  const { model, state } = app;
  const height = element.clientHeight;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  if (!context) return;
  paintFlame(context, { model, boxes, left, wide, scale, width, height, top: element.scrollTop, selected: new Set(app.selected()), active: document.activeElement === element ? boxes[active] : null,
    words: state.q.toLowerCase(), isDifferential: state.flame === "differential" });
};

const paintFlame = (context, { model, boxes, left, wide, scale, width, height, top, selected, active, words, isDifferential }) => {
  const colours = flameColours();
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui,sans-serif";
  context.textBaseline = "middle";
  const letter = context.measureText("n").width;
  for (const box of boxes) {
    const y = (box.level - 1) * FLAME_ROW - top;
    if (y < -FLAME_ROW || y > height) continue;
    const [x, w] = [left(box), wide(box)];
    context.fillStyle = boxColour(model, colours, box.branch, isDifferential);
    context.fillRect(x, y, Math.max(0.5, w - 0.5), FLAME_ROW - 1);
    const name = box.branch.fn < 0 ? "all" : model.fn.shown(box.branch.fn);
    if (selected.has(box.branch.fn) || box === active || (words && box.branch.fn >= 0 && name.toLowerCase().includes(words))) {
      context.strokeStyle = selected.has(box.branch.fn) ? colours.mark : colours.hit;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(0, w - 2.5), FLAME_ROW - 3);
    }
    if (w < 30) continue;
    context.fillStyle = colours.ink;
    const forms = box.branch.fn < 0 ? [name] : model.fn.forms(box.branch.fn);
    context.fillText(fittedLabel(forms, Math.floor((w - 6) / letter)), x + 3, y + FLAME_ROW / 2, w - 5);
  }
};
