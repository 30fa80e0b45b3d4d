// Heads under a switch each, and the answers that are left; the kit stands before it.

const BEST = 3, NARROW = 6;

// ---- What is computed: logits = bias + the sum of weight times effect over the heads that are on.

function prepare({ shape: [heads, cols, asked, answers], ...data }) {
  const [weights, effects, bias] = ["weights", "effects", "bias"].map((name) => floats(data[name]));
  const rows = (of, wide) => Array.from({ length: of.length / wide }, (_, i) => [...of.slice(i * wide, (i + 1) * wide)]);
  const lines = rows(weights, cols);
  return { heads, cols, asked, answers: data.answers, bias: rows(bias, answers), effects: rows(rows(effects, answers), asked),
    weights: Array.from({ length: heads }, (_, h) => lines.slice(h * cols, (h + 1) * cols)) };
}

function compute({ weights, effects, bias, row, cols, answers }, { on }) {
  const logits = bias.map((start, q) => start.map((from, n) => weights.reduce((sum, head, h) => (on[h]
    ? head[row].reduce((so, w, s) => so + w * effects[h * cols + s][q][n], sum) : sum), from)));
  const chances = logits.map(softmax);
  return { weights, logits, chances, answers: chances.map((one) => answers[ranked(one)[0]]) };
}

/** Answers to one question, the likeliest first. */
const ranked = (chances) => [...chances.keys()].sort((a, b) => chances[b] - chances[a]);

// ---- The page.

const stage = '<div class="switch-maps"></div><div class="switch-answers machine-side"></div>';

/** A control of a head: one of the settings `on`. */
function headSwitch(name, h) {
  const { show, read, ...rest } = toggle(name, h);
  return { ...rest, show: ({ on }) => show(on), read: ({ on }) => ({ on: on.map((v, at) => (at === h ? read()[h] : v)) }) };
}
const controls = ({ head_names: names }) => names.map(headSwitch);
const fits = { on: (v, s, { heads }) => Array.isArray(v) && v.length === heads && v.every((one) => typeof one === "boolean") };

function buildMap({ tokens, row, head_names: names }, head) {
  const name = (textContent, scope) => make("th", { textContent, scope });
  const table = make("table", {}, make("caption"),
    make("thead", {}, make("tr", {}, make("td"), ...tokens.map((text) => name(text, "col")))),
    make("tbody", {}, ...tokens.map((text, i) => make("tr", { className: i === row ? "switch-row" : "" },
      name(text, "row"), ...tokens.map(() => make("td"))))));
  table.style.minWidth = `${36 * (tokens.length + 1)}px`;
  const box = make("div", { className: "switch-map" }, table);
  // On a narrow page a long sentence scrolls in its box, by keyboard, too.
  if (tokens.length > NARROW) Object.assign(box, { tabIndex: 0, role: "group", ariaLabel: names[head] });
  return box;
}

function buildAnswer(question, answers) {
  const line = (className, textContent = "") => make("p", { className, textContent });
  return make("div", {}, line("machine-head", question), line("machine-big"), line("machine-score"),
    make("ol", { className: "machine-top" }, ...Array.from({ length: Math.min(BEST, answers.length) }, bar)));
}

function build({ page, data }) {
  page.maps.append(...data.head_names.map((_, h) => buildMap(data, h)));
  page.answers.append(...data.questions.map((question) => buildAnswer(question, data.answers)));
}

function show({ on, weights, chances }, { page, data }) {
  const colours = heat(page.root), { head_names: names, answers, expected } = data;
  [...page.maps.children].forEach((box, h) => {
    const { caption, tBodies: [body] } = box.firstChild;
    box.classList.toggle("switch-off", !on[h]);
    say(caption, names[h] + (on[h] ? "" : ": off, adds nothing"));
    weights[h].forEach((line, i) => line.forEach((weight, j) => {
      const cell = body.rows[i].cells[j + 1];
      say(cell, fixed(weight, 2).replace(/^0\./, "."));
      Object.assign(cell.style, on[h] ? colours(weight) : { background: "", color: "" });
    }));
  });
  [...page.answers.children].forEach((box, q) => {
    const [, big, score, list] = box.children, order = ranked(chances[q]);
    say(big, answers[order[0]]);
    say(score, verdict(data, q, order[0]));
    score.classList.toggle("switch-wrong", Boolean(expected) && expected[q] !== order[0]);
    [...list.children].forEach((item, place) => showBar(item, answers[order[place]], chances[q][order[place]]));
  });
}

function verdict({ expected, answers }, q, answer) {
  if (!expected) return "";
  return expected[q] === answer ? "✓ right" : `✗ wrong, it should be ${answers[expected[q]]}`;
}

/** What the switches now mean, for those who hear the page. */
function spoken({ on, chances }, data) {
  const heads = data.head_names.map((name, h) => `${name} ${on[h] ? "on" : "off"}`).join(", ");
  const answers = data.questions.map((question, q) => {
    const [first] = ranked(chances[q]), said = verdict(data, q, first).replace(/^\S /, "");
    return `${question}: ${data.answers[first]}, ${fixed(chances[q][first], 2)}${said && `, ${said}`}`;
  });
  return `${heads}. At ${quoted(data.tokens[data.row])}, ${answers.join("; ")}.`;
}

export default machine({ name: "switch", label: "Heads to turn on and off", lead: false, settings: ["on"],
  data: ["shape", "weights", "effects", "bias", "tokens", "row", "questions", "answers", "expected", "head_names"],
  prepare, stage, controls, fits, build, compute, show, words: spoken });
