// Memory over time: the picture, and the snapshots to choose from.

/** The approximate maximum number of listed snapshots. If there are more, lists those with a tree and every nth of the others. */
const MOST_SNAPSHOTS = 700;

const memoryPane = (app) => {
  const { model } = app;
  const figure = document.getElementById("chart");
  const { snapshots } = app;
  const step = Math.ceil(snapshots.length / MOST_SNAPSHOTS);
  const listed = snapshots.filter((one, at) => at % step === 0 || app.trees.has(one.number));
  const list = h("div", { role: "listbox", class: "snapshots scroller", tabindex: 0, "aria-label": "Snapshots" });
  const note = h("p", { class: "note" }, step > 1 ? `${listed.length} of ${snapshots.length} snapshots are listed.` : "");
  const pane = h("section", { "data-view": "memory", "aria-label": "Memory over time" },
    h("div", { class: "memory" }, figure && h("div", { class: "figure", tabindex: 0, role: "group", "aria-label": "Chart" }, figure), h("div", { class: "side" }, note, snapshots.length ? list : null)));
  for (const one of listed) {
    const option = h("div", { role: "option", id: `m${one.number}`, "data-snapshot": one.number, "data-time": one.time, "data-bytes": one.bytes },
      `${one.number}  ${grouped(one.time)}  ${grouped(one.bytes)}${app.trees.has(one.number) ? "  ⊢" : ""}${one.detail === "peak" ? " peak" : ""}${one.event ? `  ${visible(one.event)}` : ""}`);
    list.append(option);
  }
  const choose = (number, how) => app.choose({ snapshot: String(number), ...app.levels() }, how);
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) choose(option.dataset.snapshot, "push");
  });
  list.addEventListener("keydown", (event) => {
    const at = listed.findIndex((one) => String(one.number) === app.chosenSnapshot());
    const to = movedTo(event.key, at, listed.length, 10);
    if (to === null) return;
    event.preventDefault();
    choose(listed[to].number, "replace");
  });
  if (figure && snapshots.length) followChart(figure, snapshots, { report: (one) => (note.textContent = one), choose });
  const marks = figure && snapshots.length ? chartMarks(figure, snapshots) : () => {};
  const update = () => {
    const chosen = app.chosenSnapshot();
    marks({ chosen: app.snapshot, base: app.base });
    list.removeAttribute("aria-activedescendant");
    for (const option of list.children) {
      const isChosen = option.dataset.snapshot === chosen;
      option.setAttribute("aria-selected", String(isChosen));
      if (!isChosen) continue;
      list.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }
    if (figure) for (const layer of figure.querySelectorAll("path.layer")) layer.setAttribute("aria-selected", String(app.state.fn !== null && layer.getAttribute("data-fn") === app.state.fn));
  };
  return { view: "memory", pane, update };
};

/** Reports the snapshot at the pointer, and chooses it on a click: the newest snapshot at that time. */
const followChart = (figure, snapshots, { report, choose }) => {
  const line = figure.querySelector("path.total");
  if (!line) return;
  const at = (event) => {
    const box = line.getBoundingClientRect();
    const [first, last] = [Number(snapshots[0].time), Number(snapshots[snapshots.length - 1].time)];
    const time = first + ((event.clientX - box.left) / (box.width || 1)) * (last - first);
    return snapshots.findLast((one) => Number(one.time) <= time) ?? snapshots[0];
  };
  figure.addEventListener("pointermove", (event) => {
    const one = at(event);
    report(`snapshot ${one.number}, time ${grouped(one.time)}: ${grouped(one.bytes)} bytes`);
  });
  figure.addEventListener("click", (event) => choose(at(event).number, "push"));
};

/** Draws lines in the chart at the times of the shown heap and of the heap that it is compared with. */
const chartMarks = (figure, snapshots) => {
  const total = figure.querySelector("path.total");
  if (!total) return () => {};
  const [first, last] = [Number(snapshots[0].time), Number(snapshots[snapshots.length - 1].time)];
  const line = (name) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", "line");
    one.setAttribute("class", `mark ${name}`);
    total.after(one);
    return one;
  };
  const lines = { chosen: line("chosen"), base: line("base") };
  return (numbers) => {
    const box = total.getBBox();
    for (const [name, one] of Object.entries(lines)) {
      const snapshot = snapshots.find(({ number }) => number === numbers[name]);
      one.toggleAttribute("hidden", !snapshot);
      if (!snapshot) continue;
      const x = box.x + ((Number(snapshot.time) - first) / (last - first || 1)) * box.width;
      Object.entries({ x1: x, x2: x, y1: box.y, y2: box.y + box.height, "data-snapshot": snapshot.number }).forEach(([key, value]) => one.setAttribute(key, String(value)));
    }
  };
};
