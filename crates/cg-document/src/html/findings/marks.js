// Marks for the words of a search.

/** The elements that contain marks. */
const marked = new Set();

const unmark = () => {
  for (const element of marked) {
    for (const mark of all("mark", element)) mark.replaceWith(...mark.childNodes);
    element.normalize();
  }
  marked.clear();
};

/** Marks words in an element. A word may begin in one node and end in another. */
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
    // Begins with the last place, because splitting moves the text after it.
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

/** Marks words in the visible parts of a finding. */
const markFold = (fold, words) => {
  const seen = fold.open ? all("summary, .frame, .remark", fold) : [fold.firstElementChild];
  for (const element of seen) if (!marked.has(element)) markIn(element, words);
};
