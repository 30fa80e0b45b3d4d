// A strip for each released model, and what one of them costs; the kit stands before it. Null is unknown.

const WIDE = 340, TOP = 18, ROW = 19, NAME = 118, SLOT = 1.37, TALL = 14, LINE = 253, LONG = 46, BOX = 150, END = { text_anchor: "end" };
const KINDS = [["full", 0], ["window", 56], ["latent", 132], ["chosen", 198], ["state", 270]], LETTERS = 300, BYTES = 2;
/** Numbers for a token that fill the height of the box: those of Llama 2 7B. */
const THICK = 262144;

// ---- What is computed, as attnbook/releases.py has it.

const known = (v) => (Number.isNaN(v) ? null : v);

/** Entries of one reader for the whole text, and for its last tokens. */
const entries = ({ stride, window }, context) => [stride && context / stride, Math.min(context, window)];

/** Numbers that the layers keep, numbers that a step reads, its operations, and numbers for a further token. */
function ofLayers({ layers }, context) {
  const sums = Array(4).fill(layers.length ? 0 : NaN);
  for (const layer of layers) {
    const { kind, numbers, stride, top, index, work, indexing, places } = layer, [far, near] = entries(layer, context);
    const seen = Math.min(far, top || far) + near;
    [numbers * (far + near) + index * far, numbers * seen * (kind === "state" ? 2 : 1) + index * far, work * seen + indexing * far,
      (stride ? (numbers + index) / stride : 0) + 0 * near].forEach((v, which) => { sums[which] += v * places.length; });
  }
  return sums;
}

/** The model that words describe, such as `layers=32 kv_heads=8`; what is missing, or zero, is unknown. */
function own(words) {
  const found = Object.fromEntries([...words.toLowerCase().matchAll(/([a-z_]+) ?[=:] ?([0-9]+(?:[.][0-9]+)?)/g)]
    .map(([, name, v]) => [name, Math.min(Number(v), 1e9)])), said = (name) => found[name] || undefined;
  const count = Math.trunc(Math.min(said("layers") ?? 0, 512)), full = Math.trunc(Math.min(found.full ?? count, count));
  const numbers = said("latent") ?? 2 * said("kv_heads") * said("head_dim"), state = said("state"), places = [[], []];
  for (let at = 0; at < count; at += 1) {
    places[Number(Math.floor((at + 1) * full / count) === Math.floor(at * full / count))].push(at);
  }
  const whole = { kind: said("latent") ? "latent" : "full", numbers, stride: 1, window: 0 };
  const rest = state ? { kind: "state", numbers: state, stride: 0, window: 1 } : { kind: "window", numbers, stride: 0, window: said("window") };
  return { id: "own", name: "Your model", date: "", parameters: said("billions"), active: said("billions"),
    layers: [whole, rest].map((layer, at) => ({ ...layer, top: 0, index: 0, indexing: 0, places: places[at] })).filter(({ places: all }) => all.length) };
}

/** The words for a config.json of Hugging Face; other text stays as it is. */
function wordsOf(text) {
  let all;
  try { all = JSON.parse(text); } catch { return text.slice(0, LETTERS); }
  const c = all?.text_config ?? all, layers = c?.num_hidden_layers, kinds = c?.layer_types ?? [];
  if (!layers) return text.slice(0, LETTERS);
  const of = (...names) => kinds.filter((kind) => names.some((name) => String(kind).includes(name))).length;
  const linear = of("linear", "mamba"), near = of("sliding", "chunked"), every = c.full_attention_interval ?? c.sliding_window_pattern;
  const windowed = c.sliding_window && c.use_sliding_window !== false;
  const full = kinds.length ? layers - linear - near : every ? Math.floor(layers / every) : windowed ? 0 : layers;
  const state = c.linear_num_value_heads * c.linear_key_head_dim * c.linear_value_head_dim;
  const shape = c.kv_lora_rank ? { latent: c.kv_lora_rank + (c.qk_rope_head_dim ?? 0) }
    : { kv_heads: c.num_key_value_heads ?? c.num_attention_heads, head_dim: c.head_dim ?? c.hidden_size / c.num_attention_heads };
  const said = { layers, full, ...(full < layers && (state ? { state } : { window: c.sliding_window ?? c.attention_chunk_size })), ...shape };
  return Object.entries(said).filter(([, v]) => Number.isFinite(v)).map(([name, v]) => `${name}=${v}`).join(" ");
}

const bitsOf = ({ bits }, heavy) => heavy || bits || 16;

/** The most tokens of which one reader's cache fits into so many bytes. */
function longest(model, room) {
  let low = 0, high = 2 ** 30;
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2);
    if (BYTES * ofLayers(model, middle)[0] <= room) low = middle; else high = middle - 1;
  }
  return low;
}

function compute({ models, chips }, { model: id, own: words, chip: place, context, readers, weight_bits: asked }) {
  const by = (list, one) => list.find((it) => it.id === one), rows = [...models, own(words)], model = by(rows, id);
  const { memory: size, bandwidth, compute: power } = by(chips, place), heavy = bitsOf(model, asked);
  const { parameters, active, experts } = model, share = experts ? model.chosen / experts : 1, [kept, read, done, grown] = ofLayers(model, context);
  const cache = BYTES * kept, weights = 1e9 * parameters * heavy / 8;
  // An expert is read if any reader calls it.
  const used = share < 1 ? parameters - (parameters - active) * (1 - share) ** (readers - 1) : parameters;
  const count = Math.ceil((weights + readers * cache) / (1e9 * size)), room = 1e9 * size - weights, speed = count * 1e12 * bandwidth;
  const load = 1e9 * used * heavy / 8 / speed, fetch = readers * BYTES * read / speed;
  const work = readers * (2e9 * active + done) / (count * 1e12 * power), bound = load + fetch >= work ? "memory" : "compute";
  const all = { token: BYTES * grown, cache, weights, chips: count, load, fetch, compute: work, step: Math.max(load + fetch, work || 0) };
  for (const name in all) all[name] = known(all[name]);
  const alone = all.chips === null ? { longest: null, most: null }
    : { longest: longest(model, room), most: Math.max(Math.floor(room / cache), 0) };
  return { ...all, ...alone, bound: all.compute === null ? null : bound, caches: rows.map((one) => known(BYTES * ofLayers(one, context)[0])) };
}

// ---- The page.

const stage = ({ models }) => `<div class="kept-whole"><div>
<svg class="kept-strips" viewBox="0 0 ${WIDE} ${TOP + (models.length + 1) * ROW + 26}" aria-hidden="true"></svg></div>
<div aria-hidden="true"><p class="kept-filled machine-head"></p><svg class="kept-memory" viewBox="0 0 ${WIDE} 62"></svg>
<p class="kept-when machine-head"></p><svg class="kept-step" viewBox="0 0 ${WIDE} 84"></svg>
<p class="kept-drawn machine-head"></p><svg class="kept-box" viewBox="0 0 ${WIDE} ${BOX + 22}"></svg></div></div>`;

/** A line of words for a model, into which a configuration may be pasted. */
function ownField() {
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: false });
  const made = control("Your model", input, "own", { show: (s) => { if (input.value !== s.own) input.value = s.own; },
    fits: (v) => typeof v === "string" && v.length <= LETTERS });
  made.element.classList.add("kept-own");
  return { ...made, read: () => ({ own: wordsOf(input.value), model: "own" }) };
}

const named = (list) => list.map(({ id, name }) => [id, name]);
const controls = ({ models, chips, choices: { contexts, readers, bits } }) => [
  chooser("Model", "model", [...named(models), ["own", "Your model"]]), chooser("Card", "chip", named(chips)),
  slider("Tokens", "context", { values: contexts, text: whole }), slider("Readers", "readers", { values: readers, text: whole }),
  chooser("Weights", "weight_bits", [[0, "as published"], ...bits.map((v) => [v, `${v} bits`])]), ownField(),
];

const inGB = (v) => significant(v / 1e9, 3);
const gb = (v) => (v === null ? "unknown" : `${inGB(v)} GB`);
const ms = (v) => (v === null ? "unknown" : `${significant(1000 * v, 3)} ms`);

function show(now, { page, data: { models, chips: known } }) {
  const { context, readers, token, cache, weights, chips, step, caches } = now;
  const rows = [...models, own(now.own)], model = rows.find(({ id }) => id === now.model), chip = known.find(({ id }) => id === now.chip);
  const mine = model.id === "own", bits = significant(bitsOf(model, now.weight_bits)), drawn = cache !== null, count = model.layers.reduce((sum, { places }) => sum + places.length, 0);
  say(page.big, `${model.name}: ${gb(cache)} for one reader`);
  say(page.say, (context > model.context ? `Longer than the ${whole(model.context)} tokens its publisher supports. ` : "") + (chips === null
    ? mine ? `${drawn ? "billions gives its weights" : "layers, kv_heads and head_dim give its cache, with a window where not all layers are full"}: say them in its line.`
    : `A number that its cache needs is not published. Its weights: ${gb(weights)}.`
    : `Each further token adds ${token ? `${significant(token / 1000, 3)} kB` : "nothing"}. ${alone(now, chip)} A step takes at least ${ms(step)}, ${why(now)}.`));
  page.strips.replaceChildren(text("kept-head", 2, 10, "press a model"), text("kept-name", NAME, 10, "tall layer: all tokens"), text("kept-name", WIDE - 2, 10, "cache, GB", END),
    ...rows.flatMap((one, at) => strip(one, Math.max(...caches), caches[at], at, context, one === model)), ...legend(TOP + rows.length * ROW + 16));
  say(page.filled, chips === null ? "Not known: nothing to draw." : `memory of ${whole(chips)} × ${chip.name}`);
  say(page.when, chips === null ? "" : `a step: at most ${significant(1 / step)} tokens/s${readers > 1 ? " each" : ""}`);
  say(page.drawn, drawn ? `its ${whole(count)} layers: area is memory` : "");
  page.box.replaceChildren(...(drawn ? box(model, context) : []));
  page.memory.replaceChildren(...(chips === null ? [] : memory(now, chip, model, bits)));
  page.step.replaceChildren(...(step === null ? [] : clock(now, model)));
}

/** What takes the time of a step. */
function why({ bound, load, fetch }) {
  if (bound === "compute") return "limited by its arithmetic";
  return `mostly to read ${load >= fetch ? "weights" : "caches"}${bound ? "" : " (its arithmetic is unknown)"}`;
}

/** What one card holds by itself. */
function alone({ longest: far, most, context }, { name }) {
  if (!far) return `One ${name} does not hold it.`;
  const one = far < 2 ** 30 ? `a reader of ${whole(far)} tokens` : "a reader of any length";
  return `One ${name} holds ${one}, ${most ? `or ${whole(most)}` : "and none"} of ${whole(context)}.`;
}

/** The layers of one reader, the first on top: as wide as the tokens, as thick as the numbers for each. */
function box({ layers }, context) {
  const thick = Math.max(...layers.map(({ kind, numbers }) => (kind === "state" ? 0 : numbers)));
  const drawn = layers.flatMap((layer) => {
    const { kind, numbers, index, places } = layer, [far, near] = entries(layer, context), kept = numbers * (far + near) + index * far;
    const tall = kind === "state" ? Math.max(thick, kept / context) : kept / (far + near);
    return places.map((place) => ({ kind, place, tall, wide: kept / tall / context * WIDE }));
  }).sort((a, b) => a.place - b.place);
  const unit = BOX / Math.max(THICK, drawn.reduce((sum, { tall }) => sum + tall, 0)), paths = {};
  let y = 1;
  for (const { kind, tall, wide } of drawn) {
    paths[kind] = `${paths[kind] ?? ""}M0 ${y.toFixed(2)}h${wide.toFixed(2)}v${(tall * unit).toFixed(3)}H0z`;
    y += tall * unit;
  }
  return [rect("kept-room", 0, 1, WIDE, y - 1), ...Object.entries(paths).map(([kind, d]) => svg("path", { class: `kept-${kind}`, d })),
    text("kept-name", WIDE, y + 14, `${whole(context)} tokens across`, END)];
}

/** Of each kind of layer its share of what a model keeps (0), or of what a step reads (1), side by side in so much room. */
function shares({ layers }, context, which, x, y, wide, high) {
  const all = layers.map((layer) => ofLayers({ layers: [layer] }, context)[which]), sum = all.reduce((a, b) => a + b, 0);
  let left = x;
  return layers.map(({ kind }, at) => {
    const long = all[at] / sum * wide || 0;
    left += long;
    return rect(`kept-${kind}`, left - long, y, long, high);
  });
}

/** A row: name, layers from left to right, bytes. */
function strip(model, most, cache, at, context, here) {
  const { name, date, layers } = model, y = TOP + at * ROW, low = y + TALL + 2;
  const parts = layers.map((layer) => {
    const { kind, numbers, places } = layer, [far, near] = entries(layer, context), fixed = kind === "state";
    const long = fixed ? 0.22 : (far + near || context) / context, high = Math.max(long * TALL, 1.6).toFixed(2);
    return svg("path", { class: `kept-${near >= 0 ? kind : "unknown"}`,
      d: places.filter((place) => place < 98).map((place) => `M${(NAME + place * SLOT).toFixed(2)} ${low}v-${high}h${SLOT}V${low}z`).join("") });
  });
  if (!layers.length) parts.push(text("kept-none", NAME, low - 3, "unknown"));
  return [rect(here ? "kept-here" : "kept-row", 0, y, WIDE, ROW), text("kept-date", 2, low - 2, date && `’${date.slice(2, 4)}`),
    text(here ? "kept-chosen-name" : "kept-name", 21, low - 2, name), ...parts,
    ...(cache === null ? [] : shares(model, context, 0, LINE, y + 6, Math.max(cache / most * LONG, 0.8), 8)),
    text("kept-name", WIDE - 2, low - 2, cache === null ? "unknown" : inGB(cache), END)];
}

const legend = (y) => KINDS.flatMap(([kind, x]) => [rect(`kept-${kind}`, x, y - 8, 9, 9), text("kept-name", x + 13, y, kind)]);

function memory({ chips, weights, cache, readers, context }, { memory: each }, model, bits) {
  const room = 1e9 * each * chips, x = (v) => v / room * WIDE, caches = readers * cache;
  return [rect("kept-room", 0, 18, WIDE, 26), rect("kept-weights", 0, 18, x(weights), 26), ...shares(model, context, 0, x(weights), 18, Math.max(x(caches), 1), 26),
    ...Array.from({ length: chips < 49 ? chips - 1 : 0 }, (_, at) => rect("kept-edge", (at + 1) / chips * WIDE, 18, 1, 31)),
    text("", 0, 12, `weights ${gb(weights)}, ${bits} bits`), text("kept-caches-name", WIDE, 12, `${readers > 1 ? "caches" : "cache"} ${gb(caches)}`, END),
    text("kept-name", WIDE, 60, `of ${gb(room)}${chips < 49 ? "" : ", too many cards to mark"}`, END)];
}

/** Two bars on one axis: what is read, and what is done meanwhile. */
function clock({ step, load, fetch, compute: work, bound, context }, model) {
  const x = (v) => (v || 0) / step * (WIDE - 2), held = bound === "compute" ? 66 : 18;
  return [rect("kept-weights", 0, 18, x(load), 16), ...shares(model, context, 1, x(load), 18, Math.max(x(fetch), 1), 16),
    rect("kept-work", 0, 66, Math.max(x(work), 1), 16), rect("kept-bound", 0, held, WIDE - 2, 16),
    text("", 0, 12, `read weights ${ms(load)}`), text("kept-caches-name", WIDE, 12, `read caches ${ms(fetch)}`, END),
    text("", 0, 60, `arithmetic meanwhile ${ms(work)}`)];
}

function build({ on, page: { strips }, data: { models }, take }) {
  on(strips, "click", ({ clientY }) => {
    const { top, width } = strips.getBoundingClientRect(), found = [...models, { id: "own" }][Math.floor(((clientY - top) / width * WIDE - TOP) / ROW)];
    if (found) take({ model: found.id });
  });
}

export default machine({ name: "kept", label: "What a model keeps", data: ["models", "chips", "choices"],
  settings: ["model", "own", "chip", "context", "readers", "weight_bits"], stage, controls, build, compute, show });
