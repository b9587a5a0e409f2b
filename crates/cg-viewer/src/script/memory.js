// Memory over time: the picture, its legend, and the snapshots to choose from.

/** The approximate maximum number of listed snapshots. If there are more, lists those with a tree and every nth of the others. */
const MOST_SNAPSHOTS = 300;

/** The head of the times, with the unit of the chart's axis. */
const timeWords = (figure) => {
  const label = Array.from(figure?.querySelectorAll("text") ?? [], (text) => /^time \((\w+)\)$/.exec(text.textContent)?.[1]).find(Boolean);
  return label ? `time, ${{ i: "instructions", B: "bytes allocated" }[label] ?? label}` : "time";
};

const memoryPane = (app) => {
  const { snapshots } = app;
  const figure = app.chart;
  const step = Math.ceil(snapshots.length / MOST_SNAPSHOTS);
  const listed = snapshots.filter((one, at) => at % step === 0 || app.trees.has(one.number));
  const list = h("div", { role: "listbox", class: "snapshots", tabindex: 0, "aria-label": "Snapshots" }, ...listed.map((one) => snapshotOption(app, one)));
  const note = h("p", "note", step > 1 ? `${listed.length} of ${snapshots.length} snapshots are listed.` : "");
  const heads = h("div", { class: "snapshot heads", "aria-hidden": "true" }, ...["snapshot", "time", "bytes"].map((name) => h("span", { "data-head": name }, name === "time" ? timeWords(figure) : name)), h("span", {}));
  const line = h("p", { class: "chart-line", "data-chart": "" });
  const place = figure && h("div", { class: "figure", tabindex: 0, role: "group", "aria-label": "Chart" }, figure);
  const save = figure && h("button", { onclick: () => saveFile(`${fileStem()}.svg`, "image/svg+xml", chartSvg(figure)) }, "Save as SVG");
  const pane = h("section", { "data-view": "memory", "aria-label": "Memory over time" },
    h("div", "memory",
      figure && h("div", "picture", h("div", "tools", line, h("span", "end", save)), place, chartLegend(app, figure)),
      snapshots.length ? h("div", "side", note, h("div", "scroller", heads, list)) : null));
  const choose = (number, how) => app.choose({ snapshot: String(number), ...app.levels() }, how);
  on(list, "click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) choose(option.dataset.snapshot, "push");
  });
  const chooseByKey = (of, event, keys) => {
    const at = of.findIndex((one) => String(one.number) === app.chosenSnapshot());
    const to = movedTo(keys[event.key] ?? event.key, at, of.length, 10);
    if (to === null) return;
    event.preventDefault();
    choose(of[to].number, "replace");
  };
  on(list, "keydown", (event) => chooseByKey(listed, event, {}));
  on(place, "keydown", (event) => chooseByKey(snapshots, event, { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp" }));
  const report = (one) => {
    for (const key of ["snapshot", "time", "bytes"]) delete line.dataset[key];
    line.textContent = "";
    if (!one) return;
    Object.assign(line.dataset, { snapshot: one.number, time: one.time, bytes: one.bytes });
    line.textContent = `snapshot ${one.number}, time ${grouped(one.time)}: ${grouped(one.bytes)} bytes`;
  };
  const chosenOne = () => snapshots.find((one) => String(one.number) === app.chosenSnapshot());
  if (figure && snapshots.length) followChart(figure, snapshots, { report: (one) => report(one ?? chosenOne()), choose });
  const marks = figure && snapshots.length ? chartMarks(figure, snapshots) : () => {};
  const fit = figure ? chartFitter(figure) : () => {};
  const update = () => {
    fit(place?.clientWidth ?? 0);
    const chosen = app.chosenSnapshot();
    marks({ chosen: app.snapshot, base: app.base });
    report(chosenOne());
    list.removeAttribute("aria-activedescendant");
    for (const option of list.children) {
      const isChosen = option.dataset.snapshot === chosen;
      set(option, "aria-selected", String(isChosen));
      if (!isChosen) continue;
      set(list, "aria-activedescendant", option.id);
      if (innerWidth > NARROW) option.scrollIntoView({ block: "nearest" });
    }
    const isSelected = (fn) => String(app.state.fn !== null && fn === app.state.fn);
    for (const layer of pane.querySelectorAll("path.layer")) set(layer, "aria-selected", isSelected(layer.getAttribute("data-fn")));
    for (const one of pane.querySelectorAll("[data-legend-fn]")) one.toggleAttribute("data-selected", isSelected(one.dataset.legendFn) === "true");
  };
  return { view: "memory", pane, update };
};

const snapshotOption = (app, one) => {
  const marks = [one.detail === "peak" ? "peak" : "", app.trees.has(one.number) ? "tree" : "", one.event ? visible(one.event) : ""].filter(Boolean).join(", ");
  const cell = (name, text) => h("span", { "data-cell": name }, text);
  return h("div", { role: "option", class: "snapshot", id: `m${one.number}`, "data-snapshot": one.number, "data-time": one.time, "data-bytes": one.bytes },
    cell("snapshot", grouped(one.number)), cell("time", grouped(one.time)), cell("bytes", grouped(one.bytes)), h("span", "note", marks));
};

/** The legend: one line for each layer, from the top down, and one for what no layer has. */
const chartLegend = (app, figure) => {
  const layers = Array.from(figure.querySelectorAll("path.layer")).reverse();
  const swatch = (layer) => h("span", { class: `swatch ${layer.getAttribute("class")}`, "aria-hidden": "true" });
  const nameOf = (layer) => layer.getAttribute("data-fn") ?? layer.querySelector("title")?.textContent ?? "";
  const unknown = figure.querySelector("path.unknown");
  const ofRuns = figure.querySelector("path.before") ? ["before", "total"].map((kind, at) => h("li", {}, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), h("span", {}, `${["old", "new"][at]} run: ${visible(app.model.header.runs?.at(-at) ?? "")}`))) : [];
  const line = (layer) => {
    const name = nameOf(layer);
    const words = layer.hasAttribute("data-fn")
      ? h("button", { class: "link", title: nameText(name), onclick: () => app.choose(app.model.address(name, null, null)) }, nameText(name))
      : h("span", { title: visible(name) }, visible(name));
    return h("li", { "data-legend-fn": name }, swatch(layer), words);
  };
  return h("ul", { class: "layers", "aria-label": "Layers of the chart" }, ...ofRuns, ...layers.map(line), unknown && h("li", {}, swatch(unknown), h("span", {}, nameOf(unknown))));
};

/** The size of the plot inside the picture when it is drawn, and the margins on a narrow screen. */
const CHART = { left: 84, right: 24, top: 44, bottom: 368, width: 960 };
const LEAST_CHART = 300;

/**
 * Returns the function that fits the picture to a width by moving all positions, so that letters keep their size. Paths stay absolute.
 * The legend is beside the picture, so the picture ends below the axis.
 */
const chartFitter = (figure) => {
  const svg = figure.querySelector("svg");
  const all = Array.from(svg.querySelectorAll("path, text, circle"));
  const inPlot = all.filter((one) => Number(one.getAttribute("y") ?? 0) <= 420 && !one.matches("text.title"));
  const known = inPlot.map((one) => ({ one, d: one.getAttribute("d"), x: one.getAttribute("x"), cx: one.getAttribute("cx") }));
  for (const one of svg.querySelectorAll("text")) if (Number(one.getAttribute("y")) > 420) one.remove();
  for (const one of svg.querySelectorAll("rect:not(.paper)")) one.remove();
  svg.querySelector("text.title")?.remove();
  for (const one of svg.querySelectorAll("path.before, path.trend")) if (/^M84 .*h12$/.test(one.getAttribute("d") ?? "")) one.remove();
  for (const one of svg.querySelectorAll("text.bytes")) set(one, "data-axis", "y");
  for (const one of svg.querySelectorAll("text.time")) set(one, "data-axis", "x");
  svg.classList.add("fitted");
  let fitted = 0;
  return (place) => {
    const width = Math.max(LEAST_CHART, Math.floor(place));
    if (!place || width === fitted) return;
    fitted = width;
    const scale = (width - CHART.left - CHART.right) / (CHART.width - CHART.left - CHART.right);
    const x = (at) => Math.round((CHART.left + (Number(at) - CHART.left) * scale) * 100) / 100;
    for (const { one, d, x: at, cx } of known) {
      if (!one.isConnected) continue;
      if (d !== null) set(one, "d", movedPath(d, x, scale));
      if (cx !== null) set(one, "cx", String(x(cx)));
      if (at !== null && !one.matches(".bytes")) set(one, "x", String(x(at)));
    }
    set(svg, "viewBox", `0 20 ${width} 400`);
    set(svg, "width", String(width));
    set(svg.querySelector("rect.paper"), "width", String(width));
    thinLabels(svg);
  };
};

/** A path whose horizontal positions are moved. @param {string} d @param {(at: number) => number} x @param {number} scale */
const movedPath = (d, x, scale) => d.replace(/([MLH])\s*(-?[\d.]+)|(h)\s*(-?[\d.]+)/g, (_, sign, at, step, length) => (sign ? `${sign}${x(Number(at))}` : `${step}${Math.round(Number(length) * scale * 100) / 100}`));

/** Hides the labels of times that would overlap, and moves the last one inside. */
const thinLabels = (svg) => {
  let end = -Infinity;
  const whole = svg.viewBox.baseVal.width;
  for (const label of svg.querySelectorAll("text.time:not([y='412'])")) {
    label.removeAttribute("hidden");
    const half = label.getComputedTextLength() / 2;
    const at = Number(label.getAttribute("x"));
    const isOut = at - half < end + 8 || at + half > whole;
    label.toggleAttribute("hidden", isOut);
    if (!isOut) end = at + half;
  }
};

/** The picture as a file, with the colours that it has on the page. */
const chartSvg = (figure) => {
  const copy = figure.querySelector("svg").cloneNode(true);
  for (const one of copy.querySelectorAll("line.mark")) set(one, "stroke", "#333");
  return `<?xml version="1.0" encoding="utf-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
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
  on(figure, "pointermove", (event) => report(at(event)));
  on(figure, "pointerleave", () => report(null));
  on(figure, "click", (event) => choose(at(event).number, "push"));
};

/** Draws lines in the chart at the times of the shown heap and of the heap that it is compared with. */
const chartMarks = (figure, snapshots) => {
  const total = figure.querySelector("path.total");
  if (!total) return () => {};
  const [first, last] = [Number(snapshots[0].time), Number(snapshots[snapshots.length - 1].time)];
  const line = (name) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", "line");
    set(one, "class", `mark ${name}`);
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
      Object.entries({ x1: x, x2: x, y1: box.y, y2: box.y + box.height, "data-snapshot": snapshot.number }).forEach(([key, value]) => set(one, key, String(value)));
    }
  };
};
