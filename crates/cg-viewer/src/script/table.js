// The table. Only visible rows are elements; the others are numbers.

const ROW_HEIGHT = 24;

const tablePane = (app) => {
  const head = h("div", { role: "row", "aria-rowindex": 1, class: "row head" });
  const body = h("div", { role: "rowgroup", class: "rows" });
  const grid = h("div", { role: "grid", class: "grid scroller", tabindex: 0, "aria-label": "Rows" },
    h("div", { role: "rowgroup", class: "heads" }, head), body);
  const stack = h("div", { class: "stack", hidden: true });
  const empty = h("div", { class: "empty", hidden: true });
  const save = h("button", { onclick: () => saveFile(`${fileStem()}.csv`, "text/csv", tableCsv(app, columns)) }, "Save as CSV");
  const choices = tableChoices(app, save);
  const pane = h("section", { "data-view": "table", "aria-label": "Table" }, choices.bar, grid, empty, stack);
  const list = makeList(app);
  const fitted = nameFitter(app.model, grid);
  let columns = [];
  let headings = "";
  let nameWidth = 0;
  let isMeasured = false;
  let by = "";

  const render = () => {
    const { entries } = list;
    const [first, last] = inSight(grid, ROW_HEIGHT, entries.length, ROW_HEIGHT);
    const elements = rowElements(app, list, columns, (fn) => fitted(fn, nameWidth - (app.groups ? 20 : 0)));
    const rows = [];
    for (let position = first; position < last; position++) {
      const element = elements(entries[position]);
      set(element, "aria-rowindex", position + 2);
      const place = list.placeOf(position);
      if (place) {
        set(element, "aria-posinset", place.at);
        set(element, "aria-setsize", place.of);
      }
      element.style.top = `${position * ROW_HEIGHT}px`;
      rows.push(element);
    }
    body.style.height = `${entries.length * ROW_HEIGHT}px`;
    body.replaceChildren(...rows);
    const active = list.active();
    const id = active === null ? "" : entryId(active);
    if (rows.some((one) => one.id === id)) set(grid, "aria-activedescendant", id);
    else grid.removeAttribute("aria-activedescendant");
  };

  const renderHead = () => {
    const sorted = app.state.sort || usualSort(app.model);
    const { turned, name } = parseSort(sorted);
    const key = columns.map((one) => one.key + one.title).join() + sorted + app.state.event;
    if (key === headings) return;
    headings = key;
    const columnOf = (element) => element.closest("[data-column]")?.getAttribute("data-column");
    const held = columnOf(document.activeElement);
    head.replaceChildren(...columns.map((column) => {
      const isSorted = column.key === name;
      const down = column.isCount !== turned;
      return h("div", {
        role: "columnheader", "data-column": column.key, class: column.isCount ? "n" : "t",
        "aria-sort": isSorted ? (down ? "descending" : "ascending") : null,
      }, h("button", { tabindex: -1, title: column.hint, onclick: () => app.sortBy(column.key) }, column.title));
    }));
    if (held) Array.from(head.children).find((one) => columnOf(one) === held)?.querySelector("button").focus();
  };

  const relist = () => {
    list.relist();
    set(grid, "aria-rowcount", list.entries.length + 1);
  };

  const update = ({ isNewOrder, isNewSelection }) => {
    if (!isMeasured && grid.clientWidth) measureDigit(grid);
    isMeasured ||= grid.clientWidth > 0;
    const width = grid.clientWidth || innerWidth;
    const { all, shown } = tableColumns(app, width);
    columns = shown;
    choices.update(all, shown);
    pane.style.setProperty("--columns", columns.map((one) => one.width).join(" "));
    pane.style.setProperty("--least", `${leastWidth(columns)}px`);
    grid.classList.toggle("wider", leastWidth(columns) > width);
    renderHead();
    nameWidth = head.children[columns.findIndex(({ key }) => key === "fn")]?.clientWidth || width;
    set(grid, "role", app.groups ? "treegrid" : "grid");
    set(grid, "aria-colcount", columns.length);
    relist();
    showEmpty(app, empty);
    grid.classList.toggle("none", !empty.hidden);
    if (isNewOrder) grid.scrollTop = 0;
    // Another grouping unfolds the group of the selection.
    const isNewGroup = by !== app.state.group;
    by = app.state.group;
    const found = (isNewSelection || isNewGroup) && (app.state.fn !== null || app.state.finding !== "") ? list.findSelection() : null;
    if (found !== null) {
      relist();
      if (isNewSelection) reveal(grid, ROW_HEIGHT, list.entries.indexOf(found), ROW_HEIGHT);
    }
    renderStack(app, stack);
    render();
  };

  const toggle = (group) => {
    app.state.open = list.toggled(group);
    history.pushState(null, "", printHash(app.state, app.usual));
    relist();
    render();
  };
  /** Makes an entry the active one. A row becomes selected, a group does not. */
  const go = (at, how) => {
    const entry = list.entries[at];
    list.activeGroup = groupOf(app.groups, entry);
    if (!list.activeGroup) return app.selectRow(entry, how);
    reveal(grid, ROW_HEIGHT, at, ROW_HEIGHT);
    render();
  };

  on(grid, "scroll", oncePerFrame(render));
  const entryAt = (event) => {
    const row = event.target.closest?.("[role=row][aria-rowindex]");
    return row && row !== head ? list.entries[Number(row.getAttribute("aria-rowindex")) - 2] : list.active();
  };
  openMenu(app, grid, (event) => {
    const entry = entryAt(event);
    return entry === null || entry === undefined || entry < 0 ? -1 : app.model.row.function(entry);
  });
  on(body, "dblclick", (event) => {
    const name = event.target.closest(".name")?.querySelector(".text");
    if (!name) return;
    const { fn } = name.closest("[role=row]").dataset;
    if (fn !== undefined) name.textContent = nameText(fn);
    getSelection().selectAllChildren(name);
  });
  on(body, "click", (event) => {
    const row = event.target.closest("[role=row]");
    if (!row) return;
    // The second click of a double click selects the name.
    if (event.detail > 1) return;
    go(Number(row.getAttribute("aria-rowindex")) - 2, "push");
    if (list.activeGroup) toggle(list.activeGroup);
  });
  on(grid, "keydown", (event) => {
    if (hasModifier(event)) return;
    if (event.target.closest("button")) return headingKeys(event, head, grid);
    const at = list.entries.indexOf(list.active());
    if (event.key === "ArrowUp" && at <= 0) {
      event.preventDefault();
      head.querySelector("button").focus();
      return;
    }
    const group = list.activeGroup;
    if (!group && at >= 0 && narrowKeys(app, event, app.model.row.function(list.entries[at]))) return event.preventDefault();
    if (event.key === "Enter" && at >= 0) return group ? toggle(group) : go(at, "push");
    if (group && event.key === (list.isOpen(group) ? "ArrowLeft" : "ArrowRight")) toggle(group);
    else {
      const page = Math.max(1, Math.floor(grid.clientHeight / ROW_HEIGHT) - 2);
      const to = list.movedTo(event.key, at, page);
      if (to === null) return;
      go(to, "replace");
    }
    event.preventDefault();
  });
  return { view: "table", pane, update, clear: () => body.replaceChildren() };
};

/** The list of the table: rows, or groups with the rows of unfolded groups. */
const makeList = (app) => {
  const { model } = app;
  /** The labels of unfolded groups, from the address. */
  let open = new Set();
  const list = {
    /** @type {number[]} */
    entries: [],
    /** @type {Group | null} the group with the keyboard focus; null if the selected row has it */
    activeGroup: null,
    active: () => (list.activeGroup ? groupEntry(app.groups.indexOf(list.activeGroup)) : app.activeRow),
    isOpen: (group) => open.has(group.label),
    /** The unfolded groups after one of them was folded or unfolded. */
    toggled: ({ label }) => {
      if (!open.delete(label)) open.add(label);
      return Array.from(open).join("\n");
    },
    relist: () => {
      open = new Set(app.state.open ? app.state.open.split("\n") : []);
      // Every change creates new groups.
      const active = list.activeGroup;
      list.activeGroup = (active && app.groups?.find((group) => group.label === active.label)) ?? null;
      list.entries = app.groups ? listGroups(app.groups, list.isOpen) : app.shown;
    },
    /** Makes the selected row the active one, and unfolds its group. */
    findSelection: () => {
      const isSelected = model.isSelectedRow(app.state);
      const active = app.activeRow;
      const found = active !== null && isSelected(active) && app.shown.includes(active) ? active : app.shown.find(isSelected);
      if (found === undefined) return null;
      app.activeRow = found;
      list.activeGroup = null;
      const group = app.groups?.find(({ rows }) => rows.includes(found));
      if (group && !list.isOpen(group)) app.state.open = list.toggled(group);
      return found;
    },
    /** The position of an entry in its level; null without groups. */
    placeOf: (position) => {
      if (!app.groups) return null;
      let head = position;
      while (list.entries[head] >= 0) head--;
      const group = -1 - list.entries[head];
      return head === position ? { at: group + 1, of: app.groups.length } : { at: position - head, of: app.groups[group].rows.length };
    },
    /** The position that a key moves to: left to the group of a row, right into a group. */
    movedTo: (key, at, page) => {
      if (app.groups && key === "ArrowRight" && list.activeGroup) return at + 1;
      if (app.groups && key === "ArrowLeft" && at >= 0) return list.entries.findLastIndex((entry, place) => entry < 0 && place <= at);
      return movedTo(key, at, list.entries.length, page);
    },
  };
  return list;
};

const entryId = (entry) => (entry < 0 ? `g${-1 - entry}` : `r${entry}`);

/** Returns the function that creates the element of an entry, without its position. */
const rowElements = (app, list, columns, fitted) => {
  const { model, groups } = app;
  const isSelected = model.isSelectedRow(app.state);
  const own = figuresOf(model, app.eventIndex);
  const ofGroups = groupFigures(model, app.eventIndex);
  const has = (wanted) => columns.some(({ key }) => key === wanted);
  /** The words that distinguish a row from others of the same function, if no column has them. */
  const distinction = (row) => {
    const bench = model.others.find(({ name }) => name === "bench");
    if (bench && !has("bench")) return ` ${visible(bench.value(row))}`;
    if (model.stackOf) return !has("callers") && model.row.callers(row) ? ` ← ${model.row.callers(row)}` : "";
    const name = model.row.fn(row);
    const object = model.row.obj(row);
    // An address is unique only in its object.
    if (!has("obj") && object && /^0x/.test(name)) return ` ${visible(object.split("/").pop())}`;
    const file = model.row.file(row) || object;
    return !has("file") && file && model.functionsNamed(name).length > 1 ? ` ${visible(file.split("/").pop())}` : "";
  };
  return (entry) => {
    const group = groupOf(groups, entry);
    const cells = columns.map((column) => {
      const value = !group ? column.value(entry) : column.sum ? column.sum(group) : null;
      const text = cellText(app, column, entry);
      const hasElement = column.element && (!group || column.sum);
      const isPath = group && column.key === "fn" && ["file", "obj"].includes(app.state.group);
      const name = () => [h("span", "text", group || text !== model.fn.shown(model.row.function(entry)) ? text : fitted(model.row.function(entry))), group ? null : h("span", "place", distinction(entry))];
      return h("div", {
        role: "gridcell", class: cellClass(column) + (isPath ? " path" : "") + (column.isCount && value !== null && Number(value) === 0 ? " zero" : ""),
        style: column.hasBar && value !== null ? `--p:${Math.min(1, Math.abs(shareOf(value, app.total))).toFixed(4)}` : null,
        title: column.isCount || text.length < 12 ? null : text,
      }, ...(hasElement ? column.element(value, entry) : column.key === "fn" ? [group && h("span", "fixed", list.isOpen(group) ? "▾ " : "▸ "), ...(isPath ? [...pathCell(group.label), h("span", "fixed", text.slice(visible(group.label).length))] : name())] : [text]));
    });
    const element = h("div", {
      role: "row", class: group ? "row group" : "row", id: entryId(entry), "aria-selected": String(!group && isSelected(entry)),
      "aria-level": groups && (group ? 1 : 2), "aria-expanded": group && String(list.isOpen(group)),
    }, ...cells);
    Object.assign(element.dataset, group ? groupData(model, group, ofGroups) : rowData(app, entry, own));
    return element;
  };
};

/** The text of an entry in a column. */
const cellText = (app, column, entry) => {
  const group = groupOf(app.groups, entry);
  if (!group) return column.show(column.value(entry), app.total, entry);
  if (column.key === "fn") return `${visible(group.label)} (${groupCount(app.model, group, app.state.group)})`;
  return column.sum ? column.show(column.sum(group), app.total) : "";
};

const groupData = (model, group, { self, old, delta }) => {
  const text = (value) => (value === null ? "" : String(value));
  const data = { group: group.label, self: text(self(group)), rows: String(group.rows.length) };
  return model.isDiff ? { ...data, old: text(old(group)), new: data.self, delta: text(delta(group)) } : data;
};

/** The choices for the table: groups and columns. */
const tableChoices = (app, save) => {
  const grouping = h("select", { "aria-label": "Group by", onchange: () => app.choose({ group: grouping.value, open: "" }) },
    h("option", { value: "" }, "not grouped"), ...app.groupings.map((by) => h("option", { value: by }, GROUPINGS[by])));
  const fields = h("div", { class: "choices", role: "group", "aria-label": "Columns" });
  const usual = h("button", { onclick: () => app.choose({ cols: "" }) }, "the usual ones");
  const summary = h("summary", {}, "Columns");
  const details = h("details", "columns", summary, fields);
  let all = [], shown = [], known = "";
  const choose = (key, isChosen) => {
    const keys = new Set(shown.map((column) => column.key));
    if (isChosen) keys.add(key);
    else keys.delete(key);
    app.choose({ cols: printColumns(all.map((column) => column.key).filter((one) => keys.has(one))) });
  };
  const update = (allNow, shownNow) => {
    [all, shown] = [allNow, shownNow];
    grouping.value = app.state.group;
    const names = JSON.stringify(all.map(({ key, title }) => [key, title]));
    if (names !== known) {
      known = names;
      fields.replaceChildren(...all.map(({ key, title }) => h("label", {}, h("input", { type: "checkbox", value: key, onchange: (event) => choose(key, event.target.checked) }), ` ${visible(title)}`)), usual);
    }
    const { name } = parseSort(app.state.sort || usualSort(app.model));
    for (const box of fields.querySelectorAll("input")) {
      box.checked = shown.some(({ key }) => key === box.value);
      // The function and the sorted column cannot be hidden.
      box.disabled = box.value === "fn" || box.value === name;
    }
  };
  on(details, "keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    summary.focus();
  });
  on(document, "pointerdown", (event) => {
    if (!details.contains(/** @type {Node} */ (event.target))) details.open = false;
  });
  return { bar: h("div", "tools", app.groupings.length ? grouping : null, details, h("span", "end", save)), update };
};

/** Keys in the headings: left and right move between headings, down moves back to the rows. */
const headingKeys = (event, head, grid) => {
  const buttons = Array.from(head.querySelectorAll("button"));
  const at = buttons.indexOf(event.target);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to !== undefined) buttons[Math.max(0, Math.min(buttons.length - 1, to))].focus();
  else if (event.key === "ArrowDown") grid.focus();
  else return;
  event.preventDefault();
};

const rowData = (app, row, figures) => {
  const { model } = app;
  const of = model.row;
  const text = (value) => (value === null ? "" : String(value));
  const data = {
    fn: of.fn(row), file: of.file(row), line: text(of.line(row)), self: text(figures.self(row)),
    incl: text(figures.incl(row)), calls: text(of.calls(row)), whose: of.whose(row), kind: of.kind(row),
  };
  if (app.hasFindings) data.finding = String(row);
  if (app.hasFindings && model.records(row) > 1) data.records = String(model.records(row));
  if (!model.isDiff) return data;
  if (model.runs.length) data.runs = model.runs.map((run) => text(run.value(app.eventIndex)(row))).join();
  return { ...data, old: text(figures.old(row)), new: text(figures.self(row)), delta: text(figures.delta(row)), status: of.status(row) };
};

const cellClass = (column) => (column.isCount ? (column.element ? "n change" : "n") : column.key === "fn" ? "name" : column.element ? "t path" : "t");

/** Says that no row passes, and offers a way out. */
const showEmpty = (app, place) => {
  const { state } = app;
  const isEmpty = app.shown.length === 0;
  place.hidden = !isEmpty;
  if (!isEmpty) return place.replaceChildren();
  const { q, whose } = state;
  const isWhole = app.narrowing.isWhole;
  const words = q ? `nothing matches ${q}` : whose ? `no code of ${whose.replaceAll(",", " or ")}` : !isWhole ? "nothing is left to show" : app.model.isDiff ? "no row changed" : "there are no rows";
  const end = (text, change) => h("button", { onclick: () => app.choose(change) }, text);
  place.replaceChildren(h("p", {}, words), ...(q ? [end("Clear search", { q: "" })] : whose ? [end("Show all code", { whose: "" })] : []));
};

/** A value as a field of CSV. */
const csvField = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** The rows that pass in their order, in the shown columns, with names and counts in full. */
const tableCsv = (app, columns) => {
  const saved = columns.filter((column) => column.saved);
  const lines = [saved.map((column) => csvField(column.saved)), ...app.shown.map((row) => saved.map((column) => csvField(column.value(row))))];
  return `${lines.map((fields) => fields.join()).join("\n")}\n`;
};

/** Shows the stack of the selected row if rows have stacks, innermost function first. */
const renderStack = (app, place) => {
  const { model } = app;
  const at = app.activeRow;
  const has = at !== null && model.stackOf !== null && model.isSelectedRow(app.state)(at) && model.stackOf(at).length > 0;
  place.hidden = !has;
  if (!has) return place.replaceChildren();
  const frames = framesOfRow(model, at);
  const most = 120;
  const items = frames.slice(0, most).map(({ fn, site, line }) =>
    h("li", { "data-fn": model.fn.name(fn) }, app.link(fn), h("span", "place", ` ${visible(site || model.fn.file(fn))}${line ? `:${line}` : ""}`)));
  if (frames.length > most) items.push(h("li", {}, `${frames.length - most} more frames`));
  place.replaceChildren(h("h2", {}, "Stack of the selected row"), h("ol", { "data-stack": "" }, ...items));
};

/** The frames of a row's stack with their places, innermost first. */
const framesOfRow = (model, at) => {
  const stack = model.column("r.stack")[at];
  if (stack !== null && stack !== undefined) return framesOfHeap(model)(stack);
  const starts = startsOf(model.column("k.length"));
  const functions = model.stackOf(at);
  return functions.map((fn, frame) => ({ fn, site: model.data.text(model.column("k.site")[starts[at] + frame]), line: model.column("k.line")[starts[at] + frame] }));
};
