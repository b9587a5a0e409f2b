// What was searched, marked where it stands.

/** Elements with marks in them. */
const marked = new Set();

const unmark = () => {
  for (const element of marked) {
    for (const mark of all("mark", element)) mark.replaceWith(...mark.childNodes);
    element.normalize();
  }
  marked.clear();
};

/** Marks words in an element; they may stand partly in one node and partly in the next. */
const markIn = (element, words) => {
  const places = placesOf(element.textContent, words);
  if (!places.length) return;
  marked.add(element);
  const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walk.nextNode()) texts.push(walk.currentNode);
  let from = 0;
  for (const text of texts) {
    const to = from + text.textContent.length;
    // From the last on, so that what stands before stays where it is.
    for (const [start, end] of placesIn(places, from, to).reverse()) {
      const part = text.splitText(start);
      part.splitText(end - start);
      const mark = document.createElement("mark");
      part.replaceWith(mark);
      mark.append(part);
    }
    from = to;
  }
};

/** Marks words in what is to be seen of a finding. */
const markFold = (fold, words) => {
  const seen = fold.open ? all("summary, .frame, .remark", fold) : [fold.firstElementChild];
  for (const element of seen) if (!marked.has(element)) markIn(element, words);
};
