// What makes a machine: an object says what is computed and shown, and `machine` does the rest. What all
// widgets share stands before it.

const significant = (v, digits = 2) => whole(Number(v.toPrecision(digits)));
const sumOf = (list) => list.reduce((a, b) => a + b, 0);
const clamp = (v, low, high) => Math.min(Math.max(v, low), high);

function softmax(scores) {
  const most = Math.max(...scores), parts = scores.map((v) => Math.exp(v - most));
  const sum = sumOf(parts);
  return parts.map((v) => v / sum);
}

/** A button that gives settings from settings; `pressed` says of them whether it is held down. */
function button(textContent, next, pressed) {
  const element = make("button", { type: "button", textContent });
  return { element, next, show: (s) => { if (pressed) element.ariaPressed = String(pressed(s)); } };
}

// ---- Pictures.

const rect = (className, x, y, width, height, more) => svg("rect", { class: className, x, y, width, height, ...more });
const rule = (className, x1, y1, x2, y2, more) => svg("line", { class: className, x1, y1, x2, y2, ...more });
const text = (className, x, y, words, more) => svg("text", { class: className, x, y, ...more }, words);

/** An arrow to a place, with a head as wide as its line asks. */
function arrow(className, [x1, y1], [x2, y2], width) {
  const far = Math.hypot(x2 - x1, y2 - y1);
  if (far < 1) return [];
  const ux = (x2 - x1) / far, uy = (y2 - y1) / far, long = Math.min(far, 9 + width), half = long * 0.45;
  const [fx, fy] = [x2 - ux * long, y2 - uy * long];
  return [rule(className, x1, y1, fx, fy, { stroke_width: width }), svg("path", { class: className,
    d: `M${x2} ${y2}L${fx - uy * half} ${fy + ux * half}L${fx + uy * half} ${fy - ux * half}Z` })];
}

/** Whether a picture stands on a telephone, where it needs larger letters; one that is not laid out does not. */
const isNarrow = ({ clientWidth }) => clientWidth > 0 && clientWidth < 480;

/** Attributes of a node of SVG that stays, numbers rounded. */
function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
}

/** A bar of a list: a name, a share, a number. `showBar` fills it. */
const bar = () => make("li", {}, make("span"), make("i"), make("span"));

/** The colours of a share from 0 to 1 on the map of weights, and of words on it. */
function heat(root) {
  const stops = readStyle(root).getPropertyValue("--machine-weights").split(",").map(pixelOf);
  return (share) => {
    const colour = colourAt(stops, clamp(share, 0, 1));
    return { background: `rgb(${colour})`, color: isDark(colour) ? "#fff" : "#000" };
  };
}

// ---- Hands.

/** Let no finger scroll where the style says so: Chromium asks no node inside a picture. */
const hold = (on, node) => on(node, "touchstart", (event) => getComputedStyle(event.target).touchAction === "none" && event.preventDefault());

/** Settings from where a pointer is pressed or drawn across a node: `at(x, y)`, from 0 to 1. */
function drag(on, node, at, take) {
  hold(on, node);
  const where = ({ clientX, clientY }) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    take(at(clamp((clientX - left) / width, 0, 1), clamp((clientY - top) / height, 0, 1)));
  };
  on(node, "pointerdown", (event) => {
    if (event.button) return;
    node.setPointerCapture(event.pointerId);
    where(event);
  });
  on(node, "pointermove", (event) => node.hasPointerCapture(event.pointerId) && where(event));
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
/** On a slider these keys, too: four steps at once, and as far as it goes. */
const LEAPS = { PageUp: [0, 4], PageDown: [0, -4], Home: [0, -Infinity], End: [0, Infinity] };

/** Settings from the arrow keys on a node: `by(right, up)`; with `leaps` from those keys as well, if `by` keeps to its ends. */
function arrows(on, node, by, take, leaps) {
  on(node, "keydown", (event) => {
    const step = ARROWS[event.key] ?? (leaps && LEAPS[event.key]);
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    take(by(...step));
  });
}

// ---- The machine.

/**
 * `name` and `label`: its class, and what it is called without a title. `data` and `settings`: the traits
 * that stay, and those that the reader moves. `prepare(data, initial)`: what follows from the data once.
 * `stage`: markup below the controls; a sentence in large type and one to explain it come before it, unless
 * it has them, or `lead` is false. `controls(data)`: slider, chooser, toggle, button. `fits`: of a setting without a control
 * that is no yes or no, whether a value can be one. `build(machine)`: nodes and hands, once. `compute(data, settings)`: all
 * numbers, which with the settings are what Python's `snapshot` gives. `show(now, machine)`: puts them on
 * the page. `words(now, data)`: what is heard; left out, the two sentences and `tell(now, data)`. `keeps`: settings
 * that a link leaves as the reader has them, unless it names them. `tools`: false for one that nobody links to or saves.
 */
class Machine {
  constructor(spec, model, el) {
    const initial = beginningOf(model, traitsOf(model, spec.settings));
    Object.assign(this, { spec, model, initial, data: traitsOf(model, spec.data) });
    Object.assign(this.data, spec.prepare?.(this.data, initial));
    const stage = of(spec.stage, this.data), lead = '<p class="machine-big"></p><p class="machine-say"></p>';
    const page = this.page = buildPage(model, `machine machine-${spec.name}`, `<p class="machine-title"></p>
      <div class="machine-controls"></div>${spec.lead === false || stage.includes("machine-big") ? "" : lead}${stage}
      <p class="machine-note"></p><p class="machine-live" role="status"></p>`, spec.label);
    this.controls = [...spec.controls(this.data), button("Reset", () => this.initial)];
    this.controls.at(-1).element.className = "machine-reset";
    const [inputs, buttons] = [true, false].map((is) => this.controls.filter(({ input }) => Boolean(input) === is));
    page.controls.append(...inputs.map(({ element }) => element),
      make("div", { className: "machine-buttons" }, ...buttons.map(({ element }) => element)));
    for (const name of ["settings", "now", "take", "update"]) this[name] = this[name].bind(this);
    const { on, sized, end } = follow(model, spec.settings, page.root, this.update);
    Object.assign(this, { on, sized, close: end });
    for (const { input, read, element, next } of this.controls) {
      if (input) on(input, "input", () => this.take(read(this.now())));
      else on(element, "click", () => this.take(next(this.now())));
    }
    on(matchMedia("print"), "change", this.update);
    spec.build?.(this);
    this.address = keepAddress({ root: page.root, model, on, visit: (rest) => this.visit(rest),
      goal: () => page.root.querySelector("input, select, button"), behind: () => this.changed() });
    if (spec.tools !== false) addTools(page, this.address.link, on);
    keepKeys(page.root);
    page.root.snapshot = () => this.now();
    el.append(page.root);
    this.update();
  }

  settings() {
    return traitsOf(this.model, this.spec.settings);
  }

  /** Settings, and what is computed of them: all that is on show. */
  now() {
    const settings = this.settings();
    if (!alike(settings, this.last)) this.shown = { ...settings, ...this.spec.compute(this.data, this.last = settings) };
    return this.shown;
  }

  /** The settings that the reader has moved, as an address has them. */
  changed() {
    return writeAddress(changedOf(this.settings(), this.initial));
  }

  /** Take the settings of an address, if all of them can be. */
  visit(rest) {
    const { spec, controls, data, initial } = this, found = parseAddress(rest);
    const now = this.settings(), kept = Object.fromEntries((spec.keeps ?? []).map((name) => [name, now[name]]));
    const all = { ...initial, ...kept, ...found };
    const flag = (v) => typeof v === "boolean", flags = (name) => (flag(initial[name]) ? flag : undefined);
    const test = (name) => spec.fits?.[name] ?? controls.find((one) => one.name === name)?.fits ?? flags(name);
    const fits = (name) => spec.settings.includes(name) && test(name)?.(all[name], all, data);
    if (!found || !Object.keys(found).every(fits)) return false;
    this.take(all);
    return true;
  }

  /** Change settings, and say what then is on show. */
  take(values) {
    this.taking = true; // the page is drawn once
    write(this.model, values);
    this.taking = false;
    this.update();
    const { spec, data, page: { big, say: said, live } } = this, now = this.now();
    live.textContent = spec.words?.(now, data) ?? `${big.textContent}. ${said.textContent}${spec.tell?.(now, data) ?? ""}`;
    this.address.note();
  }

  update() {
    if (this.taking) return;
    const now = this.now();
    readStyle(this.page.root);
    for (const { show } of this.controls) show(now);
    this.spec.show(now, this);
  }
}

const machine = (spec) => ({ render: ({ model, el }) => new Machine(spec, model, el).close });
