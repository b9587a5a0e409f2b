// The search: text in letters of either case, or a regular expression between slashes.

/** @typedef {{isActive: boolean, isValid: boolean, test: (text: string) => boolean}} Matcher */

/** @param {string} words @returns {Matcher} */
const matcherOf = (words) => {
  const nothing = { isActive: false, isValid: true, test: () => false };
  if (!words) return nothing;
  const parts = /^\/(.*)\/(i?)$/s.exec(words);
  if (!parts) {
    const lower = words.toLowerCase();
    return { isActive: true, isValid: true, test: (text) => text.toLowerCase().includes(lower) };
  }
  try {
    const expression = new RegExp(parts[1], parts[2]);
    return { isActive: true, isValid: true, test: (text) => expression.test(text) };
  } catch {
    return { ...nothing, isValid: false };
  }
};

/** Returns the function that is true for ids of functions whose name or file matches. @param {Matcher} matcher */
const functionMatcher = (model, matcher) => {
  const known = new Map();
  return (fn) => {
    if (!matcher.isActive || fn < 0) return false;
    let matches = known.get(fn);
    if (matches === undefined) known.set(fn, (matches = matcher.test(model.fn.name(fn)) || matcher.test(model.fn.file(fn))));
    return matches;
  };
};
