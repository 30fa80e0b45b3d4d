// Random queries and keys of d features, and what becomes of scores, weights and gradient; the kit and
// layers.js stand before it.

const ROWS = 200, KEYS = 10, MOST = 1024, SHOWN = 12, SEEDS = 1000;
const SIZES = Array.from({ length: 11 }, (_, power) => 2 ** power), POWERS = { none: 0, root: 0.5, full: 1 };
const NAMES = { none: "1", root: "√d", full: "d" };

// ---- What is computed.

/** Standard normal numbers of a seed: two integers of a hash for each, by Box and Muller's method. */
function normal(seed, count) {
  const start = Math.imul(seed, 0x9e3779b1), found = new Float64Array(count);
  const mixed = (x, shift, factor) => Math.imul(x ^ (x >>> shift), factor);
  const uniform = (at) => {
    const x = mixed(mixed(start + at, 16, 0x21f0aaad), 15, 0x735a2d97);
    return (((x ^ (x >>> 15)) >>> 0) + 0.5) / 2 ** 32;
  };
  return found.map((_, j) => Math.sqrt(-2 * Math.log(uniform(2 * j))) * Math.cos(2 * Math.PI * uniform(2 * j + 1)));
}

/** The last draw is kept: all settings but the seed share it. */
const draw = {};
function drawn(seed) {
  if (draw.seed !== seed) Object.assign(draw, { seed, vectors: normal(seed, (ROWS + KEYS) * MOST) });
  return (at, d) => draw.vectors.subarray(at * MOST, at * MOST + d);
}

const mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;

function compute(_, { d, scale, seed }) {
  const vector = drawn(seed), by = d ** -POWERS[scale], keys = Array.from({ length: KEYS }, (_, j) => vector(ROWS + j, d));
  const scores = Array.from({ length: ROWS }, (_, i) => keys.map((key) => by * dot(vector(i, d), key)));
  const weights = scores.map(softmax), products = keys.map((a) => keys.map((b) => dot(a, b)));
  // Row j of J K is weight j times what key j has beyond the average key.
  const jolts = weights.map((row) => {
    const average = products.map((line) => dot(row, line)), square = dot(row, average);
    return by * Math.sqrt(row.reduce((sum, w, j) => sum + w * w * (products[j][j] - 2 * average[j] + square), 0));
  });
  const all = scores.flat(), middle = mean(all);
  return { scores, weights, jolts, spread: Math.sqrt(mean(all.map((v) => (v - middle) ** 2))),
    peaked: mean(weights.map((row) => Number(Math.max(...row) > 0.9))) };
}

// ---- The page.

// A line is a query, in both pictures. Its gradient is drawn by its root, on one axis for every setting: one of 16 fills it.
const STEEPEST = 16, WIDE = 340, TALL = 18, BAR = 200, FROM = 226, FREE = 102, END = SHOWN * TALL, HIGH = END + 36;
// Scores lie right of the queries' numbers, with room for the number of the best key after the last.
const LEFT = 20, MIDDLE = (LEFT + WIDE) / 2, REACH = Math.asinh(120);
const across = (score) => MIDDLE + Math.asinh(score) / REACH * (WIDE - MIDDLE - 14);
const along = (gradient) => FREE * Math.sqrt(Math.min(gradient / STEEPEST, 1));

const picture = (name, ...heads) => `<div><p class="machine-head d-heads"><span>${heads.join("</span><span>")}</span></p>
<svg class="d-${name}" viewBox="0 0 ${WIDE} ${HIGH}"></svg></div>`;
const stage = `<div class="d-panels" aria-hidden="true">${picture("scores", "ten scores each, best in bold")}
${picture("rows", "weights, a shade a key", "gradient")}</div>`;

const controls = () => [
  slider("Features d", "d", { values: SIZES, text: whole }),
  ...Object.entries(NAMES).map(([scale, name]) => button(`÷ ${name}`, () => ({ scale }), (s) => s.scale === scale)),
  button("Draw again", ({ seed }) => ({ seed: (seed + 1) % SEEDS })),
];

const fits = { scale: (v) => Object.keys(NAMES).includes(v), seed: (v) => Number.isInteger(v) && v >= 0 && v < SEEDS };

const median = (list) => [...list].sort((a, b) => a - b)[ROWS / 2];
const percent = (share) => `${Math.round(100 * share)}%`;

function show({ scores, weights, jolts, spread, peaked }, { page }) {
  const shades = heat(page.root), place = { text_anchor: "middle" };
  const shown = (draw) => (row, i) => draw(row, i * TALL, i), axis = (x, v) => text("", x, END + 16, fixed(v, 0), place);
  const numbers = (x, where) => weights.slice(0, SHOWN).map((_, i) => text("d-row", x, i * TALL + 13, whole(i + 1), where));
  say(page.big, `The best key typically takes ${percent(median(weights.map((row) => Math.max(...row))))}`);
  say(page.say, `In ${percent(peaked)} of the queries one key has over 0.9; ` +
    `gradient: median ${significant(median(jolts))}, largest ${significant(Math.max(...jolts))}.`);
  const [low, high] = [-spread, spread].map(across), best = weights.map(largest);
  page.scores.replaceChildren(rect("d-band", low, 0, high - low, END),
    ...scores.slice(0, SHOWN).flatMap(shown((row, y, i) => [...row.map((score, j) => rule(`d-tick${j === best[i] ? " d-top" : ""}`,
      across(score), y + 2, across(score), y + TALL - 4)), text("d-best", across(row[best[i]]) + 4, y + 13, whole(best[i] + 1))])),
    ...numbers(0, {}), rule("d-axis", LEFT, END, WIDE, END), ...[-100, -10, -1, 0, 1, 10, 100].map((v) => axis(across(v), v)),
    text("d-name", LEFT, HIGH - 3, `band: typical score ± ${significant(spread)}`),
    text("d-row", WIDE, HIGH - 3, "log axis beyond 1", { text_anchor: "end" }));
  page.rows.replaceChildren(...weights.slice(0, SHOWN).flatMap(shown((row, y, i) => {
    let left = 0, number;
    const bars = row.map((weight, j) => {
      const part = rect("d-key", left, y + 1, BAR * weight, TALL - 4, { fill: shades((j + 1) / KEYS).background });
      if (j === best[i]) number = text("d-best", left + BAR * weight / 2, y + 13, whole(j + 1),
        { ...place, style: `fill:${shades((j + 1) / KEYS).color}` });
      left += BAR * weight;
      return part;
    });
    return [...bars, number, rect("d-jolt", FROM, y + 4, Math.max(along(jolts[i]), 0.5), TALL - 10)];
  })), rule("d-axis", 0, END, BAR, END), rule("d-axis", FROM, END, FROM + FREE, END),
  ...numbers((BAR + FROM) / 2, place), ...[0, 1].map((v) => axis(4 + v * (BAR - 8), v)), ...[0, 1, 4, STEEPEST].map((v) => axis(FROM + along(v), v)),
    text("d-row", FROM + FREE, HIGH - 3, "square-root axis", { text_anchor: "end" }));
}

export default machine({ name: "d", label: "The number of features", data: [], settings: ["d", "scale", "seed"],
  stage, controls, fits, compute, show, tell: ({ spread }) => ` Scores ± ${significant(spread)}.` });
