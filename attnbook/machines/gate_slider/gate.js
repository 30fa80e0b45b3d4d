// One recurrent unit and its gate; common.js and maps.js stand before it.

const SETTINGS = ["bias", "step"], BIASES = [-2, 7], FLOAT_DIGITS = 24, PLACES = 28, NOISE = 0.001;
const f32 = Math.fround;

// ---- What is computed, in float32 as torch does.

const gateOf = (bias) => f32(1 / (1 + Math.exp(-bias)));

/** The state after each word, with the first word's bit as it is, or turned over. */
function statesOf(bits, z, turned) {
  let state = 0;
  return bits.map((bit, j) => {
    const x = turned && j === 0 ? 1 - bit : bit;
    return state = f32(f32(z * state) + f32(f32(1 - z) * x));
  });
}

/** The weight of each word read so far: what was written, times the gate once a word since. */
const weightsOf = (z, step) => Array.from({ length: step }, (_, j) => (1 - z) * z ** (step - 1 - j));

/** The digits of a number from 0 to 1 behind the binary point. */
const digitsOf = (state) =>
  Array.from({ length: PLACES }, (_, k) => digitOf(state, k + 1));
const digitOf = (state, place) => Math.floor(state * 2 ** place) % 2;

/** The first binary place at which two different states from 0 to 1 differ. */
function firstChange(a, b) {
  let place = 1;
  while (digitOf(a, place) === digitOf(b, place)) place += 1;
  return place;
}

// ---- Words.

/** A share: in per cent, and when it is small as one part of many. */
const shareOf = (v) => v >= 0.0995 ? `${(100 * v).toFixed(0)}%` : v >= 0.01
  ? `${(100 * v).toFixed(1)}%` : `1 part in ${Math.round(1 / v).toLocaleString("en-US")}`;
const small = (v, digits = 2) => v.toLocaleString("en-US", { maximumSignificantDigits: digits });
const counted = (n) => `${n} ${n === "1" ? "word" : "words"}`;

const PAGE = `<p class="ak-title"></p><div class="ak-controls"></div>
<p class="ak-big"></p><p class="ak-say"></p>
<ol class="ag-words" aria-hidden="true"></ol>
<p class="ag-key" aria-hidden="true">bar: the word's weight in the state, from 1 (full) to what a float32 cannot hold, on a logarithmic scale</p>
<p class="ag-head" aria-hidden="true"></p><div class="ag-digits" aria-hidden="true"></div>
<div class="ag-reach" aria-hidden="true"><span>survives noise of ${NOISE}</span>
<span>only in an exact float32</span><span>gone</span></div>
<p class="ak-note"></p><p class="ak-live" role="status"></p>`;

class View {
  constructor(model, el) {
    this.model = model;
    this.data = traitsOf(model, ["words", "inputs"]);
    this.initial = traitsOf(model, SETTINGS);
    const page = this.page = buildPage(model, "attnkit-explorer attnkit-hand attnkit-gate", PAGE, "A gate to drag");
    this.addControls();
    this.items = this.data.words.map((word) => make("li", {}, make("span", { textContent: word }), make("i")));
    page.words.append(...this.items);
    this.flipped = false;
    this.cells = Array.from({ length: PLACES }, () => make("span"));
    page.digits.append(...this.cells);
    page.root.snapshot = () => this.snapshot();
    this.listen();
    el.append(page.root);
    this.update();
  }

  addControls() {
    const slider = (ariaLabel, min, max, step) => make("input", { type: "range", min, max, step, ariaLabel });
    this.gate = slider("Gate", ...BIASES, 0.1);
    this.read = slider("Words read", 1, this.data.words.length, 1);
    [this.z, this.n] = [make("output"), make("output")];
    this.flip = make("button", { type: "button", textContent: `Turn ${quoted(this.data.words[0])} over` });
    this.reset = make("button", { type: "button", textContent: "Reset", className: "ak-reset" });
    this.page.controls.append(make("label", {}, "Gate", this.gate, this.z),
      make("label", {}, "Words read", this.read, this.n), make("div", { className: "ag-buttons" }, this.flip, this.reset));
  }

  listen() {
    const { root } = this.page, update = () => this.update();
    const { on, end } = follow(this.model, SETTINGS, root, update);
    on(this.gate, "input", () => this.take({ bias: Number(this.gate.value) }));
    on(this.read, "input", () => this.take({ step: Number(this.read.value) }));
    const turn = (flipped) => { this.flipped = flipped; update(); };
    for (const node of [this.flip, this.items[0]]) on(node, "click", () => { turn(!this.flipped); this.take({}); });
    on(this.reset, "click", () => { turn(false); this.take(this.initial); });
    on(matchMedia("print"), "change", update);
    this.close = end;
  }

  take(values) {
    write(this.model, values);
    const { big, say: said, live } = this.page;
    live.textContent = `${big.textContent}. ${said.textContent}`;
  }

  update() {
    const { page, data, items, cells } = this, { gate, left, half, moved, states, turned, step, weights } = this.snapshot();
    readStyle(page.root);
    this.gate.value = this.model.get("bias");
    this.read.value = step;
    this.flip.ariaPressed = String(this.flipped);
    say(this.z, gate.toFixed(3));
    say(this.n, String(step));
    this.gate.ariaValueText = `gate ${gate.toFixed(3)}`;
    this.read.ariaValueText = `${counted(String(step))}, to ${quoted(data.words[step - 1])}`;
    const first = quoted(data.words[0]);
    const every = half.toLocaleString("en-US", { maximumFractionDigits: half < 10 ? 1 : 0 });
    say(page.big, `${first} moves the state by ${small(moved, 3)}`);
    say(page.say, `${first} entered with weight ${small(1 - gate)}, like every word, and ${shareOf(left)} of that is left. ` +
      `Half is lost ${every === "1" ? "with every word" : `every ${every} words`}. Flip its bit, and ` +
      `${moved ? `binary place ${firstChange(states[step - 1], turned[step - 1])} is the first to change` : "nothing changes: the bit has fallen out"}.`);
    items.forEach((item, j) => {
      item.className = j >= step ? "ag-later" : j ? "" : "ag-first";
      item.style.setProperty("--ag-share", `${j < step ? Math.max(0, 100 + 100 * Math.log2(weights[j]) / FLOAT_DIGITS) : 0}%`);
    });
    const now = digitsOf(states[step - 1]), then = digitsOf(turned[step - 1]);
    const last = Math.ceil(-Math.log2(states[step - 1])) - 1 + FLOAT_DIGITS;
    cells.forEach((cell, k) => {
      say(cell, k < last ? String(now[k]) : "");
      cell.className = k >= last ? "ag-gone" : now[k] !== then[k] ? "ag-moved" : "";
    });
    const [, exact, gone] = page.reach.children, edge = Math.min(last, PLACES) + 1;
    exact.style.gridColumn = `10/${edge}`;
    gone.hidden = edge > PLACES;
    gone.style.gridColumn = `${Math.min(edge, PLACES)}/29`;
    say(page.head, `the state: ${states[step - 1].toFixed(7)}, and its binary places after “0.”`);
  }

  /** What is on show: settings, both runs, and what they say of the first word. */
  snapshot() {
    const { bias, step } = traitsOf(this.model, SETTINGS), gate = gateOf(bias);
    const [states, turned] = [this.flipped, !this.flipped].map((over) => statesOf(this.data.inputs, gate, over));
    return { gate, step, flipped: this.flipped, states, turned, weights: weightsOf(gate, step), left: gate ** (step - 1),
      half: Math.LN2 / -Math.log(gate), moved: Math.abs(states[step - 1] - turned[step - 1]) };
  }
}

export default { render: ({ model, el }) => new View(model, el).close };
