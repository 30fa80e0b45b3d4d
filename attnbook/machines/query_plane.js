// A query to drag among its keys; the kit and layers.js stand before it.

const SIZE = 340, MIDDLE = 170, BELOW = 64, CENTRE = [MIDDLE, MIDDLE], STEP = 0.1, STEPS = 40, RATE = 2, EDGE = 2;

// ---- What is computed.

const columnOf = (rows, d) => rows.map((row) => row[d]);

/** How far the next step takes each key: gradient descent on the squared distance of output and target. */
function pullOf({ value, scale, target }, hard, keys, asked) {
  if (target === null || hard) return keys.map(() => [0, 0]);
  const flat = columnOf(value, 0), weights = softmax(keys.map((key) => scale * dot(asked, key))), output = dot(weights, flat);
  const wide = Math.max(...flat) - Math.min(...flat) || 1;
  const by = flat.map((v, j) => RATE * scale * weights[j] * (v - output) * (target - output) / wide ** 2);
  return by.map((share) => asked.map((q) => share * q));
}

function compute(data, { query, turned, steps, hard }) {
  const { value: values, scale, matrix } = data;
  const asked = turned ? [0, 1].map((d) => dot(query, columnOf(matrix, d))) : [...query];
  let keys = data.key.map((key) => [...key]);
  for (let step = 0; step < steps; step++) {
    const pull = pullOf(data, hard, keys, asked);
    keys = keys.map((key, j) => key.map((v, d) => clamp(v + pull[j][d], -EDGE, EDGE)));
  }
  const scores = keys.map((key) => scale * dot(asked, key)), best = largest(scores);
  const weights = hard ? scores.map((_, j) => Number(j === best)) : softmax(scores);
  return { asked, keys, scores, weights, output: values[0].map((_, d) => dot(weights, columnOf(values, d))),
    pull: pullOf(data, hard, keys, asked) };
}

/** Whether values are numbers, drawn on a line; how far the plane reaches, and places in it. */
function prepare({ key, value, target }, { query }) {
  const flat = value[0].length === 1;
  const reach = 1.3 * Math.max(target === null ? 1 : EDGE / 1.3, ...[key, [query], flat ? [] : value].flat(2).map(Math.abs));
  return { flat, reach, at: ([x, y]) => [MIDDLE + x / reach * MIDDLE, MIDDLE - y / reach * MIDDLE],
    held: (vector) => vector.map((v) => clamp(v, -reach, reach)) };
}

// ---- The page.

const written = (vector) => {
  const parts = vector.map((v) => fixed(v, 2)).join(", ");
  return vector.length > 1 ? `(${parts})` : parts;
};
const asks = ({ query, asked, turned }) => `query ${written(query)}` + (turned ? `, times W ${written(asked)}` : "");
const spoken = (now, { names }) => `${asks(now)}. Weights: ` +
  `${names.map((name, j) => `${name} ${fixed(now.weights[j], 2)}`).join(", ")}. Output ${written(now.output)}.`;

const stage = ({ flat }) => `<div class="machine-body"><div class="plane-plot"><svg class="plane-area"
viewBox="0 0 ${SIZE} ${SIZE + BELOW * flat}"><g class="plane-under"></g><g class="plane-names" aria-hidden="true"></g>
<circle class="plane-handle" r="17" tabindex="0" role="slider" aria-label="Query"/></svg></div><div class="machine-side">
<p class="machine-big"></p><p class="machine-score"></p><p class="machine-head">weights</p><ol class="machine-top"></ol></div></div>`;

/** The same direction, a length times `by`, or as far as the plane goes. */
const stretch = (by, reach) => ({ query }) => {
  const most = Math.max(...query.map(Math.abs));
  return most ? { query: query.map((v) => v * Math.min(by, reach / most)) } : {};
};
const controls = ({ matrix, reach, target }) => [...matrix ? [toggle("Multiply the query by W first", "turned")] : [],
  ...target === null ? [] : [slider("Learned", "steps", { max: STEPS, text: (n) => plural(n, "step") }), toggle("Hard: the best key takes all", "hard"),
    button("Learn one step", ({ steps }) => ({ steps: Math.min(steps + 1, STEPS) }))], button("Shorter", stretch(0.5, reach)), button("Longer", stretch(2, reach))];
const fits = { query: (v, s, { held }) => Array.isArray(v) && v.length === 2 && v.every(Number.isFinite) && alike(v, held(v)) };

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
  arrows(on, handle, (...by) => ({ query: held(settings().query.map((v, d) => round(v + STEP * by[d]))) }), take);
}

/** Axes, and the hull of values that lie in the plane: all triangles of three of them. */
function ground({ flat, value, at }) {
  const axes = [rule("plane-axis", 0, MIDDLE, SIZE, MIDDLE), rule("plane-axis", MIDDLE, 0, MIDDLE, SIZE)];
  const after = (list, n) => list.slice(n + 1), drawn = (...corners) => svg("polygon", { class: "plane-hull", points: corners.map(at).join(" ") });
  return flat ? axes : [...axes, ...value.flatMap((a, i) => after(value, i).flatMap((b, j) => after(value, i + j + 1).map((c) => drawn(a, b, c))))];
}

/** Values as boxes, the larger the heavier, and the output: on a line of its own, or in the plane. */
function outcome({ weights, output }, { value: values, flat, at }) {
  const all = values.flat(), low = Math.min(...all), wide = Math.max(...all) - low || 1;
  const place = flat ? ([v]) => [20 + (v - low) / wide * (SIZE - 40), SIZE + 26] : at, [cx, cy] = place(output);
  return [...flat ? [rule("plane-hull", ...place([low]), ...place([low + wide]))] : [],
    ...values.flatMap((v, j) => {
      const [x, y] = place(v), r = 3 + 8 * Math.sqrt(weights[j]);
      return [rect("plane-value", x - r, y - r, 2 * r, 2 * r, { rx: 2 }),
        ...flat ? [text("plane-value", x, SIZE + 56, fixed(v[0], 0), { text_anchor: "middle" })] : []];
    }), svg("circle", { class: "plane-output", cx, cy, r: 8 })];
}

/** How a key would move, drawn five times as long, from its tip. */
const moves = ({ keys, pull }, at) => keys.flatMap((key, j) => {
  const [x1, y1] = at(key), [x2, y2] = at(key.map((v, d) => v + 5 * pull[j][d]));
  return Math.hypot(x2 - x1, y2 - y1) < 2 ? [] : [rule("plane-pull", x1, y1, x2, y2), svg("circle", { class: "plane-pull", cx: x2, cy: y2, r: 3 })];
});

function show(now, { page, data }) {
  const { query, turned, asked, weights, output, scores, steps, hard } = now, { at, names, target } = data, tips = now.keys.map(at);
  page.under.replaceChildren(...ground(data), ...tips.flatMap((tip, j) => arrow("plane-key", CENTRE, tip, 1.5 + 9 * weights[j])),
    ...turned ? arrow("plane-asked", CENTRE, at(query), 1.5) : [], ...arrow("plane-query", CENTRE, at(asked), 3), ...moves(now, at), ...outcome(now, data));
  const [cx, cy] = at(query), [x, y] = at(asked), labels = [...page.names.children];
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
  const tied = scores.lastIndexOf(scores[best]) > scores.indexOf(scores[best]);
  say(page.score, `${asks(now)}; ${tied ? "all fit alike" : `best key ${names[best]}, score ${fixed(scores[best], 2)}`}` +
    (target === null || hard ? "" : `; ${plural(steps, "step")} learned`));
  put(page.handle, { cx, cy, "aria-valuenow": Math.round(Math.atan2(query[1], query[0]) * 180 / Math.PI),
    "aria-valuemin": -180, "aria-valuemax": 180, "aria-valuetext": written(query) });
}

export default machine({ name: "plane", label: "A query to drag", data: ["key", "value", "names", "scale", "matrix", "target"],
  settings: ["query", "turned", "steps", "hard"], stage, prepare, controls, fits, build, compute, show, words: spoken });
