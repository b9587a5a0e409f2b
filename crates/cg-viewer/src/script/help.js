// The list of keys, in a dialog.

/** The keys and their actions. */
const KEY_WORDS = [
  ["/", "search; Enter and Shift+Enter: next and previous match; Escape: clear"],
  ["arrows, Home, End, Page Down", "move"],
  ["Right, Left", "unfold, fold"],
  ["Enter", "select; zoom in the flame graph"],
  ["Escape", "zoom out"],
  ["f, h", "focus on the selected function, hide it"],
  ["Shift+F10", "menu of a function"],
  ["?", "this list"],
];

/** The button that shows the keys. */
const makeHelp = () => {
  const close = h("button", { onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" }, h("h2", { id: "help-title" }, "Keys"),
    h("dl", {}, ...KEY_WORDS.flatMap(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)])), close);
  const open = () => {
    if (!dialog.open) dialog.showModal();
  };
  on(document, "keydown", (event) => {
    const { target } = event;
    if (event.key !== "?" || hasModifier(event) || target.closest?.("input,select,textarea")) return;
    event.preventDefault();
    open();
  });
  return h("span", "help-place", h("button", { "aria-label": "Keys", title: "Keys", "aria-haspopup": "dialog", onclick: open }, "?"), dialog);
};
