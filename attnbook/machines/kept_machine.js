// A strip for each released model, and what one of them costs; the kit stands before it. Null is unknown.

const WIDE = 340, TOP = 18, ROW = 19, NAME = 124, SLOT = 1.35, TALL = 14, LINE = 253, LONG = 46, BOX = 150, END = { text_anchor: "end" };
const KINDS = [["full", 0], ["window", 56], ["latent", 132], ["chosen", 198], ["state", 270]], LETTERS = 800, BYTES = 2;
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

const FIELD = /([a-z_]+) ?[=:] ?([0-9]+(?:[.][0-9]+)?)(?![.,]?[0-9])/g, MOST_LAYERS = 512, MOST = 1e9;
const KNOWN = /^(billions|layers|full|window|state|kv_heads|head_dim|latent|index|top)$/;

/** What in the words for a model is not understood, or not to be had together. */
function unreadOf(words, notes) {
  const text = Object.values(notes).reduce((rest, note) => rest.split(note)[0], words).toLowerCase();
  const pairs = [...text.matchAll(FIELD)].map(([, name, v]) => [name, Number(v)]), found = Object.fromEntries(pairs);
  const [layers, full] = ["layers", "full"].map((name) => Math.trunc(found[name] ?? 0));
  return [...pairs.filter(([name, v]) => !KNOWN.test(name) || v > MOST).map(([name, v]) => `${name}=${v}`),
    // A name whose number is to come is missing, not unread.
    ...text.replace(FIELD, " ").split(/\s+/).map((part) => part.replace(/^[,;]+|[,;]+$/g, "")).filter((word) => word && !(/[=:]$/.test(word) && KNOWN.test(word.slice(0, -1)))),
    ...(layers > MOST_LAYERS ? [`layers=${layers} (more than ${MOST_LAYERS})`] : []), ...(layers && full > layers ? [`full=${full} (of ${layers} layers)`] : []),
    ...[["kv_heads", "latent"], ["head_dim", "latent"], ["window", "state"]].filter((two) => two.every((name) => found[name])).map((two) => two.join(" beside "))];
}

/** The model that words, or a config.json, describe, such as `layers=32 kv_heads=8`; what is missing, or zero, is unknown. */
function own(text, config) {
  const words = wordsOf(text, config), unread = unreadOf(words, config.notes);
  const found = Object.fromEntries([...words.toLowerCase().matchAll(FIELD)].map(([, name, v]) => [name, Math.min(Number(v), MOST) || NaN]));
  const { latent, state, window, index, billions } = found, most = Math.trunc(Math.min(found.layers, MOST_LAYERS)) || 0;
  const full = Math.trunc(found.full ?? ("window" in found || "state" in found ? 0 : most)) || 0, count = full > most ? 0 : most, places = [[], []];
  const blind = unread.length || words.includes("not understood"), numbers = blind ? NaN : latent || 2 * found.kv_heads * found.head_dim;
  for (let at = 0; at < count; at += 1) {
    places[Number(Math.floor((at + 1) * full / count) === Math.floor(at * full / count))].push(at);
  }
  const plain = { numbers, stride: 0, window, top: 0, index: 0, indexing: 0 }, shape = latent || (state && !full) ? [] : ["kv_heads", "head_dim"];
  return { id: "own", name: "Your model", date: "", parameters: billions, active: billions, words, unread,
    missing: ["layers", ...shape, full < most && !state && "window", "billions"].filter((name) => name && !found[name]),
    layers: [{ ...plain, kind: index ? "chosen" : latent ? "latent" : "full", stride: 1, window: 0, index: index || 0, top: found.top || 0 },
      { ...plain, ...(state ? { kind: "state", numbers: blind ? NaN : state, window: 1 } : { kind: "window" }) }]
      .map((layer, at) => ({ ...layer, places: places[at] })).filter(({ places: p }) => p.length) };
}

/** The words for a config.json of Hugging Face, by the rules of attnbook/releases.py; other text stays as it is. */
function wordsOf(text, { inside, names, kinds, states, types, matters, notes }) {
  if (!text.trim().startsWith("{")) return text.slice(0, LETTERS);
  let c;
  try { c = JSON.parse(text); } catch { return notes.broken; }
  c = c[inside.find((name) => c[name])] ?? c;
  const field = (name) => name.split(".").reduce((v, part) => v?.[part], c), there = (name) => String(c[name] || "");
  const v = { ...types[c.model_type] };
  for (const [name, key] of names) v[key] = field(name) ?? v[key];
  const window = c.use_sliding_window !== false && v.window, [listed, shown] = [kinds, states].map((by) => Object.keys(by).find(there));
  const unread = Object.keys(c).filter((name) => there(name) && name.match(matters));
  let { layers } = v, full = layers, note = "";
  if (listed) {
    const each = [...c[listed]].map((one) => kinds[listed][one]), of = (kind) => each.filter((one) => one === kind).length, far = of("window"), near = window ? far : 0;
    if (each.includes(undefined) || each.length !== layers || (far && !v.window) || (near && of("state"))) unread.push(listed);
    layers = of("full") + of("window") + of("state");
    full = layers - of("state") - near;
  } else if (v.places?.length) full = v.places.length;
  else if (v.every > 0 && (window || shown)) full = Math.floor(layers / v.every);
  else if (window) note = notes.most;
  else if (shown) unread.push(shown);
  const words = { billions: "", layers, ...(full !== layers && { full: `${full}`, ...(shown ? { state: states[shown].map(field).reduce((a, b) => a * b) } : { window }) }),
    ...(v.latent ? { latent: v.latent + (v.rotary ?? 0), ...(v.index && { index: v.index, top: v.top }) }
      : (full || !shown) && { kv_heads: v.kv_heads ?? v.heads, head_dim: v.head_dim ?? v.width / v.heads }) };
  return (Object.entries(words).map(([name, one]) => `${name}=${one || ""}`).join(" ")
    + (unread.length ? notes.unread + unread.join(", ") : note)).slice(0, LETTERS);
}

const by = (list, one) => list.find(({ id }) => id === one);
const bitsOf = ({ bits }, heavy) => heavy || bits || 16;

function compute({ models, chips, choices }, { model: id, own: words, chip: place, context, readers, weight_bits: asked }) {
  const rows = [...models, own(words, choices.config)], model = by(rows, id);
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
  const most = all.chips === null ? null : Math.max(Math.floor(room / cache), 0);
  return { ...all, most, bound: all.compute === null ? null : bound, caches: rows.map((one) => known(BYTES * ofLayers(one, context)[0])) };
}

// ---- The page.

const stage = ({ models }) => `<div class="kept-whole"><div>
<svg class="kept-strips" viewBox="0 0 ${WIDE} ${TOP + (models.length + 1) * ROW + 26}" aria-hidden="true"></svg></div>
<div aria-hidden="true"><p class="kept-filled machine-head"></p><svg class="kept-memory" viewBox="0 0 ${WIDE} 62"></svg>
<p class="kept-when machine-head"></p><svg class="kept-step" viewBox="0 0 ${WIDE} 38"></svg>
<p class="kept-drawn machine-head"></p><svg class="kept-box" viewBox="0 0 ${WIDE} ${BOX + 22}"></svg></div></div>`;

/** A line of words for a model, into which a configuration may be pasted. */
function ownField(config) {
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: false });
  const made = control("Your model", input, "own", { show: (s) => { if (input.value !== s.own) input.value = s.own; },
    fits: (v) => typeof v === "string" && v.length <= LETTERS });
  made.element.classList.add("kept-own");
  return { ...made, read: () => ({ own: wordsOf(input.value, config), model: "own" }) };
}

const named = (list) => list.map((it) => [it.id, it.name]);
const controls = ({ models, chips, choices: { contexts, readers, bits, config } }) => [
  chooser("Model", "model", [...named(models), ["own", "Your model"]]), chooser("Card", "chip", named(chips)),
  slider("Tokens", "context", { values: contexts, text: whole }), slider("Readers", "readers", { values: readers, text: whole }),
  chooser("Weights", "weight_bits", [[0, "as published"], ...bits.map((v) => [v, `${v} bits`])]), ownField(config),
];

const inGB = (v) => significant(v / 1e9, 3);
const gb = (v) => (v === null ? "unknown" : `${inGB(v)} GB`);
const ms = (v) => (v === null ? "unknown" : `${significant(1000 * v, 3)} ms`);

function show(now, { page, data: { models, chips: known, choices } }) {
  const { context, readers, token, cache, weights, chips, step, caches, most } = now;
  const rows = [...models, own(now.own, choices.config)], model = by(rows, now.model), chip = by(known, now.chip);
  const mine = model.id === "own", bits = significant(bitsOf(model, now.weight_bits)), drawn = cache !== null;
  const room = 1e9 * chip.memory * chips, used = readers * cache, edges = chips < 49 ? chips - 1 : 0;
  say(page.big, `${model.name}: ${model.words?.includes("at most") ? "at most " : ""}${gb(cache)} for one reader`);
  say(page.say, (mine ? readOf(model) : "") + (context > model.context ? `Its publisher supports only ${whole(model.context)} tokens. ` : "") + (chips === null
    ? mine ? "" : `Part of its shape is not published. Its weights: ${gb(weights)}.`
    : `Each further token adds ${token ? `${significant(token / 1000, 3)} kB` : "nothing"}. ${most ? `One ${chip.name} has room for ${whole(most)} such reader${most === 1 ? "" : "s"}` : `One such reader needs ${whole(Math.ceil((weights + cache) / (1e9 * chip.memory)))} × ${chip.name}`}. A step takes at least ${ms(step)}, ${why(now)}.`));
  page.strips.replaceChildren(text("kept-head", 2, 10, "press a model"), text("kept-name", NAME, 10, "tall: all tokens"), text("kept-name", WIDE - 2, 10, "cache, GB", END),
    ...rows.flatMap((one, at) => strip(one, Math.max(...caches), caches[at], at, context, one === model)), ...legend(TOP + rows.length * ROW + 16));
  say(page.filled, chips === null ? drawn ? "add billions= for the speed" : "Not known." : `memory of ${whole(chips)} × ${chip.name}, ${gb(room)}`);
  say(page.when, chips === null ? "" : `a step: at most ${significant(1 / step)} tokens/s${readers > 1 ? " each" : ""}`);
  say(page.drawn, drawn ? "its layers: area is memory" : "");
  page.box.replaceChildren(...(drawn ? box(model, context) : []));
  page.memory.replaceChildren(...(chips === null ? [] : [...bars(model, now, 0, 26, room, weights, used, `weights ${gb(weights)}, ${bits} bits`, `caches ${gb(used)}`),
    ...Array.from({ length: edges }, (_, at) => rect("kept-edge", (at + 1) / chips * WIDE, 18, 1, 31)),
    text("kept-name", 0, 60, `readers a card: ${significant(readers / chips)}`)]));
  page.step.replaceChildren(...(chips === null ? [] : bars(model, now, 1, 16, step, now.load, now.fetch, `read weights ${ms(now.load)}`, `read caches ${ms(now.fetch)}`)));
}

/** What takes the time of a step. */
function why({ bound, load, fetch }) {
  if (bound === "compute") return "limited by its arithmetic";
  return `mostly to read ${load >= fetch ? "weights" : "caches"}${bound ? "" : " (its arithmetic is unknown)"}`;
}

/** What was read of the reader's words, and what was not. */
const readOf = ({ words, layers, missing, unread }) => `I read ${layers.map(({ kind, places }) => `${places.length} ${kind}`).join(" and ") || "no"} layers${
  words.match(/; .*/) ?? ""}. ${unread.length ? `Not understood, so the cache is unknown: ${unread.join(", ")}. ` : ""}${missing.length ? `Missing: ${missing.join(", ")}. ` : ""}`;

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
  drawn.forEach(({ kind, tall, wide }, at) => {
    if (drawn[at - 1]?.kind !== kind) paths[kind] = `${paths[kind] ?? ""}M0 ${y.toFixed(3)}h${wide.toFixed(2)}`;
    paths[kind] += `v${(tall * unit).toFixed(3)}${drawn[at + 1]?.kind === kind ? "" : "H0z"}`;
    y += tall * unit;
  });
  return [rect("kept-room", 0, 1, WIDE, y - 1), ...Object.entries(paths).map(([kind, d]) => svg("path", { class: `kept-${kind}`, d })),
    text("kept-name", WIDE, y + 14, `${whole(context)} tokens across`, END)];
}

/** Of each kind of layer its share of what a model keeps (0), or of what a step reads (1), side by side in so much room. */
function shares({ layers }, context, which, x, y, wide, high) {
  const all = layers.map((layer) => ofLayers({ layers: [layer] }, context)[which]), sum = sumOf(all);
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
      d: places.filter((place) => place < 95).map((place) => `M${(NAME + place * SLOT).toFixed(2)} ${low}v-${high}h${SLOT}V${low}z`).join("") });
  });
  return [rect(here ? "kept-here" : "kept-row", 0, y, WIDE, ROW), text("kept-name", 2, low - 2, `${date && `’${date.slice(2, 4)} `}${name}`), ...parts,
    ...(cache === null ? [] : shares(model, context, 0, LINE, y + 6, Math.max(cache / most * LONG, 0.8), 8)),
    text("kept-name", WIDE - 2, low - 2, cache === null ? "unknown" : inGB(cache), END)];
}

const legend = (y) => KINDS.flatMap(([kind, x]) => [rect(`kept-${kind}`, x, y - 8, 9, 9), text("kept-name", x + 13, y, kind)]);

/** A bar of weights and caches, of bytes (0) or of the time to read them (1). */
function bars(model, { context }, which, high, most, weights, caches, left, right) {
  const x = (v) => v / most * WIDE;
  return [rect("kept-room", 0, 18, WIDE, high), rect("kept-weights", 0, 18, x(weights), high),
    ...shares(model, context, which, x(weights), 18, Math.max(x(caches), 1), high), text("", 0, 12, left), text("kept-caches-name", WIDE, 12, right, END)];
}

function build({ on, page: { strips }, data: { models }, take }) {
  on(strips, "click", ({ clientY }) => {
    const { top, width } = strips.getBoundingClientRect(), found = [...models, { id: "own" }][Math.floor(((clientY - top) / width * WIDE - TOP) / ROW)];
    if (found) take({ model: found.id });
  });
}

export default machine({ name: "kept", label: "What a model keeps", data: ["models", "chips", "choices"],
  settings: ["model", "own", "chip", "context", "readers", "weight_bits"], stage, controls, build, compute, show });
