// The page: shows the state of the address, and follows changes of the address.

/** The number of folds that are marked at once. Other folds are marked when they become visible. */
const FIRST_MARKED = 30;
/** The estimated height of a closed fold that was not visible yet, in em. */
const FOLD_HEIGHT = 2.3;
/** The maximum number of chips. */
const MOST_CHIPS = 40;

const button = (words, run) => {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = words;
  element.addEventListener("click", run);
  return element;
};

/** Makes the contents of an element a link. Following the link scrolls to its target. */
const linkTo = (page, element, hash) => {
  const link = document.createElement("a");
  link.href = hash;
  link.addEventListener("click", () => { page.isLed = true; });
  link.append(...element.childNodes);
  element.append(link);
};

/** The entry of a fold. Its text is built by the first search. @returns {Entry & {fold: any}} */
const entryOf = (fold) => {
  const { kind, status, processes } = fold.dataset;
  const namesIn = (selector) => new Set(all(selector, fold).map((element) => element.textContent));
  let text = null;
  return {
    fold, id: fold.id.slice(ANCHOR.length), kind, status, processes: processes.split(" "), fns: namesIn(".fn"), files: namesIn(".file"),
    get text() {
      text ??= [kind, status, ...all("summary, .frame, .remark", fold).filter((part) => !part.closest(".source")).map((part) => part.textContent)].join("\n").toLowerCase();
      return text;
    },
  };
};

/** Builds the texts for searches in idle time. */
const buildTexts = (entries) => {
  let at = 0;
  const some = (deadline) => {
    while (at < entries.length && deadline.timeRemaining() > 2) entries[at++].text;
    if (at < entries.length) requestIdleCallback(some);
  };
  globalThis.requestIdleCallback?.(some);
};

const makePage = (main) => {
  const entries = all("details.finding", main).map(entryOf);
  const groups = all("section.findings, .chunk", main).map((element) => ({ element, folds: all("details.finding", element), count: -1 }));
  const several = { fn: namedBySeveral(entries, "fns"), file: namedBySeveral(entries, "files") };
  const page = { state: everything(), shown: entries, marks: new Set(), isLed: false };
  const bar = makeBar(page, entries);

  main.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
    if (skipped || !(target instanceof HTMLElement)) return;
    for (const fold of all("details.finding", target)) if (page.marks.has(fold)) markFold(fold, wordsOf(page.state));
  }, true);
  const markAll = () => {
    const words = wordsOf(page.state);
    unmark();
    page.marks = new Set(words ? page.shown.map(({ fold }) => fold) : []);
    for (const { fold } of words ? page.shown.slice(0, FIRST_MARKED) : []) markFold(fold, words);
  };

  /** Opens the finding in the address and scrolls to it. */
  const reveal = () => {
    for (const fold of all("[aria-current]", main)) fold.removeAttribute("aria-current");
    const entry = page.shown.find(({ id }) => id === page.state.finding);
    if (!entry) return;
    entry.fold.open = true;
    entry.fold.setAttribute("aria-current", "true");
    if (page.marks.has(entry.fold)) markFold(entry.fold, wordsOf(page.state));
    entry.fold.scrollIntoView({ block: "nearest" });
  };

  /** Shows the state. `how` says how the address changes: push, replace or not at all. */
  page.show = (how = "") => {
    main.setAttribute("aria-busy", "true");
    if (how) history[`${how}State`](null, "", printHash(page.state));
    page.shown = entries.filter((entry) => passes(entry, page.state));
    const kept = new Set(page.shown);
    for (const entry of entries) if (entry.fold.hidden === kept.has(entry)) entry.fold.hidden = !kept.has(entry);
    for (const group of groups) {
      const count = group.folds.reduce((sum, fold) => sum + (fold.hidden ? 0 : 1), 0);
      if (count === group.count) continue;
      group.count = count;
      group.element.hidden = count === 0;
      if (group.element.className === "chunk") group.element.style.containIntrinsicSize = `auto ${count * FOLD_HEIGHT}rem`;
    }
    bar.update();
    markAll();
    reveal();
    main.setAttribute("aria-busy", "false");
  };
  page.choose = (change, how = "push") => {
    page.state = { ...page.state, finding: "", ...change };
    page.show(how);
  };
  /** Moves to the next or the previous finding that passes the filters. */
  page.match = (step) => {
    const { shown } = page;
    if (!shown.length) return;
    const at = shown.findIndex(({ id }) => id === page.state.finding);
    const to = at < 0 ? (step > 0 ? 0 : shown.length - 1) : (at + step + shown.length) % shown.length;
    page.state = { ...page.state, finding: shown[to].id };
    history.replaceState(null, "", printHash(page.state));
    reveal();
  };

  for (const element of all("[data-filter]")) linkTo(page, element, `#${element.dataset.filter}`);
  /** Links the names in a stack to the other findings with these names. Called when the stack becomes visible. */
  const linkNames = (fold) => {
    if ("linked" in fold.dataset) return;
    fold.dataset.linked = "";
    for (const key of ["fn", "file"]) {
      for (const name of all(`.frame .${key}`, fold)) if (several[key].has(name.textContent)) linkTo(page, name, printHash({ [key]: name.textContent }));
    }
  };
  main.addEventListener("toggle", ({ target }) => {
    if (!(target instanceof HTMLElement) || !target.matches("details.finding[open]")) return;
    linkNames(target);
    if (page.marks.has(target)) markFold(target, wordsOf(page.state));
  }, true);
  for (const { fold } of entries) if (fold.open) linkNames(fold);
  buildTexts(entries);
  return page;
};

/** The search and the chips above the findings. */
const makeBar = (page, entries) => {
  /** @type {any} */
  const input = document.getElementById("search");
  const [search, status, chips] = [".search", "[role=status]", ".chips"].flatMap((selector) => all(selector));
  const count = entries.reduce((sum, entry) => sum + entry.processes.length, 0);
  for (const element of [search, chips]) element.hidden = false;
  listenToSearch(input, page);
  document.getElementById("next").addEventListener("click", () => page.match(1));
  document.getElementById("previous").addEventListener("click", () => page.match(-1));

  const groups = ["status", "kind"].map((key) => makeChips(page, entries, key));
  const narrowed = document.createElement("div");
  narrowed.setAttribute("role", "group");
  narrowed.setAttribute("aria-label", "Narrowed to");
  chips.append(...groups.map(({ group }) => group), narrowed);
  const update = () => {
    const { state, shown } = page;
    if (input.value !== state.q) input.value = state.q;
    const matches = shown.reduce((sum, entry) => sum + weightOf(entry, state), 0);
    status.dataset.matches = String(matches);
    const words = count === 1 ? "finding" : "findings";
    status.textContent = shown.length === entries.length && !state.process ? `${count.toLocaleString("en")} ${words}` : `${matches.toLocaleString("en")} of ${count.toLocaleString("en")} ${words}`;
    for (const group of groups) group.update();
    // The last cell of a process contains its name.
    const process = state.process && all(`td[data-filter="process=${CSS.escape(state.process)}"]`).at(-1);
    const filters = { process: process ? process.textContent : `process ${state.process}`, fn: state.fn, file: state.file };
    narrowed.replaceChildren(...Object.keys(filters).filter((key) => state[key]).map((key) => {
      const chip = button(`${filters[key]} ×`, () => page.choose({ [key]: "" }));
      chip.className = "chip";
      chip.setAttribute("aria-pressed", "true");
      chip.dataset[key] = state[key];
      return chip;
    }));
  };
  return { update };
};

/** Chips that filter by kind or status, each with its number of findings. */
const makeChips = (page, entries, key) => {
  const words = new Set(entries.map((entry) => entry[key]));
  const ordered = key === "kind" ? orderKinds(words) : Array.from(words);
  const group = document.createElement("div");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", key === "kind" ? "Kind" : "Status");
  const made = ordered.slice(0, MOST_CHIPS).map((word) => {
    const chip = button("", () => {
      const pressed = page.state[key];
      page.choose({ [key]: pressed.includes(word) ? pressed.filter((one) => one !== word) : [...pressed, word] });
    });
    chip.className = "chip";
    chip.dataset[key] = word;
    return chip;
  });
  group.append(...made);
  if (ordered.length > MOST_CHIPS) group.append(`${ordered.length - MOST_CHIPS} more kinds: search for them`);
  const update = () => {
    const counts = countsBy(key, entries, page.state);
    for (const chip of made) {
      const word = chip.dataset[key];
      chip.dataset.count = String(counts.get(word));
      chip.textContent = `${word.replaceAll("_", " ")} ${counts.get(word).toLocaleString("en")}`;
      chip.setAttribute("aria-pressed", String(page.state[key].includes(word)));
    }
  };
  return { group, update };
};

const start = () => {
  const page = makePage(document.querySelector("main"));
  const follow = () => {
    page.state = parseHash(location.hash);
    page.show();
    if (page.isLed && !page.state.finding) document.querySelector("section.findings:not([hidden])")?.scrollIntoView();
    page.isLed = false;
  };
  addEventListener("hashchange", follow);
  follow();
};

start();
