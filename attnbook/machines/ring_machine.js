// One text on several devices: who computes which tiles when, and who waits; the kit and layers.js stand before it.

const CHUNKS = 16, CELL = 16, LEFT = 36, TOP = 34, OUT = LEFT + CHUNKS * CELL + 12, WIDE = 390, LONG = WIDE - OUT - 4;
const ROUND = 156, RX = 99, RY = 58, CY = 78, TAG = 34, PILL = 74; // the ring, its tags of keys and pills of queries
const START = 66, HEAD = ROUND + 22, ROW = 25, SPAN = WIDE - START, LIMIT = START + 0.7 * SPAN, SLIDE = 700, STEP = 1600, middle = { text_anchor: "middle" }, last = { text_anchor: "end" };
const list = (n, f) => Array.from({ length: n }, (_, at) => f(at));

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
  const times = slowest.map((v, s) => (s < devices - 1 ? Math.max(v, send) : v)), total = sumOf(times), alone = sumOf(busy.map(sumOf));
  const kept = layers * part, passing = devices > 1 ? 2 * part : 0, need = weights + kept + passing, most = sumOf(slowest), same = 1.000001;
  return { at, held, met, busy, times, total, speed: alone / total, idle: list(devices, (d) => 1 - sumOf(busy.map((row) => row[d])) / total),
    bound: total > most * same ? "link" : most * devices > alone * same ? "uneven" : "arithmetic",
    send, sent: (devices - 1) * part, kept, passing, need, fits: need <= memory,
    outputs: outputs(data, met, causal, at + 1), whole: outputs(data, met.map((row) => row.map(() => 0)), causal, 1) };
}

// ---- The page.

const stage = `<div class="ring-whole"><div><svg class="ring-devices" aria-hidden="true"></svg>
<p class="ring-legend">${["computes now", "before", "later", "sends", "waits", "the end, if nobody waited"].map((words) => `<span><i></i> <span${words === "sends" ? ' class="ring-sends"' : ""}>${words}</span></span>`).join(" ")}</p></div>
<div><svg class="ring-map" viewBox="0 0 ${WIDE} ${TOP + CHUNKS * CELL + 4}" aria-hidden="true"></svg>
<p class="ring-ends">16 by 16 chunks of the text. <span><i></i> output so far</span> <span><i></i> where it must end</span></p>
<p class="ring-memory">On a card: <span><i></i> <span class="ring-weights"></span></span> <span><i></i> <span class="ring-cache"></span></span> <span><i></i> <span class="ring-passing"></span></span></p></div></div>`;

/** A button that says what its next press does. */
const next = () => {
  const made = button("Next step", (s) => ({ step: (s.at + 1) % s.devices }));
  return { ...made, show: ({ at, devices }) => {
    made.element.disabled = devices === 1;
    say(made.element, at && at === devices - 1 ? "Start again" : "Next step");
  } };
};

const controls = ({ counts, lengths, links, groups }) => [
  slider("Devices", "devices", { values: counts }),
  slider("Tokens", "tokens", { values: lengths, text: whole }),
  chooser("Link", "link", links), chooser("KV heads", "kv_heads", groups),
  button("One stretch each", () => ({ zigzag: false, step: 0 }), (s) => !s.zigzag),
  button("Zigzag", () => ({ zigzag: true, step: 0 }), (s) => s.zigzag),
  next(),
];

const fits = { step: (v, _, { counts }) => Number.isInteger(v) && v >= 0 && v < counts.at(-1) };

const seconds = (v) => (v >= 1 ? `${significant(v, 3)} s` : v >= 1e-3 ? `${significant(1e3 * v, 3)} ms` : `${significant(1e6 * v, 3)} µs`);
const size = (bytes) => (bytes >= 1e9 ? `${significant(bytes / 1e9, 3)} GB` : `${significant(bytes / 1e6, 3)} MB`);

function why({ bound, idle, send, busy, devices }) {
  if (bound === "uneven") return `Bound by device ${devices - 1}, which always computes; device 0 waits ${Math.round(100 * idle[0])}% of the time.`;
  const takes = devices > 1 ? `: a part takes ${seconds(send)} to arrive, and ${seconds(Math.max(...busy.at(-1)))} to use` : "";
  if (bound !== "link") return `Bound by the ${bound}${takes}.`;
  const least = Math.min(...idle), who = Math.max(...idle) - least < 0.005 ? "all wait" : "even the busiest waits";
  return `Bound by the link${takes}; ${who} ${Math.round(100 * least)}% of the time.`;
}

function show(now, { page, data }) {
  const { devices, total, speed, need, kept, passing } = now, { weights, memory } = data.shape, many = devices > 1;
  const pace = `${many ? `${fixed(speed, 2)} times as fast as one` : "One device"}: ${seconds(total)} a layer`;
  say(page.big, now.fits ? pace
    : `Does not fit: ${size(need)} on a card of ${size(memory)}`);
  say(page.say, now.fits ? why(now) : `With more memory it would be ${many ? pace : `${seconds(total)} a layer`}.`);
  say(page.weights, `weights ${size(weights)}`);
  say(page.cache, `cache ${size(kept)}`);
  say(page.sends, many ? `sends a part in ${seconds(now.send)}` : "sends");
  say(page.passing, `passing ${many ? size(passing) : "nothing"}`);
  page.map.replaceChildren(...tiles(now, data));
  const moves = follows(now, page.before) && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  page.before = now;
  page.devices.setAttribute("viewBox", `0 0 ${WIDE} ${HEAD + devices * ROW + 58}`);
  page.devices.replaceChildren(...round(now, moves), ...timeline(now, data.shape, moves));
  // On a telephone a link leads below the controls, to what it changes.
  page.root.style.scrollMarginTop = innerWidth < 480 ? `${80 - page.big.offsetTop}px` : "";
}

const name = (x, y, words, more) => text("ring-name", x, y, words, more);
const kind = (when, at) => (when === at ? "ring-now" : when < at ? "ring-done" : "ring-later");

/** The table of scores by chunk, with the outputs so far beside it. */
function tiles({ held, met, at, devices, causal, zigzag, outputs: found, whole: wanted }, { value }) {
  const run = CHUNKS / devices / (zigzag ? 2 : 1), side = run * CELL, blocks = list(CHUNKS / run, (b) => b * run), scale = LONG / Math.max(...value);
  return [name(LEFT, 10, "keys of device"), name(WIDE, 10, "outputs so far", last),
    name(0, 0, "queries of device", { ...middle, transform: `translate(10 ${TOP + CHUNKS * CELL / 2}) rotate(-90)` }),
    name(WIDE, 26, `${found.filter((v, q) => Math.abs(v - wanted[q]) < 1e-9).length}/16 right`, last),
    ...met.flatMap((row, q) => row.flatMap((when, k) => (share(q, k, causal) ? [rect(kind(when, at), LEFT + k * CELL, TOP + q * CELL, CELL - 1, CELL - 1)] : []))),
    ...blocks.flatMap((q) => [text("ring-key", LEFT + q * CELL + side / 2, 28, held[q], middle), text("ring-query", 25, TOP + q * CELL + side / 2 + 4, held[q], middle),
      ...blocks.flatMap((k) => {
        const [x, y] = [LEFT + k * CELL, TOP + q * CELL], part = causal && q === k && run > 1 ? side / 3 : side / 2;
        return [rect("ring-block", x, y, side, side), ...met[q][k] === at && share(q, k, causal) ? [text("ring-who", x + part, y + side - part + 4, held[q], middle)] : []];
      })]),
    ...found.flatMap((v, q) => {
      const y = TOP + q * CELL, x = OUT + scale * wanted[q];
      return [rect("ring-output", OUT, y + 3, scale * v, CELL - 7), rule("ring-true", x, y, x, y + CELL - 1)];
    })];
}

/** Where the tag of a device lies on the ring; from `by` places before it. */
function place(d, devices, by = 0) {
  const angle = Math.PI * (2 * (d - by) / devices + (devices > 2 ? 1 / devices : 0) - 1), far = devices > 1 ? 1 : 0;
  return [WIDE / 2 + far * RX * Math.cos(angle), CY + far * RY * Math.sin(angle)];
}

/** Whether this is the next step of what was on show. */
const follows = ({ devices, zigzag, at }, before) => before && before.devices === devices && before.zigzag === zigzag && at === before.at + 1;

/** The devices in a circle, with their queries and the keys in their hands, which slide there if it moves. */
function round({ devices, at, busy, times }, moves) {
  const idle = list(devices, (d) => d).filter((d) => !busy[at][d]), many = devices > 1, inner = [WIDE / 2, CY];
  const parts = list(devices, (d) => {
    const [x, y] = place(d, devices), left = many && x < WIDE / 2, px = left ? x - TAG / 2 - PILL - 2 : x + TAG / 2 + 2;
    const tag = svg("g", { class: "ring-part" }, rect("ring-tag", x - TAG / 2, y - 11, TAG, 22),
      text("ring-key", x, y + 4, (d - at + devices) % devices, middle));
    if (moves) {
      tag.animate(list(17, (k) => place(d, devices, 1 - k / 16)).map(([from, top]) => ({ transform: `translate(${from - x}px, ${top - y}px)` })),
        { duration: SLIDE, easing: "ease-in-out" });
    }
    const pill = svg("g", { class: busy[at][d] ? "ring-works" : "ring-idle" }, rect("ring-pill", px, y - 11, PILL, 22, { rx: 11 }),
      text("ring-query", px + PILL / 2, y + 4, `device ${d}`, middle));
    return [pill, tag];
  });
  const heads = many ? list(devices, (d) => arrow("ring-go", place(d, devices, 0.51), place(d, devices, 0.42), 1)).flat() : [];
  const says = times[at] > 1.000001 * Math.max(...busy[at]) ? "all wait for the link" : idle.length ? idle.length > 2 ? `devices ${idle[0]} to ${idle.at(-1)} wait` : idle.length > 1 ? `devices ${idle.join(", ")} wait` : `device ${idle[0]} waits` : "everyone computes";
  return [...many ? [svg("ellipse", { class: "ring-path", cx: inner[0], cy: CY, rx: RX, ry: RY })] : [], ...heads,
    ...many ? [name(inner[0], CY - 3, `step ${at + 1} of ${devices}`, middle), name(inner[0], CY + 14, says, middle)] : [],
    ...parts.map(([pill]) => pill), ...parts.map(([, tag]) => tag)];
}

/** A bar that grows, if it moves, at the pace of the step: what is done sooner is there sooner. */
function grown(moves, part, ...shape) {
  const bar = rect(...shape);
  if (moves && part) bar.animate([{ transform: "scaleX(0)" }, { transform: "scaleX(1)" }], { duration: STEP * part });
  return bar;
}

/** A row a device with its time; below, when all are done, and the memory of each. */
function timeline({ devices, at, busy, times, total, speed, send, need, kept, passing, fits: holds }, { weights, memory }, moves) {
  const alone = total * speed / devices, scale = SPAN / Math.max(total, 2 * alone), ideal = START + scale * alone, end = START + scale * total;
  const under = HEAD + devices * ROW, foot = under + 18, bytes = (LIMIT - START) / memory, rest = SPAN - weights * bytes;
  const cache = Math.min(kept * bytes, rest);
  return [name(START, HEAD - 8, "time of one layer"),
    ...list(devices, (d) => {
      const y = HEAD + d * ROW, when = (s) => START + scale * sumOf(times.slice(0, s));
      return [text("ring-query", 0, y + 12, `device ${d}`), rect("ring-wait", START, y, scale * total, 21),
        ...times.flatMap((long, s) => [
          grown(moves && s === at, busy[s][d] / long, kind(s, at), when(s), y, busy[s][d] && Math.max(scale * busy[s][d] - 1, 1), 14),
          ...s < devices - 1 ? [grown(moves && s === at, send / long, "ring-send", when(s), y + 15, Math.max(scale * send - 1, 2), 5)] : []])];
    }).flat(),
    name(end, under + 12, seconds(total), { text_anchor: end > WIDE - 60 ? "end" : "start" }),
    ...total > 1.01 * alone ? [rule("ring-ideal", ideal, HEAD - 4, ideal, under + 3), name(ideal - 4, under + 12, seconds(alone), last)] : [],
    name(0, foot + 19, "memory"), rect("ring-weights", START, foot + 8, weights * bytes, 14),
    rect("ring-cache", START + weights * bytes, foot + 8, cache, 14),
    rect("ring-send", START + weights * bytes + cache, foot + 8, Math.min(passing * bytes, rest - cache), 14),
    rule("ring-true", LIMIT, foot + 4, LIMIT, foot + 26), name(LIMIT, foot + 38, size(memory), middle),
    ...holds ? [] : [name(WIDE, foot + 38, size(need), last)]];
}

export default machine({ name: "ring", label: "One text on several devices", data: ["shape", "query", "key", "value", "places", "counts", "lengths", "links", "groups"],
  settings: ["devices", "tokens", "link", "kv_heads", "zigzag", "causal", "step"], stage, controls, fits, compute, show,
  tell: ({ at, devices }) => ` Step ${at + 1} of ${devices}${at ? `: each has the keys of the device ${plural(at, "place")} before it` : ""}.` });
