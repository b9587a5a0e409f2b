// The list of keys, in a dialog.

/** The keys, by the pane that has them; `needs` names the view without which they do nothing. */
const KEY_WORDS = [
  ["/", "search; Enter and Shift+Enter go to the next and the previous match, Escape clears the search"],
  ["Arrows, Home, End, Page Down", "move between rows, frames, snapshots and times"],
  ["Right, Left", "unfold and fold an entry of the call tree or a group"],
  ["Enter", "select; in the flame graph also zoom"],
  ["Escape", "zoom out of the flame graph"],
  ["f, h", "focus on the selected function, or hide it"],
  ["Shift+F10, right click", "the menu of a function"],
  ["Double click on a name", "select the whole name"],
  ["?", "this list"],
];

/** The button that shows the keys. */
const makeHelp = (app) => {
  const close = h("button", { onclick: () => dialog.close() }, "Close");
  const keys = KEY_WORDS.filter(([key]) => app.stacks || key !== "f, h");
  const dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" }, h("h2", { id: "help-title" }, "Keys"),
    h("dl", {}, ...keys.flatMap(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)])), close);
  const open = () => {
    if (!dialog.open) dialog.showModal();
  };
  on(document, "keydown", (event) => {
    const { target } = event;
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input,select,textarea")) return;
    event.preventDefault();
    open();
  });
  return h("span", "help-place", h("button", { "aria-label": "Keys", title: "Keys", "aria-haspopup": "dialog", onclick: open }, "?"), dialog);
};
