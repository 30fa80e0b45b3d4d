// The attention explorer: one dependency-free module (anywidget's interface) that draws the
// controls and the heat map, in Jupyter, in Colab and, through host.js, in the built book.
// Top to bottom: what is computed, how it is coloured, where it is drawn, the controls, the view.

const SETTINGS = ["seq_len", "head", "mask", "padding", "window", "prefix_len", "scaled",
  "temperature", "stage", "pinned"];
const MASK_NAMES = { none: "none", causal: "causal", padding: "padding",
  window: "sliding window", prefix: "prefix" };
const STAGES = ["scores", "masked scores", "weights"];
const NEEDS_SQUARE = ["causal", "window", "prefix"];
const TOP_KEYS = 5;

// The same anchors as attnkit/viz/palette.py, and their counterparts on a dark page.
const PALETTES = {
  light: {
    weights: ["#f3f7f4", "#cbe3d6", "#93cbbd", "#59aeaf", "#348ba0", "#2f668e", "#2f4275", "#1f1f45"],
    scores: ["#7f3b08", "#c7741c", "#f2c892", "#f6f5f3", "#b9c3e3", "#6d74b8", "#2d1e6b"],
    hatch: "#9aa1a8", nan: "#d6006c",
  },
  dark: {
    weights: ["#1d2833", "#22425c", "#2b6785", "#3b8f9e", "#62b5ad", "#9ad7bd", "#e2f6da"],
    scores: ["#ffd09b", "#d08a3c", "#7a5226", "#2a2e35", "#44508f", "#7f8ee0", "#cfd5ff"],
    hatch: "#6b7682", nan: "#ff5fa8",
  },
};

// ---------------------------------------------------------------------------------------------
// What is computed: float64 from float32 inputs, as attnkit.masks and attnkit.masked_softmax.

function floats(view) {
  if (!view || !view.byteLength) return new Float32Array(0);
  const start = view.byteOffset || 0;
  return new Float32Array((view.buffer || view).slice(start, start + view.byteLength));
}

/** The data of a model: sizes, tokens by length, and raw scores or recorded weights by head. */
function readData(model) {
  const [heads, rows, columns, features] = model.get("shape");
  const kind = model.get("kind");
  const keys = model.get("key_tokens");
  const data = {
    kind, heads, keys, queries: model.get("query_tokens") || keys,
    self: model.get("query_tokens") === null,
    names: model.get("head_names"), scale: model.get("scale"), rows, columns,
    lengths: Array.from({ length: columns }, (_, i) => i + 1),
  };
  if (kind === "frames") return Object.assign(data, readFrames(model, heads));
  const given = kind === "scores" ? floats(model.get("scores")) : null;
  const query = floats(model.get("query")), key = floats(model.get("key"));
  const made = [];
  data.raw = (head) => made[head] ||= given
    ? Float64Array.from(given.subarray(head * rows * columns, (head + 1) * rows * columns))
    : dotProducts(query, key, head, rows, columns, features);
  return data;
}

function readFrames(model, heads) {
  const all = floats(model.get("frames")), tokens = model.get("frame_tokens");
  const frames = new Map();
  let start = 0;
  model.get("frame_shapes").forEach(([length, rows, columns], place) => {
    const end = start + heads * rows * columns;
    frames.set(length, { rows, columns, weights: all.subarray(start, end), tokens: tokens[place] });
    start = end;
  });
  return { frames, lengths: [...frames.keys()] };
}

function dotProducts(query, key, head, rows, columns, features) {
  const scores = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    const q = (head * rows + i) * features;
    for (let j = 0; j < columns; j++) {
      const k = (head * columns + j) * features;
      let sum = 0;
      for (let e = 0; e < features; e++) sum += query[q + e] * key[k + e];
      scores[i * columns + j] = sum;
    }
  }
  return scores;
}

function readSettings(model) {
  return Object.fromEntries(SETTINGS.map((name) => [name, model.get(name)]));
}

/** Rows and columns on show. The length shortens keys, and queries too in self-attention. */
function sizeOf(data, s) {
  if (data.frames) return data.frames.get(s.seq_len);
  return { rows: data.self ? s.seq_len : data.rows, columns: s.seq_len };
}

function tokensOf(data, s) {
  const { rows, columns, tokens } = sizeOf(data, s);
  const [queries, keys] = tokens || [data.queries, data.keys];
  return { queries: queries.slice(0, rows), keys: keys.slice(0, columns) };
}

/** The keys [from, to) that query i may see; every mask of the explorer is one run a row. */
function visibleKeys(s, i, columns) {
  switch (s.mask) {
    case "causal": return [0, i + 1];
    case "window": return [Math.max(0, i + 1 - s.window), i + 1];
    case "prefix": return [0, Math.max(Math.min(s.prefix_len, columns), i + 1)];
    case "padding": return [0, columns - Math.min(s.padding, columns - 1)];
  }
  return [0, columns];
}

const factorOf = (data, s) => (s.scaled && data.scale !== null ? data.scale : 1) / s.temperature;

/** Softmax of factor * scores[at + from ... at + to) into out; returns the largest weight. */
function softmaxRow(scores, at, from, to, factor, out, outAt) {
  let most = -Infinity, sum = 0;
  for (let j = from; j < to; j++) if (scores[at + j] > most) most = scores[at + j];
  for (let j = from; j < to; j++) {
    sum += out[outAt + j] = Math.exp((scores[at + j] - most) * factor);
  }
  const share = 1 / sum;
  for (let j = from; j < to; j++) out[outAt + j] *= share;
  return to > from ? share : 0;
}

/** One row of one head, exactly: scores (before the mask), weights, and the keys it may see. */
function readRow(data, s, head, i) {
  const { rows, columns, weights: recorded } = sizeOf(data, s);
  if (recorded) {
    const at = (head * rows + i) * columns;
    return { weights: Float64Array.from(recorded.subarray(at, at + columns)), from: 0, to: columns };
  }
  const raw = data.raw(head), at = i * data.columns, factor = factorOf(data, s);
  const weights = new Float64Array(columns), [from, to] = visibleKeys(s, i, columns);
  softmaxRow(raw, at, from, to, factor, weights, 0);
  const products = raw.slice(at, at + columns);
  return { products, scores: products.map((v) => v * factor), weights, from, to };
}

const shownHeads = (data, s) =>
  s.head === "all" ? Array.from({ length: data.heads }, (_, h) => h) : [s.head];

/** Fill `out` with what one head shows; returns the largest magnitude in it. */
function fillHead(data, s, head, out, start) {
  const { rows, columns, weights: recorded } = sizeOf(data, s);
  let most = 0;
  if (recorded) {
    const from = head * rows * columns;
    for (let k = 0; k < rows * columns; k++) {
      const v = out[start + k] = recorded[from + k];
      if (v > most) most = v;
    }
    return most;
  }
  const raw = data.raw(head), factor = factorOf(data, s);
  for (let i = 0; i < rows; i++) {
    const at = i * data.columns, to = start + i * columns, [lo, hi] = drawnKeys(s, i, columns);
    if (s.stage === "weights") {
      const peak = softmaxRow(raw, at, lo, hi, factor, out, to);
      if (peak > most) most = peak;
      continue;
    }
    for (let j = lo; j < hi; j++) {
      const v = out[to + j] = raw[at + j] * factor;
      if (v > most) most = v; else if (-v > most) most = -v;
    }
  }
  return most;
}

/** The keys of row i that have a colour: all of them before the mask, those it may see after. */
const drawnKeys = (s, i, columns) =>
  s.stage === "scores" ? [0, columns] : visibleKeys(s, i, columns);

function entropy(weights) {
  let sum = 0;
  for (const w of weights) if (w > 0) sum -= w * Math.log(w);
  return sum;
}

// ---------------------------------------------------------------------------------------------
// How it is coloured.

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** 256 colours between the anchors, as the pixels of an ImageData (little-endian ABGR). */
function colourTable(anchors) {
  const stops = anchors.map(rgb), last = stops.length - 1;
  return Uint32Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * last, low = Math.min(Math.floor(place), last - 1);
    return packed(stops[low].map((v, c) => Math.round(v + (stops[low + 1][c] - v) * (place - low))));
  });
}

/** Ink that reads on a pixel colour: black or white, whichever contrasts more. */
function inkOn(pixel) {
  const [r, g, b] = [0, 8, 16].map((shift) => luminanceOf((pixel >>> shift) & 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

const luminanceOf = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;

/** Rough screen colours of an element, read through a pixel so that any CSS syntax will do. */
function isDark(element, context) {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = getComputedStyle(element).backgroundColor;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 110;
}

// ---------------------------------------------------------------------------------------------
// Where it is drawn.

const FONT = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";
const AXIS = 17, GAP = 14, MOST_CELL = 44, MOST_HEIGHT = 560, READABLE = 12;

function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && context.measureText(letters.join("") + "…").width > width) letters.pop();
  return letters.join("") + "…";
}

const widest = (context, texts) =>
  texts.reduce((most, text) => Math.max(most, context.measureText(text).width), 0);

/** Panels, cell size and margins for the heads on show in `width` CSS pixels. */
function layOut(context, width, heads, { queries, keys }) {
  context.font = FONT;
  const most = Math.min(110, width * 0.26);
  const left = Math.min(widest(context, queries), most), top = Math.min(widest(context, keys), most);
  let across = 1;
  if (heads.length > 1) across = Math.min(heads.length, width < 420 ? 2 : width < 600 ? 3 : 4);
  if (heads.length === 4) across = 2;
  for (const labelled of heads.length > 1 ? [true, false] : [true]) {
    const plan = tryLayout(width, heads, queries.length, keys.length, across,
      labelled ? left + 6 : 0, labelled ? top * 0.72 + 10 : 0, labelled ? top * 0.72 : 0);
    if (heads.length === 1 || !labelled || plan.cell >= READABLE) return { ...plan, labelled };
  }
}

function tryLayout(width, heads, rows, columns, across, left, top, right) {
  const name = heads.length > 1 ? 20 : 0;
  const x0 = AXIS + left, y0 = AXIS + name + top;
  const room = (width - across * x0 - (across - 1) * GAP - right) / across;
  const cell = Math.max(Math.min(room / columns, MOST_CELL, MOST_HEIGHT / rows), 0.1);
  const stepX = x0 + columns * cell + GAP, stepY = y0 + rows * cell + GAP;
  const panels = heads.map((head, place) => ({
    head, x: (place % across) * stepX + x0, y: Math.floor(place / across) * stepY + y0,
  }));
  const height = Math.ceil(heads.length / across) * stepY;
  return { panels, cell, rows, columns, left, name, width, height };
}

function fit(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function hatching(context, palette) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 7;
  const pen = tile.getContext("2d");
  pen.strokeStyle = palette.hatch;
  pen.beginPath();
  for (const shift of [-7, 0, 7]) { pen.moveTo(shift, 7); pen.lineTo(shift + 7, 0); }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

/** One pixel a cell, one head below the other; masked cells stay transparent. */
function paintCells(atlas, cells, s, plan, most, table, nan) {
  const { rows, columns, panels } = plan;
  const context = atlas.getContext("2d");
  if (atlas.width !== columns || atlas.height !== rows * panels.length) {
    Object.assign(atlas, { width: columns, height: rows * panels.length });
  }
  const image = context.createImageData(columns, rows * panels.length);
  const pixels = new Uint32Array(image.data.buffer);
  const symmetric = s.stage !== "weights";
  const gain = (symmetric ? 127.5 : 255) / (most || 1), shift = symmetric ? 128 : 0.5;
  for (let row = 0; row < rows * panels.length; row++) {
    const [from, to] = drawnKeys(s, row % rows, columns);
    for (let k = row * columns + from; k < row * columns + to; k++) {
      const level = cells[k] * gain + shift;
      if (level >= 0) pixels[k] = table[level < 255 ? level | 0 : 255];
      else pixels[k] = level < 0 ? table[0] : nan;
    }
  }
  context.putImageData(image, 0, 0);
  return pixels;
}

function drawPanels(context, view) {
  const { plan, atlas, tokens, colours, data, settings: s } = view;
  const { cell, rows, columns } = plan;
  context.font = FONT;
  context.imageSmoothingEnabled = cell * (globalThis.devicePixelRatio || 1) < 1;
  const hatch = hatching(context, colours.palette);
  plan.panels.forEach((panel, place) => {
    const w = columns * cell, h = rows * cell;
    context.fillStyle = hatch;
    context.fillRect(panel.x, panel.y, w, h);
    context.drawImage(atlas, 0, place * rows, columns, rows, panel.x, panel.y, w, h);
    if (cell >= 10) drawGaps(context, panel, plan, s, colours.back);
    context.strokeStyle = colours.line;
    context.strokeRect(panel.x - 0.5, panel.y - 0.5, w + 1, h + 1);
    drawNames(context, panel, plan, tokens, colours, data.names[panel.head]);
    if (cell >= 30) drawNumbers(context, panel, place, view);
    else if (cell >= 6) drawCrosses(context, panel, place, view);
  });
}

function drawGaps(context, panel, { cell, rows, columns }, s, colour) {
  context.strokeStyle = colour;
  context.beginPath();
  for (let i = 0; i < rows; i++) {
    const [from, to] = drawnKeys(s, i, columns), y = panel.y + i * cell;
    for (let j = from; j < to; j++) context.rect(panel.x + j * cell, y, cell, cell);
  }
  context.stroke();
}

function drawNames(context, panel, plan, tokens, colours, name) {
  const { cell, rows, columns, left, labelled } = plan;
  const step = Math.ceil(READABLE / cell);
  context.fillStyle = colours.ink;
  context.textBaseline = "middle";
  if (labelled) {
    context.textAlign = "right";
    for (let i = 0; i < rows; i += step) {
      const text = shorten(context, tokens.queries[i], left - 4);
      context.fillText(text, panel.x - 5, panel.y + (i + 0.5) * cell);
    }
    drawKeyNames(context, panel, plan, tokens.keys, step);
  }
  context.textAlign = "center";
  context.fillStyle = colours.muted;
  const above = labelled ? panel.keyTop ?? 0 : 0;
  context.fillText("key", panel.x + (columns * cell) / 2, panel.y - above - AXIS / 2);
  if (plan.name) {
    context.fillStyle = colours.ink;
    context.font = `600 ${FONT}`;
    const room = columns * cell + plan.left;
    context.fillText(shorten(context, name, room), panel.x + (columns * cell) / 2,
      panel.y - above - AXIS - plan.name / 2 + 3);
    context.font = FONT;
    context.fillStyle = colours.muted;
  }
  context.save();
  context.translate(panel.x - left - AXIS / 2, panel.y + (rows * cell) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText("query", 0, 0);
  context.restore();
}

/** Key tokens above the columns: upright where all fit their cell, slanted otherwise. */
function drawKeyNames(context, panel, { cell, columns, width, keyRoom }, keys, step) {
  const most = Math.min(110, width * 0.26);
  const upright = widest(context, keys) < cell - 4;
  panel.keyTop = upright ? 18 : Math.min(widest(context, keys), most) * 0.72 + 10;
  for (let j = 0; j < columns; j += step) {
    context.save();
    context.translate(panel.x + (j + 0.5) * cell, panel.y - (upright ? 9 : 6));
    if (!upright) context.rotate(-Math.PI / 4);
    context.textAlign = upright ? "center" : "left";
    context.fillText(shorten(context, keys[j], most), 0, 0);
    context.restore();
  }
}

function drawNumbers(context, panel, place, { plan, cells, pixels, settings: s }) {
  const { cell, rows, columns } = plan;
  context.save();
  context.font = FONT.replace("12px", "11px");
  context.textAlign = "center";
  for (let i = 0; i < rows; i++) {
    const [from, to] = drawnKeys(s, i, columns);
    for (let j = from; j < to; j++) {
      const k = (place * rows + i) * columns + j;
      context.fillStyle = inkOn(pixels[k]);
      const text = s.stage === "weights" ? shortWeight(cells[k]) : cells[k].toFixed(1);
      context.fillText(text, panel.x + (j + 0.5) * cell, panel.y + (i + 0.5) * cell);
    }
  }
  context.restore();
}

const shortWeight = (v) => Number.isNaN(v) ? "NaN" : v.toFixed(2).replace(/^0/, "");

function drawCrosses(context, panel, place, { plan, cells, colours }) {
  const { cell, rows, columns } = plan;
  context.strokeStyle = inkOn(colours.nan);
  context.beginPath();
  for (let k = 0; k < rows * columns; k++) {
    if (!Number.isNaN(cells[place * rows * columns + k])) continue;
    const x = panel.x + (k % columns) * cell, y = panel.y + Math.floor(k / columns) * cell;
    context.moveTo(x + 2, y + 2); context.lineTo(x + cell - 2, y + cell - 2);
    context.moveTo(x + cell - 2, y + 2); context.lineTo(x + 2, y + cell - 2);
  }
  context.stroke();
}

/** The row and the cell under the reader's hand, on a canvas of their own above the map. */
function drawCursor(context, plan, cursor, pinned, colours) {
  const panel = plan.panels.find(({ head }) => head === cursor.head);
  if (!panel) return;
  const size = Math.max(plan.cell, 4), middle = (n) => (n + 0.5) * plan.cell - size / 2;
  const x = panel.x + middle(cursor.key), y = panel.y + middle(cursor.query);
  context.strokeStyle = colours.accent;
  context.lineWidth = 1;
  context.strokeRect(panel.x - 1.5, y - 0.5, plan.columns * plan.cell + 3, size + 1);
  context.beginPath();
  context.moveTo(x + size / 2, panel.y - 4);
  context.lineTo(x + size / 2, y - 2);
  context.setLineDash([2, 3]);
  context.stroke();
  context.setLineDash([]);
  for (const [colour, lineWidth] of [[colours.back, 5], [colours.accent, pinned ? 3 : 2]]) {
    Object.assign(context, { strokeStyle: colour, lineWidth });
    context.strokeRect(x, y, size, size);
  }
}

function cellAt(plan, x, y) {
  for (const panel of plan.panels) {
    const key = Math.floor((x - panel.x) / plan.cell), query = Math.floor((y - panel.y) / plan.cell);
    if (key >= 0 && key < plan.columns && query >= 0 && query < plan.rows) {
      return { head: panel.head, query, key };
    }
  }
  return null;
}

// ---------------------------------------------------------------------------------------------
// The controls: native inputs, each in its own label. Text only ever enters as text.

function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name in node && name !== "role") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function slider(label, { min, max, step = 1, get, text = String, set, shown = () => true }) {
  const input = make("input", { type: "range", step });
  const output = make("output");
  const element = make("label", { className: "ak-control" },
    make("span", { textContent: label }), input, output);
  const update = (s) => {
    element.hidden = !shown(s);
    input.min = min;
    input.max = max(s);
    input.value = get(s);
    output.textContent = text(s);
    input.setAttribute("aria-valuetext", text(s));
  };
  return { element, update, input, read: () => set(Number(input.value)) };
}

function chooser(label, options, { get, set }) {
  const input = make("select", {}, ...options.map(([value, text, why]) =>
    make("option", { value, textContent: text, disabled: Boolean(why), title: why || "" })));
  const element = make("label", { className: "ak-control" },
    make("span", { textContent: label }), input);
  return { element, input, update: (s) => { input.value = String(get(s)); },
    read: () => set(input.value) };
}

function toggle(label, { get, set }) {
  const input = make("input", { type: "checkbox" });
  const element = make("label", { className: "ak-control ak-toggle" }, input,
    make("span", { textContent: label }));
  return { element, input, update: (s) => { input.checked = get(s); },
    read: () => set(input.checked) };
}

function buildControls(data, shown, write) {
  const few = ({ columns }) => Math.max(columns - 1, 0);
  const onMask = (name) => (s) => s.mask === name;
  const square = "needs queries and keys to be the same tokens";
  const all = {
    length: () => [slider(data.self ? "Length" : "Keys", {
      min: 0, max: () => data.lengths.length - 1, get: (s) => data.lengths.indexOf(s.seq_len),
      text: (s) => String(s.seq_len), set: (v) => write({ seq_len: data.lengths[v] }) })],
    head: () => [chooser("Head",
      [...data.names.map((name, h) => [String(h), name]), ["all", "all heads"]],
      { get: (s) => s.head, set: (v) => write({ head: v === "all" ? v : Number(v) }) })],
    mask: () => [
      chooser("Mask", Object.entries(MASK_NAMES).map(([value, text]) =>
        !data.self && NEEDS_SQUARE.includes(value)
          ? [value, `${text} (${square})`, square] : [value, text]),
      { get: (s) => s.mask, set: (v) => write({ mask: v }) }),
      slider("Padded", { min: 0, max: (s) => few(sizeOf(data, s)), get: (s) => s.padding,
        text: (s) => `last ${Math.min(s.padding, few(sizeOf(data, s)))}`,
        set: (v) => write({ padding: v }), shown: onMask("padding") }),
      slider("Window", { min: 1, max: (s) => sizeOf(data, s).columns, get: (s) => s.window,
        text: (s) => `${s.window} key${s.window === 1 ? "" : "s"}`,
        set: (v) => write({ window: v }), shown: onMask("window") }),
      slider("Prefix", { min: 0, max: (s) => sizeOf(data, s).columns, get: (s) => s.prefix_len,
        text: (s) => `${s.prefix_len} key${s.prefix_len === 1 ? "" : "s"}`,
        set: (v) => write({ prefix_len: v }), shown: onMask("prefix") }),
    ],
    temperature: () => [slider("Temperature", { min: -1, max: () => 1, step: 0.05,
      get: (s) => Math.log10(s.temperature), text: (s) => String(+s.temperature.toFixed(2)),
      set: (v) => write({ temperature: v === 0 ? 1 : Number((10 ** v).toPrecision(3)) }) })],
    scale: () => data.scale === null ? [] : [toggle(scaleLabel(data),
      { get: (s) => s.scaled, set: (v) => write({ scaled: v }) })],
    stage: () => [chooser("Show", STAGES.map((name) => [name, name]),
      { get: (s) => s.stage, set: (v) => write({ stage: v }) })],
  };
  const order = ["length", "head", "mask", "stage", "temperature", "scale"];
  return order.filter((name) => shown.includes(name)).flatMap((name) => all[name]());
}

function scaleLabel({ kind, scale }) {
  const features = Math.round(1 / scale ** 2);
  const root = kind === "qk" && Math.abs(features ** -0.5 - scale) < 1e-9;
  return root ? `scale by 1/√${features}` : `scale by ${+scale.toPrecision(3)}`;
}

// ---------------------------------------------------------------------------------------------
// The words: readout, summary, colour bar.

const quoted = (token) => `“${token}”`;
const fixed = (v, digits = 3) => Number.isNaN(v) ? "NaN" : v.toFixed(digits).replace("-", "−");

function describeCell(tokens, row, { query, key }) {
  const seen = key >= row.from && key < row.to;
  const score = row.scores ? `score ${fixed(row.scores[key], 2)}, ` : "";
  return `query ${quoted(tokens.queries[query])}, key ${quoted(tokens.keys[key])}: ${score}` +
    (seen ? `weight ${fixed(row.weights[key])}` : "masked, weight 0");
}

function describeScore(data, s, row, key) {
  if (!row.scores) return "recorded weight";
  const score = fixed(row.scores[key], 2);
  const steps = [`${data.kind === "qk" ? "q·k" : "score"} ${fixed(row.products[key], 2)}`];
  if (s.scaled && data.scale !== null) steps.push(`× ${+data.scale.toPrecision(3)}`);
  if (s.temperature !== 1) steps.push(`÷ ${+s.temperature.toFixed(2)}`);
  return steps.length > 1 ? `score ${score} = ${steps.join(" ")}` : `score ${score} = ${steps[0]}`;
}

function describeRow(row) {
  const { weights, from, to } = row;
  const sum = weights.reduce((a, b) => a + b, 0), spread = entropy(weights);
  if (to <= from) return "This row sees nothing: every weight is 0.";
  return `Row sum ${fixed(sum)} · entropy ${fixed(spread, 2)} of at most ${fixed(Math.log(to - from), 2)}` +
    ` nats, as if spread evenly over ${fixed(Math.exp(spread), 1)} of ${to - from} keys`;
}

function describeView(data, s, { queries, keys }) {
  const which = s.head === "all" ? "all heads" : data.names[s.head];
  const how = data.frames ? "recorded weights" :
    `${s.stage}, mask ${MASK_NAMES[s.mask]}, temperature ${+s.temperature.toFixed(2)}` +
    (data.scale === null ? "" : s.scaled ? ", scaled" : ", not scaled");
  return `Attention heat map, ${which}: ${queries.length} queries by ${keys.length} keys, ${how}. ` +
    "Arrow keys move between cells, Home and End to the ends of a row, Page Up and Page Down " +
    "between heads. Enter pins a cell, Escape lets it go.";
}

function provenance(data) {
  const how = data.frames
    ? `Recorded: the model was run at ${data.lengths.length === 1 ? "this length" : "each length"}` +
      ", and these are the weights it gave."
    : `Computed here, from the ${data.kind === "qk" ? "queries and keys" : "scores"}` +
      " of the model, for the settings above.";
  return how;
}

// ---------------------------------------------------------------------------------------------
// The view.

const CSS = `
.attnkit-explorer{--ak-back:var(--pst-color-background,var(--jp-layout-color1,
var(--colab-primary-surface-color,var(--vscode-editor-background,Canvas))));
--ak-ink:var(--pst-color-text-base,var(--jp-ui-font-color0,
var(--colab-primary-text-color,var(--vscode-editor-foreground,CanvasText))));
--ak-muted:#57606a;--ak-line:#c4ccd4;--ak-accent:#b3261e;--ak-control:#176b87;
background:var(--ak-back);color:var(--ak-ink);color-scheme:light;box-sizing:border-box;
border:1px solid var(--ak-line);border-radius:10px;padding:14px 16px 12px;margin:.5rem 0;
max-width:100%;container-type:inline-size;font:14px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;
transition:background-color 1ms}
.attnkit-explorer[data-dark]{--ak-muted:#a9b4bf;--ak-line:#414b56;--ak-accent:#ffb454;
--ak-control:#6cc5cf;color-scheme:dark}
.attnkit-explorer *{box-sizing:border-box}.attnkit-explorer [hidden]{display:none!important}
.attnkit-explorer p{margin:0;font-size:inherit;color:inherit}
.attnkit-explorer .ak-title{font-weight:650;font-size:15px;margin-bottom:8px}
.ak-controls{display:grid;grid-template-columns:repeat(auto-fill,minmax(225px,1fr));
gap:6px 22px;align-items:center;padding-bottom:10px;border-bottom:1px solid var(--ak-line)}
.attnkit-explorer .ak-control{display:grid;grid-template-columns:5.9em minmax(0,1fr) auto;gap:8px;
align-items:center;margin:0;min-height:30px;font-weight:400;font-size:13.5px;color:var(--ak-ink)}
.attnkit-explorer .ak-toggle{grid-template-columns:auto 1fr}
.attnkit-explorer input{accent-color:var(--ak-control);margin:0;min-width:0;width:100%;height:22px}
.attnkit-explorer input[type=checkbox]{width:18px;height:18px}
.attnkit-explorer output{min-width:3.4em;text-align:right;font-variant-numeric:tabular-nums;
padding:0;margin:0;color:var(--ak-ink);font-size:13px}
.attnkit-explorer select,.attnkit-explorer button{font:inherit;color:var(--ak-ink);
background:var(--ak-back);border:1px solid var(--ak-muted);border-radius:6px;padding:3px 8px;
min-width:0;width:100%;min-height:28px;grid-column:2/-1}
.attnkit-explorer button{width:auto;justify-self:start;padding:3px 14px;cursor:pointer}
.attnkit-explorer :focus-visible{outline:3px solid var(--ak-accent);outline-offset:2px;border-radius:4px}
.ak-body{display:grid;grid-template-columns:minmax(0,1fr) 214px;gap:8px 22px;margin-top:12px}
.ak-plot{position:relative;min-width:0;grid-row:1}
.ak-plot canvas{display:block;width:100%;touch-action:pan-x pan-y}
.ak-plot canvas+canvas{position:absolute;inset:0;cursor:crosshair}
.ak-bar{display:flex;flex-wrap:wrap;gap:4px 8px;align-items:center;font-size:12px;
color:var(--ak-muted);font-variant-numeric:tabular-nums;grid-row:2}
.ak-bar i{display:inline-block;width:110px;height:12px;border:1px solid var(--ak-line);
border-radius:2px;print-color-adjust:exact}
.ak-bar .ak-mask,.ak-bar .ak-nan{width:18px;margin-left:10px}
.ak-side{font-size:13px;min-width:0;overflow-wrap:anywhere;grid-row:1/3;grid-column:2}
.ak-side .ak-pair{display:grid;grid-template-columns:3.4em minmax(0,1fr);gap:0 6px}
.ak-side .ak-pair span:nth-child(odd),.ak-note,.ak-side .ak-small{color:var(--ak-muted)}
.attnkit-explorer .ak-big{font-size:25px;font-weight:650;font-variant-numeric:tabular-nums;
line-height:1.3;margin-top:4px}
.attnkit-explorer .ak-small,.attnkit-explorer .ak-note{font-size:12px}
.attnkit-explorer .ak-head{font-weight:600;margin:10px 0 3px}
.attnkit-explorer ol{list-style:none;margin:0 0 8px;padding:0}
.attnkit-explorer li{display:grid;grid-template-columns:minmax(0,1fr) 64px 3.2em;gap:8px;
align-items:center;margin:0;padding:1px 0}
.ak-side li span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ak-side li span:last-child{text-align:right;font-variant-numeric:tabular-nums}
.ak-side li i{height:9px;border-radius:2px;background:linear-gradient(var(--ak-control) 0 0)
0/var(--ak-share,0) 100% no-repeat,var(--ak-line);print-color-adjust:exact}
.attnkit-explorer .ak-note{margin-top:10px}
.ak-unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@container (max-width:560px){.ak-body{grid-template-columns:minmax(0,1fr)}
.ak-side{grid-row:3;grid-column:1}}
@media print{.attnkit-explorer{background:#fff;color:#000;--ak-ink:#000;--ak-back:#fff;
break-inside:avoid}.attnkit-explorer button{display:none}}
`;

function buildPage(title, caption, data) {
  const page = {
    map: make("canvas", { "aria-hidden": "true" }),
    cursor: make("canvas", { tabIndex: 0, role: "application" }),
    low: make("span"), ramp: make("i"), high: make("span"), what: make("span"),
    maskKey: make("i", { className: "ak-mask" }), maskWord: make("span", { textContent: "masked" }),
    nanKey: make("i", { className: "ak-nan" }), nanWord: make("span", { textContent: "NaN" }),
    query: make("span"), key: make("span"),
    big: make("p", { className: "ak-big" }), score: make("p", { className: "ak-small" }),
    rowHead: make("p", { className: "ak-head" }), top: make("ol"),
    row: make("p", { className: "ak-small" }),
    live: make("p", { className: "ak-unseen", role: "status" }),
    reset: make("button", { type: "button", textContent: "Reset" }),
    controls: make("div", { className: "ak-controls" }),
  };
  page.plot = make("div", { className: "ak-plot" }, page.map, page.cursor);
  for (let place = 0; place < TOP_KEYS; place++) {
    page.top.append(make("li", {}, make("span"), make("i"), make("span")));
  }
  const word = (textContent) => make("span", { textContent });
  page.root = make("div", { className: "attnkit-explorer", role: "group" },
    make("style", { textContent: CSS }),
    make("p", { className: "ak-title", textContent: title, hidden: !title }),
    page.controls,
    make("div", { className: "ak-body" },
      page.plot,
      make("div", { className: "ak-bar" }, page.what, page.low, page.ramp, page.high,
        page.maskKey, page.maskWord, page.nanKey, page.nanWord),
      make("div", { className: "ak-side" },
        make("p", { className: "ak-pair" }, word("query"), page.query, word("key"), page.key),
        page.big, page.score, page.rowHead, page.top, page.row)),
    make("p", { className: "ak-note", textContent: `${caption} ${provenance(data)}`.trim() }),
    page.live);
  page.root.setAttribute("aria-label", title || "Attention explorer");
  return page;
}

class View {
  constructor(model, el) {
    this.model = model;
    this.data = readData(model);
    this.settings = readSettings(model);
    this.initial = this.settings;
    this.page = buildPage(model.get("title"), model.get("caption"), this.data);
    this.controls = buildControls(this.data, model.get("controls"), (values) => this.write(values));
    this.page.controls.append(...this.controls.map(({ element }) => element), this.page.reset);
    this.atlas = document.createElement("canvas");
    this.ending = new AbortController();
    this.frame = 0;
    this.stale = true;
    this.page.root.snapshot = () => this.snapshot();
    this.placeCursor();
    this.listen();
    el.append(this.page.root);
    this.update();
  }

  // -- listening, and letting go ---------------------------------------------------------------

  listen() {
    const { page, ending: { signal } } = this;
    const on = (target, name, action) => target.addEventListener(name, action, { signal });
    for (const control of this.controls) on(control.input, "input", control.read);
    on(page.reset, "click", () => this.write(this.initial));
    on(page.cursor, "pointermove", (event) => this.point(event));
    on(page.cursor, "click", (event) => this.pin(event));
    on(page.cursor, "keydown", (event) => this.press(event));
    on(page.root, "transitionend", (event) => event.target === page.root && this.update());
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      on(matchMedia(query), "change", () => this.redrawNow());
    }
    this.heard = () => this.update();
    for (const name of SETTINGS) this.model.on(`change:${name}`, this.heard);
    this.resize = new ResizeObserver(() => this.update());
    this.resize.observe(page.plot);
    this.theme = new MutationObserver(() => this.update());
    for (const node of [document.documentElement, document.body]) {
      this.theme.observe(node, { attributes: true });
    }
  }

  close() {
    this.ending.abort();
    this.resize.disconnect();
    this.theme.disconnect();
    cancelAnimationFrame(this.frame);
    for (const name of SETTINGS) this.model.off(`change:${name}`, this.heard);
    this.page.root.remove();
  }

  write(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  // -- the cell under the reader's hand --------------------------------------------------------

  placeCursor() {
    const head = this.settings.head === "all" ? 0 : this.settings.head;
    const query = sizeOf(this.data, this.settings).rows - 1;
    const { weights } = readRow(this.data, this.settings, head, query);
    this.cursor = { head, query, key: Math.max(0, weights.indexOf(Math.max(...weights))) };
  }

  keepCursor() {
    const { rows, columns } = sizeOf(this.data, this.settings), s = this.settings;
    const [head, query, key] = s.pinned.length === 3 ? s.pinned
      : [this.cursor.head, this.cursor.query, this.cursor.key];
    const within = (value, count) => Math.max(0, Math.min(value, count - 1));
    this.cursor = { head: s.head === "all" ? within(head, this.data.heads) : s.head,
      query: within(query, rows), key: within(key, columns) };
  }

  point(event) {
    const found = this.settings.pinned.length ? null : this.under(event);
    if (!found) return;
    this.cursor = found;
    this.update(false);
  }

  under(event) {
    if (!this.plan) return null;
    const box = this.page.cursor.getBoundingClientRect();
    return cellAt(this.plan, event.clientX - box.left, event.clientY - box.top);
  }

  pin(event) {
    const found = this.under(event);
    if (!found) return;
    const same = String(this.settings.pinned) === String(Object.values(found));
    this.cursor = found;
    this.write({ pinned: same ? [] : Object.values(found) });
    this.say();
    this.update(false);
  }

  press(event) {
    const moved = this.moved(event);
    if (!moved) return;
    event.preventDefault();
    event.stopPropagation();
    const { pinned } = this.settings;
    this.cursor = moved.cell;
    if (moved.head !== undefined) this.write({ head: moved.head });
    if (moved.pin !== undefined) this.write({ pinned: moved.pin ? Object.values(moved.cell) : [] });
    else if (pinned.length) this.write({ pinned: Object.values(moved.cell) });
    this.settings = readSettings(this.model);
    this.keepCursor();
    this.say();
    this.update(false);
  }

  /** What a key does: the cell it leads to, and whether it changes the head or the pin. */
  moved({ key: name, ctrlKey, altKey, metaKey }) {
    if (altKey || metaKey) return null;
    const { rows, columns } = sizeOf(this.data, this.settings);
    const { head, query, key } = this.cursor;
    const to = (q, k) => ({ cell: { head, query: Math.max(0, Math.min(q, rows - 1)),
      key: Math.max(0, Math.min(k, columns - 1)) } });
    switch (name) {
      case "ArrowLeft": return to(query, key - 1);
      case "ArrowRight": return to(query, key + 1);
      case "ArrowUp": return to(query - 1, key);
      case "ArrowDown": return to(query + 1, key);
      case "Home": return to(ctrlKey ? 0 : query, 0);
      case "End": return to(ctrlKey ? rows - 1 : query, columns - 1);
      case "PageUp": return this.toHead(head - 1);
      case "PageDown": return this.toHead(head + 1);
      case "Enter": case " ": return { ...to(query, key), pin: !this.settings.pinned.length };
      case "Escape": return this.settings.pinned.length ? { ...to(query, key), pin: false } : null;
    }
    return null;
  }

  toHead(head) {
    const next = Math.max(0, Math.min(head, this.data.heads - 1));
    const cell = { ...this.cursor, head: next };
    return this.settings.head === "all" ? { cell } : { cell, head: next };
  }

  say() {
    const row = readRow(this.data, this.settings, this.cursor.head, this.cursor.query);
    this.page.live.textContent = describeCell(tokensOf(this.data, this.settings), row, this.cursor);
  }

  // -- drawing: at most once a frame, and only what changed ------------------------------------

  update(everything = true) {
    this.stale ||= everything;
    if (!this.frame) this.frame = requestAnimationFrame(() => this.redrawNow(false));
  }

  redrawNow(everything = true) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.settings = readSettings(this.model);
    this.keepCursor();
    if (this.stale || everything) this.draw();
    this.stale = false;
    if (this.plan) this.drawHand();
    this.showRow();
  }

  draw() {
    const { page, data, settings: s } = this;
    const width = page.plot.clientWidth;
    for (const control of this.controls) control.update(s);
    page.cursor.setAttribute("aria-label", describeView(data, s, tokensOf(data, s)));
    if (!width) return;
    this.readColours();
    this.tokens = tokensOf(data, s);
    const heads = shownHeads(data, s);
    this.plan = layOut(page.map.getContext("2d"), width, heads, this.tokens);
    const count = this.plan.rows * this.plan.columns;
    if (!this.cells || this.cells.length < count * heads.length) {
      this.cells = new Float64Array(count * heads.length);
    }
    let most = 0;
    heads.forEach((head, place) => {
      most = Math.max(most, fillHead(data, s, head, this.cells, place * count));
    });
    const { table, nan } = this.colours;
    this.pixels = paintCells(this.atlas, this.cells, s, this.plan, most, table, nan);
    drawPanels(fit(page.map, width, this.plan.height), this);
    this.drawBar(most);
  }

  readColours() {
    const { root } = this.page;
    root.toggleAttribute("data-dark", isDark(root, probe()));
    const dark = root.hasAttribute("data-dark"), style = getComputedStyle(root);
    const kind = this.settings.stage === "weights" ? "weights" : "scores";
    const named = (name) => style.getPropertyValue(name);
    const palette = PALETTES[dark ? "dark" : "light"];
    this.colours = { palette, table: colourTable(palette[kind]), anchors: palette[kind],
      nan: packed(rgb(palette.nan)), ink: style.color, back: style.backgroundColor,
      muted: named("--ak-muted"), line: named("--ak-line"), accent: named("--ak-accent") };
  }

  drawBar(most) {
    const { page, settings: s, colours: { anchors, palette } } = this;
    const weights = s.stage === "weights", end = fixed(most, most < 0.1 ? 3 : 2);
    page.what.textContent = weights ? "weight" : "score";
    page.low.textContent = weights ? "0" : `−${end}`;
    page.high.textContent = weights ? end : `+${end}`;
    page.ramp.style.background = `linear-gradient(to right,${anchors})`;
    page.maskKey.style.background =
      `repeating-linear-gradient(135deg,${palette.hatch} 0 1px,transparent 1px 5px)`;
    page.nanKey.style.background = palette.nan;
    page.maskKey.hidden = page.maskWord.hidden = s.mask === "none" || s.stage === "scores";
    page.nanKey.hidden = page.nanWord.hidden = !this.pixels.includes(this.colours.nan);
  }

  drawHand() {
    const context = fit(this.page.cursor, this.plan.width, this.plan.height);
    drawCursor(context, this.plan, this.cursor, this.settings.pinned.length === 3, this.colours);
  }

  showRow() {
    const { page, data, settings: s, cursor } = this;
    const tokens = tokensOf(data, s), row = readRow(data, s, cursor.head, cursor.query);
    const seen = cursor.key >= row.from && cursor.key < row.to;
    page.query.textContent = quoted(tokens.queries[cursor.query]);
    page.key.textContent = quoted(tokens.keys[cursor.key]);
    page.big.textContent = seen ? fixed(row.weights[cursor.key]) : "masked";
    page.score.textContent = describeScore(data, s, row, cursor.key);
    const name = s.head === "all" ? ` in ${data.names[cursor.head]}` : "";
    page.rowHead.textContent = `${quoted(tokens.queries[cursor.query])} attends to${name}`;
    page.row.textContent = describeRow(row);
    const best = [...row.weights.keys()].slice(row.from, row.to)
      .sort((a, b) => row.weights[b] - row.weights[a]).slice(0, TOP_KEYS);
    [...page.top.children].forEach((item, place) => {
      const key = best[place];
      item.hidden = key === undefined;
      if (item.hidden) return;
      const [token, bar, number] = item.children;
      token.textContent = tokens.keys[key];
      bar.style.setProperty("--ak-share", `${100 * row.weights[key]}%`);
      number.textContent = fixed(row.weights[key]);
    });
  }

  // -- for tests and for readers of the console ------------------------------------------------

  /** The tokens, the settings and the weights on show: rows of numbers for one head; for
   *  head "all", such rows for every head. `scale` is the number in use, 1 when it is off. */
  snapshot() {
    const s = readSettings(this.model), { data } = this, { rows } = sizeOf(data, s);
    const { queries, keys } = tokensOf(data, s);
    const weightsOf = (head) => Array.from({ length: rows },
      (_, i) => Array.from(readRow(data, s, head, i).weights));
    return {
      tokens: keys, queryTokens: queries, keyTokens: keys, seqLen: s.seq_len, head: s.head,
      mask: s.mask, padding: s.padding, window: s.window, prefixLen: s.prefix_len,
      scale: s.scaled && data.scale !== null ? data.scale : 1, scaled: s.scaled,
      temperature: s.temperature, stage: s.stage, pinned: s.pinned, kind: data.kind,
      weights: s.head === "all" ? shownHeads(data, s).map(weightsOf) : weightsOf(s.head),
    };
  }
}

function probe() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  return canvas.getContext("2d", { willReadFrequently: true });
}

function render({ model, el }) {
  const view = new View(model, el);
  return () => view.close();
}

export default { render };
