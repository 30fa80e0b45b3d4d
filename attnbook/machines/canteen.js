// Seven days to drag, each of which should look at the next; the kit and layers.js stand before it.

const SIZE = 340, MIDDLE = 170, REACH = 2.6, EDGE = 2, STEP = 0.1, MOST = 60, RATE = 0.5, DIAL = 0.1;
const SCORES = { dot: "One table", general: "One matrix", two: "Two tables" };

// ---- What is computed.

const held = (vector) => vector.map((v) => v / Math.max(Math.hypot(...vector) / EDGE, 1));
/** A vector turned clockwise, as a matrix does it. */
const spin = ([x, y], angle) => {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [c * x + s * y, c * y - s * x];
};

function look(score, keys, own, angle) {
  const asked = { dot: keys, two: own, general: keys.map((key) => spin(key, angle)) }[score];
  const scores = asked.map((query) => keys.map((key) => dot(query, key)));
  return { asked, scores, weights: scores.map(softmax) };
}

/** One step of gradient descent on the cross-entropy, averaged over the week. */
function learn(score, keys, own, angle) {
  const { asked, weights } = look(score, keys, own, angle);
  const pull = weights.map((row, i) => row.map((w, j) => (w - (j === (i + 1) % 7)) / 7));
  const ofQuery = pull.map((row) => [0, 1].map((d) => row.reduce((sum, p, j) => sum + p * keys[j][d], 0)));
  const ofKey = keys.map((_, j) => [0, 1].map((d) => pull.reduce((sum, row, i) => sum + row[j] * asked[i][d], 0)));
  const back = { dot: ofQuery, two: ofQuery.map(() => [0, 0]), general: ofQuery.map((one) => spin(one, -angle)) }[score];
  const step = (vectors, ...moves) => vectors.map((vector, i) => held(vector.map((v, d) => v - RATE * moves.reduce((sum, move) => sum + move[i][d], 0))));
  // A quarter of a circle further is the derivative of a turn.
  const turn = score === "general" ? keys.reduce((sum, key, i) => sum + dot(spin(key, angle + Math.PI / 2), ofQuery[i]), 0) : 0;
  return [step(keys, ofKey, back), score === "two" ? step(own, ofQuery) : own, angle - DIAL * turn];
}

function compute(_, { score, days, asking, turn, learned }) {
  let keys = days, own = asking, angle = turn * Math.PI / 180;
  for (let n = 0; n < learned; n++) [keys, own, angle] = learn(score, keys, own, angle);
  const found = look(score, keys, own, angle);
  const served = found.scores.map((row, i) => row.every((v, j) => j === (i + 1) % 7 || v < row[(i + 1) % 7]));
  const loss = -found.weights.reduce((sum, row, i) => sum + Math.log(row[(i + 1) % 7]), 0) / 7;
  return { keys, own, turned: angle * 180 / Math.PI, ...found, served, loss };
}

// ---- The page.

const CELL = 40, LEFT = 46, TOP = 40;
const stage = `<div class="canteen-whole"><div><p class="machine-head">The days as arrows: drag their tips</p>
<svg class="canteen-plane" viewBox="0 0 ${SIZE} ${SIZE}"><g class="canteen-arrows"></g><g class="canteen-hands"></g></svg></div><div>
<p class="machine-head">Weights: dashed boxes are tomorrow</p>
<svg class="canteen-week" viewBox="0 0 ${LEFT + 7 * CELL + 14} ${TOP + 7 * CELL}" aria-hidden="true"></svg></div></div>`;

/** Finer than is shown, so that a perfect ring stays perfect. */
const round = (v) => Math.round(v * 1e4) / 1e4;
/** Where everything is now, as settings: what was learned becomes the start. */
const placed = ({ keys, own, turned }) => ({ days: keys.map((key) => key.map(round)), asking: own.map((one) => one.map(round)), turn: Math.round(turned), learned: 0 });

/** The angle of the matrix, as training leaves it; who turns it wants a matrix. */
function dial() {
  const angle = ({ score, turned, turn }) => Math.round(score === "general" ? turned : turn);
  const made = slider("Matrix turns", "turn", { min: -180, max: 180, text: (_, s) => `${angle(s)}°` }), { show, input } = made;
  return { ...made, show: (s) => { show(s); input.value = angle(s); input.disabled = s.score === "two"; }, read: (s) => ({ ...placed(s), score: "general", turn: Number(input.value) }) };
}

/** Another score for the arrows as they are; a matrix that does nothing yet begins with a seventh of a circle. */
const scored = (s, score) => {
  const all = placed(s);
  return { ...all, score, turn: score === "general" && all.turn === 0 ? 51 : all.turn };
};

const controls = ({ six }) => [
  dial(),
  slider("Training", "learned", { max: MOST, text: (n) => plural(n, "update") }),
  ...Object.entries(SCORES).map(([score, name]) => button(name, (s) => (s.score === score ? {} : scored(s, score)), (s) => s.score === score)),
  button("Show six", () => ({ score: "dot", days: six, learned: 0 })),
];

const isWeek = (v) => Array.isArray(v) && v.length === 7 && v.every((one) => Array.isArray(one) && one.length === 2 &&
  one.every(Number.isFinite) && Math.hypot(...one) <= EDGE + 0.01);
const fits = { score: (v) => Object.keys(SCORES).includes(v), days: isWeek, asking: isWeek };

const at = ([x, y]) => [MIDDLE + x / REACH * MIDDLE, MIDDLE - y / REACH * MIDDLE];

/** Where a label may stand: ahead of its tip first, then ever further round it, in radians. */
const ROUND = [0, 0.7, -0.7, 1.4, -1.4, 2.2, -2.2, Math.PI];

/** The place of a label beside its tip that covers least of what is `taken`, boxes [x, y, half a width, half a height]. */
function place([x, y], words, inward, taken) {
  const ahead = Math.atan2(y - MIDDLE, x - MIDDLE) + (inward ? Math.PI : 0), half = 4.5 * words.length;
  const over = (v) => Math.max(v, 0);
  const tried = ROUND.map((by, rank) => {
    const dx = Math.cos(ahead + by), dy = Math.sin(ahead + by), far = 16 + Math.abs(dx) * half + Math.abs(dy) * 7;
    const box = [x + far * dx, y + far * dy, half, 8], wide = (d, other) => over(box[d + 2] + other[d + 2] - Math.abs(box[d] - other[d]));
    const beyond = [0, 1].map((d) => over(box[d + 2] + Math.abs(box[d] - MIDDLE) - MIDDLE));
    return { box, cost: 4 * rank + sumOf(taken.map((other) => wide(0, other) * wide(1, other))) + 50 * sumOf(beyond) };
  });
  return tried.reduce((best, one) => (one.cost < best.cost ? one : best)).box;
}

function build({ page, data: { names }, on, take, now }) {
  const hand = (role, day) => svg("circle", { class: `canteen-hand canteen-${role}`, r: 11, tabindex: 0, role: "slider", "aria-valuemin": -180, "aria-valuemax": 180,
    "aria-label": role === "days" ? names[day] : `${names[day]} asks` });
  for (const role of ["asking", "days"]) {
    for (const day of names.keys()) {
      const node = hand(role, day), move = (to) => {
        const all = placed(now());
        return { ...all, [role]: all[role].map((one, i) => (i === day ? held(to(one)).map(round) : one)) };
      };
      const where = ({ clientX, clientY }) => {
        const { left, top, width, height } = page.plane.getBoundingClientRect();
        take(move(() => [(2 * (clientX - left) / width - 1) * REACH, (1 - 2 * (clientY - top) / height) * REACH]));
      };
      hold(on, node);
      on(node, "pointerdown", (event) => { if (!event.button) node.setPointerCapture(event.pointerId); });
      on(node, "pointermove", (event) => node.hasPointerCapture(event.pointerId) && where(event));
      arrows(on, node, (...by) => move((one) => one.map((v, d) => v + STEP * by[d])), take);
      page.hands.append(node);
    }
  }
}

function show({ score, keys, own, weights, served, loss, turned, learned }, { page, data: { names } }) {
  const two = score === "two", shades = heat(page.root), centre = { text_anchor: "middle" }, tips = keys.map(at), origin = [MIDDLE, MIDDLE];
  const asks = two ? own : score === "general" ? keys.map((key) => spin(key, turned * Math.PI / 180)) : [];
  const ends = asks.map(at), taken = [...tips, ...(two ? ends : [])].map(([x, y]) => [x, y, 9, 9]);
  const near = ([x, y]) => tips.some((tip) => Math.hypot(x - tip[0], y - tip[1]) < 24);
  // A day's name stands outside its tip; a question whose tip lies on a day's goes inside.
  const label = (className, tip, words, inward) => {
    const box = place(tip, words, inward, taken);
    taken.push(box);
    return text(className, box[0], box[1] + 4, words, centre);
  };
  page.arrows.replaceChildren(svg("circle", { class: "canteen-edge", cx: MIDDLE, cy: MIDDLE, r: EDGE / REACH * MIDDLE }),
    ...tips.flatMap((tip) => arrow("canteen-key", origin, tip, 3)),
    ...ends.flatMap((end) => arrow("canteen-asks", origin, end, 2)),
    ...tips.map((tip, i) => label("canteen-key", tip, names[i], false)),
    ...ends.map((end, i) => label("canteen-asks", end, `${names[i]}?`, near(end))));
  [...page.hands.children].forEach((node, n) => {
    const vector = (n < 7 ? own : keys)[n % 7], [cx, cy] = at(vector);
    put(node, { cx, cy, visibility: n < 7 && !two ? "hidden" : "visible", "aria-valuenow": Math.round(Math.atan2(vector[1], vector[0]) * 180 / Math.PI),
      "aria-valuetext": vector.map((v) => fixed(v, 2)).join(", ") });
  });
  page.week.replaceChildren(...names.map((name, j) => text("canteen-key", LEFT + (j + 0.5) * CELL, 32, name, centre)),
    ...weights.flatMap((row, i) => {
      const y = TOP + i * CELL, best = largest(row);
      return [text("canteen-asks", 0, y + 25, `${names[i]}?`), ...row.flatMap((w, j) => {
        const { background, color } = shades(w);
        return [rect("canteen-cell", LEFT + j * CELL, y, CELL - 2, CELL - 2, { fill: background }),
          text(j === best ? "canteen-best" : "", LEFT + (j + 0.5) * CELL - 1, y + 24, fixed(w, 2).replace(/^0/, ""), { ...centre, style: `fill:${color}` })];
      }), rect(`canteen-wanted${served[i] ? " canteen-served" : ""}`, LEFT + (i + 1) % 7 * CELL + 1, y + 1, CELL - 4, CELL - 4),
      text("canteen-tick", LEFT + 7 * CELL + 1, y + 25, served[i] ? "✓" : "")];
    }));
  const right = served.filter(Boolean).length, hungry = names.filter((_, i) => !served[i]);
  say(page.big, `Days served: ${right} of 7`);
  const how = { dot: "the same arrows ask and are asked", general: `each arrow is turned by ${fixed(turned, 0)}° before it asks`, two: "each day has a second arrow, which asks" }[score];
  const moved = learned ? { dot: "", general: "; training moves arrows and angle", two: "; training moves both" }[score] : "";
  say(page.say, `${SCORES[score]}: ${how}${moved}. Loss ${fixed(loss, 2)} after ${plural(learned, "update")}. ` +
    (right === 7 ? "All are served." : right ? `Still wrong: ${hungry.join(", ")}.` : "Nobody is served."));
}

export default machine({ name: "canteen", label: "The canteen", data: ["names", "six"], settings: ["score", "days", "asking", "turn", "learned"],
  stage, controls, fits, build, compute, show });
