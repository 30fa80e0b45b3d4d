// Clocks with a query's hand and a key's, aimed by what was learned and turned by their positions; the kit stands before it.

const CLOCKS = 8, FARTHEST = 127, MOST = 1000, FARTHEST_AIM = 7, TRAINED = 16, SLACK = 0.2, ROUND = 2 * Math.PI;
const BASES = [100, 1000, 10000, 100000, 500000], SQUEEZES = [1, 2, 4, 8];

// ---- What is computed.

function compute(_, { distance, shift, aim, base, squeeze, clocks }) {
  const learned = Array.from({ length: CLOCKS }, (_, i) => base ** (-i / CLOCKS)), speeds = learned.map((v) => v / squeeze);
  const starts = speeds.map((v) => shift * v), stands = starts.map((v, i) => v + aim * learned[i]);
  const turned = speeds.map((v) => distance * v), asks = starts.map((v, i) => v + turned[i]), met = learned.map((v) => (TRAINED - 1) * v);
  const isNew = turned.map((v) => v % ROUND).map((v, i) => i < clocks && v > met[i] + SLACK && v < ROUND - SLACK);
  const parts = asks.slice(0, clocks).map((v, i) => Math.cos(v - stands[i]));
  return { query_angles: asks, key_angles: stands, key_starts: starts, met, new: isNew, parts, score: sumOf(parts),
    curve: Array.from({ length: FARTHEST + 1 }, (_, d) => sumOf(parts.map((_, i) => Math.cos(d * speeds[i] - aim * learned[i])))), best: aim * squeeze };
}

// ---- The page.

const PITCH = 90, LINE = 96, RADIUS = 34, WIDE = 4 * PITCH, TOP = 20, HIGH = 130, LEFT = 26, LEAST = 4;

const stage = `<div class="hands-whole"><div><p class="machine-head">eight clocks, fastest first: cosines</p>
<svg class="hands-clocks" viewBox="0 0 ${WIDE} ${2 * LINE + 4}" aria-hidden="true"></svg></div>
<div><p class="machine-head">their sum: the score, by distance</p>
<svg class="hands-curve" viewBox="0 0 ${WIDE} ${TOP + HIGH + 20}" aria-hidden="true"></svg></div></div>`;

const back = (d) => (d ? `${d} back` : "itself");

const controls = () => [
  slider("Aim at", "aim", { max: FARTHEST_AIM, text: back }),
  slider("The key is", "distance", { max: FARTHEST, text: back }),
  slider("Move both", "shift", { max: MOST, text: whole }),
  slider("Clocks", "clocks", { min: 1, max: CLOCKS }),
  slider("rope_theta", "base", { values: BASES, text: whole }),
  slider("Squeeze by", "squeeze", { values: SQUEEZES }),
];

/** The pictures stand before the controls, so that on a telephone the sliders and the curve are seen together. */
const build = ({ page: { root, controls: box } }) => root.querySelector(".hands-whole").after(box);

/** A tip `far` from the middle of clock i, at an angle; counted as in mathematics, against the clock. */
const tip = (i, angle, far) => [PITCH * (i % 4 + 0.5) + far * Math.cos(angle), LINE * Math.floor(i / 4) + 40 - far * Math.sin(angle)];

/** The part of a clock where training has shown the query's hand. */
function sector(i, from, wide) {
  const [cx, cy] = tip(i, 0, 0), name = "hands-met", n = (v) => v.toFixed(1);
  if (wide >= ROUND) return svg("circle", { class: name, cx, cy, r: RADIUS });
  const [x1, y1] = tip(i, from, RADIUS), [x2, y2] = tip(i, from + wide, RADIUS);
  return svg("path", { class: name, d: `M${n(cx)} ${n(cy)}L${n(x1)} ${n(y1)}A${RADIUS} ${RADIUS} 0 ${Number(wide > Math.PI)} 0 ${n(x2)} ${n(y2)}Z` });
}

function clock(i, { query_angles: asks, key_angles: stands, key_starts: starts, met, new: isNew, parts }) {
  const [cx, cy] = tip(i, 0, 0), told = (name, words) => text(name, cx, cy + RADIUS + 16, words, { text_anchor: "middle" });
  if (i >= parts.length) return [svg("circle", { class: "hands-face", cx, cy, r: RADIUS }), told("hands-tick", "silent")];
  const [kx, ky] = tip(i, stands[i], RADIUS - 15), [qx, qy] = tip(i, asks[i], RADIUS - 3);
  return [sector(i, starts[i], met[i]), svg("circle", { class: isNew[i] ? "hands-face hands-new" : "hands-face", cx, cy, r: RADIUS }),
    rule("hands-query", cx, cy, qx, qy), svg("circle", { class: "hands-query", cx: qx, cy: qy, r: 4.5 }),
    rule("hands-key", cx, cy, kx, ky), rect("hands-key", kx - 4, ky - 4, 8, 8),
    told(isNew[i] ? "hands-told" : "", `${isNew[i] ? "new: " : ""}${fixed(parts[i], 2)}`)];
}

function show(now, { page }) {
  const { distance, shift, clocks, score, curve, best } = now, least = Math.min(LEAST, clocks), count = now.new.filter(Boolean).length;
  say(page.big, `Score ${fixed(score, 2)}, ${back(distance)}`);
  say(page.say, `Query at ${whole(distance + shift)}, key at ${whole(shift)}. ${count ? `${count} of ${clocks} query hands` : "No query hand"} ${
    count > 1 ? "point" : "points"} well outside the shading.`);
  page.clocks.replaceChildren(...Array.from({ length: CLOCKS }, (_, i) => clock(i, now)).flat());
  const x = (d) => LEFT + (WIDE - LEFT - 6) * d / FARTHEST, y = (v) => TOP + 6 + (clocks - v) / (clocks + least) * (HIGH - 12);
  page.curve.replaceChildren(rect("hands-met", x(0), TOP, x(TRAINED - 1) - x(0), HIGH), text("hands-tick", x(TRAINED - 1) + 4, TOP + HIGH - 12, "shaded: met in training"),
    ...[-least, 0, clocks].flatMap((v) => [
      rule("hands-axis", LEFT, y(v), WIDE, y(v)), text("hands-tick", LEFT - 4, y(v) + 4, fixed(v, 0), { text_anchor: "end" })]),
    svg("path", { class: "hands-line", d: `M${curve.map((v, d) => `${x(d).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}` }),
    text("hands-best", x(best), y(curve[best]) - 8, best ? `highest ${best} back` : "highest: itself", { text_anchor: best < 24 ? "start" : "middle" }),
    svg("circle", { class: "hands-query", cx: x(distance), cy: y(score), r: 6 }),
    ...[0, 32, 64, 96].map((d) => text("hands-tick", x(d), TOP + HIGH + 15, d ? String(d) : "0 back", { text_anchor: d ? "middle" : "start" })));
}

export default machine({ name: "hands", label: "Hands to turn", data: [], settings: ["distance", "shift", "aim", "base", "squeeze", "clocks"],
  stage, controls, build, compute, show });
