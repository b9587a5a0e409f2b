// Zooms into a frame, searches names, and fits labels to the window.
function g_to_text(g) {
  return g.querySelector("title").textContent;
}
(function () {
  var svg = document.querySelector("svg.flames");
  // The viewBox lets the picture scale without a script.
  svg.removeAttribute("viewBox");
  svg.setAttribute("width", "100%");
  var element = function (name) { return svg.querySelector("#" + name); };
  var names = element("names").textContent.split("\n").map(function (line) { return line.split("\t"); });
  var all = [];
  var sections = Array.from(svg.querySelectorAll(".section"), function (group) {
    var frames = Array.from(group.children, function (g) {
      var rect = g.querySelector("rect");
      var title = g_to_text(g);
      var number = Number(g.dataset.n);
      var frame = {
        g: g, rect: rect, text: g.querySelector("text"), title: title,
        x: Number(rect.dataset.x), w: Number(rect.dataset.w), y: Number(rect.getAttribute("y")),
        forms: [title.slice(0, title.lastIndexOf(" ("))].concat(names[number] || []),
      };
      all.push(frame);
      return frame;
    });
    var whole = frames.reduce(function (a, b) { return b.x + b.w > a.x + a.w ? b : a; });
    return { frames: frames, from: 0, to: whole.x + whole.w };
  });
  var whole = sections.map(function (section) { return section.to; });

  function draw() {
    var width = svg.getBoundingClientRect().width;
    sections.forEach(function (section) {
      var range = section.to - section.from;
      section.frames.forEach(function (frame) {
        // Callers of the zoomed frame are wider than the range, so cut them to it.
        var from = Math.max(frame.x, section.from), to = Math.min(frame.x + frame.w, section.to);
        frame.g.classList.toggle("hide", to <= from);
        if (to <= from) return;
        frame.g.classList.toggle("outer", frame.w > range);
        var left = (100 * (from - section.from)) / range + "%", share = (100 * (to - from)) / range;
        frame.rect.setAttribute("x", left);
        frame.rect.setAttribute("width", share + "%");
        frame.text.setAttribute("x", left);
        frame.text.textContent = fittedLabel(frame.forms, Math.floor(((width * share) / 100 - 6) / 7.2));
      });
    });
    var isWhole = sections.every(function (section, at) { return section.from === 0 && section.to === whole[at]; });
    element("reset").classList.toggle("hide", isWhole);
  }
  function zoom(frame) {
    sections.forEach(function (section) {
      if (!section.frames.includes(frame)) return;
      section.from = frame.x;
      section.to = frame.x + frame.w;
    });
    draw();
  }
  function reset() {
    sections.forEach(function (section, at) { section.from = 0; section.to = whole[at]; });
    draw();
  }
  function search(words) {
    words = words.toLowerCase();
    var matched = 0, end = -1;
    all.forEach(function (frame) {
      var isFound = words !== "" && frame.forms[0].toLowerCase().includes(words);
      frame.g.classList.toggle("found", isFound);
      // Count a match inside another match only once.
      if (isFound && sections[0].frames.includes(frame) && frame.x >= end) {
        matched += frame.w;
        end = frame.x + frame.w;
      }
    });
    var share = ((100 * matched) / whole[0]).toFixed(2);
    element("search").textContent = words === "" ? "Search" : "Matched: " + share + "% — search";
  }
  function ask() {
    var words = window.prompt("Search names for (any case):", "");
    if (words !== null) search(words);
  }
  // Returns the frame above, below or beside another; the widest if several frames are above.
  function neighbour(frame, key) {
    var shown = all.filter(function (other) { return !other.g.classList.contains("hide"); });
    var overlaps = function (other) { return other.x < frame.x + frame.w && other.x + other.w > frame.x; };
    var row = function (y) { return shown.filter(function (other) { return other.y === y; }); };
    var widest = function (a, b) { return b.w > a.w ? b : a; };
    var beside = row(frame.y), at = beside.indexOf(frame);
    if (key === "ArrowUp") return row(frame.y - 16).filter(overlaps).reduce(widest, { w: 0 });
    if (key === "ArrowDown") return row(frame.y + 16).filter(overlaps)[0];
    return beside[at + (key === "ArrowLeft" ? -1 : 1)];
  }
  all.forEach(function (frame) {
    var showDetails = function () { element("details").textContent = frame.title; };
    frame.g.setAttribute("tabindex", "-1");
    frame.g.setAttribute("role", "button");
    frame.g.setAttribute("aria-label", frame.title);
    frame.g.addEventListener("click", function () { zoom(frame); });
    frame.g.addEventListener("mouseover", showDetails);
    frame.g.addEventListener("focus", showDetails);
  });
  all[0].g.setAttribute("tabindex", "0");
  element("reset").addEventListener("click", reset);
  element("search").addEventListener("click", ask);
  window.addEventListener("resize", draw);
  window.addEventListener("keydown", function (event) {
    var frame = all.find(function (frame) { return frame.g === document.activeElement; });
    var isFind = event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey));
    if (isFind) ask();
    else if (event.key === "Escape") reset();
    else if (frame && (event.key === "Enter" || event.key === " ")) zoom(frame);
    else if (frame && event.key.startsWith("Arrow")) {
      var next = neighbour(frame, event.key);
      if (next && next.g) next.g.focus();
    } else return;
    event.preventDefault();
  });
  // A page that embeds the picture can search too.
  window.addEventListener("message", function (event) {
    if (event.source === window.parent && typeof event.data.search === "string") search(event.data.search);
  });
  draw();
})();
