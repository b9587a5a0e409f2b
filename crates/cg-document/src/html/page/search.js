  // Buttons that unfold and fold trees.
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

  // Search: hides rows and folds that do not match, marks and unfolds branches that match, and passes the words to pictures.
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
