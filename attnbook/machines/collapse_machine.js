// Queries and keys that grow, and what becomes of rows, entropy and gradient; the kit and layers.js stand
// before it.

const REMEDIES = { none: "As they are", norm: "QK-norm", cap: "Soft cap at 5" }, CAP = 5, MOST = 0.5;

// ---- What is computed.

/** A vector of the length that its number of features has the root of. */
const unit = (v) => { const root = Math.sqrt(dot(v, v) / v.length); return v.map((one) => one / root); };

function compute({ query_vectors: queries, key_vectors: keys }, { size, remedy, sink }) {
  const sized = ([...list]) => list.map((v) => { const grown = v.map((one) => one * size); return remedy === "norm" ? unit(grown) : grown; });
  const [asked, found] = [queries, keys].map(sized), by = Math.sqrt(queries[0].length);
  const raw = asked.map((q) => found.map((k) => dot(q, k) / by));
  const scores = raw.map((row) => [...(sink ? [0] : []), ...row.map((s) => (remedy === "cap" ? CAP * Math.tanh(s / CAP) : s))]);
  const weights = scores.map(softmax);
  const effective = weights.map((row) => Math.exp(-sumOf(row.map((w) => (w > 0 ? w * Math.log(w) : 0)))));
  // What passes back through the softmax, and through the cap: the length of all derivatives of a row.
  const gradients = weights.map((row, i) => Math.sqrt(sumOf(row.map((w, a) => sumOf(row.map((v, b) => {
    const j = b - sink, bent = remedy === "cap" && j >= 0 ? 1 - Math.tanh(raw[i][j] / CAP) ** 2 : 1;
    return (((a === b) - v) * w * bent) ** 2; }))))));
  const mean = (list) => sumOf(list) / list.length;
  return { scores, weights, effective, gradients, reach: Math.max(...raw.flat().map(Math.abs)), keys: mean(effective),
    gradient: mean(gradients), onehot: weights.filter((row) => Math.max(...row) > 0.99).length };
}

// ---- The page.

const stage = '<svg class="collapse-map" aria-hidden="true"></svg>';

const controls = () => [
  slider("Size", "size", { min: 0.5, max: 8, step: 0.5, text: (v) => `× ${v}` }),
  toggle("A sink: one more key, score 0", "sink"),
  ...Object.entries(REMEDIES).map(([remedy, name]) => button(name, () => ({ remedy }), (s) => s.remedy === remedy)),
];

const fits = { remedy: (v) => Object.keys(REMEDIES).includes(v), size: (v) => v >= 0.5 && v <= 8 && Number.isInteger(2 * v) };

function show({ size, remedy, sink, weights, effective, gradients, reach, keys, gradient, onehot }, { page, data: { words } }) {
  const shades = heat(page.root), n = words.length, cell = 32, left = 56, end = { text_anchor: "end" }, middle = { text_anchor: "middle" };
  const names = [...(sink ? ["sink"] : []), ...words], x = left + cell * (n + 1) + 8;
  const score = { none: "Scores are", norm: "Scores after QK-norm are", cap: "Scores before the cap are" }[remedy] + ` within ±${fixed(reach, 1)}`;
  say(page.big, `${fixed(keys, 1)} of ${names.length} keys in use, ${onehot} of ${n} rows one-hot`);
  say(page.say, `${score}. On average a gradient bar is ${significant(gradient / MOST * 100)}% full.`);
  page.map.setAttribute("viewBox", `0 0 ${x + 130} ${cell * n + 20}`);
  page.map.replaceChildren(text("collapse-weight", left - 8, 12, "looks at", end), ...names.map((name, j) => text("collapse-weight", left + cell * (j + 0.5) - 1, 12, name, middle)),
    text("collapse-weight", x, 12, "keys in use"), text("collapse-weight", x + 70, 12, "gradient"),
    ...weights.flatMap((row, i) => {
      const y = 20 + cell * i;
      return [text("", left - 8, y + 22, words[i], end), ...row.flatMap((w, j) => {
        const { background, color } = shades(w), at = left + cell * j;
        return [rect("collapse-cell", at, y, cell - 2, cell - 2, { fill: background }), text("collapse-number", at + cell / 2 - 1, y + 21, fixed(w, 2).replace(/^0/, ""), { ...middle, style: `fill:${color}` })];
      }), text("collapse-number", x, y + 21, fixed(effective[i], 1)), rect("collapse-all", x + 25, y + 8, 37, 16), rect("collapse-keys", x + 25, y + 8, 37 * effective[i] / names.length, 16),
      rect("collapse-all", x + 70, y + 8, 60, 16), rect("collapse-gradient", x + 70, y + 8, 60 * Math.min(gradients[i] / MOST, 1), 16)];
    }));
}

export default machine({ name: "collapse", label: "Scores that grow", data: ["query_vectors", "key_vectors", "words"], settings: ["size", "remedy", "sink"],
  stage, controls, fits, compute, show });
