// Tiles to shuffle, and what self-attention makes of each; the kit and layers.js stand before it.

const KINDS = { none: "nothing", causal: "causal mask", sinusoidal: "sinusoidal", learned: "learned", rotary: "rotary", alibi: "ALiBi" };
const LONGEST = 7, SLOPE = 0.5, BASE = 10000, SAME = 1e-5;

// ---- What is computed.

const columnsOf = (matrix) => matrix[0].map((_, c) => matrix.map((row) => row[c]));

/** The matrices of each kind, a row for each feature that they make. */
function prepare({ words, deeds, width: wide, numbers }) {
  const models = Object.fromEntries(Object.keys(KINDS).map((kind, n) => {
    const flat = floats(numbers[n]);
    let from = 0;
    const take = (rows, cols) => Array.from({ length: rows }, () => [...flat.slice(from, from += cols)]);
    const [own, ...made] = [words.length, wide, wide, wide].map((rows) => take(rows, wide)), [query, key, value] = made.map(columnsOf);
    const places = kind === "learned" ? take(LONGEST, wide) : [];
    return [kind, { own, query, key, value, places, answers: columnsOf(take(wide, deeds.length)), biases: take(1, deeds.length)[0] }];
  }));
  return { models };
}

/** A row, each pair of features turned by its angle. */
const turned = (row, angles) => row.map((v, e) => {
  const angle = angles[e >> 1];
  return e % 2 ? row[e - 1] * Math.sin(angle) + v * Math.cos(angle) : v * Math.cos(angle) - row[e + 1] * Math.sin(angle);
});

/** Weights by position and outputs by tile, of the tiles in an order. */
function layer({ own, query, key, value, places }, wide, kind, order) {
  const angles = order.map((_, p) => Array.from({ length: wide / 2 }, (_, i) => p / BASE ** (2 * i / wide)));
  const placed = order.map((tile, p) => (kind === "sinusoidal" ? own[tile].map((v, e) => v + (e % 2 ? Math.cos : Math.sin)(angles[p][e >> 1]))
    : kind === "learned" ? plus(own[tile], places[p]) : own[tile]));
  const made = (matrix) => placed.map((row, p) => (kind === "rotary" && matrix !== value ? turned(times(matrix, row), angles[p]) : times(matrix, row)));
  const [queries, keys, values] = [query, key, value].map(made);
  const { weights, output } = attention(queries, keys, values,
    (i, j) => (kind === "causal" && j > i ? -Infinity : kind === "alibi" ? -SLOPE * Math.abs(i - j) : 0));
  const outputs = [];
  order.forEach((tile, p) => { outputs[tile] = output[p]; });
  return { weights, outputs };
}

function compute({ models, width, read }, { kind, order }) {
  const model = models[kind], { weights, outputs } = layer(model, width, kind, order);
  const before = layer(model, width, kind, [...order].sort((a, b) => a - b)).outputs;
  const moved = outputs.map((row, tile) => Math.max(...row.map((v, e) => Math.abs(v - before[tile][e]))));
  return { weights, outputs, before, moved, chances: softmax(plus(times(model.answers, outputs[read]), model.biases)) };
}

// ---- The page.

const PITCH = 58, CELL = 6, STRIP = 17, TOP = 68, BOX = 30, FOOT = 30;

const stage = ({ words, width }) => `<div class="order-whole"><div class="order-plot"><svg class="order-area" viewBox="0 0 ${PITCH * words.length} ${TOP + width * CELL + FOOT}">
<g class="order-tiles"></g></svg></div><div class="order-answers"><p class="machine-head"></p><ol class="order-bars machine-side"></ol><p class="order-verdict"></p></div></div>`;

const moveTo = (order, tile, place) => {
  const rest = order.filter((one) => one !== tile);
  return [...rest.slice(0, place), tile, ...rest.slice(place)];
};
/** Another order: every second tile first, then the others. */
const mixed = (order) => [...order.filter((_, p) => p % 2), ...order.filter((_, p) => p % 2 === 0)];
/** What comes after a tile, the tile, and what comes before it. */
const swapped = (order, tile) => {
  const at = order.indexOf(tile);
  return [...order.slice(at + 1), tile, ...order.slice(0, at)];
};

/** What a sentence tells it to do, as a number; nothing, of words that are no "do this not do that". */
function toldBy(order, { words, deeds, read }) {
  const at = order.indexOf(read);
  const [told, other] = [order.slice(0, at), order.slice(at + 1)].map((side) => deeds.indexOf(side.map((tile) => words[tile]).join(" ")));
  return other < 0 ? -1 : told;
}

const controls = ({ read }) => [
  ...Object.entries(KINDS).map(([kind, name]) => button(name, () => ({ kind }), (s) => s.kind === kind)),
  button("Shuffle", ({ order }) => ({ order: mixed(order) })),
  button("Reverse", ({ order }) => ({ order: [...order].reverse() })),
  button("Swap sides", ({ order }) => ({ order: swapped(order, read) })),
];
const fits = {
  kind: (v) => typeof v === "string" && Object.hasOwn(KINDS, v),
  order: (v, s, { words }) => Array.isArray(v) && alike([...v].sort((a, b) => a - b), words.map((_, j) => j)),
};

function build({ page, data: { words, width, read }, on, take, settings }) {
  page.tiles.append(...words.map((word, tile) => svg("g", { class: tile === read ? "order-tile order-read" : "order-tile", tabindex: 0, role: "button" },
    rect("order-grip", 0, 0, PITCH, TOP + width * CELL + FOOT),
    rect("order-box", 2, 8, PITCH - 4, BOX, { rx: 6 }), text("order-word", PITCH / 2, 28, word, { text_anchor: "middle" }),
    rect("order-weight", 2, 41, 0, 6), text("order-share", PITCH / 2, 60, "", { text_anchor: "middle" }),
    svg("g", { class: "order-before" }), svg("g", { class: "order-now" }),
    text("order-moved", PITCH / 2, TOP + width * CELL + 20, "", { text_anchor: "middle" }))));
  [...page.tiles.children].forEach((node, tile) => {
    const to = (place) => ({ order: moveTo(settings().order, tile, clamp(place, 0, words.length - 1)) });
    arrows(on, node, (right) => to(settings().order.indexOf(tile) + right), take);
    const across = ({ clientX }) => {
      const { left, width: wide } = page.area.getBoundingClientRect();
      return Math.floor((clientX - left) / wide * words.length);
    };
    on(node, "pointerdown", (event) => {
      if (event.button) return;
      node.setPointerCapture(event.pointerId);
      node.focus({ preventScroll: true });
    });
    on(node, "pointermove", (event) => {
      if (node.hasPointerCapture(event.pointerId) && across(event) !== settings().order.indexOf(tile)) take(to(across(event)));
    });
  });
}

const tint = (v) => ({ class: v < 0 ? "order-less" : "order-more", fill_opacity: Math.min(Math.abs(v) / 2, 1) });
const strip = (row, x) => row.map((v, e) => svg("rect", { x, y: TOP + e * CELL, width: STRIP, height: CELL - 0.6, ...tint(v) }));

function show({ kind, order, weights, outputs, before, moved, chances }, { page, data }) {
  const { words, deeds, read } = data, told = toldBy(order, data), obeyed = told === largest(chances);
  const changed = moved.filter((by) => by > SAME).length;
  const ranked = [...chances.keys()].sort((a, b) => chances[b] - chances[a]);
  const [first, now] = [words, order.map((tile) => words[tile])].map((one) => one.join(" "));
  say(page.big, now === first ? "The same sentence on both sides" : changed ? `${changed} of ${words.length} outputs have changed` : "Not one output has changed");
  say(page.say, `Order from: ${KINDS[kind]}. Below each word two strips. Left: in “${first}”. Right: now, in “${now}”.`);
  order.forEach((tile, place) => {
    const node = page.tiles.children[tile], [, , , weight, share, was, is, by] = node.children;
    const looked = fixed(weights[order.indexOf(read)][place], 2), much = moved[tile] > SAME && fixed(moved[tile], 2);
    put(node, { transform: `translate(${place * PITCH} 0)`, "aria-label": `${words[tile]}, position ${place} of 0 to ${words.length - 1}, weight ${looked}, output ${
      much ? `changed by ${much}` : "unchanged"}` });
    put(weight, { width: looked * (PITCH - 4) });
    say(share, looked);
    was.replaceChildren(...strip(before[tile], PITCH / 2 - STRIP - 1.5));
    is.replaceChildren(...strip(outputs[tile], PITCH / 2 + 1.5));
    say(by, much ? `by ${much}` : "same");
    put(by, { class: much ? "order-moved order-changed" : "order-moved" });
  });
  say(page.head, told < 0 ? `At ${quoted(words[read])} it decides:` : `Told to ${quoted(deeds[told])}, it decides:`);
  fill(page.bars, ranked.slice(0, 3).map((at) => [deeds[at], chances[at]]), bar, (item, [name, share]) => showBar(item, name, share, 2));
  say(page.verdict, told < 0 ? "Not a command that it knows." : obeyed ? "Obeyed." : "Disobeyed.");
  page.verdict.classList.toggle("order-wrong", told >= 0 && !obeyed);
}

const tell = ({ order, chances }, data) => {
  const told = toldBy(order, data), done = largest(chances);
  return `${told < 0 ? "" : ` Told to: ${data.deeds[told]}.`} It does: ${data.deeds[done]}, ${fixed(chances[done], 2)}.`;
};

export default machine({ name: "order", label: "Tiles to shuffle", data: ["words", "deeds", "width", "read", "numbers"],
  settings: ["kind", "order"], prepare, stage, controls, fits, build, compute, show, tell });
