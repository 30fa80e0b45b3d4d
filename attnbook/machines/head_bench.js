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

/** The properties by what the sentences on show can tell: each group has one bar, the sum of what is in it. */
const groupsOf = ({ alike }) => NAMES.map((_, n) => NAMES.filter((_, m) => alike[m] === n)).filter(({ length }) => length)
  .map((names) => ({ names, words: names.map((name) => PROPERTIES[name]), from: NAMES.indexOf(names[0]) }));

const list = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");

/** What the bars show; while some can't be told apart, nothing about which is largest. */
function verdict(now) {
  const { effects, count } = now, most = effects.reduce((best, v, n) => (Math.abs(v) > Math.abs(effects[best]) ? n : best), 0);
  const together = groupsOf(now).find(({ words }) => words.length > 1);
  if (together) return count === 1 ? "One sentence, four explanations" : `Not yet told apart: ${list(together.words)}`;
  return Math.abs(effects[most]) < 0.05 ? "None of the four adds as much as 0.05"
    : `What counts most: ${effects[most] < 0 ? "not " : ""}being ${PROPERTIES[NAMES[most]]}, ${fixed(Math.abs(effects[most]), 2)}`;
}

function show(now, { page, data }) {
  const { item, count, right, layer, head, weights, tiles } = now, names = data.nouns[item].slice(0, 2);
  say(page.big, verdict(now));
  const both = Math.round(100 * weights.flat().reduce((sum, w) => sum + w, 0) / count);
  say(page.say, `Layer ${layer}, head ${head}: the two nouns get ${both}% of the weight here. ${count < 8
    ? `${{ 1: "All four", 2: "Three", 4: "Two" }[count]} share one bar, their sum: they may be large and cancel.`
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

/** The effects here as bars, one for those that can't be told apart, and as a tick, once all sentences are on show, the
 *  median of the 240 items. */
function drawBars(bars, now) {
  const { effects, medians, tiles, count } = now, x = (v) => 185 + 115 * clamp(v, -0.65, 0.65);
  const parts = [rule("bench-axis", x(0), 0, x(0), 112), ...NAMES.map((name, n) => text(name === tiles ? "bench-chosen" : "", 0, 28 * n + 19, PROPERTIES[name]))];
  groupsOf(now).forEach(({ names: { length }, from }) => {
    const y = 28 * (from + (length - 1) / 2), low = 28 * (from + length), v = effects[from];
    parts.push(rect(`bench-bar${length > 1 ? " bench-unsure" : ""}`, Math.min(x(0), x(v)), y + 5, Math.abs(x(v) - x(0)), 18),
      ...(count < 8 ? [] : [rule("bench-median", x(medians[from]), y + 1, x(medians[from]), y + 27)]),
      ...(length > 1 ? [svg("path", { class: "bench-bracket", d: `M94 ${28 * from + 5}h5V${low - 5}h-5` }), text("bench-small", 300, y + 3, "sum", { text_anchor: "end" })] : []),
      text("bench-value", 300, y + 19, signed(v), { text_anchor: "end" }));
  });
  bars.replaceChildren(...parts, text("bench-small", 0, 126, count < 8 ? "bracket: only the sum is known" : "bar: these sentences · tick: median of 240 items"));
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

const tell = (now) => ` Extra weight here${now.count < 8 ? "" : ", and over 240 items"}: ${groupsOf(now).map(({ words, from }) =>
  `${list(words)}${words.length > 1 ? " together" : ""} ${signed(now.effects[from])}${now.count < 8 ? "" : `, ${signed(now.medians[from])}`}`).join("; ")}.`;

export default machine({ name: "bench", label: "What does a head look at?", data: ["frames", "nouns", "ends", "looks", "medians", "right"],
  settings: ["item", "layer", "head", "tiles", "count"], stage, controls, fits, build, compute, show, tell });
