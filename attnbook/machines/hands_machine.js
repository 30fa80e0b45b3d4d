// Clocks with a query's hand and a key's, turned by their positions; the kit stands before it.

const CLOCKS = 8, FARTHEST = 127, MOST = 1000, TRAINED = 16, SLACK = 0.2, ROUND = 2 * Math.PI;
const BASES = [100, 1000, 10000, 100000, 500000], SQUEEZES = [1, 2, 4, 8];

// ---- What is computed.

function compute(_, { query, key, shift, base, squeeze }) {
  const learned = Array.from({ length: CLOCKS }, (_, i) => base ** (-i / CLOCKS)), speeds = learned.map((v) => v / squeeze);
  const asks = speeds.map((v) => (query + shift) * v), stands = speeds.map((v) => (key + shift) * v);
  const met = learned.map((v) => (TRAINED - 1) * v), gaps = asks.map((v, i) => v - stands[i]);
  const isNew = gaps.map((v) => Math.abs(v) % ROUND).map((v, i) => v > met[i] + SLACK && v < ROUND - SLACK);
  const parts = gaps.map(Math.cos), sum = (list) => list.reduce((a, b) => a + b, 0);
  return { query_angles: asks, key_angles: stands, met, new: isNew, parts, score: sum(parts),
    curve: Array.from({ length: FARTHEST + 1 }, (_, d) => sum(speeds.map((v) => Math.cos(d * v)))) };
}

// ---- The page.

const PITCH = 90, LINE = 96, RADIUS = 34, WIDE = 4 * PITCH, HIGH = 110, LEFT = 26;

const stage = `<div class="hands-whole"><div><p class="machine-head">eight clocks, fastest first, each with its cosine (shaded: angles met in training)</p>
<svg class="hands-clocks" viewBox="0 0 ${WIDE} ${2 * LINE + 4}" aria-hidden="true"></svg></div>
<div><p class="machine-head">their sum, the score, at each distance (shaded: distances met in training)</p>
<svg class="hands-curve" viewBox="0 0 ${WIDE} ${HIGH + 20}" aria-hidden="true"></svg></div></div>`;

const controls = () => [
  slider("Query at", "query", { max: FARTHEST }),
  slider("Key at", "key", { max: FARTHEST }),
  slider("Move both", "shift", { max: MOST, text: whole }),
  slider("rope_theta", "base", { values: BASES, text: whole }),
  slider("Squeeze by", "squeeze", { values: SQUEEZES }),
];

/** A tip `far` from the middle of clock i, at an angle; counted as in mathematics, against the clock. */
const tip = (i, angle, far) => [PITCH * (i % 4 + 0.5) + far * Math.cos(angle), LINE * Math.floor(i / 4) + 40 - far * Math.sin(angle)];

/** The part of a clock between the key's hand and the farthest that training has turned the other from it. */
function sector(i, from, wide, side) {
  const [cx, cy] = tip(i, 0, 0), name = "hands-met", n = (v) => v.toFixed(1);
  if (wide >= ROUND) return svg("circle", { class: name, cx, cy, r: RADIUS });
  const [x1, y1] = tip(i, from, RADIUS), [x2, y2] = tip(i, from + side * wide, RADIUS);
  return svg("path", { class: name, d: `M${n(cx)} ${n(cy)}L${n(x1)} ${n(y1)}A${RADIUS} ${RADIUS} 0 ${Number(wide > Math.PI)} ${
    Number(side < 0)} ${n(x2)} ${n(y2)}Z` });
}

function clock(i, { query_angles: asks, key_angles: stands, met, new: isNew, parts }) {
  const [cx, cy] = tip(i, 0, 0), [kx, ky] = tip(i, stands[i], RADIUS - 3), [qx, qy] = tip(i, asks[i], RADIUS - 3);
  return [sector(i, stands[i], met[i], asks[i] < stands[i] ? -1 : 1), svg("circle", { class: isNew[i] ? "hands-face hands-new" : "hands-face", cx, cy, r: RADIUS }),
    rule("hands-key", cx, cy, kx, ky), rect("hands-key", kx - 4, ky - 4, 8, 8), rule("hands-query", cx, cy, qx, qy),
    svg("circle", { class: "hands-query", cx: qx, cy: qy, r: 4.5 }),
    text(isNew[i] ? "hands-told" : "", cx, cy + RADIUS + 16, `${isNew[i] ? "new: " : ""}${fixed(parts[i], 2)}`, { text_anchor: "middle" })];
}

function show(now, { page }) {
  const { query, key, shift, base, squeeze, score, curve } = now, far = query - key, count = now.new.filter(Boolean).length;
  say(page.big, `Score ${fixed(score, 2)}, ${Math.abs(far)} apart`);
  say(page.say, `Query at ${whole(query + shift)}, key at ${whole(key + shift)}. ${
    count ? `${count} of ${CLOCKS} clocks ${count > 1 ? "are" : "is"} more than ${SLACK} radians beyond all that a text of ${TRAINED} tokens shows` : `No clock is far from what a text of ${TRAINED} tokens shows`}. ` +
    `The slowest takes ${whole(+significantly(ROUND * squeeze * base ** ((CLOCKS - 1) / CLOCKS)))} positions to go round.`);
  page.clocks.replaceChildren(...Array.from({ length: CLOCKS }, (_, i) => clock(i, now)).flat());
  const x = (d) => LEFT + (WIDE - LEFT - 6) * d / FARTHEST, y = (v) => HIGH / 2 - v / CLOCKS * (HIGH / 2 - 6);
  page.curve.replaceChildren(rect("hands-met", x(0), 0, x(TRAINED - 1) - x(0), HIGH), ...[-CLOCKS, 0, CLOCKS].flatMap((v) => [
    rule("hands-axis", LEFT, y(v), WIDE, y(v)), text("hands-tick", LEFT - 4, y(v) + 4, fixed(v, 0), { text_anchor: "end" })]),
    svg("path", { class: "hands-line", d: `M${curve.map((v, d) => `${x(d).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}` }),
    svg("circle", { class: "hands-query", cx: x(Math.abs(far)), cy: y(score), r: 6 }),
    ...[0, 32, 64, 96].map((d) => text("hands-tick", x(d), HIGH + 15, d ? String(d) : "0 apart", { text_anchor: d ? "middle" : "start" })));
}

/** Three significant digits, as a number. */
const significantly = (v) => v.toPrecision(3);

export default machine({ name: "hands", label: "Hands to turn", data: [], settings: ["query", "key", "shift", "base", "squeeze"],
  stage, controls, compute, show });
