// Heads under a switch each, and the answers that are left; common.js and maps.js stand before it.

const BEST = 3;

// ---- What is computed: logits = bias + the sum of weight times effect over the heads that are on.

function readData(model) {
  const [heads, cols, asked, answers] = model.get("shape");
  const data = { heads, cols, asked, answers, labels: model.get("answers"),
    ...traitsOf(model, ["tokens", "row", "expected", "questions", "head_names"]) };
  for (const name of ["weights", "effects", "bias"]) data[name] = floats(model.get(name));
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

// ---- The view.

const PAGE = `<p class="ak-title"></p><div class="ak-controls">
<button class="ak-reset" type="button">Reset</button></div><div class="as-maps"></div>
<div class="as-answers ak-side"></div><p class="ak-note"></p><p class="ak-live" role="status"></p>`;

class View {
  constructor(model, el) {
    this.model = model;
    const { head_names: names, questions } = this.data = readData(model);
    const page = this.page =
      buildPage(model, "attnkit-explorer attnkit-switch", PAGE, "Heads to turn on and off");
    this.initial = model.get("on");
    this.switches = names.map((name) => make("input", { type: "checkbox", ariaLabel: name }));
    page.controls.prepend(...this.switches.map((input, h) => make("label", {}, names[h], input)));
    this.maps = names.map((_, h) => this.buildMap(h));
    page.maps.append(...this.maps.map(({ box }) => box));
    this.asked = questions.map((question) => this.buildAnswer(question));
    page.answers.append(...this.asked.map(({ box }) => box));
    page.root.snapshot = () => this.snapshot();
    this.listen();
    el.append(page.root);
    this.update();
  }

  listen() {
    const { page, switches } = this, update = () => this.update();
    const { on, end } = follow(this.model, ["on"], page.root, update);
    for (const input of switches) {
      on(input, "input", () => this.turn(switches.map(({ checked }) => checked)));
    }
    on(page.reset, "click", () => this.turn(this.initial));
    on(matchMedia("print"), "change", update);
    this.close = end;
  }

  turn(on) {
    write(this.model, { on });
    this.page.live.textContent = this.words();
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
      Object.assign(box, { tabIndex: 0, role: "group", ariaLabel: this.data.head_names[head] });
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
    const { data } = this, on = this.model.get("on");
    const stops = readStyle(this.page.root).getPropertyValue("--ak-weights").split(",").map(pixelOf);
    this.switches.forEach((input, h) => { input.checked = on[h]; });
    this.maps.forEach(({ box, caption, cells }, h) => {
      box.classList.toggle("as-off", !on[h]);
      caption.textContent = data.head_names[h] + (on[h] ? "" : ": off, adds nothing");
      cells.forEach((line, i) => line.forEach((cell, j) => {
        const w = weight(data, h, i, j), colour = colourAt(stops, Math.min(Math.max(w, 0), 1));
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
        showBar(item, data.labels[order[place]], chances[order[place]]);
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

export default { render: ({ model, el }) => new View(model, el).close };
