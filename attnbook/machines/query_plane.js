// A query to drag among its keys; the kit and layers.js stand before it.

const SIZE = 340, MIDDLE = 170, BELOW = 64, CENTRE = [MIDDLE, MIDDLE], STEP = 0.1, STEPS = 99, RATE = 2, EDGE = 2;
const SHORTEST = 0.1, LONGEST = 6; // of a query's larger number, when it is stretched

// ---- What is computed.

const columnOf = (rows, d) => rows.map((row) => row[d]);

/** How far the next step takes each key: gradient descent on the squared distance of output and target. */
function pullOf({ value, scale, target }, keys, asked) {
  if (target === null) return keys.map(() => [0, 0]);
  const flat = columnOf(value, 0), weights = softmax(keys.map((key) => scale * dot(asked, key))), output = dot(weights, flat);
  const wide = Math.max(...flat) - Math.min(...flat) || 1;
  const by = flat.map((v, j) => RATE * scale * weights[j] * (v - output) * (target - output) / wide ** 2);
  return by.map((share) => asked.map((q) => share * q));
}

/** Keys are what they have learned: each lesson is a query as it was asked then, and for how many steps. */
function compute(data, { query, turned, lessons, hard }) {
  const { value: values, scale, matrix } = data;
  const asked = turned ? [0, 1].map((d) => dot(query, columnOf(matrix, d))) : [...query];
  let keys = data.key.map((key) => [...key]);
  for (const [x, y, steps] of lessons) for (let step = 0; step < steps; step++) {
    const pull = pullOf(data, keys, [x, y]);
    keys = keys.map((key, j) => key.map((v, d) => clamp(v + pull[j][d], -EDGE, EDGE)));
  }
  const scores = keys.map((key) => scale * dot(asked, key)), best = largest(scores);
  const weights = hard ? scores.map((_, j) => Number(j === best)) : softmax(scores);
  return { asked, keys, scores, weights, output: values[0].map((_, d) => dot(weights, columnOf(values, d))),
    pull: hard ? keys.map(() => [0, 0]) : pullOf(data, keys, asked) };
}

const stepsOf = (lessons) => sumOf(lessons.map(([, , steps]) => steps));

/** So many steps more with the query as it is asked now; none where there is no slope. */
const learn = (count) => ({ lessons, asked, hard }) => {
  const more = hard ? 0 : Math.min(count, STEPS - stepsOf(lessons));
  if (!more) return {};
  const last = lessons.at(-1), again = last && alike(last.slice(0, 2), asked);
  return { lessons: again ? [...lessons.slice(0, -1), [...asked, last[2] + more]] : [...lessons, [...asked, more]] };
};

/** Whether values are numbers, drawn on a line; how far the plane reaches, and places in it. */
function prepare({ key, value, target }, { query }) {
  const flat = value[0].length === 1;
  const reach = 1.3 * Math.max(target === null ? 1 : EDGE / 1.3, ...[key, [query], flat ? [] : value].flat(2).map(Math.abs));
  return { flat, reach, furthest: Math.max(reach, LONGEST), at: ([x, y]) => [MIDDLE + x / reach * MIDDLE, MIDDLE - y / reach * MIDDLE],
    held: (vector) => vector.map((v) => clamp(v, -reach, reach)) };
}

// ---- The page.

const written = (vector) => {
  const parts = vector.map((v) => fixed(v, 2)).join(", ");
  return vector.length > 1 ? `(${parts})` : parts;
};
const asks = ({ query, asked, turned }) => `query ${written(query)}` + (turned ? `, times W ${written(asked)}` : "");
const NO_SLOPE = "hard, so there is no slope and no key learns";
const spoken = (now, { names, target }) => `${asks(now)}. Weights: ` +
  `${names.map((name, j) => `${name} ${fixed(now.weights[j], 2)}`).join(", ")}. Output ${written(now.output)}.` +
  (target === null ? "" : ` ${plural(stepsOf(now.lessons), "step")} learned${now.hard ? `; ${NO_SLOPE}` : ""}.`);

const stage = ({ flat }) => `<div class="machine-body"><div class="plane-plot"><svg class="plane-area"
viewBox="0 0 ${SIZE} ${SIZE + BELOW * flat}"><g class="plane-under"></g><g class="plane-names" aria-hidden="true"></g>
<circle class="plane-handle" r="17" tabindex="0" role="slider" aria-label="Query"/></svg></div><div class="machine-side">
<p class="machine-big"></p><p class="machine-score"></p><p class="machine-head">weights</p><ol class="machine-top"></ol></div></div>`;

const longest = ({ query }) => Math.max(...query.map(Math.abs));
/** The same direction, a length times `by`, as far as `end`: from there on its button does nothing. */
function stretch(label, by, end) {
  const factor = (s) => { const most = longest(s), to = by < 1 ? Math.max(by, end / most) : Math.min(by, end / most);
    return most && (to < 1) === (by < 1) && Math.abs(to - 1) > 1e-9 ? to : 1; };
  const made = button(label, (s) => ({ query: s.query.map((v) => v * factor(s)) }));
  return { ...made, show: (s) => { made.element.ariaDisabled = String(factor(s) === 1); } };
}
function learning(label, count) {
  const made = button(label, learn(count));
  return { ...made, show: ({ lessons }) => { made.element.ariaDisabled = String(stepsOf(lessons) >= STEPS); } };
}
const controls = ({ matrix, furthest, target }) => [...matrix ? [toggle("Multiply the query by W first", "turned")] : [],
  ...target === null ? [] : [toggle("Hard: the best key takes all", "hard"), learning("Learn one step", 1), learning("Learn ten", 10)],
  stretch("Shorter", 0.5, SHORTEST), stretch("Longer", 2, furthest)];
const isQuery = (v, most) => Array.isArray(v) && v.length === 2 && v.every((one) => Number.isFinite(one) && Math.abs(one) <= most);
const isLesson = (v, most) => Array.isArray(v) && isQuery(v.slice(0, 2), most) && v.length === 3 && Number.isInteger(v[2]) && v[2] > 0;
const fits = { query: (v, s, { furthest }) => isQuery(v, furthest),
  lessons: (v, s, { target }) => Array.isArray(v) && v.every((one) => isLesson(one, Infinity)) && stepsOf(v) <= (target === null ? 0 : STEPS) };

function build({ page, data: { names, flat, reach, held }, on, take, settings }) {
  const { area, handle } = page, tall = 1 + BELOW * flat / SIZE, place = { text_anchor: "middle" };
  page.top.append(...names.map(bar));
  page.names.append(...names.map((name) => text("plane-key", 0, 0, name, place)), text("plane-query", 0, 0, "query", place));
  on(area, "pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
  });
  const round = (v, n = 1e6) => Math.round(v * n) / n, near = (v) => round(v * reach, 100);
  drag(on, area, (x, y) => ({ query: held([near(2 * x - 1), near(1 - 2 * y * tall)]) }), take);
  const step = (v, by) => { const most = Math.max(reach, Math.abs(v)); return clamp(round(v + STEP * by), -most, most); };
  arrows(on, handle, (...by) => ({ query: settings().query.map((v, d) => (by[d] ? step(v, by[d]) : v)) }), take);
}

/** Axes, and the hull of values that lie in the plane: all triangles of three of them. */
function ground({ flat, value, at }) {
  const axes = [rule("plane-axis", 0, MIDDLE, SIZE, MIDDLE), rule("plane-axis", MIDDLE, 0, MIDDLE, SIZE)];
  const after = (list, n) => list.slice(n + 1), drawn = (...corners) => svg("polygon", { class: "plane-hull", points: corners.map(at).join(" ") });
  return flat ? axes : [...axes, ...value.flatMap((a, i) => after(value, i).flatMap((b, j) => after(value, i + j + 1).map((c) => drawn(a, b, c))))];
}

/** The number of each value below its line, with its name where all have room. */
function labelled(values, names, xOf) {
  const all = values.map(([v], j) => `${names[j]} ${fixed(v, 0)}`), places = values.map(([v]) => xOf(v)).sort((a, b) => a - b);
  const room = Math.min(...places.slice(1).map((x, j) => x - places[j])), fit = 7.5 * Math.max(...all.map(({ length }) => length)) < room;
  return values.map(([v], j) => text("plane-value", clamp(xOf(v), 26, SIZE - 26), SIZE + 56, fit ? all[j] : fixed(v, 0), { text_anchor: "middle" }));
}

/** The ring of the output and the place where it is wanted, each by its name. */
function marks(cx, cy, wanted) {
  const label = (x, words) => text("plane-value", clamp(x, 24, SIZE - 24), SIZE + 12, words, { text_anchor: "middle" });
  if (wanted === undefined) return [label(cx, "output")];
  const place = clamp(wanted, 24, SIZE - 24), beside = cx <= wanted ? Math.min(cx, place - 56) : Math.max(cx, place + 56);
  return [svg("circle", { class: "plane-wanted", cx: wanted, cy, r: 13 }), label(place, "wanted"), label(beside, "output")];
}

/** Values as boxes, the larger the heavier, and the output: on a line of its own, or in the plane. */
function outcome({ weights, output }, { value: values, names, flat, at, target }) {
  const all = values.flat(), low = Math.min(...all), wide = Math.max(...all) - low || 1;
  const place = flat ? ([v]) => [20 + (v - low) / wide * (SIZE - 40), SIZE + 26] : at, [cx, cy] = place(output);
  return [...flat ? [rule("plane-hull", ...place([low]), ...place([low + wide])), ...labelled(values, names, (v) => place([v])[0]),
    ...marks(cx, cy, target === null ? undefined : place([target])[0])] : [],
    ...values.map((v, j) => {
      const [x, y] = place(v), r = 3 + 8 * Math.sqrt(weights[j]);
      return rect("plane-value", x - r, y - r, 2 * r, 2 * r, { rx: 2 });
    }), svg("circle", { class: "plane-output", cx, cy, r: 8 })];
}

/** As far from a place towards another as the picture goes. */
function inside(from, to) {
  const share = Math.min(1, ...from.map((v, d) => (to[d] > v ? (SIZE - v) / (to[d] - v) : to[d] < v ? v / (v - to[d]) : 1)));
  return from.map((v, d) => v + Math.max(share, 0) * (to[d] - v));
}

/** How a key would move, drawn five times as long, from its tip. */
const moves = ({ keys, pull }, at) => keys.flatMap((key, j) => {
  const [x1, y1] = at(key), [x2, y2] = inside(at(key), at(key.map((v, d) => v + 5 * pull[j][d])));
  return Math.hypot(x2 - x1, y2 - y1) < 2 ? [] : [rule("plane-pull", x1, y1, x2, y2), svg("circle", { class: "plane-pull", cx: x2, cy: y2, r: 3 })];
});

function show(now, { page, data }) {
  const { query, turned, asked, weights, output, scores, lessons, hard } = now, { at, names, target, reach } = data, tips = now.keys.map(at);
  const held = inside(CENTRE, at(query)), [cx, cy] = held, meets = inside(CENTRE, at(asked)), [x, y] = meets;
  page.under.replaceChildren(...ground(data), ...tips.flatMap((tip, j) => arrow("plane-key", CENTRE, tip, 1.5 + 9 * weights[j])),
    ...turned ? arrow("plane-asked", CENTRE, held, 1.5) : [], ...arrow("plane-query", CENTRE, meets, 3), ...moves(now, at), ...outcome(now, data));
  const labels = [...page.names.children];
  const place = (label, x, y) => put(label, { x: clamp(x, 24, SIZE - 24), y: clamp(y + 4, 14, SIZE - 6) });
  tips.forEach(([x, y], j) => {
    const far = Math.hypot(x - MIDDLE, y - MIDDLE) || 1;
    place(labels[j], x + (x - MIDDLE) / far * 16, y + (y - MIDDLE) / far * 16);
  });
  // Above or below its handle, away from the arrow, or where there is room.
  place(labels.at(-1), x, (y < MIDDLE ? y > 42 : y > SIZE - 42) ? y - 27 : y + 29);
  say(labels.at(-1), turned ? "query × W" : "query");
  [...page.top.children].forEach((item, j) => showBar(item, names[j], weights[j]));
  const best = largest(weights);
  say(page.big, `output ${written(output)}${target === null ? "" : `, wanted ${fixed(target, 0)}`}`);
  const first = names.filter((_, j) => scores[best] - scores[j] < 1e-9), score = `score ${fixed(scores[best], 2)}`;
  const fit = first.length === 1 ? `best key ${first[0]}, ${score}` : first.length === names.length ? "all fit alike" : `${first.join(" and ")} fit alike, ${score}`;
  const cut = Math.max(...asked.map(Math.abs)) > reach + 1e-9 ? ", longer than the picture" : "";
  say(page.score, `${asks(now)}${cut}; ${fit}${target === null ? "" : `; ${plural(stepsOf(lessons), "step")} learned${hard ? `; ${NO_SLOPE}` : ""}`}`);
  put(page.handle, { cx, cy, "aria-valuenow": Math.round(Math.atan2(query[1], query[0]) * 180 / Math.PI),
    "aria-valuemin": -180, "aria-valuemax": 180, "aria-valuetext": written(query) });
}

export default machine({ name: "plane", label: "A query to drag", data: ["key", "value", "names", "scale", "matrix", "target"],
  settings: ["query", "turned", "lessons", "hard"], stage, prepare, controls, fits, build, compute, show, words: spoken });
