// The keys of the search: `/` moves to it, Enter and Shift+Enter move to the next and the previous match, Escape clears it.

/** @param {any} input @param {{choose: (change: {q: string}, how: string) => void, match: (step: number) => void}} page */
const listenToSearch = (input, page) => {
  input.addEventListener("input", () => page.choose({ q: input.value }, "replace"));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") page.match(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") page.choose({ q: "" }, "replace");
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof Element && event.target.closest("input,select,textarea"))) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
};
