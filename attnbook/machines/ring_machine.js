// One text on several devices: who computes which tiles when, and who waits; the kit and layers.js stand before it.

const CHUNKS = 16, CELL = 16, LEFT = 30, TOP = 34, OUT = LEFT + CHUNKS * CELL + 12, WIDE = 390, LONG = WIDE - OUT;
const TAG = 92, HAND = TAG + 17, START = 140, HEAD = 20, ROW = 32, SPAN = WIDE - START, middle = { text_anchor: "middle" };
const list = (n, f) => Array.from({ length: n }, (_, at) => f(at)), sum = (values) => values.reduce((a, b) => a + b, 0);

// ---- What is computed.

/** How much of a square of the table is computed: all, half, nothing. */
const share = (q, k, causal) => (!causal || k < q ? 1 : k === q ? 0.5 : 0);

/** The outputs of 16 tokens, one a chunk, after the keys of so many steps: found part by part, and joined. */
const outputs = ({ query, key, value }, met, causal, steps) => query.map((asks, i) => {
  let found = 0, log = -Infinity;
  for (let step = 0; step < steps; step++) {
    const here = [...key.keys()].filter((j) => share(i, j, causal) && met[i][j] === step);
    if (!here.length) continue;
    const scores = here.map((j) => dot(asks, key[j]) / Math.sqrt(asks.length)), weights = softmax(scores);
    const other = scores[0] - Math.log(weights[0]), part = 1 / (1 + Math.exp(log - other));
    found += part * (dot(weights, here.map((j) => value[j])) - found);
    log = other - Math.log(part);
  }
  return found;
});

function compute(data, { devices, tokens, link, kv_heads: groups, zigzag, causal, step }) {
  const { layers, heads, head, weights, memory, flops } = data.shape, held = data.places[devices][+zigzag], at = Math.min(step, devices - 1);
  const met = held.map((d) => held.map((owner) => (d - owner + devices) % devices));
  const busy = list(devices, () => Array(devices).fill(0)), square = 4 * heads * head * (tokens / CHUNKS) ** 2 / flops;
  met.forEach((row, q) => row.forEach((when, k) => { busy[when][held[q]] += square * share(q, k, causal); }));
  const part = 4 * groups * head * tokens / devices, send = part / link / 1e9, slowest = busy.map((row) => Math.max(...row));
  const times = slowest.map((v, s) => (s < devices - 1 ? Math.max(v, send) : v)), total = sum(times), alone = sum(busy.map(sum));
  const kept = layers * part, passing = devices > 1 ? 2 * part : 0, need = weights + kept + passing, most = sum(slowest), same = 1.000001;
  return { at, held, met, busy, times, total, speed: alone / total, idle: list(devices, (d) => 1 - sum(busy.map((row) => row[d])) / total),
    bound: total > most * same ? "link" : most * devices > alone * same ? "uneven" : "arithmetic",
    send, sent: (devices - 1) * part, kept, passing, need, fits: need <= memory,
    outputs: outputs(data, met, causal, at + 1), whole: outputs(data, met.map((row) => row.map(() => 0)), causal, 1) };
}

// ---- The page.

const stage = `<div class="ring-whole"><svg class="ring-map" viewBox="0 0 ${WIDE} ${TOP + CHUNKS * CELL + 4}" aria-hidden="true"></svg>
<div><svg class="ring-devices" aria-hidden="true"></svg><p class="ring-legend"><i></i> computes now <i></i> before <i></i> later <i></i> sends</p>
<p class="ring-memory machine-say"></p></div></div>`;

const controls = ({ counts, lengths, links, groups }) => [
  slider("Devices", "devices", { values: counts }),
  slider("Tokens", "tokens", { values: lengths, text: whole }),
  chooser("Link", "link", links), chooser("KV heads", "kv_heads", groups),
  slider("Step", "step", { max: (s) => s.devices - 1, text: (_, s) => `${s.at + 1} of ${s.devices}` }),
  toggle("Causal", "causal"),
  button("One stretch each", () => ({ zigzag: false }), (s) => !s.zigzag),
  button("Zigzag", () => ({ zigzag: true }), (s) => s.zigzag),
  button("Next step", (s) => ({ step: (s.at + 1) % s.devices })),
];

const fits = { step: (v, _, { counts }) => Number.isInteger(v) && v >= 0 && v < counts.at(-1) };

const seconds = (v) => (v >= 1 ? `${significant(v, 3)} s` : `${significant(1e3 * v, 3)} ms`);
const size = (bytes) => `${significant(bytes / 1e9, 3)} GB`;

function why({ bound, idle, send, busy, devices }) {
  if (bound === "uneven") return `Bound by device ${devices - 1}, which always computes; device 0 waits ${Math.round(100 * idle[0])}% of the time.`;
  return `Bound by the ${bound}${devices > 1 ? `: a part takes ${seconds(send)} to arrive, and ${seconds(Math.max(...busy.at(-1)))} to use` : ""}.`;
}

function show(now, { page, data }) {
  const { devices, total, speed, need, kept, passing, sent } = now, { weights, memory } = data.shape, many = devices > 1;
  say(page.big, now.fits ? `${many ? `${fixed(speed, 2)} times as fast as one` : "One device"}: ${seconds(total)} a layer`
    : `Does not fit: ${size(need)} on a card of ${size(memory)}`);
  say(page.say, why(now));
  say(page.memory, `On a card: weights ${size(weights)}, cache ${size(kept)}${many ? `, passing ${size(passing)}. Sent: ${size(sent)} a layer` : ""}.`);
  page.map.replaceChildren(...tiles(now, data));
  timeline(page.devices, now, data.shape);
}

const name = (x, y, words, more) => text("ring-name", x, y, words, more);
const kind = (when, at) => (when === at ? "ring-now" : when < at ? "ring-done" : "ring-later");

/** The table of scores by chunk, with the outputs so far beside it. */
function tiles({ held, met, at, devices, causal, zigzag, outputs: found, whole: wanted }, { value }) {
  const run = CHUNKS / devices / (zigzag ? 2 : 1), side = run * CELL, blocks = list(CHUNKS / run, (b) => b * run), scale = LONG / Math.max(...value);
  return [name(LEFT, 10, "keys of device"), name(OUT, 10, "outputs"), text("ring-query", 0, 26, "of"),
    name(OUT, 26, `${found.filter((v, q) => Math.abs(v - wanted[q]) < 1e-9).length} of 16 right`),
    ...met.flatMap((row, q) => row.flatMap((when, k) => (share(q, k, causal) ? [rect(kind(when, at), LEFT + k * CELL, TOP + q * CELL, CELL - 1, CELL - 1)] : []))),
    ...blocks.flatMap((q) => [text("ring-key", LEFT + q * CELL + side / 2, 28, held[q], middle), text("ring-query", 15, TOP + q * CELL + side / 2 + 4, held[q], middle),
      ...blocks.flatMap((k) => {
        const [x, y] = [LEFT + k * CELL, TOP + q * CELL], part = causal && q === k && run > 1 ? side / 3 : side / 2;
        return [rect("ring-block", x, y, side, side), ...met[q][k] === at && share(q, k, causal) ? [text("ring-who", x + part, y + side - part + 4, held[q], middle)] : []];
      })]),
    ...found.flatMap((v, q) => {
      const y = TOP + q * CELL, x = OUT + scale * wanted[q];
      return [rect("ring-output", OUT, y + 3, scale * v, CELL - 7), rule("ring-true", x, y, x, y + CELL - 1)];
    })];
}

/** A row a device: its queries, the keys in its hands, and its time; below, its memory. */
function timeline(picture, { devices, at, busy, times, total, speed, send, kept, passing }, { weights, memory }) {
  const alone = total * speed / devices, scale = SPAN / Math.max(total, 2 * alone), ideal = START + scale * alone;
  const foot = HEAD + devices * ROW, bytes = SPAN / 2 / memory, limit = START + SPAN / 2;
  picture.setAttribute("viewBox", `0 0 ${WIDE} ${foot + 44}`);
  picture.replaceChildren(name(0, 10, "queries of"), name(TAG, 10, "keys of"), name(START + 14, 10, "time of one layer"),
    ...list(devices, (d) => {
      const y = HEAD + d * ROW, when = (s) => START + scale * sum(times.slice(0, s));
      return [rect("ring-pill", 0, y, 82, 22, { rx: 11 }), text("ring-query", 41, y + 15, `device ${d}`, middle),
        rect("ring-tag", TAG, y, 34, 22), text("ring-key", HAND, y + 15, (d - at + devices) % devices, middle),
        ...d < devices - 1 ? arrow("ring-go", [HAND, y + 22], [HAND, y + ROW], 1) : [], rect("ring-wait", START, y, scale * total, 22),
        ...times.flatMap((_, s) => [rect(kind(s, at), when(s), y, Math.max(scale * busy[s][d] - 1, 0), 14),
          ...s < devices - 1 ? [rect("ring-send", when(s), y + 16, Math.max(scale * send - 1, 1), 5)] : []])];
    }).flat(),
    svg("path", { class: "ring-back", d: `M${TAG + 34} ${foot - HEAD}h6V31h-4` }), rule("ring-ideal", ideal, 16, ideal, foot - 6),
    name(0, foot + 23, "memory of each"), rect("ring-weights", START, foot + 12, weights * bytes, 14),
    rect("ring-send", START + weights * bytes, foot + 12, Math.min((kept + passing) * bytes, SPAN - weights * bytes), 14),
    rule("ring-true", limit, foot + 8, limit, foot + 30), name(limit, foot + 42, size(memory), middle));
}

export default machine({ name: "ring", label: "One text on several devices", data: ["shape", "query", "key", "value", "places", "counts", "lengths", "links", "groups"],
  settings: ["devices", "tokens", "link", "kv_heads", "zigzag", "causal", "step"], stage, controls, fits, compute, show,
  tell: ({ at, devices }) => ` Step ${at + 1} of ${devices}${at ? `: each has the keys of the device ${plural(at, "place")} before it` : ""}.` });
