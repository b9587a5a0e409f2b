// The timeline: the activity of each thread, and the range of time that all panes show.

/** The number of equal slices of a lane. */
const SLICES = 240;

/** The maximum number of lanes. Lanes with the largest costs take precedence. */
const MOST_LANES = 120;

/** The costs of slices, by thread. @returns {Map<number, any[]>} */
const activityOf = (app) => {
  const { model, stacks, times, eventIndex, narrowing } = app;
  const passes = passingNodes(stacks, narrowing);
  const isSpan = times.isSpan(eventIndex);
  const whole = times.length || 1;
  const sliceAt = (time) => Math.max(0, Math.min(SLICES - 1, Math.floor((time / whole) * SLICES)));
  /** @type {Map<number, any[]>} */
  const lanes = new Map();
  timedSamples(app, eventIndex, null, (node, thread, cost, at) => {
    if (passes && !passes[node]) return;
    let lane = lanes.get(thread);
    if (!lane) lanes.set(thread, (lane = new Array(SLICES).fill(model.zero)));
    const first = sliceAt(at);
    if (!isSpan) {
      lane[first] += cost;
      return;
    }
    const length = Number(cost), last = sliceAt(at + length);
    let given = 0;
    for (let slice = first; slice <= last; slice++) {
      const until = slice === last ? length : Math.min(length, Math.max(0, Math.round(((slice + 1) * whole) / SLICES) - at));
      lane[slice] += model.count(until - given);
      given = until;
    }
  });
  return lanes;
};

/** Round times for an axis, in seconds: at most eight. @param {number} seconds */
const roundTimes = (seconds) => {
  const least = seconds / 8 || 1;
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((one) => one >= least * 0.999999) ?? 10 * unit;
  const times = [];
  for (let at = 0; at * step <= seconds * (1 + 1e-9); at++) times.push(Number((at * step).toPrecision(12)));
  return times;
};

/** A time on the axis, in the unit of the whole. @param {number} seconds @param {number} whole */
const axisText = (seconds, whole) => {
  const [unit, length] = TIME_UNITS.find(([, least]) => whole * 1e9 >= least) ?? TIME_UNITS[3];
  return `${Number(((seconds * 1e9) / length).toPrecision(9))} ${unit}`;
};

const timelinePane = (app) => {
  const { model } = app;
  const seconds = app.times.length / 1e9;
  const chosen = h("span", "range");
  const whole = h("button", { onclick: () => app.choose({ time: "" }) }, "Whole time");
  const axis = h("div", "axis", ...roundTimes(seconds).map((time, at) => h("span", { "data-tick": time, class: `${at % 2 ? "odd" : ""} ${time > seconds * 0.97 ? "at-end" : ""}`, style: `left:${(seconds ? time / seconds : 0) * 100}%` }, axisText(time, seconds))));
  const sliders = ["From", "To"].map((name) => h("div", { role: "slider", class: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 0, "aria-valuemax": secondsText(seconds) }));
  const rail = h("div", "rail", ...sliders);
  const lanes = h("div", "lanes");
  const scroller = h("div", { class: "scroller times", tabindex: 0, role: "group", "aria-label": "Threads" });
  const note = h("p", "note");
  const pane = h("section", { "data-view": "timeline", "aria-label": "Timeline", "data-seconds": secondsText(seconds) },
    h("div", "tools", whole, chosen), note,
    scroller);
  scroller.append(h("div", "time-head", h("span", {}), h("div", "scale", axis, rail)), lanes);
  const range = () => parseTime(app.state.time) ?? [0, seconds];
  const choose = (from, to, how) => {
    const [first, last] = [Math.max(0, Math.min(from, to)), Math.min(seconds, Math.max(from, to))];
    const isWhole = first <= 0 && last >= seconds * (1 - 1e-9);
    const time = isWhole || last <= first ? "" : `${secondsText(first)}-${secondsText(last)}`;
    if (how === "none") {
      app.state.time = time;
      app.show("none");
    } else app.choose({ time }, how);
  };
  sliders.forEach((slider, at) => on(slider, "keydown", (event) => {
    const values = range();
    const step = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 }[event.key];
    if (step === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const [least, most] = at === 0 ? [0, values[1] - seconds / 1000] : [values[0] + seconds / 1000, seconds];
    const wanted = event.key === "Home" ? 0 : event.key === "End" ? seconds : values[at] + step * seconds;
    values[at] = Math.max(least, Math.min(most, wanted));
    choose(values[0], values[1], "replace");
  }));
  const timeAt = (event, plot) => {
    const box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / (box.width || 1))) * seconds;
  };
  followDrag(lanes, (event) => event.target.closest("[data-lane]"), { timeAt, least: seconds / 500, choose, range });
  followDrag(rail, () => rail, { timeAt, least: seconds / 500, choose, range, sliders });
  let drawn = "";

  const fill = () => {
    const costs = activityOf(app);
    const all = Array.from(costs, ([thread, slices]) => ({ thread: model.header.threads?.[thread] ?? "", slices, total: slices.reduce((sum, one) => sum + one, model.zero) }));
    for (const thread of model.header.threads ?? []) if (thread && all.every((one) => one.thread !== thread)) all.push({ thread, slices: new Array(SLICES).fill(model.zero), total: model.zero });
    all.sort((a, b) => (a.total < b.total ? 1 : a.total > b.total ? -1 : a.thread < b.thread ? -1 : 1));
    const most = all.reduce((max, { slices }) => slices.reduce((top, one) => Math.max(top, Number(one)), max), 1);
    lanes.replaceChildren(...all.slice(0, MOST_LANES).map((lane) => laneElement(app, lane, most)));
    note.textContent = all.length > MOST_LANES ? `The ${MOST_LANES} threads with the largest costs of ${grouped(all.length)}.` : "";
    note.hidden = !note.textContent;
  };
  const update = () => {
    const { state } = app;
    const key = [app.eventIndex, JSON.stringify([state.focus, state.hide])].join();
    if (key !== drawn) fill();
    drawn = key;
    // Few lanes share the height.
    const height = (scroller.clientHeight - 60) / (lanes.children.length || 1);
    pane.style.setProperty("--lane", `${Math.max(48, Math.min(110, Math.floor(height)))}px`);
    const values = range();
    sliders.forEach((slider, at) => {
      set(slider, "aria-valuenow", secondsText(values[at]));
      set(slider, "aria-valuetext", timeText(values[at] * 1e9));
      slider.style.left = `${(seconds ? values[at] / seconds : at) * 100}%`;
    });
    pane.style.setProperty("--from", seconds ? String(values[0] / seconds) : "0");
    pane.style.setProperty("--to", seconds ? String(values[1] / seconds) : "1");
    pane.classList.toggle("cut", state.time !== "");
    whole.disabled = state.time === "";
    chosen.textContent = state.time ? `${timeText(values[0] * 1e9)} to ${timeText(values[1] * 1e9)}, ${timeText((values[1] - values[0]) * 1e9)} of ${timeText(seconds * 1e9)}` : `${timeText(seconds * 1e9)}; drag over the lanes to choose a range`;
    for (const lane of lanes.children) lane.classList.toggle("chosen", state.thread !== "" && lane.querySelector("[data-lane]").dataset.thread === state.thread);
  };
  return { view: "timeline", pane, update };
};

/** A lane: the name of a thread, which chooses it, and its activity. */
const laneElement = (app, { thread, slices, total }, most) => {
  const { model, eventIndex } = app;
  const name = thread || (model.header.threads ? "no thread" : "all samples");
  const height = (one) => (Number(one) / most) * 100;
  const points = slices.map((one, at) => `${at === 0 ? "M0 100" : ""}V${(100 - height(one)).toFixed(1)}H${at + 1}`).join("");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${SLICES} 100`, preserveAspectRatio: "none", "aria-hidden": "true" })) set(svg, key, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  set(path, "d", `${points}V100Z`);
  svg.append(path);
  const plot = h("div", { "data-lane": "", "data-thread": thread, "data-total": total, "data-activity": slices.join(), role: "img", "aria-label": `${name}, ${figureWithEvent(model, eventIndex, total)}` }, svg);
  const words = [h("span", "lane-name", visible(name)), h("span", "lane-total", eventFigure(model, eventIndex, total))];
  const label = thread && model.header.threads
    ? h("button", { class: "lane-label", title: visible(name), onclick: () => app.choose({ thread: app.state.thread === thread ? "" : thread }) }, ...words)
    : h("span", "lane-label", ...words);
  return h("div", "lane", label, plot);
};

/** Chooses a range by a drag. A drag that begins at a slider moves this slider. */
const followDrag = (element, plotOf, { timeAt, least, choose, range, sliders = [] }) => {
  on(element, "pointerdown", (event) => {
    const plot = plotOf(event);
    if (!plot || event.button !== 0) return;
    const moved = sliders.indexOf(event.target);
    const start = moved >= 0 ? range()[1 - moved] : timeAt(event, plot);
    let isDrag = false;
    const later = oncePerFrame(() => isDrag && choose(start, now, "none"));
    let now = start;
    const move = (next) => {
      now = timeAt(next, plot);
      isDrag ||= moved >= 0 || Math.abs(now - start) >= least;
      if (isDrag) later();
    };
    const end = (last) => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", end);
      element.removeEventListener("pointercancel", end);
      if (!isDrag) return;
      move(last);
      isDrag = false;
      choose(start, now, "push");
    };
    element.setPointerCapture(event.pointerId);
    on(element, "pointermove", move);
    on(element, "pointerup", end);
    on(element, "pointercancel", end);
    if (moved < 0) event.preventDefault();
  });
};
