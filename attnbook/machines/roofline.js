// One roofline, and what a call of a language model comes to under it; the kit stands before it.

const WIDE = 520, TALL = 240, LEFT = 44, RIGHT = 412, FROM = -2, TO = 17, LOW = -0.5, HIGH = 3.5, CROSSINGS = 4, PARTS = ["weights", "attention", "step"];

// ---- What is computed.

function partsOf({ parameters, embedding, kept, work, tables }, { phase, tokens, bits, table }, readers) {
  const whole = phase === "prefill", calls = readers * (whole ? tokens : 1), pairs = readers * tokens * (whole ? (table ? tokens : (tokens + 1) / 2) : 1);
  const read = parameters - embedding, weights = [2 * ((read - embedding) * calls + embedding * readers), read * bits / 8];
  const attention = [work * pairs, readers * tokens * kept * bits / 8 + (table ? CROSSINGS * 2 * tables * pairs : 0)];
  return [weights, attention, weights.map((v, n) => v + attention[n])];
}

/** Bytes of the weights and of the caches of so many readers. */
const heldBy = ({ parameters, kept }, { tokens, bits }, readers) => (parameters + readers * tokens * kept) * bits / 8;

function compute({ model, chips, choices }, settings) {
  const chip = chips.find(({ id }) => id === settings.chip), peak = 1e12 * chip.compute, band = 1e12 * chip.bandwidth;
  const found = Object.fromEntries(partsOf(model, settings, settings.readers).map(([done, moved], n) => [PARTS[n], {
    operations: done, bytes: moved, intensity: done / moved, speed: Math.min(peak, band * done / moved),
    seconds: Math.max(done / peak, moved / band), bound: moved / band >= done / peak ? "bandwidth" : "compute" }]));
  const trail = choices.readers.map((readers) => partsOf(model, settings, readers)[2]).map(([done, moved]) => done / moved);
  return { ...found, ridge: peak / band, trail, apart: found.weights.seconds + found.attention.seconds, held: heldBy(model, settings, settings.readers) };
}

// ---- The page.

const stage = `<svg class="roof-picture" viewBox="0 0 ${WIDE} ${TALL + 36}" aria-hidden="true"></svg><table class="roof-table"><thead><tr></tr></thead><tbody></tbody></table><p class="roof-held"></p>`;
const HEAD = ["", "TFLOP", "GB", "FLOP a byte", "ms at least", "bound by"];

const controls = ({ chips, choices: { readers, tokens, bits, phases } }) => [
  chooser("Card", "chip", chips.map(({ id, name }) => [id, name])), chooser("Call", "phase", Object.entries(phases).map(([id, name]) => [id, `${id}: ${name}`])),
  slider("Readers", "readers", { values: readers, text: whole }), slider("Tokens", "tokens", { values: tokens, text: whole }),
  chooser("Bits", "bits", bits.map((n) => [n, String(n)])), toggle("Attention writes its table", "table"),
];

/** An intensity, in full where it is a whole number of four digits. */
const perByte = (v) => (v >= 1000 ? whole(Math.round(v)) : significant(v, 3));
const shortName = (name) => name.replace(/ (SXM|80 GB)$/, "");

const X = (v) => LEFT + (Math.min(Math.log2(v), TO) - FROM) / (TO - FROM) * (RIGHT - LEFT), Y = (v) => TALL - (Math.log10(v / 1e12) - LOW) / (HIGH - LOW) * TALL;

/** The roof of a card: up with the bandwidth, then level. */
function roof({ compute: peak, bandwidth }, className) {
  const start = Math.max(2 ** FROM, 10 ** LOW / bandwidth), top = Y(1e12 * peak);
  return svg("path", { class: className, d: `M${X(start).toFixed(1)} ${Y(1e12 * bandwidth * start).toFixed(1)}L${X(peak / bandwidth).toFixed(1)} ${top.toFixed(1)}H${RIGHT}` });
}

const axes = () => [rule("roof-axis", LEFT, TALL, RIGHT, TALL), rule("roof-axis", LEFT, 0, LEFT, TALL),
  ...[1, 16, 256, 4096, 65536].flatMap((v) => [rule("roof-grid", X(v), 0, X(v), TALL), text("roof-name", X(v), TALL + 15, whole(v), { text_anchor: "middle" })]),
  ...[1, 10, 100, 1000].flatMap((v) => [rule("roof-grid", LEFT, Y(1e12 * v), RIGHT, Y(1e12 * v)), text("roof-name", LEFT - 5, Y(1e12 * v) + 4, whole(v), { text_anchor: "end" })]),
  text("roof-name", (LEFT + RIGHT) / 2, TALL + 32, "FLOP for each byte moved", { text_anchor: "middle" }), text("roof-name", LEFT + 6, 11, "TFLOP/s")];

/** The cards' names at the ends of their roofs, from the top down and none over another. */
function names(chips, chip, font) {
  let last = -Infinity;
  return [...new Set(chips.map(({ compute: peak }) => peak))].sort((a, b) => b - a).map((peak) => {
    const those = chips.filter((one) => one.compute === peak);
    last = Math.max(last + font, Y(1e12 * peak) + font / 3);
    return text(those.includes(chip) ? "roof-bold" : "roof-name", RIGHT + 4, last, those.map(({ name }) => shortName(name)).join(", "));
  });
}

/** Words beside dots: each moves up or down until it covers no dot and no other. */
function place(words, boxes, font) {
  return words.map(([name, said, x, y, left]) => {
    const long = 0.56 * font * said.length, end = left ? x : Math.min(x + long, RIGHT), from = end - long;
    const meets = ([x1, x2, y1, y2]) => from < x2 && end > x1 && y - 0.75 * font < y2 && y + 0.2 * font > y1;
    while (boxes.some(meets) && y > font && y < TALL) y += left ? -2 : 2;
    boxes.push([from, end, y - 0.75 * font, y + 0.2 * font]);
    return text(`roof-beside roof-of-${name}`, left ? x : from, y, said, left && { text_anchor: "end" });
  });
}

function show(now, { page, data: { model, chips, choices } }) {
  const { phase, readers, tokens, ridge, trail, step } = now, chip = chips.find(({ id }) => id === now.chip), level = 1e12 * chip.compute, memory = 1e9 * chip.memory;
  const under = (x) => Math.min(level, 1e12 * chip.bandwidth * x);
  const dot = (name, r, { intensity, speed } = now[name]) => svg("circle", { class: `roof-${name}`, cx: X(intensity), cy: Y(speed), r });
  const used = 100 * step.speed / level, mixed = now.weights.bound !== now.attention.bound, font = isNarrow(page.picture) ? 17 : 12.5;
  const dots = trail.map((intensity, n) => ({ intensity, speed: under(intensity), n: choices.readers[n] })).filter(({ intensity }) => intensity <= 2 ** TO);
  // A dot beyond the edge stands at it, and its words say where it belongs.
  const beside = (name, words, x, y, left, { intensity, speed } = now[name]) => [name, intensity > 2 ** TO ? `${words} ${perByte(intensity)} →` : words, X(intensity) + x, Y(speed) + y, left];
  say(page.big, `${perByte(step.intensity)} FLOP a byte: bound by ${step.bound}`);
  say(page.say, `${model.name}, ${phase === "decode" ? `one token ${readers > 1 ? `for each of ${whole(readers)} readers` : "for one reader"} of ${whole(tokens)} tokens` : `${plural(readers, "text")} of ${whole(tokens)} tokens at once`}: ` +
    `at least ${significant(1e3 * step.seconds, 3)} ms on an ${chip.name}, ${mixed ? `if weights and attention overlap; one after the other, ${significant(1e3 * now.apart, 3)} ms.`
      : `with ${used > 99.5 ? "all" : `${significant(used, 2)}%`} of its arithmetic in use.`}`.replace(/on an (?=[BT])/, "on a "));
  page.picture.replaceChildren(...axes(), ...chips.filter((one) => one !== chip).map((one) => roof(one, "roof-other")), roof(chip, "roof-line"),
    rule("roof-ridge", X(ridge), Y(level), X(ridge), TALL), text("roof-bold", X(ridge) + 4, TALL - 6, significant(ridge, 3)),
    ...dots.map((one) => dot(heldBy(model, now, one.n) > memory ? "full" : "trail", 2.5, one)),
    dot("weights", 6), dot("attention", 6), dot("step", 9), ...names(chips, chip, font),
    ...place([beside("weights", "weights", -9, -9, true), beside("attention", "attention", 9, 13), beside("step", "whole call", 11, 15),
      ...dots.filter((_, n) => !n || n === dots.length - 1).map((one) => beside("trail", plural(one.n, "reader"), 11, 15, false, one))],
    PARTS.map((name) => [X(now[name].intensity), Y(now[name].speed)]).map(([x, y]) => [x - 9, x + 9, y - 9, y + 9]), font));
  page.table.tHead.rows[0].replaceChildren(...HEAD.map((name) => (name ? make("th", { scope: "col", textContent: name }) : make("td"))));
  page.table.tBodies[0].replaceChildren(...PARTS.map((name) => {
    const { operations, bytes, intensity, seconds, bound } = now[name];
    return make("tr", {}, make("th", { scope: "row" }, make("i", { className: `roof-key-${name}` }), name === "step" ? "both" : name),
      ...[significant(operations / 1e12, 3), significant(bytes / 1e9, 3), perByte(intensity), significant(1e3 * seconds, 3)].map((textContent) => make("td", { textContent })), make("td", { textContent: bound }));
  }));
  const held = significant(now.held / 1e9, 3), over = now.held > memory;
  page.held.classList.toggle("roof-over", over);
  say(page.held, over ? `It needs ${held} GB; the card has ${chip.memory}.` : `Weights and caches take ${held} of the card’s ${chip.memory} GB.`);
}

export default machine({ name: "roof", label: "A roofline", data: ["model", "chips", "choices"],
  settings: ["chip", "phase", "readers", "tokens", "bits", "table"], stage, controls, compute, show });
