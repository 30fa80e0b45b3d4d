// One head of a published model on eight sentences, and what four explanations are worth; the kit stands
// before it.

const PROPERTIES = { referent: "the referent", alive: "alive", subject: "the subject", farther: "farther away" };
const NAMES = Object.keys(PROPERTIES), COUNTS = [1, 2, 4, 8], LAYERS = 6, HEADS = 12;

// ---- What is computed.

/** The eight sentences of an item: frame by frame, first the animate noun is meant, then the place. In parts,
 *  of which every other is "it", or 0 or 1 for a noun. */
function sentences({ frames, nouns, ends }, { item }) {
  const [a, p, v, d] = nouns[item];
  return frames.flatMap(([text, subject, farther]) => ends.map((x, place) => ({
    parts: text.split(/(\{[ap]\}|\bit\b)/).map((part, at) => (at % 2 ? { "{a}": 0, "{p}": 1 }[part] ?? part
      : part.replace(/\{(\w)\}/g, (_, name) => ({ v, d, x })[name]))),
    signs: [!place, true, subject, farther].map((is) => (is ? 1 : -1)) })));
}

const wordOf = (names) => (part) => names[part] ?? part;

function compute(data, settings) {
  const { layer, head, item, count, tiles } = settings, all = sentences(data, settings).slice(0, count);
  const from = item * 8, view = data.looks;
  const weights = all.map((_, k) => [0, 1].map((noun) =>
    view.getUint16(2 * (((from + k) * 2 + noun) * LAYERS * HEADS + layer * HEADS + head), true) / 65535));
  const more = weights.map(([a, p]) => a - p), columns = NAMES.map((_, n) => all.map(({ signs }) => signs[n]));
  return { texts: all.map(({ parts }) => parts.map(wordOf(data.nouns[item])).join("")), weights, more,
    effects: columns.map((signs) => signs.reduce((sum, sign, k) => sum + sign * more[k], 0) / count),
    alike: columns.map((signs) => columns.findIndex((other) => other.join() === signs.join())),
    medians: data.medians[layer * HEADS + head], right: data.right[layer * HEADS + head],
    shades: data.medians.map((row) => row[NAMES.indexOf(tiles)]) };
}

const fits = { count: (v) => COUNTS.includes(v) };

// ---- The page.

/** Tiles: their picture, where the first one begins, behind the numbers of layers and heads, and how large each is. */
const ACROSS = 300, DOWN = 154, LEFT = 12, TOP = 12, WIDE = (ACROSS - LEFT) / HEADS, TALL = 128 / LAYERS;

const stage = `<div class="bench-whole"><div class="bench-lines"><ol class="bench-texts"></ol><svg class="bench-arcs" aria-hidden="true"></svg></div>
<div><p class="machine-head">extra weight for a noun that is …</p><svg class="bench-bars" viewBox="0 0 300 128" aria-hidden="true"></svg></div>
<div><p class="bench-over machine-head"></p><svg class="bench-tiles" viewBox="0 0 ${ACROSS} ${DOWN}" aria-hidden="true"></svg></div></div>`;

const controls = ({ nouns }) => [
  chooser("Nouns", "item", nouns.map(([a, p], place) => [place, `${a}, ${p}`])),
  chooser("Tiles show", "tiles", Object.entries(PROPERTIES)),
  slider("Layer", "layer", { max: LAYERS - 1 }),
  slider("Head", "head", { max: HEADS - 1 }),
  ...COUNTS.map((count) => button(`${count} sentence${count > 1 ? "s" : ""}`, () => ({ count }), (s) => s.count === count)),
];

const signed = (v) => (v < 0 ? "−" : "+") + Math.abs(v).toFixed(2);

function build({ page, on, sized, take, update }) {
  drag(on, page.tiles, (x, y) => ({ head: clamp(Math.floor((x * ACROSS - LEFT) / WIDE), 0, HEADS - 1), layer: clamp(Math.floor((y * DOWN - TOP) / TALL), 0, LAYERS - 1) }), take);
  sized(page.lines, update);
}

/** Which properties the sentences on show cannot tell apart from this one. */
const partners = ({ alike }, n) => NAMES.filter((_, m) => alike[m] === alike[n]).map((name) => PROPERTIES[name]);

function show(now, { page, data }) {
  const { item, count, effects, right, layer, head, weights, tiles } = now, none = Math.max(...effects.map(Math.abs)) < 0.05, names = data.nouns[item].slice(0, 2);
  const most = effects.reduce((best, v, n) => (Math.abs(v) > Math.abs(effects[best]) + 1e-9 ? n : best), 0), same = partners(now, most);
  say(page.big, none && count > 1 ? "None of the four adds as much as 0.05" : same.length > 3 ? "One sentence, four explanations"
    : same.length > 1 ? `Which is it: ${same.slice(0, -1).join(", ")} or ${same.at(-1)}?` : `What counts most: ${same[0]}, ${signed(effects[most])}`);
  const both = Math.round(100 * weights.flat().reduce((sum, w) => sum + w, 0) / count), here = count > 1 ? "these sentences" : "this sentence";
  say(page.say, `Layer ${layer}, head ${head}: the two nouns get ${both}% of the weight here. ${count < 8 ? none ? "" : `In ${here} you cannot tell them apart.`
    : `In 1,920 sentences, the referent has the larger weight, by however little, in ${Math.round(100 * right)}%.`}`);
  fill(page.texts, sentences(data, now).slice(0, count), () => make("li", { className: "bench-text" }), (line, { parts }, k) => {
    line.replaceChildren(...parts.map((part, at) => (at % 2 ? make("span", { textContent: wordOf(names)(part),
      className: part === "it" ? "bench-it" : `bench-noun bench-${part}${part === k % 2 ? " bench-meant" : ""}` }) : part)),
      " ", make("small", { textContent: names.map((name, n) => `${name} ${fixed(weights[k][n], 2)}`).join(", ") }));
  });
  drawArcs(page, weights);
  drawBars(page.bars, now);
  const full = Math.max(...data.medians.flat().map(Math.abs));
  say(page.over, `72 heads, layers down: ${PROPERTIES[tiles]}`);
  drawTiles(page.tiles, now, full);
}

/** A line from “it” to each noun, as thick as its weight: an arc, or straight up where the sentence takes two lines. */
function drawArcs({ arcs, lines, texts }, weights) {
  const { left, top, width, height } = lines.getBoundingClientRect(), parts = [];
  const at = (node) => { const box = node.getBoundingClientRect(); return [(box.left + box.right) / 2 - left, box.top - top, box.bottom - top]; };
  [...texts.children].forEach((line, k) => {
    const [x1, y1] = at(line.querySelector(".bench-it"));
    weights[k].forEach((weight, noun) => {
      const [x2, y2, low] = at(line.querySelector(`.bench-${noun}`)), rise = 6 + Math.min(Math.abs(x1 - x2) / 16, 16);
      parts.push(svg("path", { class: "bench-arc", d: low < y1 ? `M${x1} ${y1}L${x2} ${low}` : `M${x1} ${y1}C${x1} ${y1 - rise} ${x2} ${y2 - rise} ${x2} ${y2}`, stroke_width: 0.4 + 9 * weight }));
    });
  });
  arcs.setAttribute("viewBox", `0 0 ${Math.max(width, 1)} ${Math.max(height, 1)}`);
  arcs.replaceChildren(...parts);
}

/** The four effects here as bars, and as a tick, once all sentences are on show, the median of the 240 items. */
function drawBars(bars, { effects, alike, medians, tiles, count }) {
  const x = (v) => 185 + 115 * clamp(v, -0.65, 0.65), parts = [rule("bench-axis", x(0), 0, x(0), 112)];
  NAMES.forEach((name, n) => {
    const y = 28 * n, [from, to] = [0, effects[n]].map(x), unsure = alike.filter((m) => m === alike[n]).length > 1;
    parts.push(text(name === tiles ? "bench-chosen" : "", 0, y + 19, PROPERTIES[name]), rect(`bench-bar${unsure ? " bench-unsure" : ""}`, Math.min(from, to), y + 5, Math.abs(from - to), 18),
      ...(count < 8 ? [] : [rule("bench-median", x(medians[n]), y + 1, x(medians[n]), y + 27)]),
      text("bench-value", 300, y + 19, unsure ? "?" : signed(effects[n]), { text_anchor: "end" }));
  });
  bars.replaceChildren(...parts, text("bench-small", 0, 126, count < 8 ? "?: these sentences cannot tell" : "bar: these sentences · tick: median of 240 items"));
}

/** A tile for each head: one colour for more weight and one for less, on one scale for what the tiles can show. */
function drawTiles(tiles, { shades, layer, head }, full) {
  const tile = (name, row, column, more) => rect(name, LEFT + column * WIDE + 1, TOP + row * TALL + 1, WIDE - 2, TALL - 2, more);
  const number = (n, x, y) => text("bench-small", x, y, String(n), { text_anchor: "middle" });
  tiles.replaceChildren(...shades.map((v, k) => tile(`bench-tile bench-${v < 0 ? "less" : "more"}`, Math.floor(k / HEADS), k % HEADS, { fill_opacity: Math.abs(v) / full })),
    ...Array.from({ length: HEADS }, (_, n) => number(n, LEFT + (n + 0.5) * WIDE, 9)),
    ...Array.from({ length: LAYERS }, (_, n) => number(n, 5, TOP + (n + 0.65) * TALL)),
    tile("bench-here", layer, head),
    text("bench-small", 0, 152, `medians of 240 items · orange: more · purple: less · full: ${full.toFixed(2)}`));
}

const tell = ({ effects, alike, medians, count }) => ` Extra weight here${count < 8 ? "" : ", and over 240 items"}: ${NAMES.map((name, n) => `${PROPERTIES[name]} ${
  partners({ alike }, n).length > 1 ? "cannot be told" : signed(effects[n])}${count < 8 ? "" : `, ${signed(medians[n])}`}`).join("; ")}.`;

export default machine({ name: "bench", label: "What does a head look at?", data: ["frames", "nouns", "ends", "looks", "medians", "right"],
  settings: ["item", "layer", "head", "tiles", "count"], stage, controls, fits, build, compute, show, tell });
