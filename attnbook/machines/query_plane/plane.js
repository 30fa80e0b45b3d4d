// A query to drag among its keys; common.js and maps.js stand before it.

const SETTINGS = ["query", "turned"], SIZE = 340, MIDDLE = SIZE / 2, STEP = 0.1;
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// ---- What is computed.

const dot = (a, b) => a.reduce((sum, v, e) => sum + v * b[e], 0);
const columnOf = (rows, d) => rows.map((row) => row[d]);

function attend({ key: keys, value: values, scale, matrix }, query, turned) {
  const asked = turned ? [0, 1].map((d) => dot(query, columnOf(matrix, d))) : [...query];
  const scores = keys.map((key) => scale * dot(asked, key)), most = Math.max(...scores);
  const shares = scores.map((s) => Math.exp(s - most)), sum = shares.reduce((a, b) => a + b, 0);
  const weights = shares.map((s) => s / sum);
  return { asked, scores, weights, output: values[0].map((_, d) => dot(weights, columnOf(values, d))) };
}

/** The corners of the smallest polygon around points (Andrew's monotone chain). */
function hullOf(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => list.reduce((kept, p) => {
    const turn = ([a, b], [c, d]) => (c - a) * (p[1] - b) - (d - b) * (p[0] - a);
    while (kept.length > 1 && turn(...kept.slice(-2)) <= 0) kept.pop();
    return [...kept, p];
  }, []).slice(0, -1);
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

// ---- Markup of the picture. Only numbers enter it; names are set as text.

const n1 = (v) => v.toFixed(1);
const line = (name, [x1, y1], [x2, y2], more = "") =>
  `<line class="${name}" x1="${n1(x1)}" y1="${n1(y1)}" x2="${n1(x2)}" y2="${n1(y2)}" ${more}/>`;
const boxAt = (name, [x, y], r) =>
  `<rect class="${name}" x="${n1(x - r)}" y="${n1(y - r)}" width="${n1(2 * r)}" height="${n1(2 * r)}" rx="2"/>`;

/** An arrow from the middle, with a head as wide as its line asks. */
function arrowTo(name, [x, y], width) {
  const far = Math.hypot(x - MIDDLE, y - MIDDLE);
  if (far < 1) return "";
  const ux = (x - MIDDLE) / far, uy = (y - MIDDLE) / far, long = Math.min(far, 9 + width), half = long * 0.45;
  const fx = x - ux * long, fy = y - uy * long;
  return line(name, [MIDDLE, MIDDLE], [fx, fy], `stroke-width="${n1(width)}"`) +
    `<path class="${name} aq-head" d="M${n1(x)} ${n1(y)}L${n1(fx - uy * half)} ${n1(fy + ux * half)}L${n1(fx + uy * half)} ${n1(fy - ux * half)}Z"/>`;
}

const PAGE = `<p class="ak-title"></p><div class="ak-controls"></div><div class="ak-body">
<div class="aq-plot"><svg class="aq-plane" viewBox="0 0 ${SIZE} ${SIZE}"><g class="aq-under"></g>
<g class="aq-names" aria-hidden="true"></g><circle class="aq-handle" r="17" tabindex="0" role="slider"
aria-label="Query"/></svg></div><div class="ak-side"><p class="ak-big"></p><p class="ak-score"></p>
<p class="ak-head">weights</p><ol class="ak-top"></ol></div></div>
<p class="ak-note"></p><p class="ak-live" role="status"></p>`;

class View {
  constructor(model, el) {
    this.model = model;
    const data = this.data = traitsOf(model, ["key", "value", "names", "scale", "matrix"]);
    this.initial = traitsOf(model, SETTINGS);
    this.flat = data.value[0].length === 1;
    const page = this.page = buildPage(model, "attnkit-explorer attnkit-hand attnkit-plane", PAGE, "A query to drag");
    // buildPage finds parts by their first class; an svg's is found in the same way.
    this.reach = 1.3 * Math.max(1, ...data.key.flat().map(Math.abs), ...this.initial.query.map(Math.abs),
      ...(this.flat ? [] : data.value.flat().map(Math.abs)));
    if (this.flat) page.plane.setAttribute("viewBox", `0 0 ${SIZE} ${SIZE + 64}`);
    this.addControls();
    this.items = data.names.map(() => make("li", {}, make("span"), make("i"), make("span")));
    page.top.append(...this.items);
    this.labels = [...data.names.map((name) => this.addName(name, "aq-key")), this.addName("query", "aq-query")];
    page.root.snapshot = () => this.snapshot();
    this.listen();
    el.append(page.root);
    this.update();
  }

  addControls() {
    this.turn = make("input", { type: "checkbox", ariaLabel: "Turn the query by W first" });
    const button = (textContent) => make("button", { type: "button", textContent });
    [this.shorter, this.longer, this.reset] = ["Shorter", "Longer", "Reset"].map(button);
    this.page.controls.append(make("label", { hidden: !this.data.matrix }, "Turn the query by W first", this.turn),
      make("div", { className: "aq-buttons" }, this.shorter, this.longer, this.reset));
  }

  addName(name, role) {
    const text = document.createElementNS(this.page.plane.namespaceURI, "text");
    text.textContent = name;
    text.setAttribute("text-anchor", "middle");
    text.setAttribute("class", role);
    this.page.names.append(text);
    return text;
  }

  listen() {
    const { root, plane, handle } = this.page, update = () => this.update();
    const { on, end } = follow(this.model, SETTINGS, root, update);
    handle.dataset.lmSuppressShortcuts = "true";
    on(plane, "pointerdown", (event) => {
      if (event.button) return;
      plane.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      event.preventDefault();
      this.take({ query: this.under(event) });
    });
    on(plane, "pointermove", (event) => plane.hasPointerCapture(event.pointerId) && this.take({ query: this.under(event) }));
    on(handle, "keydown", (event) => {
      const by = MOVES[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.take({ query: this.held(this.model.get("query").map((v, d) => Math.round((v + STEP * by[d]) * 1e6) / 1e6)) });
    });
    on(this.turn, "input", () => this.take({ turned: this.turn.checked }));
    on(this.shorter, "click", () => this.stretch(0.5));
    on(this.longer, "click", () => this.stretch(2));
    on(this.reset, "click", () => this.take(this.initial));
    on(matchMedia("print"), "change", update);
    this.close = end;
  }

  /** The same direction, a length times `by`, or as far as the plane goes. */
  stretch(by) {
    const query = this.model.get("query"), most = Math.max(...query.map(Math.abs));
    if (most) this.take({ query: query.map((v) => v * Math.min(by, this.reach / most)) });
  }

  /** Within the plane. */
  held(query) {
    return query.map((v) => Math.min(Math.max(v, -this.reach), this.reach));
  }

  under({ clientX, clientY }) {
    const box = this.page.plane.getBoundingClientRect(), unit = SIZE / box.width;
    return this.held([((clientX - box.left) * unit - MIDDLE), MIDDLE - (clientY - box.top) * unit]
      .map((v) => Math.round(100 * v / MIDDLE * this.reach) / 100));
  }

  at([x, y]) {
    return [MIDDLE + x / this.reach * MIDDLE, MIDDLE - y / this.reach * MIDDLE];
  }

  take(values) {
    write(this.model, values);
    this.page.live.textContent = this.words();
  }

  update() {
    const { page, data, items, labels } = this, { query, turned, asked, weights, output, scores } = this.snapshot();
    readStyle(page.root);
    this.turn.checked = turned;
    const tips = data.key.map((key) => this.at(key));
    page.under.innerHTML = this.ground() + tips.map((tip, j) => arrowTo("aq-key", tip, 1.5 + 9 * weights[j])).join("") +
      (turned ? arrowTo("aq-asked", this.at(query), 1.5) : "") + arrowTo("aq-query", this.at(asked), 3) + this.outcome(weights, output);
    const [hx, hy] = this.at(query);
    page.handle.setAttribute("cx", n1(hx));
    page.handle.setAttribute("cy", n1(hy));
    const put = (label, x, y) => {
      label.setAttribute("x", n1(Math.min(Math.max(x, 24), SIZE - 24)));
      label.setAttribute("y", n1(Math.min(Math.max(y + 4, 14), SIZE - 6)));
    };
    tips.forEach(([x, y], j) => {
      const far = Math.hypot(x - MIDDLE, y - MIDDLE) || 1;
      put(labels[j], x + (x - MIDDLE) / far * 16, y + (y - MIDDLE) / far * 16);
    });
    // Above or below its handle, away from the arrow, or where there is room.
    const [x, y] = this.at(asked), above = y < MIDDLE ? y > 42 : y > SIZE - 42;
    put(labels[tips.length], x, above ? y - 27 : y + 29);
    say(labels[tips.length], turned ? "query, turned" : "query");
    items.forEach((item, j) => showBar(item, data.names[j], weights[j]));
    say(page.big, `output ${this.written(output)}`);
    const best = weights.indexOf(Math.max(...weights));
    say(page.score, `${this.asks(query, asked, turned)}; best key ${data.names[best]}, score ${fixed(scores[best], 2)}`);
    page.handle.setAttribute("aria-valuenow", Math.round(Math.atan2(query[1], query[0]) * 180 / Math.PI));
    page.handle.setAttribute("aria-valuemin", -180);
    page.handle.setAttribute("aria-valuemax", 180);
    page.handle.setAttribute("aria-valuetext", this.written(query));
  }

  written(vector) {
    const parts = vector.map((v) => fixed(v, 2)).join(", ");
    return vector.length > 1 ? `(${parts})` : parts;
  }

  asks(query, asked, turned) {
    return `query ${this.written(query)}` + (turned ? `, turned to ${this.written(asked)}` : "");
  }

  /** Axes, and the hull of values that lie in the plane. */
  ground() {
    const axes = line("aq-axis", [0, MIDDLE], [SIZE, MIDDLE]) + line("aq-axis", [MIDDLE, 0], [MIDDLE, SIZE]);
    if (this.flat) return axes;
    return axes + `<polygon class="aq-hull" points="${hullOf(this.data.value).map((v) => this.at(v).map(n1).join()).join(" ")}"/>`;
  }

  /** Values as boxes, the larger the heavier, and the output: on a line of its own, or in the plane. */
  outcome(weights, output) {
    const { value: values } = this.data, all = values.flat(), low = Math.min(...all), wide = Math.max(...all) - low || 1;
    const place = this.flat ? ([v]) => [20 + (v - low) / wide * (SIZE - 40), SIZE + 26] : (v) => this.at(v);
    const text = ([x, y], words) => `<text class="aq-value" x="${n1(x)}" y="${n1(y)}" text-anchor="middle">${words}</text>`;
    const [x, y] = place(output);
    return (this.flat ? line("aq-hull", place([low]), place([low + wide])) : "") +
      values.map((v, j) => boxAt("aq-value", place(v), 3 + 8 * Math.sqrt(weights[j])) +
        (this.flat ? text([place(v)[0], SIZE + 56], fixed(v[0], 0)) : "")).join("") +
      `<circle class="aq-output" cx="${n1(x)}" cy="${n1(y)}" r="8"/>`;
  }

  words() {
    const { query, turned, asked, weights, output } = this.snapshot(), { names } = this.data;
    return `${this.asks(query, asked, turned)}. Weights: ${names.map((name, j) => `${name} ${fixed(weights[j], 2)}`).join(", ")}. ` +
      `Output ${this.written(output)}.`;
  }

  /** What is on show: the query, as it meets the keys, scores, weights and output. */
  snapshot() {
    const { query, turned } = traitsOf(this.model, SETTINGS);
    return { query, turned, ...attend(this.data, query, turned) };
  }
}

export default { render: ({ model, el }) => new View(model, el).close };
