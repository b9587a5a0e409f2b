// The label of a frame, for pages and for flame graph pictures.

/** Fewer letters of a longer name are not drawn. */
const FEWEST_LETTERS = 5;

/**
 * Returns the longest form of a name that fits; if none fits, the beginning of the last form, which is the function's own name.
 * @param {string[]} forms the longest first @param {number} letters
 */
const fittedLabel = (forms, letters) => {
  const isWorth = (one, at) => at === 0 || at === forms.length - 1 || one.replaceAll("…", "").length >= FEWEST_LETTERS;
  const form = forms.find((one, at) => one.length <= letters && isWorth(one, at));
  if (form !== undefined) return form;
  const last = Array.from(forms[forms.length - 1]);
  return letters > FEWEST_LETTERS ? `${last.slice(0, letters - 1).join("")}…` : "";
};
