// Actions on functions and panes: focus on a function, hide it, copy its name, save what is shown.

/** Saves a text as a file. */
const saveFile = (name, type, text) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};

/** The beginning of the names of saved files. */
const fileStem = () => (document.title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "").slice(0, 60)) || "profile";

/** Copies a text, also in browsers that give no clipboard to files. */
const copyText = (text) => {
  const byCommand = () => {
    const place = h("textarea", { class: "off", readonly: true, "aria-hidden": "true" });
    place.value = text;
    document.body.append(place);
    place.select();
    document.execCommand("copy");
    place.remove();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(byCommand);
  else byCommand();
};

/** Adds the choices that show a part of the stacks. */
const addNarrowing = (app) => {
  app.focusOn = (name) => app.choose({ focus: name, zoom: "" });
  app.hide = (name) => app.choose({ hide: [...app.state.hide.filter((one) => one !== name), name], zoom: "" });
};

/** Focuses or hides by a key: `f` or `h`. Returns true if the key was one of them. @param {number} fn -1 for none */
const narrowKeys = (app, event, fn) => {
  if (!app.stacks || hasModifier(event) || !["f", "h"].includes(event.key)) return false;
  const name = app.state.fn ?? (fn >= 0 ? app.model.fn.name(fn) : null);
  if (name === null) return false;
  if (event.key === "f") app.focusOn(name);
  else app.hide(name);
  return true;
};

/** The buttons of the functions that are in focus or hidden. */
const narrowButtons = (app) => {
  const { state } = app;
  const button = (key, name, words, change) => h("button", { class: "chip narrow", [`data-${key}`]: name, title: "Press to end it", onclick: () => app.choose({ ...change, zoom: "" }) }, `${words} ${nameText(name)} ×`);
  const parts = state.focus === null ? [] : [button("focus", state.focus, "only through", { focus: null })];
  return [...parts, ...state.hide.map((name) => button("hide", name, "without", { hide: state.hide.filter((one) => one !== name) }))];
};

/** Opens the menu of a function on a right click, Shift+F10 or the menu key. @param {(event: any) => number} functionAt -1 for none */
const openMenu = (app, element, functionAt) => {
  const open = (event, x, y) => {
    const fn = functionAt(event);
    if (fn === undefined || fn < 0) return;
    event.preventDefault();
    showMenu(app, app.model.fn.name(fn), { x, y, back: element });
  };
  on(element, "contextmenu", (event) => open(event, event.clientX, event.clientY));
  on(element, "keydown", (event) => {
    if (event.key !== "ContextMenu" && !(event.key === "F10" && event.shiftKey)) return;
    const place = document.getElementById(element.getAttribute("aria-activedescendant") ?? "") ?? element;
    const box = place.getBoundingClientRect();
    open({ target: place, preventDefault: () => event.preventDefault() }, box.left + 16, box.top + Math.min(20, box.height));
  });
};

const showMenu = (app, name, { x, y, back }) => {
  document.querySelector("[role=menu]")?.remove();
  const close = () => {
    menu.remove();
    document.removeEventListener("pointerdown", outside, true);
  };
  const outside = (event) => {
    if (!menu.contains(event.target)) close();
  };
  const item = (words, act) => h("button", { role: "menuitem", tabindex: -1, onclick: () => {
    close();
    act();
    back.focus({ preventScroll: true });
  } }, words);
  const items = [
    app.stacks && item("Focus on this function", () => app.focusOn(name)), app.stacks && item("Hide this function", () => app.hide(name)), item("Copy name", () => copyText(name)),
  ].filter(Boolean);
  const menu = h("div", { role: "menu", class: "menu", "aria-label": nameText(name), tabindex: -1 }, ...items);
  on(menu, "keydown", (event) => {
    const at = items.indexOf(document.activeElement);
    const to = movedTo(event.key, at, items.length, items.length);
    if (to !== null) items[to].focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      close();
      back.focus();
    } else return;
    event.preventDefault();
  });
  document.querySelector("main").append(menu);
  const box = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(0, Math.min(x, innerWidth - box.width - 4))}px`;
  menu.style.top = `${Math.max(0, Math.min(y, innerHeight - box.height - 4))}px`;
  on(document, "pointerdown", outside, true);
  items[0].focus({ preventScroll: true });
};
