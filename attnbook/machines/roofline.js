// One roofline, and what a call of a language model comes to under it; the kit stands before it.

const WIDE = 440, TALL = 240, LEFT = 36, FROM = -2, TO = 17, LOW = -0.5, HIGH = 3.5, CROSSINGS = 4, PARTS = ["weights", "attention", "step"];

// ---- What is computed.

function partsOf({ parameters, kept, work, tables }, { phase, tokens, bits, table }, readers) {
  const whole = phase === "prefill", calls = readers * (whole ? tokens : 1), pairs = readers * (whole ? tokens * (tokens + 1) / 2 : tokens);
  const weights = [2 * parameters * calls, parameters * bits / 8];
  const attention = [work * pairs, readers * tokens * kept * bits / 8 + (table ? CROSSINGS * 2 * tables * pairs : 0)];
  return [weights, attention, weights.map((v, n) => v + attention[n])];
}

function compute({ model, chips, choices }, settings) {
  const chip = chips.find(({ id }) => id === settings.chip), peak = 1e12 * chip.compute, band = 1e12 * chip.bandwidth;
  const found = Object.fromEntries(partsOf(model, settings, settings.readers).map(([done, moved], n) => [PARTS[n], {
    operations: done, bytes: moved, intensity: done / moved, speed: Math.min(peak, band * done / moved),
    seconds: Math.max(done / peak, moved / band), bound: moved / band >= done / peak ? "bandwidth" : "compute" }]));
  const trail = choices.readers.map((readers) => partsOf(model, settings, readers)[2]).map(([done, moved]) => done / moved);
  return { ...found, ridge: peak / band, trail };
}

// ---- The page.

const stage = `<svg class="roof-picture" viewBox="0 0 ${WIDE} ${TALL + 36}" aria-hidden="true"></svg><table class="roof-table"><thead><tr></tr></thead><tbody></tbody></table>`;
const HEAD = ["", "TFLOP", "GB", "FLOP a byte", "ms at least", "bound by"];

const controls = ({ chips, choices: { readers, tokens, bits, phases } }) => [
  chooser("Card", "chip", chips.map(({ id, name }) => [id, name])), chooser("Call", "phase", Object.entries(phases).map(([id, name]) => [id, `${id}: ${name}`])),
  slider("Readers", "readers", { values: readers, text: whole }), slider("Tokens", "tokens", { values: tokens, text: whole }),
  chooser("Bits", "bits", bits.map((n) => [n, String(n)])), toggle("Attention writes its table", "table"),
];

const X = (v) => LEFT + (Math.log2(v) - FROM) / (TO - FROM) * (WIDE - LEFT - 8), Y = (v) => TALL - (Math.log10(v / 1e12) - LOW) / (HIGH - LOW) * TALL;

/** The roof of a card: up with the bandwidth, then level. */
function roof({ compute: peak, bandwidth }, className) {
  const start = Math.max(2 ** FROM, 10 ** LOW / bandwidth), top = Y(1e12 * peak);
  return svg("path", { class: className, d: `M${X(start).toFixed(1)} ${Y(1e12 * bandwidth * start).toFixed(1)}L${X(peak / bandwidth).toFixed(1)} ${top.toFixed(1)}H${WIDE - 8}` });
}

const axes = () => [rule("roof-axis", LEFT, TALL, WIDE - 8, TALL), rule("roof-axis", LEFT, 0, LEFT, TALL),
  ...[1, 16, 256, 4096, 65536].flatMap((v) => [rule("roof-grid", X(v), 0, X(v), TALL), text("roof-name", X(v), TALL + 15, whole(v), { text_anchor: "middle" })]),
  ...[1, 10, 100, 1000].flatMap((v) => [rule("roof-grid", LEFT, Y(1e12 * v), WIDE - 8, Y(1e12 * v)), text("roof-name", LEFT - 5, Y(1e12 * v) + 4, whole(v), { text_anchor: "end" })]),
  text("roof-name", (LEFT + WIDE) / 2, TALL + 32, "FLOP for each byte moved", { text_anchor: "middle" }), text("roof-name", LEFT + 6, 11, "TFLOP/s")];

function show(now, { page, data: { model, chips, marks } }) {
  const { phase, readers, tokens, ridge, trail, step } = now, chip = chips.find(({ id }) => id === now.chip), level = 1e12 * chip.compute;
  const under = (x) => Math.min(level, 1e12 * chip.bandwidth * x), dot = (name, r) => svg("circle", { class: `roof-${name}`, cx: X(now[name].intensity), cy: Y(now[name].speed), r });
  const used = 100 * step.speed / level;
  say(page.big, `${significant(step.intensity, 3)} FLOP a byte: bound by ${step.bound}`);
  say(page.say, `${model.name}, ${phase === "decode" ? `one token ${readers > 1 ? `for each of ${whole(readers)} readers` : "for one reader"} of ${whole(tokens)} tokens` : `${plural(readers, "text")} of ${whole(tokens)} tokens at once`}: ` +
    `at least ${significant(1e3 * step.seconds, 3)} ms on an ${chip.name}, with ${used > 99.5 ? "all" : `${significant(used, 2)}%`} of its arithmetic in use.`.replace(/on an (?=[RBT])/, "on a "));
  page.picture.replaceChildren(...axes(), ...chips.filter((one) => one !== chip).map((one) => roof(one, "roof-other")), roof(chip, "roof-line"),
    rule("roof-ridge", X(ridge), Y(level), X(ridge), TALL), text("roof-bold", X(ridge) + 4, TALL - 6, significant(ridge, 3)),
    ...trail.map((x) => svg("circle", { class: "roof-trail", cx: X(x), cy: Y(under(x)), r: 2.5 })),
    ...marks.filter((mark) => mark.chip === now.chip).flatMap(({ name, intensity, speed }) => {
      const [x, y] = [X(intensity), Y(speed)];
      return [svg("path", { class: "roof-mark", d: `M${x - 4} ${y - 4}l8 8m-8 0l8 -8` }), text("roof-name", x + 9, y + 5, name)];
    }),
    dot("weights", 6), dot("attention", 6), dot("step", 9));
  page.table.tHead.rows[0].replaceChildren(...HEAD.map((name) => (name ? make("th", { scope: "col", textContent: name }) : make("td"))));
  page.table.tBodies[0].replaceChildren(...PARTS.map((name) => {
    const { operations, bytes, intensity, seconds, bound } = now[name];
    return make("tr", {}, make("th", { scope: "row" }, make("i", { className: `roof-key-${name}` }), name === "step" ? "both" : name),
      ...[operations / 1e12, bytes / 1e9, intensity, 1e3 * seconds].map((v) => make("td", { textContent: significant(v, 3) })), make("td", { textContent: bound }));
  }));
}

export default machine({ name: "roof", label: "A roofline", data: ["model", "chips", "marks", "choices"],
  settings: ["chip", "phase", "readers", "tokens", "bits", "table"], stage, controls, compute, show });
