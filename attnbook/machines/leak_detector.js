// A layer to be found out: wiggle an input and see which outputs move; the kit and layers.js stand before it.

const WIGGLE = 0.8, STILL = 1e-9;

// ---- What is computed.

/** Added to a score: nothing where a word may look. */
const hidden = (may) => (may ? 0 : -Infinity);

const HANDED = { look: Number, hide: (may) => Number(!may), ones: Number, added: hidden };
const booleans = (given) => given === "look" || given === "hide";

/** What a library adds to a score where it is given v. */
const ADDS = {
  attnkit: hidden,
  sdpa: (v, given) => (booleans(given) ? hidden(v) : v),
  mha: (v, given) => (booleans(given) ? hidden(!v) : v),
  keras: hidden,
};

/** Weights over the keys for a row of scores; a row that sees nothing is what the library makes of it. */
function weigh(scores, added, library) {
  if (added.every((v) => v === -Infinity)) return scores.map(() => (library === "keras" ? 1 / scores.length : 0));
  return softmax(scores.map((v, j) => v + added[j]));
}

function attend(x, [query, key, value], added, library, after) {
  const made = (matrix) => x.map((row) => times(matrix, row));
  return attention(made(query), made(key), made(value), undefined, (scores, i) =>
    (after ? softmax(scores).map((w, j) => (added[i][j] > -1e4 ? w : 0)) : weigh(scores, added[i], library)));
}

const LAYER = {
  before: (x, [first], ...mask) => attend(x, first, ...mask),
  after: (x, [first], ...mask) => attend(x, first, ...mask, true),
  first: (x, [first, second], added, library) => {
    const { weights, output } = attend(x, first, added, library);
    return { weights, output: attend(output, second, x.map(() => x.map(() => 0)), library).output };
  },
  normed: (x, [first], added, library) => {
    const columns = x[0].map((_, e) => x.map((row) => row[e])), mean = columns.map((c) => sumOf(c) / c.length);
    const spread = columns.map((c, e) => Math.sqrt(c.reduce((sum, v) => sum + (v - mean[e]) ** 2, 0) / (c.length - 1)));
    return attend(x.map((row) => row.map((v, e) => (v - mean[e]) / spread[e])), first, added, library);
  },
};

/** A word's numbers when it is wiggled. */
const moved = (row) => row.map((v, e) => v + (e % 2 ? -WIGGLE : WIGGLE));

function compute({ x, matrices }, settings) {
  const { library, given, layer, word } = settings;
  if (library === "attnkit" && !booleans(given)) return { refused: true, seen: [], weights: [], now: [], before: [], output: [], reach: [], leaks: 0 };
  const added = x.map((_, i) => x.map((_, j) => ADDS[library](HANDED[given](j <= i), given)));
  const run = (given) => LAYER[layer](given, matrices, added, library), plain = run(x);
  const after = x.map((_, at) => run(x.map((row, j) => (j === at ? moved(row) : row))));
  const reach = x.map((_, i) => x.map((_, j) => Math.hypot(...after[j].output[i].map((v, e) => v - plain.output[i][e]))));
  const leaks = reach.flatMap((row, i) => row.filter((v, j) => j > i && v > STILL)).length;
  return { refused: false, seen: added.map((row) => row.map((v) => v > -1e4)), weights: plain.weights,
    now: after[word].weights, before: plain.output, output: after[word].output, reach, leaks };
}

// ---- The page.

const stage = `<div class="leak-whole"><svg class="leak-words" aria-hidden="true"></svg><svg class="leak-maps" aria-hidden="true"></svg></div>`;

const controls = ({ names, choices: [libraries, forms, layers] }) => [
  chooser("Library", "library", libraries),
  chooser("You hand it", "given", forms),
  chooser("The layer is", "layer", layers),
  slider("Wiggle", "word", { max: names.length - 1, text: (v) => names[v] }),
];

/** A finger on the picture wiggles the word that it is on. */
function build({ page, on, take, data: { names } }) {
  drag(on, page.words, (x) => ({ word: Math.min(Math.floor(x * names.length), names.length - 1) }), take);
}

/** A number as short as a cell is wide. */
const brief = (v) => (v < 0.095 ? String(significant(v, 1)) : v.toFixed(v < 0.995 ? 2 : 1)).replace(/^0\./, ".");
const inCell = (v) => v.toFixed(2).replace(/^0/, "").replace("1.00", "1");

/** Where the masked layer's weights may tell of the word: the row before it and the key whose weight changes most. */
function shifted({ weights, now, word }) {
  const pairs = weights.flatMap((row, i) => (i < word ? row.map((w, j) => [Math.abs(now[i][j] - w), i, j]) : []));
  return pairs.reduce((most, one) => (one[0] > most[0] ? one : most), [0.005]);
}

const called = (list, name) => list.find(([one]) => one === name)[1];

function show(now, { page, data: { names, x, choices } }) {
  const { refused, reach, weights, word, leaks, given, library } = now, n = names.length, pairs = n * (n - 1) / 2;
  const [, row, key] = now.layer === "after" && !refused ? shifted(now) : [];
  const early = names.filter((_, i) => i < word && reach[i]?.[word] > STILL);
  say(page.big, refused ? "TypeError: mask: expected a boolean tensor" : early.length ? `${plural(early.length, "output")} before it ${early.length > 1 ? "move" : "moves"}: a leak`
    : leaks ? "This word does not leak, another does" : "Nothing before it moves, for any word");
  say(page.say, refused ? "attnkit takes no numbers for a mask, so there is no output."
    : `You hand ${called(choices[0], library)} a causal mask (${called(choices[1], given)}) and wiggle ${quoted(names[word])}. ${
      early.length ? `It must not move ${early.map(quoted).join(", ")}, yet it does. ` : ""}${
      row === undefined || !early.length ? "" : `The weight of ${quoted(names[row])} on ${quoted(names[key])} goes from ${inCell(weights[row][key])} to ${inCell(now.now[row][key])}. `}${
      `Of the ${pairs} pairs that the mask should hide, ${leaks || "none"} ${leaks > 1 ? "leak" : "leaks"}.`}`);
  drawWords(page.words, now, names, x);
  drawMaps(page.maps, now, names, heat(page.root));
}

const PITCH = 64, TALL = 44, CENTRE = { text_anchor: "middle" };

/** Inputs above, outputs below: four bars each, before in grey; below an output its change, enlarged until it can be seen. */
function drawWords(picture, { refused, word, output, before, reach }, names, x) {
  const wide = PITCH * names.length, inputs = x.map((row, i) => (i === word ? moved(row) : row));
  const parts = [text("leak-axis", 0, 12, "inputs: press one to wiggle it"),
    text("leak-axis", 0, 100, refused ? "no output" : "outputs; below each its change, enlarged, and the size of it")];
  const largest = (...vectors) => Math.max(...vectors.flat(2).map(Math.abs), 1e-12);
  const strip = (left, top, high, vector, most, className) => vector.map((v, e) => {
    const tall = Math.abs(v) / most * (high / 2 - 4);
    return rect(className, left + 8 + 11 * e, top + high / 2 - (v > 0 ? tall : 0), 7, Math.max(tall, 0.4));
  });
  const most = { input: largest(x, inputs), output: largest(before, output) };
  names.forEach((name, i) => {
    const left = i * PITCH, middle = left + PITCH / 2 - 2;
    parts.push(rect(`leak-box${i === word ? " leak-wiggled" : ""}`, left + 2, 20, PITCH - 8, TALL, { rx: 4 }), ...strip(left, 20, TALL, x[i], most.input, "leak-before"),
      ...strip(left, 20, TALL, inputs[i], most.input, "leak-bar"), text("leak-name", middle, 80, name, CENTRE));
    if (refused) return;
    const size = reach[i][word], moves = size > STILL, red = moves && i < word, kind = red ? "leak-alarm" : moves ? "leak-moves" : "leak-axis";
    const change = output[i].map((v, e) => v - before[i][e]);
    parts.push(rect(`leak-box${red ? " leak-red" : moves ? " leak-moved" : ""}`, left + 2, 107, PITCH - 8, TALL, { rx: 4 }),
      ...strip(left, 107, TALL, before[i], most.output, "leak-before"), ...strip(left, 107, TALL, output[i], most.output, "leak-bar"),
      text(kind, middle, 167, red ? "leaks" : moves ? "moves" : before[i].some((v) => v) ? "still" : "zeros", CENTRE));
    if (moves) parts.push(...strip(left, 170, 32, change, largest(change), red ? "leak-illegal" : "leak-legal"), text(kind, middle, 213, brief(size), CENTRE));
  });
  picture.setAttribute("viewBox", `0 0 ${wide} 218`);
  picture.replaceChildren(...parts);
}

/** The weights, and which input moves which output, with the edge of the mask. */
function drawMaps(picture, { refused, weights, reach, word }, names, shades) {
  const n = names.length, cell = 23, parts = [], top = 34, first = 26;
  names.forEach((name, i) => parts.push(text("leak-axis", first - 4, top + i * cell + 16, name, { text_anchor: "end" })));
  const titles = refused ? ["no weights", "nothing moves"] : ["weight on", "moves with"];
  titles.forEach((title, which) => {
    const left = first + which * (n * cell + 20);
    parts.push(text("leak-name", left, 12, title));
    names.forEach((name, j) => parts.push(text(which && j === word ? "leak-picked" : "leak-axis", left + (j + 0.5) * cell, 28, name, CENTRE)));
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const at = [left + j * cell, top + i * cell, cell, cell], v = refused ? 0 : (which ? reach : weights)[i][j];
        if (which) parts.push(v > STILL ? rect(`leak-cell ${j > i ? "leak-illegal" : "leak-legal"}`, ...at) : rect("leak-none", ...at));
        else {
          const { background, color } = shades(v);
          parts.push(rect("leak-cell", ...at, { fill: background }));
          if (v > 0) parts.push(text("leak-share", at[0] + cell / 2, at[1] + 15.5, inCell(v), { ...CENTRE, style: `fill:${color}` }));
        }
      }
    }
    const steps = names.map((_, i) => `H${left + (i + 1) * cell}V${top + (i + 1) * cell}`);
    parts.push(svg("path", { class: "leak-edge", d: `M${left} ${top}${steps.join("")}` }));
    if (which) parts.push(rect("leak-box leak-wiggled", left + word * cell, top, cell, n * cell));
  });
  picture.setAttribute("viewBox", `0 0 ${first + 2 * n * cell + 22} ${top + n * cell + 4}`);
  picture.replaceChildren(...parts);
}

const tell = ({ refused, reach, word }, { names }) => (refused ? "" : ` Outputs that move: ${names.filter((_, i) => reach[i][word] > STILL).join(", ") || "none"}.`);

export default machine({ name: "leak", label: "A leak detector", data: ["names", "choices", "x", "matrices"],
  settings: ["library", "given", "layer", "word"], stage, controls, build, compute, show, tell });
