  const all = (selector, /** @type {any} */ from = document) => Array.from(from.querySelectorAll(selector));

  // Sorting. A cell is sorted by the number at the beginning of its text. Digits decide between integers that are equal as doubles.
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
      // Empty cells are last in both directions.
      if (!a.key.text || !b.key.text) return (a.key.text ? 0 : 1) - (b.key.text ? 0 : 1);
      return descends ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    const sorted = document.createDocumentFragment();
    for (const { row } of rows) sorted.append(row);
    body.append(sorted);
  };
  for (const table of all("table.sorts")) {
    Array.from(table.tHead.rows[0].cells, (heading, column) => {
      // A button needs words for screen readers.
      if (!heading.textContent) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading, column));
    });
  }

  // Tooltips show full paths. Common beginnings of paths are listed below the table, and cells have their index.
  const beginning = (cell) => {
    if (!cell.hasAttribute("d")) return "";
    const after = (element) => element && element.nextElementSibling;
    let legend = after(cell.closest(".scroll"));
    while (legend && legend.dataset.column !== String(cell.cellIndex)) legend = after(legend);
    return legend ? legend.querySelectorAll("code")[Number(cell.getAttribute("d"))].textContent : "";
  };
  document.addEventListener("mouseover", (event) => {
    /** @type {any} */
    const cell = event.target instanceof Element && event.target.closest("td, .tree span");
    if (!cell || cell.title) return;
    if (cell.hasAttribute("d") || cell.querySelector("i")) cell.title = beginning(cell) + cell.textContent;
  });

