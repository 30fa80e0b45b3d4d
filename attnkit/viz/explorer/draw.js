// How the maps are coloured and where they are drawn: lengths are CSS pixels.

const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** What `made` returns for each text, kept. */
function remembered(made) {
  const held = {};
  return (text) => held[text] ??= made(text);
}

/** 256 colours along the stops, as pixels. */
const colourTable = remembered((text) => {
  const stops = text.split(",").map(pixelOf);
  return new Uint32Array(256).map((_, at) => packed(colourAt(stops, at / 255)));
});

const FAMILY = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const GAP = 14, NEAR = 6, MANY = 16, THUMB = 36, TITLE = 20, LARGEST = 44, NUMBERS = 30, EVERY = 8, HIGHEST = 1000;
// Cells too small for slanted words have them upright; smaller ones still, only numbers.
const SLANTED = 17, WORDS = 8;

/** A font of `size` pixels for readers who left the browser's size as it is, and larger for others. */
const fontOf = (size, em, bold = "") => `${bold} ${size * em}px ${FAMILY}`;

/** A map's name or, where there is no room for it, the numbers in it, layer and head, with as much as fits of what follows them. */
function nameOf(pen, text, width) {
  const numbers = text.match(/\d+/g)?.join("·"), rest = text.split(/\d+/).at(-1);
  if (!numbers || pen.measureText(text).width <= width) return shorten(pen, text, width);
  const name = shorten(pen, numbers + rest, width);
  return name.length > numbers.length + 2 ? name : numbers;
}

function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && pen.measureText(letters.join("") + "…").width > width) letters.pop();
  return letters.join("") + "…";
}

/** How many rows and columns there can be, at any length, and all names that may be on show. */
function mostOf(data) {
  const { frames, labels } = data;
  const widths = new Map();
  if (!frames) return { rows: data.rows, cols: data.cols, ...labels, widths };
  const all = [...frames.values()], most = (name) => Math.max(...all.map((frame) => frame[name]));
  const names = (side) => all.flatMap((frame) => (frame.labels || labels)[side]);
  return { rows: most("rows"), cols: most("cols"), queries: names("queries"), keys: names("keys"), widths };
}

/** The width of the widest of these names in the pen's font; remembered, as measuring takes long. */
function widest(pen, { widths }, texts) {
  const key = `${pen.font} ${texts.join()}`;
  if (!widths.has(key)) widths.set(key, Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
  return widths.get(key);
}

/** Places and sizes of the panels, with room for the longest length, so that nothing moves while
 *  the length does. Names stand at the outer panels only. */
function layOut(pen, width, count, most, em) {
  const axis = 17 * em, wide = (texts) => widest(pen, most, texts);
  const limit = Math.min(96 * em, width * 0.26), { rows, cols } = most;
  const measure = (style) => {
    if (style === "numbers") return { left: wide([String(rows)]) + 8, top: 14 * em, right: 4 };
    const left = Math.min(limit, wide(most.queries)) + 7, key = Math.min(limit, wide(most.keys));
    return style === "upright" ? { left, top: key + 8, right: 4 }
      : { left, top: key * 0.72 + 10, right: 6 };
  };
  const plan = (across, style) => {
    const { left, top, right } = measure(style), x0 = axis + left, gap = across > 4 ? NEAR : GAP;
    const gaps = (across - 1) * gap;
    const slack = style === "slanted" ? Math.min(top * 0.6, 40) : right;
    const cell = Math.min((width - x0 - slack - gaps) / (across * cols), LARGEST, 560 / rows);
    return { across, gap, style, left, top, cell: Math.max(cell, 0.1) };
  };
  const best = (across) => {
    pen.font = fontOf(12, em);
    const slanted = plan(across, "slanted");
    if (slanted.cell >= SLANTED) return slanted;
    const upright = plan(across, "upright");
    return upright.cell >= WORDS ? upright : plan(across, "numbers");
  };
  const height = ({ across, gap, cell, top }) =>
    axis + top + Math.ceil(count / across) * (rows * cell + TITLE * em + gap);
  // The heads of a whole model: those of a layer in one row or two, as long as they can be told apart.
  const layers = count <= MANY ? [] : [12, 8, 6].filter((n) => count % n === 0).map(best);
  const small = layers.find(({ cell }) => cols * cell >= THUMB * em);
  // A map alone in the last row is avoided where more than one number across does without it.
  const some = [4, 3, 2, 1].filter((n) => n <= count);
  const even = some.filter((n) => count < 4 || count % n !== 1 || n === 1);
  const tried = (even.length > 1 ? even : some).map(best);
  const low = tried.filter((plan) => height(plan) <= HIGHEST);
  const found = small || low.find(({ cell }) => cell >= 14) || low.find(({ cell }) => cell >= 5.5) ||
    low.reduce((a, b) => b.cell > a.cell ? b : a, low[0]) || tried[0];
  return place(found, { width, count, rows, cols, em, axis, limit });
}

function place(found, { width, count, rows, cols, em, axis, limit }) {
  const { across, gap, left, top, cell } = found, title = count > 1 ? TITLE * em : 0;
  const stepX = cols * cell + gap, stepY = title + rows * cell + gap, head = axis + top;
  const panels = Array.from({ length: count }, (_, at) => ({ first: at < across, outer: at % across === 0,
    x: axis + left + (at % across) * stepX,
    y: head + title + Math.floor(at / across) * stepY }));
  const font = fontOf(Math.max(9, Math.min(12, cell * 1.05)), em);
  return { ...found, width, panels, most: { rows, cols }, title, axis, font, em, limit,
    height: Math.ceil(head + Math.ceil(count / across) * stepY) };
}

function fit(canvas, { width, height }) {
  const ratio = devicePixelRatio, wide = Math.round(width * ratio), high = Math.round(height * ratio);
  const pen = canvas.getContext("2d"), fits = canvas.width === wide && canvas.height === high;
  if (!fits) Object.assign(canvas, { width: wide, height: high }); // blank by that
  canvas.style.height = `${height}px`;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  // Chromium prints a clearing as white paint, over whatever lies below the canvas.
  if (fits) pen.clearRect(0, 0, width, height);
  return pen;
}

const hatching = remembered((colour) => {
  const tile = make("canvas", { width: 7, height: 7 }), pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  for (const shift of [-7, 0, 7]) { pen.moveTo(shift, 7); pen.lineTo(shift + 7, 0); }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
});

/** A pixel for each cell, all heads below each other, with room for the longest length. A head is
 *  computed and coloured again only when it has changed. */
class Picture {
  constructor(data, { rows, cols }) {
    Object.assign(this, { data, rows, cols, painted: [], hasNaN: false });
    this.atlas = make("canvas", { width: cols, height: data.heads * rows });
    this.pen = this.atlas.getContext("2d");
    this.image = this.pen.createImageData(cols, data.heads * rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.row = new Float64Array(cols);
  }

  /** Make the heads of a scene what its settings say. */
  show({ heads, settings: s, shape, hues, end, read = rowsOf }) {
    const now = read === rowsOf && JSON.stringify([end, hues.map, hues.nan, s.stage,
      ...COMPARED.map((name) => name !== "head" && s[name])]);
    const signed = s.stage !== "weights", paint = { table: colourTable(hues.map), nan: packed(pixelOf(hues.nan)),
      gain: (signed ? 127.5 : 255) / (end || 1), shift: signed ? 128 : 0.5 };
    this.hasNaN = heads.filter((head) => {
      if (!now || this.painted[head]?.now !== now) {
        this.painted[head] = { now, hasNaN: this.paint(head, s, shape, paint, read(this.data, s, head)) };
      }
      return this.painted[head].hasNaN;
    }).length > 0;
  }

  /** Colour a head; masked cells stay transparent. Says whether one is not a number. */
  paint(head, s, { rows, cols, sees }, paint, read) {
    const { pixels, row } = this, top = head * this.rows;
    let hasNaN = false;
    for (let i = 0; i < rows; i++) {
      const at = (top + i) * this.cols, [from, to] = drawnKeys(s, i, cols);
      read(i, row);
      pixels.fill(0, at, at + cols);
      if (!sees) hasNaN = paintRun(pixels, at, row, from, to, paint) || hasNaN;
      else for (let j = from; j < to; j++) {
        if (sees(head, i, j)) hasNaN = paintRun(pixels, at, row, j, j + 1, paint) || hasNaN;
      }
    }
    this.pen.putImageData(this.image, 0, 0, 0, top, cols, rows);
    return hasNaN;
  }
}

/** The colours of neighbouring cells; says whether one is not a number. */
function paintRun(pixels, at, row, from, to, { table, nan, gain, shift }) {
  let found = false;
  for (let j = from; j < to; j++) {
    const level = row[j] * gain + shift;
    if (level >= 0) pixels[at + j] = table[level < 255 ? level | 0 : 255];
    else if (level < 0) pixels[at + j] = table[0];
    else { pixels[at + j] = nan; found = true; }
  }
  return found;
}

/** Whether cells are hatched. */
const hatches = (data, s, { hides, sees }) =>
  data.frames ? hides : s.stage !== "scores" && (sees || s.mask !== "none");

function drawMap(pen, scene) {
  const { plan, picture, hues, data, shape, heads, labels, settings: s } = scene;
  const { cell, em } = plan, { rows, cols } = shape, masked = hatches(data, s, shape);
  pen.imageSmoothingEnabled = cell * devicePixelRatio < 1;
  pen.textBaseline = "middle";
  const hatch = hatching(hues.hatch);
  plan.panels.forEach((panel, at) => {
    const box = [panel.x, panel.y, cols * cell, rows * cell];
    pen.fillStyle = hatch;
    if (masked) pen.fillRect(...box);
    pen.drawImage(picture.atlas, 0, heads[at] * picture.rows, cols, rows, ...box);
    pen.strokeStyle = hues.line;
    pen.strokeRect(panel.x - 0.5, panel.y - 0.5, box[2] + 1, box[3] + 1);
    pen.fillStyle = hues.ink;
    pen.font = plan.font;
    if (panel.outer) drawQueries(pen, panel, plan, labels.queries.slice(0, rows));
    if (panel.first && (panel.outer || plan.gap === GAP)) drawKeys(pen, panel, plan, labels.keys.slice(0, cols));
    if (plan.title) {
      pen.font = fontOf(12, em, "600");
      pen.textAlign = "left";
      const up = panel.first ? plan.top + plan.axis : 0;
      pen.fillText(nameOf(pen, data.names[heads[at]], plan.most.cols * cell), panel.x,
        panel.y - up - plan.title / 2);
    }
    if (cell >= 9) drawCells(pen, panel, heads[at], scene);
  });
  drawAxes(pen, plan, hues);
}

/** The names that stand at an axis: all words, or numbers at 1, 8, 16 and so on. */
function namesOf(labels, { style, cell, font }) {
  const least = style === "numbers" ? Math.ceil(14 / cell / EVERY) * EVERY : 1;
  return labels.map((text, at) => style === "numbers"
    ? (at === 0 || (at + 1) % least === 0) ? String(at + 1) : ""
    : labels.length > 20 && (at + 1) % EVERY && at ? text.replace(/ \d+$/, "") : text);
}

function drawQueries(pen, { x, y }, plan, labels) {
  pen.textAlign = "right";
  namesOf(labels, plan).forEach((text, i) =>
    text && pen.fillText(shorten(pen, text, plan.limit), x - 5, y + (i + 0.5) * plan.cell));
}

function drawKeys(pen, { x, y }, plan, labels) {
  const part = plan.style === "slanted" ? 8 : 4;
  pen.textAlign = plan.style === "numbers" ? "center" : "left";
  namesOf(labels, plan).forEach((text, j) => {
    const at = x + (j + 0.5) * plan.cell;
    if (!text) return;
    if (plan.style === "numbers") pen.fillText(text, at, y - 8);
    else turned(pen, shorten(pen, text, plan.limit), at, y - 7, part);
  });
}

/** Text turned left by a `part` of a full turn. */
function turned(pen, text, x, y, part) {
  pen.save();
  pen.translate(x, y);
  pen.rotate(-2 * Math.PI / part);
  pen.fillText(text, 0, 0);
  pen.restore();
}

/** The words "key" and "query", once for all panels. */
function drawAxes(pen, { panels, axis, left, top, em }, hues) {
  const [{ x, y }] = panels;
  pen.font = fontOf(12, em);
  // Beside the first key and query, which are there at every length.
  pen.fillStyle = hues.muted;
  pen.textAlign = "left";
  pen.fillText("key", x, y - top - axis / 2);
  pen.textAlign = "right";
  turned(pen, "query", x - left - axis / 2, y, 4);
}

/** What large cells add: gaps, and the numbers, or a cross where there is none. */
function drawCells(pen, { x, y }, head, { plan: { cell, em }, shape, settings: s, hues, data, picture, read = rowsOf }) {
  const { rows, cols, sees } = shape, row = new Float64Array(cols), fill = read(data, s, head);
  pen.strokeStyle = hues.back;
  pen.textAlign = "center";
  pen.font = fontOf(11, em);
  pen.beginPath();
  for (let i = 0; i < rows; i++) {
    const [from, to] = drawnKeys(s, i, cols);
    fill(i, row);
    for (let j = from; j < to; j++) {
      const v = row[j];
      if (sees && !sees(head, i, j)) continue;
      pen.rect(x + j * cell, y + i * cell, cell, cell);
      if (cell < NUMBERS && v === v) continue;
      const colour = picture.pixels[(head * picture.rows + i) * picture.cols + j];
      pen.fillStyle = isDark([0, 8, 16].map((bits) => (colour >> bits) & 255)) ? "#fff" : "#000";
      const text = v !== v ? "×" : STAGES.includes(s.stage) && s.stage !== "weights" ? fixed(v, 1)
        : v.toFixed(2).replace("-0.00", "0.00").replace("0.", ".").replace("-", "−");
      pen.fillText(text, x + (j + 0.5) * cell, y + (i + 0.5) * cell);
    }
  }
  pen.stroke();
}

/** A frame around a cell, and thin ones around its row and column: solid where the reader pinned
 *  it, dotted below the pointer. Of a row alone where the cell is covered, or of another head. */
function drawFrame(pen, plan, panel, { rows, cols }, [, query, key], kind, hues) {
  const size = Math.max(plan.cell, 4), middle = (n) => (n + 0.5) * plan.cell - size / 2;
  const x = panel.x + middle(key), y = panel.y + middle(query);
  pen.strokeStyle = hues.accent;
  pen.setLineDash(kind === "hover" ? [2, 2] : []);
  pen.lineWidth = 1;
  pen.strokeRect(panel.x - 1.5, y - 0.5, cols * plan.cell + 3, size + 1);
  if (kind === "row") return;
  if (kind !== "hover") pen.strokeRect(x - 0.5, panel.y - 1.5, size + 1, rows * plan.cell + 3);
  for (const [strokeStyle, lineWidth, dash] of [[hues.back, 5, []],
    [hues.accent, kind === "pinned" ? 3 : 2, kind === "hover" ? [3, 3] : []]]) {
    pen.setLineDash(dash);
    Object.assign(pen, { strokeStyle, lineWidth }).strokeRect(x, y, size, size);
  }
  pen.setLineDash([]);
}
