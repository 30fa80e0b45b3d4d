// What one token leaves in a cache, as tiles, and the price of all forms; the kit stands before it.

const BLOCK = 64, ENDS = 32, HIGH = 24, TOP = 22, ROW = HIGH + 28;

// ---- What is computed.

/** Role and numbers of each tile of a layer. */
function partsOf({ groups, dim }, form) {
  if (form.startsWith("latent")) return [["state", Number(form.split("-")[1])]];
  return ["key", "value"].flatMap((role) => Array.from({ length: form === "groups" ? groups : 1 }, () => [role, dim]));
}

/** Bytes of a token in all layers, and what was measured. */
function costOf({ own, measured }, form, bits) {
  const numbers = partsOf(own, form).reduce((sum, [, n]) => sum + n, 0), ends = bits < 16 ? Math.ceil(numbers / BLOCK) * ENDS : 0;
  return { numbers, bytes: own.layers * (numbers * bits + ends) / 8, found: measured.find((one) => one.form === form && one.bits === bits) };
}

function compute(data, { form, bits }) {
  const now = costOf(data, form, bits), trained = costOf(data, "groups", 16);
  return { ...now, parts: partsOf(data.own, form), share: now.bytes / trained.bytes, rise: Math.expm1(now.found.loss - trained.found.loss) };
}

// ---- The page.

const stage = `<p class="tiles-said"></p><p class="tiles-was"></p><svg class="tiles-picture" aria-hidden="true"></svg><svg class="tiles-chart" aria-hidden="true"></svg>`;

const nameOf = ({ groups }, form) => form === "groups" ? `its ${groups} groups` : form === "one" ? "the mean of its groups" : form.replace("latent-", "a latent of ");

const controls = ({ own, forms, widths }) => [
  chooser("Keeps", "form", forms.map((form) => [form, nameOf(own, form)])),
  slider("Bits", "bits", { values: [...widths].reverse(), text: String }),
];

const kib = (bytes) => `${fixed(bytes / 1024, bytes < 10240 ? 2 : 1)} KiB`;
const risen = (rise) => rise === 0 ? "as it was" : `${rise < 0 ? "−" : "+"}${Math.abs(rise) < 0.02 ? fixed(Math.abs(100 * rise), 1) : significant(Math.abs(100 * rise), Math.abs(rise) < 1 ? 2 : 3)}%`;

function show(now, machine) {
  const { page, data } = machine;
  const { bytes, found, rise, share, numbers, form, bits } = now, { name, heads, groups, layers } = data.own;
  const trained = form === "groups" && bits === 16;
  say(page.big, `${kib(bytes)} a token, perplexity ${significant(Math.exp(found.loss), 3)}, ${risen(rise)}`);
  const serves = { groups: `A key and a value for every ${plural(Math.round(heads / groups), "head")}`, one: `One key and value for all ${heads} heads, the plain mean of ${groups}` };
  say(page.say, `${serves[form] ?? `One latent for all ${heads} heads`}: ${whole(numbers)} numbers of ${bits} bits in each of ${layers} layers. ${trained
    ? `This is how ${name} was trained.` : `That is ${Math.round(100 * share)}% of what ${name} kept.`}`);
  page.said.replaceChildren(make("strong", { textContent: data.own.beginning ?? "" }), found.said ?? "");
  page.said.hidden = page.was.hidden = !found.said;
  const before = costOf(data, "groups", 16).found.said;
  say(page.was, trained ? "Nothing is squeezed or rounded." : before === found.said ? "Word for word as it was." : `As it was:${before}`);
  machine.wide = widthOf(page.picture);
  draw(page.picture, now, data.own, machine.wide);
  plot(page.chart, machine.points = pointsOf(data, machine.wide), now, data.own, machine.wide);
}

const tell = ({ found: { said } }, { own: { beginning } }) => said ? ` It writes: ${beginning}${said}` : "";

/** Units across: as many as pixels on a telephone, so that letters keep their size. */
const widthOf = (picture) => (isNarrow(picture) ? 340 : 640);

/** A tile for each key, value or latent, as wide as its numbers and as high as their bits, in the outline of
 *  what the model was trained with. */
function draw(picture, { parts, bits }, { groups, dim }, wide) {
  const scale = wide / (groups * dim), rows = [parts.filter(([role]) => role !== "value"), parts.filter(([role]) => role === "value")], nodes = [];
  rows.forEach((row, r) => {
    const top = TOP + r * ROW, high = HIGH * bits / 16;
    let x = 0;
    nodes.push(text("", 0, top - 7, r ? "values" : parts[0][0] === "state" ? "the latent, for both" : "keys"),
      text("tiles-none", wide, top - 7, r ? "width: numbers, height: bits" : "outlined: as trained", { text_anchor: "end" }));
    for (const [role, n] of row) {
      nodes.push(rect(`tiles-${role}`, x, top + HIGH - high, n * scale - 1.5, high));
      x += n * scale;
    }
    nodes.push(rect("tiles-whole", 0, top, wide, HIGH));
    if (!row.length) nodes.push(text("tiles-none", wide / 2, top + HIGH / 2 + 5, "none: the latent serves for them too", { text_anchor: "middle" }));
  });
  picture.setAttribute("viewBox", `0 0 ${wide} ${TOP + ROW + HIGH + 2}`);
  picture.replaceChildren(...nodes);
}

// ---- All prices.

const LEFT = 74, UP = 32, DOWN = 204, SIZES = [0.5, 1, 2, 4, 8, 16], RISES = [["as it was", 0], ["+1%", 0.01], ["+10%", 0.1], ["+100%", 1], ["+1,000%", 10], ["+10,000%", 100]];
const RADII = { 16: 6.5, 8: 5, 4: 3.8, 2: 2.8 }, ENDS_AT = { text_anchor: "end" };

/** Where a size stands, on a logarithm; and a rise of the perplexity: straight below 0.2%, a logarithm above. */
const xOf = (bytes, wide) => LEFT + (wide - LEFT - 12) * clamp(Math.log(bytes / 1024 / 0.4) / Math.log(28 / 0.4), 0, 1);
const yOf = (rise) => DOWN - 14 - (DOWN - UP - 14) * Math.asinh(clamp(rise, 0, 1000) / 0.002) / Math.asinh(1000 / 0.002);

const pointsOf = (data, wide) => data.measured.map(({ form, bits }) => {
  const { bytes, rise } = compute(data, { form, bits });
  return { form, bits, x: xOf(bytes, wide), y: yOf(rise) };
});

/** A line for each form and a dot for each number of bits, larger for more; the one above in its own colour. */
function plot(chart, points, { form, bits }, own, wide) {
  const lines = [...new Set(points.map((one) => one.form))].map((name) => points.filter((one) => one.form === name));
  const here = points.find((one) => one.form === form && one.bits === bits);
  const on = (one) => one.form === form ? " tiles-on" : "", path = (line) => line.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  // The line above comes last, on top.
  lines.sort(([a], [b]) => (a.form === form) - (b.form === form));
  chart.setAttribute("viewBox", `0 0 ${wide} ${DOWN + 40}`);
  chart.replaceChildren(text("", 0, 14, "rise of the perplexity"), text("tiles-none", wide, 14, "press a dot", ENDS_AT),
    ...RISES.flatMap(([words, rise]) => [rule("tiles-grid", LEFT, yOf(rise), wide, yOf(rise)), text("tiles-none", LEFT - 8, yOf(rise) + 4, words, ENDS_AT)]),
    rule("tiles-scale", LEFT, DOWN, wide, DOWN),
    ...SIZES.flatMap((size) => [rule("tiles-scale", xOf(1024 * size, wide), DOWN, xOf(1024 * size, wide), DOWN + 4), text("tiles-none", xOf(1024 * size, wide), DOWN + 18, size, { text_anchor: "middle" })]),
    text("", wide, DOWN + 36, "KiB a token", ENDS_AT), text("tiles-none", 0, DOWN + 36, "dots, from large to small: 16, 8, 4, 2 bits"),
    ...lines.map((line) => svg("polyline", { class: `tiles-line${on(line[0])}`, points: path(line) })),
    ...lines.flat().map((one) => svg("circle", { class: `tiles-dot${on(one)}`, cx: one.x, cy: one.y, r: RADII[one.bits] })),
    svg("circle", { class: "tiles-price", cx: here.x, cy: here.y, r: 10 }),
    ...lines.map((line) => nameAt(line, on(line[0]), own, wide)));
}

/** The name of a line: beside its largest dot where there is room, else above it or below the line. */
function nameAt([{ form, x, y }, , low], mark, own, wide) {
  const words = nameOf(own, form).replace(/^a |^the /, ""), label = (at, up, more) => text(`tiles-label${mark}`, at, up, words, more);
  if (low && xOf(2900, wide) > x) return label(low.x, low.y + 20, { text_anchor: "middle" });
  if (form === "one") return label(x, y - 12, ENDS_AT);
  return x + (wide > 400 ? 150 : 100) > wide ? label(wide, y - 12, ENDS_AT) : label(x + 12, y + 4);
}

function build(it) {
  const { on, sized, page: { picture, chart }, update, take } = it;
  sized(picture, () => it.wide !== widthOf(picture) && update());
  on(chart, "click", ({ clientX, clientY }) => {
    const { left, top, width } = chart.getBoundingClientRect(), unit = it.wide / width;
    const far = ({ x, y }) => Math.hypot(x - (clientX - left) * unit, y - (clientY - top) * unit);
    const { form, bits, ...at } = it.points.reduce((a, b) => (far(b) < far(a) ? b : a));
    if (far(at) < 30) take({ form, bits });
  });
}

export default machine({ name: "tiles", label: "The bytes of one token", data: ["own", "measured", "forms", "widths"],
  settings: ["form", "bits"], stage, controls, build, compute, show, tell });
