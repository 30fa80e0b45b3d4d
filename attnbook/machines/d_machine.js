// Random queries and keys of d features, and what becomes of scores, weights and gradient; the kit and
// layers.js stand before it.

const ROWS = 200, KEYS = 10, MOST = 1024, SHOWN = 20, SEEDS = 1000;
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
  const all = scores.flat(), middle = mean(all), squares = jolts.map((v) => v * v).sort((a, b) => b - a);
  return { scores, weights, jolts, spread: Math.sqrt(mean(all.map((v) => (v - middle) ** 2))),
    peaked: mean(weights.map((row) => Number(Math.max(...row) > 0.9))),
    tenth: mean(squares.slice(0, ROWS / 10)) / mean(squares) / 10 };
}

// ---- The page.

// A row's gradient is drawn by its root, on one axis for every setting: one of 16 fills it.
const STEEPEST = 16, WIDE = 340, TALL = 15, REACH = Math.asinh(120), BAR = 214, FREE = WIDE - BAR - 12;
const across = (score) => WIDE / 2 + Math.asinh(score) / REACH * (WIDE / 2 - 8);

const stage = `<div class="d-panels" aria-hidden="true"><div><p class="machine-head">scores, on a scale that squeezes large numbers</p>
<svg class="d-scores" viewBox="0 0 ${WIDE} 92"></svg></div><div><p class="machine-head">${SHOWN} rows: weights, a shade for each key, and gradient</p>
<svg class="d-rows" viewBox="0 0 ${WIDE} ${SHOWN * TALL + 22}"></svg></div></div>`;

const controls = () => [
  slider("Features d", "d", { values: SIZES, text: whole }),
  ...Object.entries(NAMES).map(([scale, name]) => button(`÷ ${name}`, () => ({ scale }), (s) => s.scale === scale)),
  button("Draw again", ({ seed }) => ({ seed: (seed + 1) % SEEDS })),
];

const fits = { scale: (v) => Object.keys(NAMES).includes(v), seed: (v) => Number.isInteger(v) && v >= 0 && v < SEEDS };

const percent = (share) => `${Math.round(100 * share)}%`;

function show({ d, scale, scores, weights, jolts, spread, peaked, tenth }, { page }) {
  const shades = heat(page.root), place = { text_anchor: "middle" };
  say(page.big, `One key has more than 0.9 in ${percent(peaked)} of ${ROWS} rows`);
  say(page.say, `d = ${whole(d)}, divided by ${NAMES[scale]}: scores spread by ${significant(spread)}. ` +
    `A tenth of the rows, the steepest, holds ${percent(tenth)} of the gradient; the median row has ` +
    `${significant([...jolts].sort((a, b) => a - b)[ROWS / 2])}.`);
  const [low, high] = [-spread, spread].map(across);
  page.scores.replaceChildren(...scores.slice(0, SHOWN).flat().map((score) => rule("d-tick", across(score), 34, across(score), 60)),
    rule("d-axis", 0, 66, WIDE, 66), ...[-100, -10, -1, 0, 1, 10, 100].map((v) => text("", across(v), 84, fixed(v, 0), place)),
    svg("path", { class: "d-spread", d: `M${low} 28v-7H${high}v7` }), text("d-name", WIDE / 2, 13, `± ${significant(spread)}`, place));
  page.rows.replaceChildren(...weights.slice(0, SHOWN).flatMap((row, i) => {
    let left = 0;
    const bars = row.map((weight, j) => {
      const part = rect("d-key", left, i * TALL, BAR * weight, TALL - 3, { fill: shades((j + 1) / KEYS).background });
      left += BAR * weight;
      return part;
    });
    return [...bars, rect("d-jolt", BAR + 8, i * TALL + 3, Math.max(FREE * Math.sqrt(Math.min(jolts[i] / STEEPEST, 1)), 0.5), TALL - 9)];
  }), text("", 0, SHOWN * TALL + 14, "weight 0 to 1"), text("", WIDE, SHOWN * TALL + 14, `gradient 0 to ${STEEPEST}, by its root`, { text_anchor: "end" }));
}

export default machine({ name: "d", label: "The number of features", data: [], settings: ["d", "scale", "seed"],
  stage, controls, fits, compute, show });
