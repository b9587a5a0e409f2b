// The label of a frame, for pages and for flame graph pictures.

/**
 * Returns the longest form of a name that fits; if none fits, both ends of the shortest form.
 * @param {string[]} forms the longest first @param {number} letters
 */
const fittedLabel = (forms, letters) => {
  if (letters < 3) return "";
  const form = forms.find((one) => one.length <= letters);
  if (form !== undefined) return form;
  const last = Array.from(forms[forms.length - 1]);
  const head = (letters - 1) >> 1;
  return last.slice(0, head).join("") + "…" + last.slice(head + 1 - letters).join("");
};
