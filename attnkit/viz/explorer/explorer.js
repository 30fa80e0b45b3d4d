// The explorer; common.js and maps.js stand before it.

const SETTINGS = ["seq_len", "head", "mask", "padding", "window", "prefix_len", "scaled",
  "temperature", "stage", "pinned"];
const MASKS = ["none", "causal", "padding", "window", "prefix"];
const STAGES = ["scores", "masked scores", "weights"];
const TOP_KEYS = 5;

// What a key adds to [head, query, key].
const FAR = 1e9, STAY = [0, 0, 0];
const MOVES = { ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], ArrowUp: [0, -1, 0],
  ArrowDown: [0, 1, 0], Home: [0, 0, -FAR], End: [0, 0, FAR], PageUp: [-1, 0, 0],
  PageDown: [1, 0, 0], Enter: STAY, " ": STAY, Escape: STAY };

// ---- What is computed, as by attnkit.masks and attnkit.masked_softmax.

/** Sizes, tokens, and raw scores by head or recorded weights by length. */
function readData(model) {
  const [heads, rows, cols, features] = model.get("shape");
  const kind = model.get("kind"), keys = model.get("key_tokens"), queries = model.get("query_tokens");
  const data = { kind, heads, rows, cols, keys, queries: queries || keys, self: !queries,
    names: model.get("head_names"), scale: model.get("scale"), scaleLabel: model.get("scale_label") };
  if (kind === "frames") return { ...data, ...readFrames(model, heads) };
  const given = kind === "scores" && floats(model.get("scores"));
  const query = floats(model.get("query")), key = floats(model.get("key"));
  const size = rows * cols, made = [];
  data.raw = (head) => made[head] ||= given
    ? given.subarray(head * size, (head + 1) * size)
    : dotProducts(query, key, head, rows, cols, features);
  data.lengths = keys.map((_, j) => j + 1);
  return data;
}

function readFrames(model, heads) {
  const all = floats(model.get("frames")), tokens = model.get("frame_tokens"), frames = new Map();
  let start = 0;
  model.get("frame_shapes").forEach(([length, rows, cols], place) => {
    const size = rows * cols, first = start;
    const recorded = (head) => all.subarray(first + head * size, first + (head + 1) * size);
    frames.set(length, { rows, cols, recorded, names: tokens[place] });
    start += heads * size;
  });
  return { frames, lengths: [...frames.keys()] };
}

function dotProducts(query, key, head, rows, cols, features) {
  const scores = new Float64Array(rows * cols);
  for (let i = 0; i < rows; i++) {
    const q = (head * rows + i) * features;
    for (let j = 0; j < cols; j++) {
      const k = (head * cols + j) * features;
      let sum = 0;
      for (let e = 0; e < features; e++) sum += query[q + e] * key[k + e];
      scores[i * cols + j] = sum;
    }
  }
  return scores;
}

/** The length shortens keys, and queries too in self-attention. */
function sizeOf(data, s) {
  if (data.frames) return data.frames.get(s.seq_len);
  return { rows: data.self ? s.seq_len : data.rows, cols: s.seq_len };
}

function tokensOf(data, s) {
  const { rows, cols, names } = sizeOf(data, s);
  const [queries, keys] = names || [data.queries, data.keys];
  return { queries: queries.slice(0, rows), keys: keys.slice(0, cols) };
}

/** The keys [from, to) that query i may see: every mask here leaves one run a row. */
function visibleKeys(s, i, cols) {
  switch (s.mask) {
    case "causal": return [0, i + 1];
    case "window": return [Math.max(0, i + 1 - s.window), i + 1];
    case "prefix": return [0, Math.max(Math.min(s.prefix_len, cols), i + 1)];
    case "padding": return [0, cols - Math.min(s.padding, cols - 1)];
  }
  return [0, cols];
}

/** The keys of row i that have a colour: before the mask, all of them. */
const drawnKeys = (s, i, cols) => s.stage === "scores" ? [0, cols] : visibleKeys(s, i, cols);

const scaleOf = (data, s) => s.scaled && data.scale ? data.scale : 1;

// exp(-x) for x >= 0 to 1 part in 10^11, three times as fast as Math.exp: powers of two from
// tables, and a short series for the rest.
const STEPS = new Float64Array(2048).map((_, i) => 2 ** (-i / 2048));
const HALVES = new Float64Array(1024).map((_, i) => 2 ** -i);

function expMinus(x) {
  if (x > 700) return 0;
  const place = x * (2048 * Math.LOG2E), whole = place | 0;
  const rest = (place - whole) * (Math.LN2 / 2048);
  return HALVES[whole >> 11] * STEPS[whole & 2047] * (1 - rest + 0.5 * rest * rest);
}

/** Softmax of factor * scores[at + from, at + to) into out; returns the largest weight. */
function softmaxRow(scores, at, from, to, factor, out, outAt) {
  let most = -Infinity, sum = 0;
  for (let j = from; j < to; j++) if (scores[at + j] > most) most = scores[at + j];
  for (let j = from; j < to; j++) sum += out[outAt + j] = expMinus((most - scores[at + j]) * factor);
  const share = 1 / sum;
  for (let j = from; j < to; j++) out[outAt + j] *= share;
  return share;
}

/** One row of a head: raw scores from `at`, their factor, weights, the keys [from, to) it sees. */
function readRow(data, s, [head, i]) {
  const { cols, recorded } = sizeOf(data, s);
  if (recorded) {
    return { weights: recorded(head).slice(i * cols, (i + 1) * cols), from: 0, to: cols };
  }
  const raw = data.raw(head), at = i * data.cols, factor = scaleOf(data, s) / s.temperature;
  const [from, to] = visibleKeys(s, i, cols), weights = new Float64Array(cols);
  softmaxRow(raw, at, from, to, factor, weights, 0);
  return { raw, at, factor, weights, from, to };
}

const shownHeads = (data, s) => s.head === "all" ? [...data.names.keys()] : [s.head];

/** Fill `out` from `start` with what one head shows; returns the largest magnitude in it. */
function fillHead(data, s, head, out, start) {
  const { rows, cols, recorded } = sizeOf(data, s), factor = scaleOf(data, s) / s.temperature;
  const raw = recorded ? recorded(head) : data.raw(head), width = recorded ? cols : data.cols;
  let most = 0;
  for (let i = 0; i < rows; i++) {
    const at = i * width, to = start + i * cols;
    const [low, high] = drawnKeys(s, i, cols);
    if (s.stage === "weights" && !recorded) {
      const peak = softmaxRow(raw, at, low, high, factor, out, to);
      if (peak > most) most = peak;
      continue;
    }
    for (let j = low; j < high; j++) {
      const v = out[to + j] = raw[at + j] * factor;
      if (v > most) most = v; else if (-v > most) most = -v;
    }
  }
  return most;
}

// ---- How it is coloured.

const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** 256 colours along the stops, as pixels. */
const colourTable = (stops) =>
  new Uint32Array(256).map((_, index) => packed(colourAt(stops, index / 255)));

// ---- Where it is drawn: lengths are CSS pixels.

const FONT = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";
const AXIS = 17, GAP = 14, SLANT = 0.72, READABLE = 12, NUMBERS = 30;

function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && pen.measureText(letters.join("") + "…").width > width) letters.pop();
  return letters.join("") + "…";
}

/** Panels, cell size and tokens as they fit. */
function layOut(pen, width, heads, { queries, keys }) {
  pen.font = FONT;
  const few = width < 420 ? 2 : width < 600 ? 3 : 4, count = heads.length;
  const plan = (margins) =>
    place(width, heads, queries.length, keys.length, count === 4 ? 2 : Math.min(count, few), margins);
  const bare = plan([0, 0, 2]);
  if (count > 1 && bare.cell < READABLE) return bare;
  const most = Math.min(96, width * 0.26), cut = (text) => shorten(pen, text, most);
  const names = { queries: queries.map(cut), keys: keys.map(cut) };
  const wide = (texts) => texts.map((text) => pen.measureText(text).width);
  const left = Math.max(...wide(names.queries)) + 6, spans = wide(names.keys).map((w) => w * SLANT);
  const top = Math.max(...spans) + 10, { cell } = plan([left, top, top]);
  // Slanted names reach beyond the last column, the further the smaller the cells.
  const right = Math.max(2, ...spans.map((span, j) => span + 4 - (keys.length - j - 0.5) * cell));
  const found = plan([left, top, right]);
  return count > 1 && found.cell < READABLE ? bare : { ...found, names };
}

function place(width, heads, rows, cols, across, [left, top, right]) {
  const title = heads.length > 1 ? 20 : 0, x0 = AXIS + left, y0 = AXIS + title + top;
  const room = (width - across * (x0 + right) - (across - 1) * GAP) / across;
  const cell = Math.max(Math.min(room / cols, 44, 560 / rows), 0.1);
  const stepX = x0 + cols * cell + right + GAP, stepY = y0 + rows * cell + GAP;
  const panels = heads.map((head, at) =>
    ({ head, x: (at % across) * stepX + x0, y: Math.floor(at / across) * stepY + y0 }));
  const height = Math.ceil(heads.length / across) * stepY;
  return { panels, cell, rows, cols, left, top, title, width, height };
}

function fit(canvas, { width, height }) {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

function hatching(colour) {
  const tile = make("canvas", { width: 7, height: 7 }), pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  for (const shift of [-7, 0, 7]) { pen.moveTo(shift, 7); pen.lineTo(shift + 7, 0); }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
}

/** One pixel a cell, heads below each other; masked cells stay transparent. */
function paintCells(atlas, cells, s, { rows, cols, panels }, most, hues) {
  Object.assign(atlas, { width: cols, height: rows * panels.length });
  const pen = atlas.getContext("2d"), image = pen.createImageData(cols, atlas.height);
  const pixels = new Uint32Array(image.data.buffer), signed = s.stage !== "weights";
  const table = colourTable(hues.map.split(",").map(pixelOf)), nan = packed(pixelOf(hues.nan));
  const gain = (signed ? 127.5 : 255) / (most || 1), shift = signed ? 128 : 0.5;
  for (let row = 0; row < atlas.height; row++) {
    const [from, to] = drawnKeys(s, row % rows, cols);
    for (let k = row * cols + from; k < row * cols + to; k++) {
      const level = cells[k] * gain + shift;
      if (level >= 0) pixels[k] = table[level < 255 ? level | 0 : 255];
      else pixels[k] = level < 0 ? table[0] : nan;
    }
  }
  pen.putImageData(image, 0, 0);
  return pixels;
}

function drawMap(pen, { plan, atlas, hues, data, cells, pixels, settings: s }) {
  const { cell, rows, cols } = plan;
  pen.imageSmoothingEnabled = cell * devicePixelRatio < 1;
  const hatch = hatching(hues.hatch);
  plan.panels.forEach((panel, at) => {
    const box = [panel.x, panel.y, cols * cell, rows * cell];
    pen.fillStyle = hatch;
    pen.fillRect(...box);
    pen.drawImage(atlas, 0, at * rows, cols, rows, ...box);
    pen.strokeStyle = hues.line;
    pen.strokeRect(panel.x - 0.5, panel.y - 0.5, box[2] + 1, box[3] + 1);
    pen.font = FONT;
    pen.textBaseline = "middle";
    if (plan.names) drawTokens(pen, panel, plan, hues.ink);
    drawTitles(pen, panel, plan, hues, data.names[panel.head]);
    if (cell >= 9) drawCells(pen, panel, plan, s, hues, at * rows * cols, cells, pixels);
  });
}

function drawTokens(pen, { x, y }, { cell, names }, ink) {
  pen.fillStyle = ink;
  pen.textAlign = "right";
  for (let i = 0; i < names.queries.length; i += Math.ceil(READABLE / cell)) {
    pen.fillText(names.queries[i], x - 5, y + (i + 0.5) * cell);
  }
  pen.textAlign = "left";
  for (let j = 0; j < names.keys.length; j += Math.ceil(17 / cell)) {
    turned(pen, names.keys[j], x + (j + 0.5) * cell, y - 7, 8);
  }
}

/** Text turned left by a `part` of a full turn. */
function turned(pen, text, x, y, part) {
  pen.save();
  pen.translate(x, y);
  pen.rotate(-2 * Math.PI / part);
  pen.fillText(text, 0, 0);
  pen.restore();
}

function drawTitles(pen, { x, y }, plan, hues, name) {
  const { cell, rows, cols, left, top, title } = plan, middle = x + cols * cell / 2;
  pen.textAlign = "center";
  pen.fillStyle = hues.muted;
  pen.fillText("key", middle, y - top - AXIS / 2);
  turned(pen, "query", x - left - AXIS / 2, y + rows * cell / 2, 4);
  if (!title) return;
  pen.fillStyle = hues.ink;
  pen.font = `600 ${FONT}`;
  pen.fillText(shorten(pen, name, cols * cell + left), middle, y - top - AXIS - 7);
}

/** What large cells add: gaps, and the numbers, or a cross where there is none. */
function drawCells(pen, { x, y }, { cell, rows, cols }, s, hues, at, cells, pixels) {
  pen.strokeStyle = hues.back;
  pen.textAlign = "center";
  pen.font = FONT.replace("12px", "11px");
  pen.beginPath();
  for (let i = 0; i < rows; i++) {
    const [from, to] = drawnKeys(s, i, cols);
    for (let j = from; j < to; j++) {
      const k = at + i * cols + j, v = cells[k];
      pen.rect(x + j * cell, y + i * cell, cell, cell);
      if (cell < NUMBERS && v === v) continue;
      pen.fillStyle = isDark([0, 8, 16].map((bits) => (pixels[k] >> bits) & 255)) ? "#fff" : "#000";
      const text = v !== v ? "×" : s.stage !== "weights" ? v.toFixed(1) : v.toFixed(2).replace(/^0/, "");
      pen.fillText(text, x + (j + 0.5) * cell, y + (i + 0.5) * cell);
    }
  }
  pen.stroke();
}

function drawCursor(pen, plan, [head, query, key], pinned, hues) {
  const panel = plan.panels.find((shown) => shown.head === head);
  const size = Math.max(plan.cell, 4), middle = (n) => (n + 0.5) * plan.cell - size / 2;
  const x = panel.x + middle(key), y = panel.y + middle(query);
  pen.strokeStyle = hues.accent;
  pen.strokeRect(panel.x - 1.5, y - 0.5, plan.cols * plan.cell + 3, size + 1);
  pen.strokeRect(x + size / 2, panel.y - 7, 0, 6);
  for (const [strokeStyle, lineWidth] of [[hues.back, 5], [hues.accent, pinned ? 3 : 2]]) {
    Object.assign(pen, { strokeStyle, lineWidth }).strokeRect(x, y, size, size);
  }
}

// ---- The controls: native inputs, each in its own label.

const same = (v) => v;
const maskName = (mask) => mask === "window" ? "sliding window" : mask;
const keys = (n) => `${n} key${n === 1 ? "" : "s"}`;

/** A labelled native input: `show` puts a setting into it, `read` takes it from there. */
function control(label, input, name, show, read, ...rest) {
  const element = make("label", {}, label, input, ...rest);
  input.ariaLabel = label;
  return { element, input, show, read: () => ({ [name]: read() }) };
}

function slider(label, name, { min = 0, max, step = 1, mask, text = same, from = same, to = same }) {
  const input = make("input", { type: "range", min, step }), output = make("output");
  return control(label, input, name, (s) => {
    input.parentNode.hidden = mask && s.mask !== mask;
    input.max = max(s);
    input.value = from(s[name]);
    input.ariaValueText = output.textContent = text(s[name], s);
  }, () => to(Number(input.value)), output);
}

/** A choice among [value, text, whether out of reach]. */
function chooser(label, name, options) {
  const input = make("select", {}, ...options.map(([value, textContent, disabled]) =>
    make("option", { value, textContent, disabled })));
  return control(label, input, name, (s) => { input.value = s[name]; },
    () => options[input.selectedIndex][0]);
}

function toggle(label, name) {
  const input = make("input", { type: "checkbox" });
  return control(label, input, name, (s) => { input.checked = s[name]; }, () => input.checked);
}

function maskControls(data) {
  const cols = (s) => sizeOf(data, s).cols, most = (s) => cols(s) - 1;
  const fits = (mask) => data.self || mask === "none" || mask === "padding";
  return [
    chooser("Mask", "mask", MASKS.map((mask) =>
      [mask, maskName(mask) + (fits(mask) ? "" : ": needs queries and keys to be the same tokens"),
        !fits(mask)])),
    slider("Padded", "padding",
      { mask: "padding", max: most, text: (n, s) => `last ${Math.min(n, most(s))}` }),
    slider("Window", "window", { mask: "window", min: 1, max: cols, text: keys }),
    slider("Prefix", "prefix_len", { mask: "prefix", max: cols, text: keys }),
  ];
}

function buildControls(data, shown) {
  const { lengths, names } = data;
  const all = {
    length: slider(data.self || data.frames ? "Length" : "Keys", "seq_len",
      { max: () => lengths.length - 1, from: (n) => lengths.indexOf(n), to: (i) => lengths[i] }),
    head: chooser("Head", "head", [...names.entries(), ["all", "all heads"]]),
    mask: maskControls(data),
    stage: chooser("Show", "stage", STAGES.map((stage) => [stage, stage])),
    temperature: slider("Temperature", "temperature", { min: -1, max: () => 1, step: 0.05,
      from: Math.log10, to: (v) => short(10 ** v), text: short }),
    scale: toggle(data.scaleLabel, "scaled"),
  };
  return Object.entries(all).flatMap(([name, made]) => shown.includes(name) ? made : []);
}

// ---- The words.

const short = (v) => Number(v.toPrecision(3));

function describeCell({ queries, keys }, { raw, at, factor, weights, from, to }, [, query, key]) {
  const score = raw ? `score ${fixed(raw[at + key] * factor, 2)}, ` : "";
  return `query ${quoted(queries[query])}, key ${quoted(keys[key])}: ${score}` +
    (key >= from && key < to ? `weight ${fixed(weights[key])}` : "masked, weight 0");
}

function describeScore(data, s, { raw, at, factor }, key) {
  if (!raw) return "recorded weight";
  const name = data.kind === "qk" ? "q·k " : "", scale = scaleOf(data, s), heat = s.temperature;
  const steps = (scale === 1 ? "" : ` × ${short(scale)}`) + (heat === 1 ? "" : ` ÷ ${short(heat)}`);
  return `score ${fixed(raw[at + key] * factor, 2)}` +
    (name || steps ? ` = ${name}${fixed(raw[at + key], 2)}${steps}` : "");
}

function describeRow({ weights, from, to }) {
  const sum = weights.reduce((a, b) => a + b, 0);
  const entropy = weights.reduce((h, w) => w > 0 ? h - w * Math.log(w) : h, 0);
  return `Row sum ${fixed(sum)} · entropy ${fixed(entropy, 2)} nats of at most ` +
    `${fixed(Math.log(to - from), 2)}, as if spread evenly over ${fixed(Math.exp(entropy), 1)} of ` +
    keys(to - from);
}

function describeView(data, s) {
  const { rows, cols } = sizeOf(data, s);
  const how = data.frames ? "recorded weights" : `${s.stage}, mask ${maskName(s.mask)}`;
  return `Attention heat map, ${s.head === "all" ? "all heads" : data.names[s.head]}: ${rows} ` +
    `queries by ${cols} keys, ${how}. Arrow keys, Home and End move between cells, Page Up and ` +
    "Page Down between heads. Enter pins a cell, Escape frees it.";
}

// ---- The view.

const PAGE = `<p class="ak-title"></p><div class="ak-controls"></div><div class="ak-body">
<div class="ak-plot"><canvas class="ak-map" aria-hidden="true"></canvas>
<canvas class="ak-cursor" tabindex="0" role="application"></canvas></div>
<div class="ak-bar"><span class="ak-low"></span><i class="ak-ramp"></i><span class="ak-high"></span>
<span class="ak-masked"><i></i>masked</span><span class="ak-nan"><i></i>not a number</span>
<button class="ak-reset" type="button">Reset</button></div>
<div class="ak-side"><p class="ak-pair"><span>query</span><span class="ak-query"></span>
<span>key</span><span class="ak-key"></span></p><p class="ak-big"></p><p class="ak-score"></p>
<p class="ak-head"></p>
<ol class="ak-top">${"<li><span></span><i></i><span></span></li>".repeat(TOP_KEYS)}</ol>
<p class="ak-row"></p></div></div><p class="ak-note"></p><p class="ak-live" role="status"></p>`;

const clamp = (at, count) => Math.max(0, Math.min(at, count - 1));

class View {
  constructor(model, el) {
    this.model = model;
    this.page = buildPage(model, "attnkit-explorer", PAGE, "Attention explorer");
    this.data = readData(model);
    this.settings = this.initial = traitsOf(model, SETTINGS);
    this.controls = buildControls(this.data, model.get("controls"));
    this.page.controls.append(...this.controls.map(({ element }) => element));
    this.atlas = make("canvas");
    this.cells = new Float64Array(0);
    this.page.root.snapshot = () => this.snapshot();
    this.placeCursor();
    this.listen();
    el.append(this.page.root);
    this.update();
  }

  listen() {
    const { model, page } = this, update = () => this.update();
    const { on, end } = follow(model, SETTINGS, page.root, update);
    for (const { input, read } of this.controls) on(input, "input", () => write(model, read()));
    on(page.reset, "click", () => write(model, this.initial));
    for (const name of ["pointermove", "click", "keydown"]) {
      on(page.cursor, name, (event) => this[name](event));
    }
    on(matchMedia("print"), "change", () => this.redraw());
    const sizes = new ResizeObserver(() => page.plot.clientWidth !== this.plan?.width && update());
    sizes.observe(page.plot);
    this.close = () => {
      end();
      sizes.disconnect();
      cancelAnimationFrame(this.frame);
    };
  }

  /** Begin at the last query and its strongest key. */
  placeCursor() {
    const { data, settings: s } = this, [head] = shownHeads(data, s), query = sizeOf(data, s).rows - 1;
    const { weights } = readRow(data, s, [head, query]);
    this.cursor = [head, query, weights.indexOf(Math.max(...weights))];
  }

  /** Go to the pinned cell, or else to `cell`, inside what is on show. */
  moveTo(cell) {
    const { data } = this, s = this.settings = traitsOf(this.model, SETTINGS);
    const { rows, cols } = sizeOf(data, s), counts = [data.heads, rows, cols];
    this.cursor = (s.pinned.length ? s.pinned : cell).map((at, dim) => clamp(at, counts[dim]));
    if (s.head !== "all") this.cursor[0] = s.head;
    this.update(false);
  }

  /** The cell below a pointer. */
  under({ clientX, clientY }) {
    if (!this.plan) return;
    const { panels, cell, rows, cols } = this.plan;
    const box = this.page.cursor.getBoundingClientRect();
    for (const { head, x, y } of panels) {
      const key = Math.floor((clientX - box.left - x) / cell);
      const query = Math.floor((clientY - box.top - y) / cell);
      if (key >= 0 && key < cols && query >= 0 && query < rows) return [head, query, key];
    }
  }

  pointermove(event) {
    const cell = this.under(event);
    if (cell) this.moveTo(cell);
  }

  click(event) {
    const cell = this.under(event);
    if (cell) this.take(cell, String(this.settings.pinned) !== String(cell));
  }

  keydown(event) {
    const { key, altKey, metaKey } = event, held = this.settings.pinned.length > 0;
    if (!MOVES[key] || altKey || metaKey || (key === "Escape" && !held)) return;
    event.preventDefault();
    event.stopPropagation();
    const cell = this.cursor.map((value, dim) => value + MOVES[key][dim]);
    this.take(cell, MOVES[key] === STAY ? !held : held);
  }

  /** Move to a cell, pin it or not, and say what is in it. */
  take(cell, pin) {
    const { data, model, page } = this;
    if (this.settings.head !== "all") model.set("head", clamp(cell[0], data.heads));
    model.set("pinned", []);
    this.moveTo(cell);
    if (pin) model.set("pinned", this.cursor);
    model.save_changes();
    const s = this.settings, row = readRow(data, s, this.cursor);
    page.live.textContent = describeCell(tokensOf(data, s), row, this.cursor);
  }

  /** Draw in the next frame, and the map only when more than the cursor changed. */
  update(map = true) {
    this.stale ||= map;
    this.frame ||= requestAnimationFrame(() => this.redraw(this.stale));
  }

  redraw(map = true) {
    this.moveTo(this.cursor);
    this.frame = this.stale = 0;
    if (map) this.draw();
    if (this.plan) {
      drawCursor(fit(this.page.cursor, this.plan), this.plan, this.cursor,
        this.settings.pinned.length > 0, this.hues);
    }
    this.showRow();
  }

  draw() {
    const { page, data, settings: s } = this, heads = shownHeads(data, s);
    for (const control of this.controls) control.show(s);
    page.cursor.ariaLabel = describeView(data, s);
    page.body.classList.toggle("ak-wide", heads.length > 4);
    const width = page.plot.clientWidth;
    if (!width) return;
    this.readColours();
    this.plan = layOut(page.map.getContext("2d"), width, heads, tokensOf(data, s));
    const count = this.plan.rows * this.plan.cols, all = count * heads.length;
    if (this.cells.length < all) this.cells = new Float64Array(all);
    const most = Math.max(...heads.map((head, at) => fillHead(data, s, head, this.cells, at * count)));
    this.pixels = paintCells(this.atlas, this.cells, s, this.plan, most, this.hues);
    drawMap(fit(page.map, this.plan), this);
    this.drawBar(most);
  }

  /** All colours are in explorer.css. */
  readColours() {
    const style = readStyle(this.page.root), named = (name) => style.getPropertyValue(`--ak-${name}`);
    this.hues = { ink: style.color, back: style.backgroundColor,
      map: named(this.settings.stage === "weights" ? "weights" : "scores") };
    for (const name of ["muted", "line", "accent", "hatch", "nan"]) this.hues[name] = named(name);
  }

  drawBar(most) {
    const { page, settings: s, hues } = this, weights = s.stage === "weights";
    const end = fixed(most, most < 0.1 ? 3 : 2);
    page.low.textContent = weights ? "weight 0" : `score −${end}`;
    page.high.textContent = weights ? end : `+${end}`;
    page.ramp.style.background = `linear-gradient(to right,${hues.map})`;
    page.masked.hidden = s.mask === "none" || s.stage === "scores";
    page.nan.hidden = !this.pixels.includes(packed(pixelOf(hues.nan)));
  }

  showRow() {
    const { page, data, settings: s, cursor: [head, query, key] } = this;
    const { queries, keys } = tokensOf(data, s), row = readRow(data, s, this.cursor);
    const { weights, from, to } = row;
    page.query.textContent = quoted(queries[query]);
    page.key.textContent = quoted(keys[key]);
    page.big.textContent = key >= from && key < to ? fixed(weights[key]) : "masked";
    page.score.textContent = describeScore(data, s, row, key);
    page.head.textContent = `${quoted(queries[query])} attends to` +
      (s.head === "all" ? ` in ${data.names[head]}` : "");
    page.row.textContent = describeRow(row);
    const best = [...weights.keys()].slice(from, to).sort((a, b) => weights[b] - weights[a]);
    [...page.top.children].forEach((item, place) => {
      item.hidden = place >= best.length;
      if (!item.hidden) showBar(item, keys[best[place]], weights[best[place]]);
    });
  }

  /** What is on show. `weights` are rows of numbers, or such rows for each of all heads; `scale`
   *  is the number in use, 1 when it is off. */
  snapshot() {
    const s = traitsOf(this.model, SETTINGS), { data } = this, { queries, keys } = tokensOf(data, s);
    const weights = shownHeads(data, s).map((head) =>
      queries.map((_, i) => [...readRow(data, s, [head, i]).weights]));
    return { ...s, tokens: keys, queryTokens: queries, keyTokens: keys, seqLen: s.seq_len,
      scale: scaleOf(data, s), weights: s.head === "all" ? weights : weights[0] };
  }
}

export default { render: ({ model, el }) => new View(model, el).close };
