"use strict";
(() => {
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

  // Sorting. A cell's number is what its text begins with; digits decide between integers that a double does not tell apart.
  const NUMBER = /^([+-]?)([\d,]+)(\.\d+)?%?$/;
  const key = (text) => {
    const match = NUMBER.exec(text);
    if (!match) return { text, number: null };
    const digits = match[2].replaceAll(",", "");
    const sign = match[1] === "-" ? -1 : 1;
    return { text, number: sign * parseFloat(digits + (match[3] || "")), sign, digits };
  };
  const compare = (a, b) => {
    if (a.number === null || b.number === null) {
      if (a.number !== b.number) return a.number === null ? 1 : -1;
      return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
    }
    if (a.number !== b.number) return a.number - b.number;
    if (a.digits.length !== b.digits.length) return 0;
    return a.digits < b.digits ? -a.sign : a.digits > b.digits ? a.sign : 0;
  };
  const sort = (table, heading, column) => {
    const was = heading.getAttribute("aria-sort");
    const isNumber = heading.classList.contains("number");
    const descends = was ? was === "ascending" : isNumber;
    for (const other of all("th", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descends ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, key: key(row.cells[column].textContent) }));
    rows.sort((a, b) => {
      // What has no entry is last, whichever way.
      if (!a.key.text || !b.key.text) return (a.key.text ? 0 : 1) - (b.key.text ? 0 : 1);
      return descends ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    const sorted = document.createDocumentFragment();
    for (const { row } of rows) sorted.append(row);
    body.append(sorted);
  };
  for (const table of all("table.sorts")) {
    Array.from(table.tHead.rows[0].cells, (heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading, column));
    });
  }

  // A path of which a part is shown is told in full. What many begin with stands below their table, and cells have its number.
  const beginning = (cell) => {
    if (!cell.hasAttribute("d")) return "";
    const after = (element) => element && element.nextElementSibling;
    let legend = after(cell.closest(".scroll"));
    while (legend && legend.dataset.column !== String(cell.cellIndex)) legend = after(legend);
    return legend ? legend.querySelectorAll("code")[Number(cell.getAttribute("d"))].textContent : "";
  };
  document.addEventListener("mouseover", (event) => {
    const cell = event.target.closest && event.target.closest("td, .tree span");
    if (!cell || cell.title) return;
    if (cell.hasAttribute("d") || cell.querySelector("i")) cell.title = beginning(cell) + cell.textContent;
  });

  // Unfolding trees.
  for (const tree of all(".tree")) {
    const buttons = document.createElement("div");
    buttons.className = "folds";
    for (const [words, opens] of [["Unfold all", true], ["Fold all", false]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.addEventListener("click", () => {
        for (const details of all("details", tree)) details.open = opens;
      });
      buttons.append(button);
    }
    tree.before(buttons);
  }

  // Searching: rows and folds that do not match are hidden, branches that do are marked and unfolded, pictures are told.
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  let searched = null;
  const searchable = () => {
    const beginnings = (element) => all("td[d]", element).map(beginning).join(" ");
    const entry = (element) => ({ element, text: (element.textContent + " " + beginnings(element)).toLowerCase() });
    searched = {
      rows: all("tbody tr, details.fold").map(entry),
      branches: all(".tree summary, .tree .leaf").map(entry),
    };
  };
  const search = () => {
    if (!searched) searchable();
    const words = input.value.trim().toLowerCase();
    let count = 0;
    for (const { element, text } of searched.rows) {
      const matches = text.includes(words);
      element.hidden = !matches;
      if (matches) count += 1;
    }
    for (const { element, text } of searched.branches) {
      const matches = words !== "" && text.includes(words);
      element.classList.toggle("hit", matches);
      if (!matches) continue;
      count += 1;
      let above = element.parentElement.closest("details");
      if (element.tagName === "SUMMARY") above = element.parentElement.parentElement.closest("details");
      for (; above && !above.open; above = above.parentElement.closest("details")) above.open = true;
    }
    found.textContent = words === "" ? "" : count === 1 ? "1 match" : count + " matches";
    for (const frame of all("iframe")) frame.contentWindow.postMessage({ search: words }, "*");
  };
  if (all("tbody tr, details, iframe").length > 0) {
    let waiting = 0;
    input.closest(".search").hidden = false;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(search, 120);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== input) {
        event.preventDefault();
        input.focus();
      } else if (event.key === "Escape" && document.activeElement === input) {
        input.value = "";
        search();
      }
    });
  }
})();
