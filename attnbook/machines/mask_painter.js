// A mask to paint, and three writers behind it; the kit and layers.js stand before it.

const PLACES = 8, START = 1, FINISH = 2, DRAWS = 100, BEST = 3;

// ---- What is computed.

const prepare = (data) => ({ net: unpacked(data), masks: Object.fromEntries(data.rules.map(([name, , mask]) => [name, mask])) });

/** Weights of one query over the keys that it may look at, and the chances of the word that follows. */
function readRow(net, ids, place, allowed) {
  const x = ids.map((id, i) => plus(net("word")[id], net("position")[i])), made = (part) => x.map((one) => times(net(part), one));
  const { weights: [weights], output: [seen] } = attention([times(net("query"), x[place])], made("key"), made("value"),
    (_, j) => (allowed[j] ? 0 : -Infinity), allowed.some(Boolean) ? softmax : (scores) => scores.map(() => 0));
  const out = plus(x[place], times(net("mix"), seen));
  return { weights, chances: softmax(plus(times(net("word"), out), net("bias"))) };
}

/** Whether a query may look at a key: the rule, and what was painted over it. */
const allowsOf = (mask, { painted }) => (i, j) => {
  const cell = 2 * (PLACES * i + j);
  return painted.includes(cell + 1) || !painted.includes(cell) && mask[i][j];
};

const chanceOf = (seed, n) => ((97 * seed + 31 * n + 17) * 0.6180339887498949) % 1;

function written(net, allows, seed) {
  const ids = [START];
  while (ids.length <= PLACES && ids.at(-1) !== FINISH) {
    const place = ids.length - 1, { chances } = readRow(net, ids, place, ids.map((_, j) => allows(place, j)));
    const chance = chanceOf(seed, place);
    let sum = 0;
    const id = chances.findIndex((share) => (sum += share) > chance);
    ids.push(id < 0 ? chances.length - 1 : id);
  }
  return ids.slice(1);
}

function compute({ net: all, masks, words, sentences }, settings) {
  const { writer, sentence, seed } = settings, net = (part) => all[`${writer}.${part}`], allows = allowsOf(masks[settings.rule], settings);
  const read = [START, ...sentences[sentence].map((word) => words.indexOf(word))], n = read.length, answers = [...read.slice(1), FINISH];
  const mask = read.map((_, i) => read.map((_, j) => allows(i, j)));
  const rows = read.map((_, i) => readRow(net, read, i, mask[i]));
  const honest = read.map((_, i) => readRow(net, read, i, mask[i].map((may, j) => may && j <= i)).chances[answers[i]]);
  const chance = read.map((_, i) => rows[i].chances[answers[i]]), mean = (list) => sumOf(list) / n;
  const best = ({ chances }) => [...chances.keys()].sort((a, b) => chances[b] - chances[a] || a - b).slice(0, BEST);
  const lamps = read.map((_, i) => (i + 1 < n && mask[i][i + 1] ? 2 : Number(mask[i].some((may, j) => may && j > i))));
  return { mask, weights: rows.map((row) => row.weights), lamps, inView: lamps.filter((lamp) => lamp === 2).length,
    best: rows.map((row) => best(row).map((id) => [words[id], row.chances[id]])),
    chance, honest, usual: mean(chance.map((v) => -Math.log(v))), peekless: mean(honest.map((v) => -Math.log(v))),
    written: written(net, allows, seed).map((id) => words[id]) };
}

// ---- The page.

const SIDE = 196, LEFT = 62, TOP = 58, WIDE = 400, LAMP = LEFT + SIDE + 14;
const stage = `<div class="machine-body"><svg class="painter-picture" viewBox="0 0 ${WIDE} ${TOP + SIDE + 4}"><g class="painter-under" aria-hidden="true"></g>
<rect class="painter-grid" x="${LEFT}" y="${TOP}" width="${SIDE}" height="${SIDE}" fill="transparent" tabindex="0" role="slider"
aria-label="Cells of the mask: arrows move, space paints" aria-valuemin="0" aria-valuemax="${PLACES ** 2 - 1}"/></svg>
<div class="machine-side"><p class="painter-asked machine-head"></p><ol class="machine-top"></ol>
<p class="painter-try machine-head"></p><p class="painter-writes"></p></div></div>`;

/** Another mask or sentence is not the one that was painted. */
const unpainted = (one) => ({ ...one, read: (now) => ({ ...one.read(now), painted: [] }) });

/** A rule, or what the reader has made of it, which is shown and cannot be chosen. */
function maskChooser(rules) {
  const one = chooser("Mask now", "rule", rules.map(([name, called]) => [name, called]));
  const own = make("option", { textContent: "your own", disabled: true, hidden: true });
  one.input.append(own);
  const differs = ({ rule, painted }) => {
    const [, , mask] = rules.find(([name]) => name === rule);
    return painted.some((cell) => mask[cell >> 4][(cell >> 1) % PLACES] !== Boolean(cell % 2));
  };
  return unpainted({ ...one, show: (s) => (differs(s) ? own.selected = true : one.show(s)) });
}

const controls = ({ sentences, writers, rules }) => [
  chooser("Trained with", "writer", writers),
  maskChooser(rules),
  unpainted(chooser("Sentence", "sentence", sentences.map((words, place) => [place, words.join(" ")]))),
  button("Write another", ({ seed }) => ({ seed: (seed + 1) % DRAWS })),
];

const fits = {
  painted: (v) => Array.isArray(v) && v.every((one, k) => Number.isInteger(one) && one >= 0 && one < 2 * PLACES ** 2 && (!k || one >> 1 > v[k - 1] >> 1)),
  at: (v) => Number.isInteger(v) && v >= 0 && v < PLACES ** 2,
  seed: (v) => Number.isInteger(v) && v >= 0 && v < DRAWS,
};

/** The painted cells, with one more. */
const paintedWith = (painted, cell, may) => [...painted.filter((one) => one >> 1 !== cell), 2 * cell + Number(may)].sort((a, b) => a - b);

/** Row and column of the cursor, in a sentence of n words. */
const cursor = (at, n) => [Math.min(Math.floor(at / PLACES), n - 1), Math.min(at % PLACES, n - 1)];

function build({ page, on, take, now }) {
  const node = page.grid, held = { may: null }, size = () => now().mask.length;
  const seenAt = (cell) => now().mask[Math.floor(cell / PLACES)][cell % PLACES];
  const along = (share) => Math.min(size() - 1, Math.floor(size() * share));
  const paint = (cell) => { if (seenAt(cell) !== held.may) take({ at: cell, painted: paintedWith(now().painted, cell, held.may) }); };
  drag(on, node, (x, y) => along(y) * PLACES + along(x), (cell) => {
    held.may ??= !seenAt(cell);
    paint(cell);
  });
  for (const name of ["pointerup", "pointercancel"]) on(node, name, () => { held.may = null; });
  arrows(on, node, (right, up) => {
    const [row, column] = cursor(now().at, size());
    return { at: clamp(row - up, 0, size() - 1) * PLACES + clamp(column + right, 0, size() - 1) };
  }, take);
  on(node, "keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    const [row, column] = cursor(now().at, size()), at = row * PLACES + column;
    take({ at, painted: paintedWith(now().painted, at, !seenAt(at)) });
  });
}

const lossOf = (v) => fixed(v, v < 0.1 ? 4 : 2);
const shown = (word) => ({ "<pad>": "(padding)", "<start>": "(start)", "<end>": "(end)" })[word] ?? word;
const readOf = ({ sentences }, { sentence }) => ["<start>", ...sentences[sentence]];

function show(now, { page, data }) {
  const { lamps, inView, usual, peekless, at, best, chance } = now, read = readOf(data, now), n = read.length, [row, column] = cursor(at, n);
  const later = lamps.filter((lamp) => lamp === 1).length, empty = read.filter((_, i) => !now.mask[i].some(Boolean)).map(shown).join(", ");
  say(page.big, inView ? `${inView} of ${n} answers ${inView === 1 ? "is" : "are"} in view` : later ? `No answer is in view, but what comes later is, in ${plural(later, "row")}` : "No answer is in view");
  say(page.say, `Loss of this sentence, all words at once under this mask: ${lossOf(usual)}. Word by word, without peeking: ${lossOf(peekless)}.${empty ? ` Sees nothing, gets zeros: ${empty}.` : ""}`);
  draw(page.under, now, read, heat(page.root));
  const name = (place) => shown(read[place]), may = now.mask[row][column] ? "seen" : "hidden";
  page.grid.setAttribute("aria-valuenow", at);
  page.grid.setAttribute("aria-valuetext", `${name(row)} looks at ${name(column)}: ${may}`);
  say(page.asked, `After ${quoted(name(row))}: ${quoted(row + 1 < n ? name(row + 1) : "(end)")} is right, chance ${fixed(chance[row], 2)}`);
  fill(page.top, best[row], bar, (item, [word, share]) => showBar(item, shown(word), share, 2));
  const words = now.written.map(shown), ended = words.at(-1) === "(end)";
  say(page.try, `It writes, by itself (try ${now.seed + 1})`);
  say(page.writes, words.join(" ") + (ended ? "" : " …"));
}

/** The mask with weights as shades; lamps and the likeliest word at the right of each row. */
function draw(group, { mask, weights, lamps, best, at }, read, shades) {
  const parts = [], n = read.length, cell = SIDE / n, [row, column] = cursor(at, n), name = (place) => shown(read[place]);
  const short = (word, most) => (word.length > most ? `${word.slice(0, most - 1)}…` : word), y = (i) => TOP + i * cell, middle = (i) => y(i) + cell / 2 + 4;
  parts.push(text("painter-axis", 0, TOP - 8, "reads ↓"), text("painter-axis", LAMP + 12, TOP - 8, "says next"));
  for (let i = 0; i < n; i++) {
    const x = LEFT + (i + 0.5) * cell;
    parts.push(text(`painter-word${i === column ? " painter-row" : ""}`, x, TOP - 6, short(name(i), 10), { transform: `rotate(-45 ${x} ${TOP - 6})` }),
      text(`painter-word${i === row ? " painter-row" : ""}`, LEFT - 6, middle(i), short(name(i), 9), { text_anchor: "end" }));
    for (let j = 0; j < n; j++) {
      const left = LEFT + j * cell, weight = weights[i][j], shade = shades(0.12 + 0.88 * weight);
      parts.push(rect(mask[i][j] ? "painter-seen" : "painter-hidden", left, y(i), cell, cell, mask[i][j] ? { fill: shade.background } : {}));
      if (!mask[i][j]) parts.push(rule("painter-cross", left + 3, y(i) + cell - 3, left + cell - 3, y(i) + 3));
      else if (weight >= 0.005) parts.push(text("painter-weight", left + cell / 2, middle(i), n > 6 ? fixed(weight, 2).replace(/^0|\.00$/, "") : fixed(weight, 2), { text_anchor: "middle", style: `fill:${shade.color}` }));
      if (j === i + 1) parts.push(rect("painter-answer", left + 1.5, y(i) + 1.5, cell - 3, cell - 3));
    }
    const [word, share] = best[i][0], right = word === (read[i + 1] ?? "<end>");
    parts.push(svg("circle", { class: `painter-lamp ${["", "painter-later", "painter-red"][lamps[i]]}`, cx: LAMP, cy: y(i) + cell / 2, r: 6 }),
      text(right ? "painter-good" : "painter-bad", LAMP + 12, middle(i), `${short(shown(word), 13)} ${fixed(share, 2)}${right ? " ✓" : ""}`));
  }
  parts.push(rect("painter-cursor", LEFT + column * cell, y(row), cell, cell));
  group.replaceChildren(...parts);
}

const tell = (now, data) => ` ${readOf(data, now).map((word, i) => `After ${shown(word)} ${shown(now.best[i][0][0])}`).join(", ")}. It writes ${now.written.map(shown).join(" ")}.`;

export default machine({ name: "painter", label: "A mask to paint", data: ["words", "shapes", "weights", "writers", "rules", "sentences"],
  settings: ["writer", "rule", "sentence", "painted", "at", "seed"], prepare, stage, controls, fits, build, compute, show, tell });
