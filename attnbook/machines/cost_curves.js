// Measured costs against length, on logarithmic axes; the kit stands before it. Every number shown was
// measured.

// One mark and one dash for each form, so that nobody needs the colours.
const MARKS = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M-3.7-3.7h7.4v7.4h-7.4Z",
  "M0-5 4.6 3.2h-9.2Z", "M0-5.2 5.2 0 0 5.2-5.2 0Z", "M-4.6-3.2h9.2L0 5Z",
  "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3Z"];
const DASHES = ["none", "8 3", "2 3", "9 3 2 3", "5 2", "1 2"];
const MARGIN = { left: 52, right: 14, top: 12, bottom: 40 }, NAMES = { least: 560, room: 132 };

const known = (v) => v !== null && v !== undefined;
const number = (v) => (known(v) ? significant(v, 3) : "not measured");

/** The lengths at which a measure has any number: the only ones at which the slider stops. */
const measuredLengths = ({ lengths, values }, measure) =>
  lengths.filter((_, at) => values[measure].some((series) => known(series[at])));

/** Of these lengths the one that is nearest by what `far` says. */
const nearest = (lengths, far) => lengths.reduce((best, n) => (far(n) < far(best) ? n : best));

const valuesAt = ({ lengths, forms, values }, measure, length) =>
  forms.map((_, place) => values[measure][place][lengths.indexOf(length)] ?? null);

const compute = (data, { measure, length }) => ({ values: Object.fromEntries(
  valuesAt(data, measure, length).map((value, place) => [data.forms[place], value])) });

/** Powers of ten between two numbers, and 2 and 5 times them where there are few. */
function ticks(low, high) {
  const steps = high / low > 150 ? [1] : high / low > 12 ? [1, 3] : [1, 2, 5], found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    found.push(...steps.map((step) => Number((step * 10 ** power).toPrecision(3))).filter((v) => v >= low && v <= high));
  }
  return found;
}

/** Places on the page: `x` of a length, `y` of a value, and the ticks of y. */
function layOut(data, measure, width) {
  const lengths = measuredLengths(data, measure), all = data.values[measure].flat().filter((v) => known(v) && v > 0);
  const low = Math.min(...all) / 1.4, high = Math.max(...all) * 1.4, height = clamp(width * 0.6, 230, 340);
  // Room for the names at the ends of the lines, on pages that are wide enough.
  const named = width >= NAMES.least, { left, top, bottom } = MARGIN, right = width - (named ? NAMES.room : MARGIN.right);
  const share = (v, a, b) => (b > a ? Math.log(v / a) / Math.log(b / a) : 0.5);
  return { width, height, lengths, named, left, right, top, floor: height - bottom, ticks: ticks(low, high),
    x: (n) => left + 8 + share(n, lengths[0], lengths.at(-1)) * (right - left - 16),
    y: (v) => height - bottom - share(v, low, high) * (height - top - bottom) };
}

// ---- The page.

const stage = `<p class="curves-axes" aria-hidden="true"></p><svg class="curves-plot" aria-hidden="true"></svg>
<table class="curves-table"><thead><tr><th scope="col">form</th><th scope="col" class="curves-unit"></th>
<th scope="col" class="curves-half"></th><th scope="col" class="curves-exponent">exponent</th></tr></thead><tbody></tbody></table>`;

/** Another measure may lack the length on show: then the nearest is taken. */
function controls(data) {
  const { read, ...which } = chooser("Measure", "measure", data.measures.map(({ name }, place) => [place, name]));
  const far = (length) => (n) => Math.abs(Math.log(n / length));
  const measure = { ...which, read: (s) => ({ ...read(s), length: nearest(measuredLengths(data, read(s).measure), far(s.length)) }) };
  measure.element.hidden = data.measures.length < 2;
  return [measure, slider("Length", "length", { values: (s) => measuredLengths(data, s.measure), text: whole })];
}

const line = (place) => ({ fill: "none", class: `curves-line curves-form-${place}`, stroke_dasharray: DASHES[place] });
const mark = (place, x, y, large) => svg("path", { class: `curves-mark curves-form-${place}`, d: MARKS[place],
  transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})${large ? " scale(1.5)" : ""}` });

function build(view) {
  const { page, data: { forms }, on, sized, take, settings, update } = view;
  const swatch = (place) => svg("svg", { class: "curves-swatch", viewBox: "0 0 30 12", aria_hidden: "true" },
    svg("polyline", { ...line(place), points: "0,6 30,6" }), mark(place, 15, 6));
  page.table.tBodies[0].append(...forms.map((form, place) => make("tr", {}, make("th", { scope: "row" }, swatch(place),
    make("span", { textContent: form })), make("td"), make("td"), make("td"))));
  /** The measured length nearest to a pointer. */
  const under = ({ clientX }) => nearest(view.plan.lengths,
    (n) => Math.abs(view.plan.x(n) - clientX + page.plot.getBoundingClientRect().left));
  const press = (event) => { view.hover = null; take({ length: under(event) }); };
  const look = (length) => {
    if (length !== view.hover) update(view.hover = length === settings().length ? null : length);
  };
  on(page.plot, "pointerdown", press);
  on(page.plot, "pointermove", (event) => (event.buttons ? press(event) : look(under(event))));
  on(page.plot, "pointerleave", () => look(null));
  sized(page.plot, update);
}

function show({ length: chosen, measure }, view) {
  const { page, data } = view, length = view.hover ?? chosen, { unit } = data.measures[measure];
  const [now, before] = [length, length / 2].map((n) => valuesAt(data, measure, n)), exponents = data.exponents[measure];
  say(page.axes, `${unit} ↑`);
  say(page.unit, unit);
  const since = data.lengths.includes(length / 2) ? `since ${whole(length / 2)}` : "since half";
  say(page.half, (view.hover ? `at ${whole(length)}, ` : "") + since);
  page.exponent.hidden = !exponents.some(known);
  [...page.table.tBodies[0].rows].forEach(({ cells: [, value, growth, exponent] }, place) => {
    say(value, number(now[place]));
    say(growth, known(now[place]) && known(before[place]) ? `×${(now[place] / before[place]).toFixed(1)}` : "–");
    say(exponent, known(exponents[place]) ? exponents[place].toFixed(2) : "–");
    exponent.hidden = page.exponent.hidden;
  });
  const width = page.plot.clientWidth || page.plot.getBoundingClientRect().width;
  if (!width) return;
  view.plan = layOut(data, measure, width);
  page.plot.setAttribute("viewBox", `0 0 ${width} ${view.plan.height}`);
  page.plot.style.height = `${view.plan.height}px`;
  page.plot.replaceChildren(...draw(data, view.plan, measure, chosen, view.hover));
}

function draw(data, plan, measure, length, hover) {
  const { height, x, y, lengths, left, right, top, floor } = plan, crowded = x(lengths[1] ?? length) - x(lengths[0]) < 44;
  const label = (at, down, anchor, words) => text("", at, down, words, { text_anchor: anchor });
  const upright = (name, n) => rule(name, x(n), top, x(n), floor);
  const parts = plan.ticks.flatMap((v) => [rule("curves-grid", left, y(v), right, y(v)), label(left - 6, y(v) + 4, "end", significant(v, 3))]);
  lengths.forEach((n, place) => {
    parts.push(rule("curves-axis", x(n), floor, x(n), floor + 5));
    if (!crowded || place % 2 === (lengths.length - 1) % 2) parts.push(label(x(n), floor + 18, "middle", whole(n)));
  });
  parts.push(label((left + right) / 2, height - 4, "middle", "length"), rule("curves-axis", left, floor, right, floor), upright("curves-here", length));
  if (hover) parts.push(upright("curves-hover", hover));
  const ends = data.forms.map((form, place) => {
    const points = data.lengths.map((n, at) => [n, data.values[measure][place][at]]).filter(([, v]) => known(v) && v > 0);
    parts.push(svg("g", {}, svg("polyline", { ...line(place), points: points.map(([n, v]) => `${x(n).toFixed(1)},${y(v).toFixed(1)}`).join(" ") }),
      ...points.map(([n, v]) => mark(place, x(n), y(v), n === length))));
    return points.length && { form, place, at: x(points.at(-1)[0]), down: y(points.at(-1)[1]) };
  });
  return plan.named ? [...parts, ...namesOf(ends.filter(Boolean))] : parts;
}

/** The forms' names where their lines end, moved apart where they would overlap. */
function namesOf(ends) {
  let low = -Infinity;
  return ends.sort((a, b) => a.down - b.down).map(({ form, place, at, down }) =>
    text(`curves-name curves-form-${place}`, at + 10, 4 + (low = Math.max(down, low + 14)), form));
}

const spoken = ({ length, measure, values }, { measures, forms }) => `${measures[measure].name}, length ${whole(length)}, ` +
  `${measures[measure].unit}: ${forms.map((form) => `${form} ${number(values[form])}`).join("; ")}`;

export default machine({ name: "curves", label: "Cost against length", lead: false, settings: ["length", "measure"],
  data: ["lengths", "forms", "measures", "values", "exponents"], stage, controls, build, compute, show, words: spoken });
