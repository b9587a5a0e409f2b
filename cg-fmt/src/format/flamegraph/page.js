
// What the picture's own script lacks: keys, and a search that the page around it began.
// A frame within a page has no address to keep its state in.
history.replaceState = function () {};
function begin() {
  init();
  var shown = Array.from(frames.children);
  var number = function (element, name) {
    return parseFloat(find_child(element, "rect").getAttribute(name));
  };
  // The frame that touches another one, above, below or beside it.
  var neighbour = function (from, key) {
    var left = number(from, "fg:x"), right = left + number(from, "fg:w"), y = number(from, "y");
    var best;
    shown.forEach(function (other) {
      if (other === from || other.classList.contains("hide")) return;
      var begin = number(other, "fg:x"), end = begin + number(other, "fg:w"), row = number(other, "y");
      var overlaps = begin < right && end > left;
      var fits =
        key === "ArrowUp" ? overlaps && row < y && row >= y - 17 :
        key === "ArrowDown" ? overlaps && row > y && row <= y + 17 :
        key === "ArrowLeft" ? row === y && end <= left && (!best || begin > number(best, "fg:x")) :
        row === y && begin >= right && (!best || begin < number(best, "fg:x"));
      // Of several above, the widest is meant.
      if (fits && key === "ArrowUp" && best) fits = number(other, "fg:w") > number(best, "fg:w");
      if (fits) best = other;
    });
    return best;
  };
  var enter = function (element) {
    shown.forEach(function (other) { other.setAttribute("tabindex", "-1"); });
    element.setAttribute("tabindex", "0");
  };
  var lowest = shown.reduce(function (a, b) { return number(b, "y") > number(a, "y") ? b : a; });
  enter(lowest);
  shown.forEach(function (element) {
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", g_to_text(element));
    element.addEventListener("focus", function () {
      details.nodeValue = nametype + " " + g_to_text(element);
    });
  });
  window.addEventListener("keydown", function (event) {
    var at = shown.indexOf(document.activeElement);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      shown[at].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    } else if (event.key === "Escape") {
      unzoom();
    } else if (/^Arrow/.test(event.key)) {
      var next = neighbour(shown[at], event.key);
      if (next) { enter(next); next.focus(); }
    } else {
      return;
    }
    event.preventDefault();
  });
  window.addEventListener("message", function (event) {
    if (event.source !== window.parent || typeof event.data.search !== "string") return;
    var words = event.data.search;
    if (searching) search_prompt();
    // The picture searches by a regular expression; here every character means itself, in either case.
    if (words) search(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/[a-z]/g, function (letter) {
      return "[" + letter + letter.toUpperCase() + "]";
    }));
  });
}
// A frame has no width as long as the page around it is not laid out, and the picture cannot be fitted into none.
window.addEventListener("resize", function (event) {
  if (window.innerWidth < 40) event.stopImmediatePropagation();
});
function wait() {
  if (window.innerWidth < 40 || document.querySelector("svg").clientWidth < 40) setTimeout(wait, 20);
  else begin();
}
wait();
