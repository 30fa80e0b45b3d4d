// Heads under a switch each, and the answers that are left: one module with anywidget's interface,
// for Jupyter, Colab and, through host.js, the built book.

const BEST = 3;

function make(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
}

function floats(view) {
  const bytes = new Uint8Array(view.buffer || view, view.byteOffset || 0, view.byteLength);
  return new Float32Array(bytes.slice().buffer);
}

const fixed = (v, digits) => v.toFixed(digits).replace("-", "−");
const quoted = (token) => `“${token}”`;

// ---- What is computed: logits = bias + the sum of weight times effect over the heads that are on.

function readData(model) {
  const [heads, cols, asked, answers] = model.get("shape");
  const data = { heads, cols, asked, answers };
  for (const name of ["weights", "effects", "bias"]) data[name] = floats(model.get(name));
  for (const name of ["tokens", "row", "expected", "questions", "head_names"]) {
    data[name] = model.get(name);
  }
  data.labels = model.get("answers");
  return data;
}

const weight = ({ weights, cols }, head, i, j) => weights[(head * cols + i) * cols + j];

/** One array of logits for each question. */
function logitsOf(data, on) {
  const { heads, cols, asked, answers, effects, bias, row } = data;
  return Array.from({ length: asked }, (_, q) => Array.from({ length: answers }, (_, n) => {
    let sum = bias[q * answers + n];
    for (let h = 0; h < heads; h++) {
      for (let s = 0; on[h] && s < cols; s++) {
        sum += weight(data, h, row, s) * effects[((h * cols + s) * asked + q) * answers + n];
      }
    }
    return sum;
  }));
}

function softmax(logits) {
  const most = Math.max(...logits), parts = logits.map((v) => Math.exp(v - most));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((v) => v / sum);
}

/** Answers to one question, the likeliest first. */
const ranked = (chances) => [...chances.keys()].sort((a, b) => chances[b] - chances[a]);

// ---- How it is coloured.

const PROBE = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

/** Any CSS colour as [r, g, b]. */
function pixelOf(colour) {
  PROBE.fillStyle = colour;
  PROBE.fillRect(0, 0, 1, 1);
  return [...PROBE.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/** Whether white reads better than black on [r, g, b], by WCAG's luminance. */
function isDark(colour) {
  const [r, g, b] = colour.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179;
}

function colourOf(stops, part) {
  const place = Math.min(Math.max(part, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  return stops[low].map((v, c) => Math.round(v + (stops[low + 1][c] - v) * (place - low)));
}

// ---- The view.

const PAGE = `<p class="ak-title"></p><div class="ak-controls"></div><div class="as-maps"></div>
<div class="ak-side as-answers"></div><p class="ak-note"></p><p class="ak-live" role="status"></p>`;

class View {
  constructor(model, el) {
    this.model = model;
    this.data = readData(model);
    this.initial = model.get("on");
    const root = this.root = make("div",
      { className: "attnkit-explorer attnkit-switch", innerHTML: PAGE });
    const part = (name) => root.querySelector(`.${name}`), title = model.get("title");
    root.setAttribute("role", "group");
    root.ariaLabel = title || "Heads to turn on and off";
    part("ak-title").textContent = title;
    part("ak-note").textContent = model.get("note");
    this.live = part("ak-live");
    this.switches = this.data.head_names.map((name) =>
      make("input", { type: "checkbox", ariaLabel: name }));
    part("ak-controls").append(
      ...this.switches.map((input, h) => make("label", {}, this.data.head_names[h], input)),
      make("button", { className: "ak-reset", type: "button", textContent: "Reset" }));
    this.maps = this.switches.map((_, h) => this.buildMap(h));
    part("as-maps").append(...this.maps.map(({ box }) => box));
    this.asked = this.data.questions.map((question) => this.buildAnswer(question));
    part("as-answers").append(...this.asked.map(({ box }) => box));
    root.snapshot = () => this.snapshot();
    this.listen();
    el.append(root);
    this.update();
  }

  listen() {
    const { signal } = this.ending = new AbortController();
    this.switches.forEach((input, h) => input.addEventListener("input", () =>
      this.write(this.model.get("on").map((on, k) => k === h ? input.checked : on)), { signal }));
    this.root.querySelector(".ak-reset").addEventListener("click",
      () => this.write(this.initial), { signal });
    this.heard = () => this.update();
    // The background's transition of 1 ms ends when the theme has changed.
    this.root.addEventListener("transitionend",
      ({ target }) => target === this.root && this.update(), { signal });
    matchMedia("print").addEventListener("change", this.heard, { signal });
    this.model.on("change:on", this.heard);
    this.watcher = new MutationObserver(this.heard);
    this.watcher.observe(document.documentElement, { attributes: true });
  }

  close() {
    this.ending.abort();
    this.watcher.disconnect();
    this.model.off("change:on", this.heard);
    this.root.remove();
  }

  write(on) {
    this.model.set("on", on);
    this.model.save_changes();
    this.live.textContent = this.words();
  }

  buildMap(head) {
    const { tokens, row, cols } = this.data, caption = make("caption");
    const cells = tokens.map(() => tokens.map(() => make("td")));
    const name = (textContent, scope) => make("th", { textContent, scope });
    const table = make("table", {}, caption,
      make("thead", {}, make("tr", {}, make("td"), ...tokens.map((text) => name(text, "col")))),
      make("tbody", {}, ...tokens.map((text, i) => make("tr", { className: i === row ? "as-row" : "" },
        name(text, "row"), ...cells[i]))));
    table.style.minWidth = `${36 * (cols + 1)}px`;
    const box = make("div", { className: "as-map" }, table);
    // On a narrow page a long sentence scrolls in its box, by keyboard, too.
    if (cols > 6) {
      Object.assign(box, { tabIndex: 0, ariaLabel: this.data.head_names[head] });
      box.setAttribute("role", "group");
    }
    return { box, caption, cells };
  }

  buildAnswer(question) {
    const [big, verdict] = ["ak-big", "ak-score"].map((className) => make("p", { className }));
    const items = Array.from({ length: Math.min(BEST, this.data.answers) }, () =>
      make("li", {}, make("span"), make("i"), make("span")));
    const box = make("div", {}, make("p", { className: "ak-head", textContent: question }), big,
      verdict, make("ol", { className: "ak-top" }, ...items));
    return { box, big, verdict, items };
  }

  update() {
    const { data, root } = this, on = this.model.get("on"), style = getComputedStyle(root);
    root.toggleAttribute("data-dark", isDark(pixelOf(style.backgroundColor)));
    const stops = style.getPropertyValue("--ak-weights").trim().split(",").map(pixelOf);
    this.switches.forEach((input, h) => { input.checked = on[h]; });
    this.maps.forEach(({ box, caption, cells }, h) => {
      box.classList.toggle("as-off", !on[h]);
      caption.textContent = data.head_names[h] + (on[h] ? "" : ": off, adds nothing");
      cells.forEach((line, i) => line.forEach((cell, j) => {
        const w = weight(data, h, i, j), colour = colourOf(stops, w);
        cell.textContent = fixed(w, 2).replace(/^0\./, ".");
        cell.style.background = on[h] ? `rgb(${colour})` : "";
        cell.style.color = on[h] ? isDark(colour) ? "#fff" : "#000" : "";
      }));
    });
    this.chances = logitsOf(data, on).map(softmax);
    this.asked.forEach(({ big, verdict, items }, q) => {
      const chances = this.chances[q], order = ranked(chances);
      big.textContent = data.labels[order[0]];
      verdict.textContent = this.verdict(q, order[0]);
      verdict.classList.toggle("as-wrong", Boolean(data.expected) && data.expected[q] !== order[0]);
      items.forEach((item, place) => {
        const [label, bar, number] = item.children, share = chances[order[place]];
        label.textContent = data.labels[order[place]];
        bar.style.setProperty("--ak-share", `${100 * share}%`);
        number.textContent = fixed(share, 3);
      });
    });
  }

  verdict(q, answer) {
    const { expected, labels } = this.data;
    if (!expected) return "";
    return expected[q] === answer ? "✓ right" : `✗ wrong, it should be ${labels[expected[q]]}`;
  }

  /** What the switches now mean, for those who hear the page. */
  words() {
    const { data } = this, on = this.model.get("on");
    const heads = data.head_names.map((name, h) => `${name} ${on[h] ? "on" : "off"}`).join(", ");
    const answers = data.questions.map((question, q) => {
      const [first] = ranked(this.chances[q]), verdict = this.verdict(q, first).replace(/^\S /, "");
      return `${question}: ${data.labels[first]}, ${fixed(this.chances[q][first], 2)}` +
        (verdict && `, ${verdict}`);
    });
    return `${heads}. At ${quoted(data.tokens[data.row])}, ${answers.join("; ")}.`;
  }

  /** What is on show: weights of all heads, logits, chances and answers of the heads on. */
  snapshot() {
    const { data } = this, on = this.model.get("on"), { tokens, heads, row } = data;
    const weights = Array.from({ length: heads }, (_, h) =>
      tokens.map((_, i) => tokens.map((_, j) => weight(data, h, i, j))));
    const logits = logitsOf(data, on), chances = logits.map(softmax);
    return { tokens, queryTokens: tokens, keyTokens: tokens, seqLen: tokens.length, head: "all",
      mask: "none", scale: 1, stage: "weights", weights, on, row, logits, chances,
      answers: chances.map((one) => data.labels[ranked(one)[0]]) };
  }
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    return () => view.close();
  },
};
