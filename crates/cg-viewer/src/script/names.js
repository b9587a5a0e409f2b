// Names that do not fit are shortened by meaning: the function's own name stays in sight.

/** @type {CanvasRenderingContext2D | null | undefined} */
let ruler;

/** The width of a text in pixels. @param {string} text @param {string} font */
const textWidth = (text, font) => {
  if (ruler === undefined) ruler = document.createElement("canvas").getContext("2d");
  if (!ruler) return text.length * 8;
  if (ruler.font !== font) ruler.font = font;
  return ruler.measureText(text).width;
};

/** The longest form that fits, or the last form, which is the function's own name. @param {string[]} forms @param {(form: string) => boolean} fits */
const fittedForm = (forms, fits) => {
  const isWorth = (one, at) => at === 0 || one.replaceAll("…", "").length >= FEWEST_LETTERS;
  return forms.find((one, at) => isWorth(one, at) && fits(one)) ?? forms[forms.length - 1];
};

/** The maximum number of remembered names. */
const MOST_FITTED = 5000;

/** Creates the function that shortens the name of a function to a width in pixels, in the font of an element. */
const nameFitter = (model, element) => {
  const known = new Map();
  let font = "";
  return (fn, width) => {
    const forms = model.fn.forms(fn);
    if (forms.length < 2) return forms[0] ?? model.fn.shown(fn);
    font ||= getComputedStyle(element).font;
    const key = `${Math.floor(width)} ${fn}`;
    if (known.size > MOST_FITTED) known.clear();
    if (!known.has(key)) known.set(key, fittedForm(forms, (form) => textWidth(form, font) <= width));
    return known.get(key);
  };
};

/** The maximum number of letters of a name in a line of text. */
const LINE_LETTERS = 80;

/** A name in a line of text, shortened by meaning. */
const nameInLine = (model, fn) => (fn === undefined || fn < 0 ? NAMELESS : fittedForm(model.fn.forms(fn), (form) => form.length <= LINE_LETTERS));
