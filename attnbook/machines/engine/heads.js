// All heads of a text as small maps, and one of them in the explorer, which a page brings when it is first asked for;
// the kit stands before it.

const CELLS = 28; // of a small map, at most; of a longer text some tokens, and the largest of the weights that share a cell
const GAP = 3;
const NAMED = 32; // tokens that have a button each, to be hidden in one head
const LEAST = 1e-38; // of what a logarithm is taken
const PACE = 1500; // ms between two texts in the explorer while words come
const EXPLORER = "attnkit.viz.explorer.AttentionExplorer";

const ALL_HEADS = '<p class="heads-caption machine-head"></p><canvas class="heads-all" role="img"></canvas><p class="heads-which machine-head"></p>';
const ONE_HEAD = `<div class="heads-steps" role="group" aria-label="Another head">${["layer", "head"].map((name) =>
  `<span><button type="button" data-name="${name}" data-by="-1" aria-label="${name} before">◀</button> ${name} <button type="button" data-name="${name}" data-by="1" aria-label="next ${name}">▶</button></span>`).join("")}</div><div class="heads-open"></div>`;

const SHADES = new Map(); // by the stops of a theme

/** Colours of 256 shares, as one number a pixel. */
function shades(style) {
  const stops = style.getPropertyValue("--machine-weights");
  if (!SHADES.has(stops)) {
    const colours = stops.split(",").map(pixelOf);
    SHADES.set(stops, Uint32Array.from({ length: 256 }, (_, v) => {
      const [r, g, b] = colourAt(colours, v / 255);
      return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    }));
  }
  return SHADES.get(stops);
}

/** A small map for each head. */
function drawAll(canvas, { names, weight, causal }, { layers, heads, place }, { off, layer, head }, style) {
  const count = names.length, cells = Math.max(1, Math.min(count, CELLS)), step = cells + GAP, colours = shades(style);
  const [across, down] = place(layers, heads), corner = (...of) => place(...of).map((at) => GAP + at * step);
  Object.assign(canvas, { width: across * step + GAP, height: down * step + GAP });
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer), edge = Array.from({ length: cells + 1 }, (_, c) => Math.floor(c * count / cells));
  for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++) {
    const [left, top] = corner(l, h);
    for (let y = 0; y < cells; y++) for (let x = 0, i = edge[y]; x < (causal ? y + 1 : cells); x++) {
      const last = Math.min(Math.max(edge[x + 1], edge[x] + 1), causal ? i + 1 : count);
      let most = 0;
      for (let j = edge[x]; j < last; j++) most = Math.max(most, weight(l * heads + h, i, j));
      pixels[(top + y) * canvas.width + left + x] = colours[Math.min(255, Math.round(255 * most))];
    }
  }
  context.putImageData(image, 0, 0);
  for (const name of off) strike(context, style.color, corner(...name.split(".").map(Number)), cells);
  const [left, top] = corner(layer, head);
  context.strokeStyle = style.getPropertyValue("--machine-accent").trim() || style.color;
  context.lineWidth = 2;
  context.strokeRect(left - 2, top - 2, cells + 3, cells + 3);
}

/** A head that is off is struck out. */
function strike(context, ink, [x, y], size) {
  context.strokeStyle = ink;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [from, to] of [[0, size], [size, 0]]) { context.moveTo(x + from, y); context.lineTo(x + to, y + size); }
  context.stroke();
}

const carriedBy = (name) => document.querySelector(`script[data-widget="${name}"]`)?.dataset;
const canOpen = () => Boolean(carriedBy("kit") && (carriedBy(EXPLORER) || bookScript()));

/** The explorer's module and its styles: the page has them, or they lie beside its script. */
async function bringExplorer() {
  let { source } = carriedBy(EXPLORER) ?? {};
  if (!source) {
    const at = (name) => new URL(name, bookScript().src).href;
    const sheet = make("link", { rel: "stylesheet", href: at("attnkit-explorer.css") });
    await new Promise((done) => document.head.append(Object.assign(sheet, { onload: done, onerror: done })));
    ({ source } = await runScript(at("attnkit-explorer.js")));
  }
  return (await import(URL.createObjectURL(new Blob([carriedBy("kit").source, source], { type: "text/javascript" })))).default;
}

/** What the explorer takes for its model. */
function modelOf(traits) {
  const heard = new EventTarget();
  return { get: (name) => traits[name], on: (name, act) => heard.addEventListener(name, act), off: (name, act) => heard.removeEventListener(name, act),
    save_changes() {}, set(name, value) {
      if (Object.is(traits[name], value)) return;
      traits[name] = value;
      heard.dispatchEvent(new Event(`change:${name}`));
    } };
}

const ONE_ALONE = "Mask and hidden words change this head alone, with its queries and keys as they are.";
const AS_IT_IS = { seq_len: 1, padding: 2, window: 8, prefix_len: 2, scaled: true, temperature: 1, hidden: [], stage: "weights", pinned: [], stretch: false,
  view: "map", guess: [], kept: {}, difference: false, kind: "scores", query_tokens: null, head_label: "Head", scale: null, tour: [], step: 0, title: "", anchor: "" };

/** `place(layer, head)` is the column and the row of a small map; `choose(settings)` is told of the layer, head or token
 *  that the reader takes. What is read is { of, names, weight(which, i, j), causal, rounded }: `of` is the text, and
 *  `rounded` says that the weights were recorded in few steps. */
class Heads {
  constructor(page, on, { layers, heads, place, choose, failed }) {
    Object.assign(this, { page, layers, heads, place, choose, failed, made: 0 });
    on(page.all, "click", ({ offsetX, offsetY }) => {
      const [across, down] = place(layers, heads), part = (at, size, count) => clamp(Math.floor(at / size * count), 0, count - 1);
      const [x, y] = [part(offsetX, page.all.clientWidth, across), part(offsetY, page.all.clientHeight, down)];
      for (let layer = 0; layer < layers; layer++) for (let head = 0; head < heads; head++) if (`${place(layer, head)}` === `${[x, y]}`) choose({ layer, head });
    });
    for (const { dataset: { name, by } } of page.steps.querySelectorAll("button"))
      on(page.steps.querySelector(`[data-name=${name}][data-by="${by}"]`), "click", () => {
        const count = this[`${name}s`];
        choose({ [name]: (this.at[name] + Number(by) + count) % count });
      });
  }

  /** Draw what was read, with `{ layer, head, token, off }` in hand; `live` while words come. */
  show(read, at, live = false) {
    const { page } = this, { layer, head, token, off } = at, style = readStyle(page.root), { length } = read.names;
    Object.assign(this, { read, at });
    drawAll(page.all, read, this, at, style);
    page.all.ariaLabel = `The weights of all ${this.layers * this.heads} heads as small maps: ${this.layers} layers of ${this.heads}.`;
    const most = token < length ? this.bestOf(token) : -1;
    say(page.which, `Layer ${layer}, head ${head}${off.includes(`${layer}.${head}`) ? " (off, adds nothing)" : ""}${most < 0 ? ""
      : `: ${quoted(read.names[token])} looks most at ${quoted(read.names[most])}, ${fixed(this.weight(token, most), 2)}`}${canOpen() ? "" : ". The built book opens it large."}`);
    if (!canOpen()) { page.steps.hidden = true; return; }
    this.bringing ??= bringExplorer().then((found) => { this.module = found; this.open(); }, () => this.failed("The explorer does not lie beside this page."));
    // In a task of its own: the reader can act between the two.
    clearTimeout(this.timer);
    if (this.module) this.timer = setTimeout(() => this.open(live));
  }

  /** Nothing was read, so nothing is open. */
  clear() {
    clearTimeout(this.timer);
    this.close?.();
    Object.assign(this, { read: null, opened: null, close: null });
  }

  weight(i, j) { return this.read.weight(this.at.layer * this.heads + this.at.head, i, j); }

  bestOf(i) {
    let best = 0;
    for (let j = 1; j < (this.read.causal ? i + 1 : this.read.names.length); j++) if (this.weight(i, j) > this.weight(i, best)) best = j;
    return best;
  }

  /** The layer's weights as scores: the softmax of their logarithms is the weights again, and under a mask what the head
   *  gives under it. */
  scores() {
    const { read: { names: { length }, weight, causal }, at: { layer }, heads } = this, found = new Float32Array(heads * length * length);
    for (let h = 0, at = 0; h < heads; h++) for (let i = 0; i < length; i++) for (let j = 0; j < length; j++, at++)
      found[at] = Math.log(Math.max(causal && j > i ? 0 : weight(layer * heads + h, i, j), LEAST));
    return new DataView(found.buffer);
  }

  open(live) {
    const { read, at: { layer, head, token }, page: { open }, opened } = this, count = read?.names.length;
    if (!count) return;
    const same = opened?.of === read.of && opened.count === count;
    if (!same && live && opened && (open.matches(":hover, :focus-within") || performance.now() < this.made + PACE)) return;
    if (!same) this.model = this.newModel(read, count);
    if (!same || opened.layer !== layer) {
      const held = open.contains(document.activeElement), { model } = this;
      model.set("scores", this.scores());
      model.set("head_names", Array.from({ length: this.heads }, (_, h) => `layer ${layer}, head ${h}`));
      this.close?.();
      model.set("head", head);
      this.pin(token);
      this.close = this.module.render({ model, el: open });
      if (held) open.querySelector(".explorer-cursor").focus({ preventScroll: true });
      Object.assign(this, { opened: { of: read.of, count, layer, head }, made: performance.now() });
    }
    // All heads of a layer stay on show until another one is chosen here.
    if (this.model.get("head") !== "all" || this.opened.head !== head) this.model.set("head", head);
    this.opened.head = head;
    this.pin(token);
  }

  newModel({ of, names, causal, rounded }, count) {
    const before = this.opened?.of === of ? this.model : null, controls = ["length", "head", "mask", "view", "hide", "compare"].filter((name) =>
      (name !== "length" || causal) && (name !== "mask" || !rounded) && (name !== "hide" || (!rounded && count <= NAMED)));
    const model = modelOf({ ...AS_IT_IS, shape: [this.heads, count, count], key_tokens: names, controls, masks: causal && ["causal", "window"], seq_len: count,
      mask: before?.get("mask") ?? (causal ? "causal" : "none"), window: before?.get("window") ?? AS_IT_IS.window, view: before?.get("view") ?? this.model?.get("view") ?? "map",
      note: rounded ? "Recorded, in 64 steps. When the model is here, this head alone can be masked as well." : causal ? `${ONE_ALONE} The switches above change the whole model.` : ONE_ALONE });
    model.on("change:head", () => { if (model.get("head") !== "all" && model.get("head") !== this.at.head) this.choose({ head: model.get("head") }); });
    model.on("change:pinned", () => {
      const [head, token] = model.get("pinned");
      if (token === undefined || this.pinning) return;
      this.pinned = `${[this.at.layer, head, token]}`;
      if (head !== this.at.head || token !== this.at.token) this.choose({ head, token });
    });
    this.pinned = "";
    return model;
  }

  /** Take the token in hand to its strongest key, unless the reader has it there already, or let it go. */
  pin(token) {
    const { model, at: { layer, head } } = this, now = `${[layer, head, token]}`;
    if (this.pinned === now) return;
    this.pinned = now;
    this.pinning = true;
    model.set("pinned", token < model.get("seq_len") ? [head, token, this.bestOf(token)] : []);
    this.pinning = false;
  }
}
