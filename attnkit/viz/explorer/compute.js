// What the explorer computes, function by function as compute.py does, with the semantics of
// attnkit.masks and attnkit.masked_softmax; common.js and maps.js stand before it.

/** Sizes, tokens, and raw scores by head or recorded weights by length: nothing here changes. */
function readData(model) {
  const [heads, rows, cols, features] = model.get("shape");
  const kind = model.get("kind"), keys = model.get("key_tokens"), queries = model.get("query_tokens");
  const data = { kind, heads, rows, cols, features, keys, queries: queries || keys, self: !queries,
    names: model.get("head_names"), headLabel: model.get("head_label"), masks: model.get("masks"),
    scale: model.get("scale"), scaleLabel: model.get("scale_label") };
  data.labels = { queries: placed(data.queries), keys: placed(keys) };
  if (kind === "frames") return { ...data, ...readFrames(model, data) };
  const given = kind === "scores" && floats(model.get("scores"));
  const query = floats(model.get("query")), key = floats(model.get("key"));
  const value = floats(model.get("value")), size = rows * cols, made = [];
  data.raw = (head) => made[head] ||= given
    ? given.subarray(head * size, (head + 1) * size)
    : dotProducts(query, key, head, rows, cols, features);
  const part = (all, of, width) => (head, at) =>
    all.subarray((head * of + at) * width, (head * of + at + 1) * width);
  if (!given) Object.assign(data, { query: part(query, rows, features), key: part(key, cols, features) });
  data.valueWidth = value.length / (heads * cols);
  if (value.length) data.value = part(value, cols, data.valueWidth);
  data.lengths = keys.map((_, j) => j + 1);
  return data;
}

function readFrames(model, { heads }) {
  const all = floats(model.get("frames")), tokens = model.get("frame_tokens"), frames = new Map();
  const bits = bytesOf(model.get("frame_masks"));
  let start = 0;
  model.get("frame_shapes").forEach(([length, rows, cols], place) => {
    const size = rows * cols, first = start;
    const recorded = (head) => all.subarray(first + head * size, first + (head + 1) * size);
    const sees = bits.length ? (head, i, j) => {
      const k = first + head * size + i * cols + j;
      return (bits[k >> 3] >> (k & 7) & 1) === 1;
    } : null;
    const own = tokens[place] && { queries: placed(tokens[place][0]), keys: placed(tokens[place][1]) };
    const hides = sees && all.subarray(first, first + heads * size)
      .some((_, k) => !(bits[(first + k) >> 3] >> ((first + k) & 7) & 1));
    frames.set(length, { rows, cols, recorded, sees, hides, names: tokens[place], labels: own });
    start += heads * size;
  });
  return { frames, lengths: [...frames.keys()] };
}

/** Tokens with their places, counted from 1, where a word comes twice or there are many. */
function placed(tokens) {
  const seen = new Map();
  for (const token of tokens) seen.set(token, (seen.get(token) || 0) + 1);
  return tokens.map((token, at) =>
    tokens.length > 20 || seen.get(token) > 1 ? `${token} ${at + 1}` : token);
}

function dotProducts(query, key, head, rows, cols, features) {
  const scores = new Float64Array(rows * cols);
  for (let i = 0; i < rows; i++) {
    const q = (head * rows + i) * features;
    for (let j = 0; j < cols; j++) {
      const k = (head * cols + j) * features;
      let sum = 0;
      for (let e = 0; e < features; e++) sum += query[q + e] * key[k + e];
      scores[i * cols + j] = sum;
    }
  }
  return scores;
}

/** The length shortens keys, and queries too in self-attention. */
function sizeOf(data, s) {
  if (data.frames) return data.frames.get(s.seq_len);
  const rows = data.self ? s.seq_len : data.rows, cols = s.seq_len;
  return { rows, cols, sees: hidesAny(s, cols) && s.stage !== "scores" ? (_, i, j) => isOpen(s, j) : null };
}

function tokensOf(data, s) {
  const { rows, cols, names } = sizeOf(data, s);
  const [queries, keys] = names || [data.queries, data.keys];
  return { queries: queries.slice(0, rows), keys: keys.slice(0, cols) };
}

/** The names of all queries and keys, with their places; those beyond the length are among them. */
const labelsOf = (data, s) => sizeOf(data, s).labels || data.labels;

/** The masks, in the menu's order: the run of keys [from, to) that query i sees; whether queries and
 *  keys may be different words; and the setting that the mask has, its least value and its slider. */
const MASKS = {
  none: { run: (s, i, cols) => [0, cols], crosses: true },
  causal: { run: (s, i) => [0, i + 1] },
  padding: { run: (s, i, cols) => [0, cols - Math.min(s.padding, cols - 1)], crosses: true,
    setting: "padding", least: 0, label: "Padded", most: (cols) => cols - 1,
    text: (n, cols) => `last ${Math.min(n, cols - 1)}` },
  window: { run: (s, i) => [Math.max(0, i + 1 - s.window), i + 1], name: "window (causal)",
    setting: "window", least: 1, label: "Window" },
  prefix: { run: (s, i, cols) => [0, Math.max(Math.min(s.prefix_len, cols), i + 1)], name: "prefix (then causal)",
    setting: "prefix_len", least: 0, label: "Prefix" },
};
const MASK_SETTINGS = Object.entries(MASKS).flatMap(([mask, about]) => about.setting ? { mask, ...about } : []);

const visibleKeys = (s, i, cols) => MASKS[s.mask].run(s, i, cols);
const fitsMask = (data, mask) => data.self || MASKS[mask].crosses;

/** Whether the reader left a key open; hidden ones come on top of every mask. */
const isOpen = ({ hidden }, j) => !hidden?.length || !hidden.includes(j);
const hidesAny = ({ hidden }, cols) => Boolean(hidden?.some((j) => j < cols));

/** The keys of row i that have a colour: before the mask, all of them. */
const drawnKeys = (s, i, cols) => s.stage === "scores" ? [0, cols] : visibleKeys(s, i, cols);

const scaleOf = (data, s) => s.scaled && data.scale ? data.scale : 1;

// exp(-x) for x >= 0 to 1 part in 10^8, three times as fast as Math.exp: a table, and a short series
// for the rest. Beyond 40 nothing is left that a softmax could show.
const POWERS = new Float64Array(40 * 256 + 1).map((_, i) => Math.exp(-i / 256));

function expMinus(x) {
  if (x > 40) return 0;
  const place = x * 256 | 0, rest = x - place / 256;
  return POWERS[place] * (1 - rest + 0.5 * rest * rest);
}

/** Softmax of factor * scores[at + from, at + to) into out, hidden keys left out; returns the
 *  largest weight. A row that sees no key is all zeros, as attnkit.masked_softmax has it. */
function softmaxRow(scores, at, from, to, factor, out, outAt, s) {
  let most = -Infinity, sum = 0, open = 0;
  for (let j = from; j < to; j++) if (isOpen(s, j) && ++open && scores[at + j] > most) most = scores[at + j];
  for (let j = from; j < to; j++) {
    sum += out[outAt + j] = isOpen(s, j) ? expMinus((most - scores[at + j]) * factor) : 0;
  }
  if (!open) return 0;
  const share = 1 / sum;
  for (let j = from; j < to; j++) out[outAt + j] *= share;
  return share;
}

/** One row of a head: raw scores from `at`, their factor, weights, and which keys it sees: `count`
 *  of them, null where that was not recorded. */
function readRow(data, s, [head, i]) {
  const { cols, recorded, sees } = sizeOf(data, s);
  if (recorded) {
    const weights = recorded(head).slice(i * cols, (i + 1) * cols);
    const visible = (j) => !sees || sees(head, i, j);
    return { weights, sees: visible,
      count: sees ? weights.reduce((sum, _, j) => sum + visible(j), 0) : null };
  }
  const raw = data.raw(head), at = i * data.cols, factor = scaleOf(data, s) / s.temperature;
  const [from, to] = visibleKeys(s, i, cols), weights = new Float64Array(cols);
  softmaxRow(raw, at, from, to, factor, weights, 0, s);
  const visible = (j) => j >= from && j < to && isOpen(s, j);
  return { raw, at, factor, weights, sees: visible, count: weights.reduce((n, _, j) => n + visible(j), 0) };
}

/** The keys that a row sees, the strongest first. */
const bestKeys = ({ weights, sees }) =>
  [...weights.keys()].filter(sees).sort((a, b) => weights[b] - weights[a]);

/** What a row takes along: the sum of the values, each times its weight. */
function outputOf(data, head, weights) {
  const out = new Float64Array(data.valueWidth);
  weights.forEach((weight, j) => {
    const value = data.value(head, j);
    if (weight) for (let e = 0; e < out.length; e++) out[e] += weight * value[e];
  });
  return out;
}

const shownHeads = (data, s) => s.head === "all" ? [...data.names.keys()] : [s.head];

/** How to read what a head shows: row i into `out`. Weights are shares of e to the power of the score,
 *  less the row's largest, under every mask and length: a row keeps these until the factor moves. */
function rowsOf(data, s, head) {
  const { cols, recorded } = sizeOf(data, s), factor = scaleOf(data, s) / s.temperature;
  const raw = recorded ? recorded(head) : data.raw(head), width = recorded ? cols : data.cols;
  if (recorded || s.stage !== "weights") return (i, out) => {
    const [from, to] = drawnKeys(s, i, cols);
    for (let j = from; j < to; j++) out[j] = raw[i * width + j] * factor;
  };
  const { powers, factors, peaks } = (data.held ||= [])[head] ||= { powers: new Float32Array(raw.length),
    factors: new Float64Array(data.rows), peaks: new Float64Array(data.rows).fill(-Infinity) };
  const hides = hidesAny(s, cols);
  return (i, out) => {
    const at = i * width, [from, to] = drawnKeys(s, i, cols);
    let sum = 0, peak = peaks[i];
    if (!factors[i]) for (let j = 0; j < width; j++) if (raw[at + j] > peak) peaks[i] = peak = raw[at + j];
    if (factors[i] === factor) for (let j = from; j < to; j++) sum += powers[at + j];
    else for (let j = 0; j < width; j++) {
      const power = powers[at + j] = expMinus((peak - raw[at + j]) * factor);
      if (j >= from && j < to) sum += power;
    }
    factors[i] = factor;
    // Not where words are hidden, no key is seen, or all that are have far smaller scores than another.
    if (hides || !(sum > 1e-8)) softmaxRow(raw, at, from, to, factor, out, 0, s);
    else for (let j = from, share = 1 / sum; j < to; j++) out[j] = powers[at + j] * share;
  };
}

/** The largest magnitude of all that a head shows. */
function largestOf(data, s, head) {
  const { rows, cols } = sizeOf(data, s), read = rowsOf(data, s, head), row = new Float64Array(cols);
  let most = 0;
  for (let i = 0; i < rows; i++) {
    const [from, to] = drawnKeys(s, i, cols);
    read(i, row);
    for (let j = from; j < to; j++) if (Math.abs(row[j]) > most) most = Math.abs(row[j]);
  }
  return most;
}

/** The largest magnitude of the raw scores of these heads: the range of colours of scores, which
 *  stays while scale and temperature move. */
function rawRange(data, heads) {
  data.ranges ||= [];
  return Math.max(...heads.map((head) => data.ranges[head] ??= data.raw(head).reduce((most, v) =>
    Number.isFinite(v) ? Math.max(most, Math.abs(v)) : most, 0)));
}

/** The number at the end of the colours. */
function endOfColours(data, s, heads = shownHeads(data, s)) {
  if (s.stretch) return Math.max(...heads.map((head) => largestOf(data, s, head)));
  return s.stage === "weights" ? 1 : rawRange(data, heads);
}
