// A strip for each released model, and what one of them costs; the kit stands before it. Null is unknown.

const WIDE = 340, ROW = 19, NAME = 133, SLOT = 1.52, TALL = 14, END = { text_anchor: "end" };
const KINDS = [["full", "all tokens", 0], ["window", "the last ones", 74], ["latent", "latent", 162], ["chosen", "chosen", 218], ["state", "state", 280]];

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

function compute({ models, chips }, { model: id, chip: place, context, readers, weight_bits: heavy, cache_bits: light }) {
  const by = (list, one) => list.find((it) => it.id === one), model = by(models, id), { memory: room, bandwidth, compute: power } = by(chips, place);
  const { parameters, active, experts } = model, share = experts ? model.chosen / experts : 1, [kept, read, done, grown] = ofLayers(model, context);
  const cache = kept * light / 8, weights = 1e9 * parameters * heavy / 8;
  // An expert is read if any reader calls it.
  const used = share < 1 ? parameters - (parameters - active) * (1 - share) ** (readers - 1) : parameters;
  const count = Math.ceil((weights + readers * cache) / (1e9 * room)), speed = count * 1e12 * bandwidth;
  const load = 1e9 * used * heavy / 8 / speed, fetch = readers * read * light / 8 / speed;
  const work = readers * (2e9 * active + done) / (count * 1e12 * power), bound = load + fetch >= work ? "memory" : "compute";
  const all = { token: grown * light / 8, cache, weights, chips: count, load, fetch, compute: work, step: Math.max(load + fetch, work || 0) };
  for (const name in all) all[name] = known(all[name]);
  return { ...all, bound: all.compute === null ? null : bound, caches: models.map((one) => known(ofLayers(one, context)[0] * light / 8)) };
}

// ---- The page.

const stage = ({ models }) => `<div class="kept-whole"><div><p class="machine-head">one reader's cache: press a model</p>
<svg class="kept-strips" viewBox="0 0 ${WIDE} ${models.length * ROW + 30}" aria-hidden="true"></svg></div>
<div aria-hidden="true"><p class="kept-filled machine-head"></p><svg class="kept-memory" viewBox="0 0 ${WIDE} 62"></svg>
<p class="kept-when machine-head"></p><svg class="kept-step" viewBox="0 0 ${WIDE} 96"></svg></div></div>`;

const named = (list) => list.map(({ id, name, date }) => [id, date ? `${name} (${date})` : name]);
const controls = ({ models, chips, choices: { contexts, readers, bits } }) => [
  chooser("Model", "model", named(models)), chooser("Chip", "chip", named(chips)),
  slider("Tokens", "context", { values: contexts, text: whole }), slider("Readers", "readers", { values: readers, text: whole }),
  ...["weight", "cache"].map((part) => chooser(`Bits, ${part}s`, `${part}_bits`, bits.map((v) => [v, String(v)]))),
];

/** A number in the first unit, of thousands, that leaves three digits. */
function size(v, units = ["bytes", "kB", "MB", "GB", "TB"]) {
  if (v === null) return "unknown";
  const at = clamp(Math.floor(Math.log10(v || 1) / 3 + 1e-9), 0, units.length - 1);
  return `${significant(v / 1000 ** at, 3)} ${units[at]}`;
}
const ms = (v) => (v === null ? "unknown" : `${significant(1000 * v, 3)} ms`);

function show(now, { page, data: { models, chips: known } }) {
  const { context, readers, token, cache, weights, chips, load, fetch, compute: work, step, bound, caches } = now;
  const model = models.find(({ id }) => id === now.model), chip = known.find(({ id }) => id === now.chip);
  const most = load >= fetch ? "weights" : "caches", more = readers * cache > weights ? "more" : "less";
  say(page.big, `${model.name}: ${cache === null ? "unknown" : size(cache)} for one reader`);
  say(page.say, (context > model.context ? `More than the ${whole(model.context)} tokens that its publisher names. ` : "") + (chips === null
    ? `A number that its cache needs is not published. Its weights: ${size(weights)}.`
    : `${size(token)} for each further token. The caches take ${more} than the weights. A step takes ${ms(step)} or longer, bound by ` +
      `${bound === "compute" ? bound : `memory bandwidth, most of it for the ${most}`}` +
      `${bound ? "" : ", if not by its arithmetic, which is unknown"}: at most ${significant(1 / step)} tokens a second for each reader` +
      `${readers > 1 ? `, ${significant(readers / step)} for all` : ""}.`));
  page.strips.replaceChildren(...models.flatMap((one, at) => strip(one, caches[at], at, context, one === model)), ...legend(models.length * ROW + 18));
  say(page.filled, `memory of ${chips === null ? "unknown" : whole(chips)} × ${chip.name}`);
  say(page.when, "a step, which writes a token for each reader");
  page.memory.replaceChildren(...(chips === null ? [] : memory(chips, chip, weights, readers * cache)));
  page.step.replaceChildren(...(step === null ? [] : clock(step, [load, fetch, work], bound)));
}

/** A row: name, layers from left to right, bytes. */
function strip({ name, date, layers }, cache, at, context, here) {
  const y = at * ROW, low = y + TALL + 2;
  const parts = layers.map((layer) => {
    const { kind, numbers, places } = layer, [far, near] = entries(layer, context), fixed = kind === "state";
    const long = fixed ? 0.22 : (far + near || context) / context, high = Math.max(long * TALL, 1.6).toFixed(2);
    const wide = fixed ? SLOT : Math.min(0.35 + Math.sqrt(numbers) / 66, SLOT), left = NAME + (SLOT - wide) / 2;
    return svg("path", { class: `kept-${near >= 0 ? kind : "unknown"}`,
      d: places.map((place) => `M${(left + place * SLOT).toFixed(2)} ${low}v-${high}h${wide.toFixed(2)}V${low}z`).join("") });
  });
  if (!layers.length) parts.push(text("kept-none", NAME, low - 3, "unknown"));
  return [rect(here ? "kept-here" : "kept-row", 0, y, WIDE, ROW), text("kept-date", 2, low - 2, date.slice(0, 4)),
    text(here ? "kept-chosen-name" : "kept-name", 32, low - 2, name), ...parts,
    text("kept-name", WIDE - 2, low - 2, cache === null ? "unknown" : size(cache), END)];
}

const legend = (y) => KINDS.flatMap(([kind, name, x]) => [rect(`kept-${kind}`, x, y - 8, 9, 9), text("kept-name", x + 13, y, name)]);

function memory(chips, { memory: each }, weights, caches) {
  const room = 1e9 * each * chips, x = (v) => v / room * WIDE;
  return [rect("kept-room", 0, 18, WIDE, 26), rect("kept-weights", 0, 18, x(weights), 26), rect("kept-caches", x(weights), 18, Math.max(x(caches), 1), 26),
    ...Array.from({ length: chips < 49 ? chips - 1 : 0 }, (_, at) => rect("kept-edge", (at + 1) / chips * WIDE, 14, 1, 34)),
    text("", 0, 12, `weights ${size(weights)}`), text("kept-caches-name", WIDE, 12, `caches ${size(caches)}`, END),
    text("kept-name", WIDE, 60, `of ${size(room)}`, END)];
}

/** Two bars on one axis: what is read, and what is done meanwhile. */
function clock(step, [load, fetch, work], bound) {
  const x = (v) => (v || 0) / step * (WIDE - 2), held = bound === "compute" ? 66 : 18;
  return [rect("kept-weights", 0, 18, x(load), 16), rect("kept-caches", x(load), 18, Math.max(x(fetch), 1), 16),
    rect("kept-work", 0, 66, Math.max(x(work), 1), 16), rect("kept-bound", 0, held, WIDE - 2, 16),
    text("", 0, 12, `read weights ${ms(load)}`), text("kept-caches-name", WIDE, 12, `read caches ${ms(fetch)}`, END),
    text("", 0, 60, `compute meanwhile ${ms(work)}`), text("kept-name", WIDE, 94, `${ms(step)} in all`, END)];
}

function build({ on, page: { strips }, data: { models }, take }) {
  on(strips, "click", ({ clientY }) => {
    const { top, width } = strips.getBoundingClientRect(), found = models[Math.floor((clientY - top) / width * WIDE / ROW)];
    if (found) take({ model: found.id });
  });
}

export default machine({ name: "kept", label: "What a model keeps", data: ["models", "chips", "choices"],
  settings: ["model", "chip", "context", "readers", "weight_bits", "cache_bits"], stage, controls, build, compute, show });
