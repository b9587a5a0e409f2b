// The call tree: each function below its callers, unfolded on demand.

const TREE_ROW = 24;

const treePane = (app) => {
  const { model } = app;
  const tree = h("div", { role: "tree", class: "tree scroller", tabindex: 0, "aria-label": "Calls" });
  const items = h("div", { class: "items", role: "presentation" });
  tree.append(items);
  const hides = h("input", { type: "checkbox", id: "hide-runtime", onchange: () => app.choose({ runtime: hides.checked ? "hidden" : "" }) });
  const costliest = h("button", { onclick: () => showCostliest() }, "Costliest path");
  const note = h("p", "note");
  const fitted = nameFitter(model, tree);
  const pane = h("section", { "data-view": "tree", "aria-label": "Call tree" },
    h("div", "tools", costliest, h("label", "check", hides, " hide libraries and runtime"), note), tree);
  /** The listed entries, some of them unfolded. */
  let entries = [];
  let shown = "";
  let active = 0;
  let unfoldedFor = "";

  const below = (branch) => {
    const found = innerBranches(app.stacks, app.sums(), branch).filter((child) => child.incl || child.old);
    found.sort((a, b) => (a.incl < b.incl ? 1 : a.incl > b.incl ? -1 : model.fn.name(a.fn) < model.fn.name(b.fn) ? -1 : 1));
    return found;
  };
  const isHidden = (branch) => hides.checked && !["own", "dependency"].includes(model.fn.whose(branch.fn));
  /** The children of an entry. A hidden entry is replaced by its callees. */
  const childrenOf = (entry) => {
    if (entry.children) return entry.children;
    let branches = below(entry.branch);
    let own = entry.branch.self;
    while (branches.some(isHidden)) {
      const merged = new Map();
      for (const branch of branches) {
        if (isHidden(branch)) own += branch.self;
        for (const one of isHidden(branch) ? below(branch) : [branch]) {
          const known = merged.get(one.fn);
          if (known) merged.set(one.fn, branchOf(app.stacks, app.sums(), one.fn, [...known.nodes, ...one.nodes], entry.branch));
          else merged.set(one.fn, one);
        }
      }
      branches = Array.from(merged.values());
    }
    entry.own = own;
    entry.children = branches.map((branch, at) => ({
      branch, level: entry.level + 1, outer: entry, open: false, children: null, own: branch.self, size: branches.length, place: at + 1,
    }));
    return entry.children;
  };
  const list = (entry) => {
    const listed = [];
    const waiting = childrenOf(entry).slice().reverse();
    while (waiting.length) {
      const one = waiting.pop();
      listed.push(one);
      if (one.open) waiting.push(...childrenOf(one).slice().reverse());
    }
    return listed;
  };
  let root = null;
  const rebuild = () => {
    const sums = app.sums();
    root = { branch: branchOf(app.stacks, sums, -1, [0], null), level: 0, outer: null, open: true, children: null };
    active = 0;
    unfoldedFor = "";
  };
  /** Unfolds the costliest path to the selection. */
  const unfold = () => {
    const wanted = new Set(app.selected());
    if (!wanted.size) return null;
    const { incl } = app.sums();
    let best = -1;
    for (const node of outermost(app.stacks, app.selected())) if (best < 0 || incl[node] > incl[best]) best = node;
    if (best < 0) return null;
    const path = [];
    for (let node = best; node > 0; node = app.stacks.parent[node]) path.push(app.stacks.fn[node]);
    let entry = root;
    for (const fn of path.reverse()) {
      const next = childrenOf(entry).find((child) => child.branch.fn === fn);
      if (!next) continue;
      if (entry.level) entry.open = true;
      entry = next;
    }
    return entry.level ? entry : null;
  };

  /** Unfolds the largest callee of each function until a function's own cost is larger, and selects this function. */
  const showCostliest = () => {
    let entry = root;
    for (let next = childrenOf(entry)[0]; next && next.branch.incl > entry.own; next = childrenOf(entry)[0]) {
      if (entry.level) entry.open = true;
      entry = next;
      childrenOf(entry);
    }
    relist();
    active = Math.max(0, entries.indexOf(entry));
    reveal(tree, TREE_ROW, active, 0);
    if (entry.level) select(active);
  };

  const render = () => {
    const [first, last] = inSight(tree, TREE_ROW, entries.length, 0);
    const selected = new Set(app.selected());
    const whole = root.branch.incl;
    const rows = [];
    // On a phone, the change takes the place of the share. CSS has the same widths.
    const isWide = innerWidth > NARROW;
    const [figureWidth, step] = isWide ? [model.isDiff ? 36 : 22, 14] : [model.isDiff ? 22 : 16, 8];
    const room = tree.clientWidth - figureWidth * digitWidth - 60;
    tree.classList.toggle("compared", model.isDiff);
    for (let at = first; at < last; at++) {
      const { branch, level, open, size, place, own } = entries[at];
      const canOpen = childrenOf(entries[at]).length > 0;
      const name = model.fn.shown(branch.fn);
      const change = branch.old === null ? 0 : branch.incl - branch.old;
      const indent = Math.min((level - 1) * step, room * 0.5);
      const one = h("div", {
        role: "treeitem", id: `t${at}`, "aria-level": level, "aria-setsize": size, "aria-posinset": place,
        "aria-expanded": canOpen ? String(open) : null, "aria-selected": String(selected.has(branch.fn)), class: at === active ? "row active" : "row",
        style: `top:${at * TREE_ROW}px;--p:${shareOf(branch.incl, whole).toFixed(4)}`, title: `${name}, self ${eventFigure(model, app.eventIndex, own)}`, "data-inlined": branch.isInlined ? "true" : null,
      }, h("span", "n", figureText(model, app.eventIndex, branch.incl, isWide || !model.isDiff ? whole : 0)), model.isDiff && h("span", `change ${toneOf(change)}`, change ? signedFigure(model, app.eventIndex, change) : ""),
      h("span", { class: "name", style: `padding-left:${indent}px` }, `${canOpen ? (open ? "▾ " : "▸ ") : "  "}${fitted(branch.fn, room - indent)}`));
      Object.assign(one.dataset, { fn: model.fn.name(branch.fn), incl: branch.incl, self: entries[at].own, x: "0", whose: model.fn.whose(branch.fn) });
      if (branch.old !== null) Object.assign(one.dataset, { old: branch.old, new: branch.incl });
      rows.push(one);
    }
    items.replaceChildren(...rows);
    if (active >= first && active < last) set(tree, "aria-activedescendant", `t${active}`);
    else tree.removeAttribute("aria-activedescendant");
  };
  const relist = () => {
    entries = list(root);
    items.style.height = `${entries.length * TREE_ROW}px`;
    active = Math.max(0, Math.min(active, entries.length - 1));
  };
  const update = () => {
    hides.checked = app.state.runtime !== "";
    note.textContent = model.header.estimated ? estimateText(app) : comparisonText(app);
    const key = `${app.eventIndex} ${app.snapshot} ${app.base} ${app.narrowing.key} ${hides.checked}`;
    if (key !== shown) {
      shown = key;
      rebuild();
    }
    const selection = `${app.state.fn} ${app.state.file} ${app.state.obj}`;
    const found = selection !== unfoldedFor && app.state.fn !== null && app.selectedIn !== "tree" ? unfold() : null;
    unfoldedFor = selection;
    app.selectedIn = "";
    relist();
    if (found) {
      active = entries.indexOf(found);
      reveal(tree, TREE_ROW, active, 0);
    }
    render();
  };
  const open = (at, opens) => {
    entries[at].open = opens;
    relist();
    render();
  };
  const select = (at) => {
    app.selectedIn = "tree";
    app.selectFunction(entries[at].branch.fn, "push");
  };
  on(items, "click", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    active = Number(item.id.slice(1));
    const name = item.querySelector(".name");
    const isMark = event.clientX < name.getBoundingClientRect().left + parseFloat(getComputedStyle(name).paddingLeft) + 18 && event.clientX > name.getBoundingClientRect().left;
    if (isMark && item.hasAttribute("aria-expanded")) return open(active, !entries[active].open);
    select(active);
  });
  on(tree, "keydown", (event) => {
    if (hasModifier(event) || !entries.length) return;
    const entry = entries[active];
    const canOpen = childrenOf(entry).length > 0;
    if (event.key === "Enter") return select(active);
    if (narrowKeys(app, event, entry.branch.fn)) return event.preventDefault();
    if (event.key === "ArrowRight" && canOpen && !entry.open) open(active, true);
    else if (event.key === "ArrowLeft" && entry.open) open(active, false);
    else {
      let to = movedTo(event.key, active, entries.length, Math.max(1, Math.floor(tree.clientHeight / TREE_ROW) - 2));
      if (event.key === "ArrowRight" && entry.open) to = active + 1;
      if (event.key === "ArrowLeft") to = Math.max(0, entries.indexOf(entry.outer));
      if (to === null) return;
      active = to;
      reveal(tree, TREE_ROW, active, 0);
      render();
    }
    event.preventDefault();
  });
  openMenu(app, tree, (event) => {
    const item = event.target.closest?.("[role=treeitem]");
    return entries[item ? Number(item.id.slice(1)) : active]?.branch.fn ?? -1;
  });
  on(tree, "scroll", oncePerFrame(render));
  return { view: "tree", pane, update, clear: () => items.replaceChildren() };
};
