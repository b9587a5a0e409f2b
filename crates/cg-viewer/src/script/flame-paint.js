// The drawing of a flame graph: on a canvas, or as an SVG file.

const FLAME_ROW = 18;
const FLAME_FONT = "12px system-ui,sans-serif";

/** The colours of the style sheet. */
const flameColours = () => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    own: colour("--own"), dependency: colour("--dependency"), std: colour("--std"), system: colour("--system"), kernel: colour("--kernel"), unknown: colour("--unknown"),
    ink: colour("--flame-ink"), paper: colour("--paper"), more: colour("--flame-more"), less: colour("--flame-less"), same: colour("--flame-same"), mark: colour("--ink"), match: colour("--flame-match"), line: colour("--line"),
  };
};

/** The colour between two colours of the form `#rrggbb`. @param {number} share of the second one */
const mixed = (from, to, share) => {
  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const [a, b] = [channels(from), channels(to)];
  return `#${a.map((one, at) => Math.round(one + (b[at] - one) * share).toString(16).padStart(2, "0")).join("")}`;
};

/** The colour of a change from -1 to 1: stronger for larger changes. */
const changeColour = (colours, change) => (change === null ? colours.same : mixed(colours.same, change > 0 ? colours.more : colours.less, Math.abs(change) ** 0.6));

/** The colour of a frame: a match of the search, its change, or its class of code. */
const boxColour = (model, colours, { branch }, { isDifferential, matches }) => {
  if (matches(branch.fn)) return colours.match;
  if (isDifferential) return changeColour(colours, changeOf(branch));
  return branch.fn < 0 ? colours.same : colours[model.fn.whose(branch.fn)] ?? colours.system;
};

/** The forms of a frame's name, the longest first. A function without a name of its own has the name of its file, too. */
const branchForms = (model, { fn }) => {
  if (fn < 0) return ["all"];
  const forms = model.fn.forms(fn), file = model.fn.file(fn).split("/").pop();
  return file && forms[0] === "(anonymous)" ? [`${forms[0]} ${visible(file)}`, ...forms] : forms;
};

const branchName = (model, branch) => (branch.fn < 0 ? "all" : model.fn.shown(branch.fn));

/** The width of a letter, measured once. */
let letterWidth = 0;
const measureLetter = () => {
  if (letterWidth) return letterWidth;
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return 7;
  context.font = FLAME_FONT;
  return (letterWidth = context.measureText("abcdefghijklmnopqrstuvwxyz::_").width / 29 * 1.03);
};

/** The text drawn on a frame of this width. */
const boxLabel = (model, branch, width) => (width < 24 ? "" : fittedLabel(branchForms(model, branch), Math.floor((width - 6) / measureLetter())));

/**
 * @typedef {object} FlameDrawing
 * @property {any} model
 * @property {any[]} boxes
 * @property {(box: any) => number} left
 * @property {(box: any) => number} wide
 * @property {number} width
 * @property {number} height
 * @property {number} top
 * @property {Set<number>} selected
 * @property {any} active
 * @property {(fn: number) => boolean} matches
 * @property {boolean} isDifferential
 */

/** @param {CanvasRenderingContext2D} context @param {FlameDrawing} drawing @param {number} scale */
const paintFlame = (context, drawing, scale) => {
  const { model, boxes, left, wide, width, height, top, selected, active } = drawing;
  const colours = flameColours();
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FLAME_FONT;
  context.textBaseline = "middle";
  for (const box of boxes) {
    const y = (box.level - 1) * FLAME_ROW - top;
    if (y < -FLAME_ROW || y > height) continue;
    const [x, w] = [left(box), wide(box)];
    const shown = Math.max(0.5, w - 0.5);
    const isGhost = box.branch.isGhost;
    context.fillStyle = isGhost ? colours.paper : boxColour(model, colours, box, drawing);
    context.fillRect(x, y, shown, FLAME_ROW - 1);
    if (isGhost && w > 2) {
      context.strokeStyle = colours.less;
      context.lineWidth = 1;
      context.setLineDash([3, 2]);
      context.strokeRect(x + 0.5, y + 0.5, Math.max(0, w - 1.5), FLAME_ROW - 2);
      context.setLineDash([]);
    }
    if (selected.has(box.branch.fn) || box === active) {
      context.strokeStyle = isGhost ? colours.less : colours.ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(0, w - 2.5), FLAME_ROW - 3);
    }
    const label = boxLabel(model, box.branch, w);
    if (!label) continue;
    context.fillStyle = isGhost ? colours.mark : colours.ink;
    context.fillText(label, x + 3, y + FLAME_ROW / 2, w - 5);
  }
};

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

/** The frames of trees as an SVG file, one tree below the other. @param {(FlameDrawing & {whole: any})[]} drawings */
const flameSvg = (drawings, words) => {
  const [{ model, width }] = drawings;
  const colours = flameColours();
  let top = 0;
  const frames = drawings.flatMap((drawing) => {
    const start = top;
    top += drawing.height + FLAME_ROW;
    return drawing.boxes.map((box) => {
      const [x, y, w] = [drawing.left(box), start + (box.level - 1) * FLAME_ROW, drawing.wide(box)];
      const { branch } = box;
      const label = boxLabel(model, branch, w);
      const fill = branch.isGhost ? colours.paper : boxColour(model, colours, box, drawing);
      const stroke = branch.isGhost ? ` stroke="${colours.less}" stroke-dasharray="3 2"` : "";
      return `<g><title>${escaped(`${branchName(model, branch)} (${words(box, drawing.whole)})`)}</title><rect x="${x.toFixed(2)}" y="${y}" width="${Math.max(0.5, w - 0.5).toFixed(2)}" height="${FLAME_ROW - 1}" fill="${fill}"${stroke}/>${label ? `<text x="${(x + 3).toFixed(2)}" y="${y + 13}" fill="${branch.isGhost ? colours.mark : colours.ink}">${escaped(label)}</text>` : ""}</g>`;
    });
  });
  const height = top - FLAME_ROW;
  return `<?xml version="1.0" encoding="utf-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui,sans-serif" font-size="12">\n<rect width="${width}" height="${height}" fill="${colours.paper}"/>\n${frames.join("\n")}\n</svg>\n`;
};
