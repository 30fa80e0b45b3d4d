// A beam as a tree: what is kept at each step, and the sentence that is taken; the kit stands before it.

const SIZES = { wide: 640, tall: 42, box: 27, gap: 6 }, LONG = 8, FEWEST = 3; // letters of a piece that is set smaller; columns
const NARROW = { wide: 320, tall: 58, box: 40, gap: 2 }; // the probability under the piece

// ---- What is computed.

const prepare = ({ trees }) => ({ forests: trees.map((tree) => {
  const children = tree.map(() => []);
  tree.forEach(([parent], node) => { if (parent >= 0) children[parent].push(node); });
  return children;
}) });

const worth = ({ total, length }, penalty) => total / ((5 + length) / 6) ** penalty;

/** The beginnings that were kept and are new at each step, and those left at the end. */
function search(tree, children, longest, width, penalty) {
  const rows = [], most = ((5 + longest) / 6) ** penalty;
  let beam = [{ node: 0, total: 0, length: 0, ended: false }];
  while (rows.length < longest && !beam.every(({ ended }) => ended)) {
    const done = beam.filter(({ ended }) => ended), open = beam.filter(({ ended }) => !ended);
    const longer = open.flatMap(({ node, total, length }) => children[node].map((next) =>
      ({ node: next, total: total + tree[next][2], length: length + 1, ended: Boolean(tree[next][3]) })));
    longer.sort((a, b) => b.total - a.total);
    rows.push(longer.slice(0, width - done.length));
    beam = [...done, ...rows.at(-1)];
    const finished = beam.filter(({ ended }) => ended).map((path) => worth(path, penalty));
    const hope = beam.filter(({ ended }) => !ended).map(({ total }) => total / most);
    if (finished.length && Math.max(...finished) >= Math.max(...hope)) break;
  }
  return { rows, beam };
}

function lineage(tree, node) {
  const found = [];
  for (; node > 0; [node] = tree[node]) found.unshift(node);
  return found;
}

const textOf = (tree, { node, ended }) => ended ? tree[node][3]
  : `${lineage(tree, node).map((at) => tree[at][1]).join("").replaceAll("▁", " ").trim()} …`;

function compute({ trees, forests, longest }, { sentence, width, penalty, box }) {
  const tree = trees[sentence], children = forests[sentence], ended = (path) => path.ended;
  const { rows, beam } = search(tree, children, longest, width, penalty);
  const best = (beam.some(ended) ? beam.filter(ended) : beam).map((path) => ({ node: path.node, text: textOf(tree, path),
    total: path.total, length: path.length, score: worth(path, penalty) }));
  best.sort((a, b) => b.score - a.score);
  return { rows: rows.map((row) => row.map(({ node }) => node)), found: best,
    greedy: textOf(tree, search(tree, children, longest, 1, 0).beam[0]), chain: chainOf(tree, rows, box) };
}

/** What leads to a node that a row keeps, and the probability of all up to there. */
function chainOf(tree, rows, box) {
  let total = 0;
  if (!rows.some((row) => row.some(({ node }) => node === box))) return [];
  return lineage(tree, box).map((node) => ({ node, so_far: Math.exp(total += tree[node][2]) }));
}

// ---- The page.

const stage = `<svg class="beam-picture" tabindex="0" role="slider" aria-label="Box of the tree"></svg><p class="beam-chain"></p>
<p class="machine-head"></p><ol class="beam-found machine-side"></ol>`;

const controls = ({ sentences, widest, penalties }) => [
  slider("Width", "width", { min: 1, max: widest, text: (n) => n === 1 ? "1: greedy" : `${n} kept` }),
  slider("Length penalty", "penalty", { values: penalties, text: (v) => fixed(v, 1) }),
  ...sentences.map((words, sentence) => button(words, () => ({ sentence, box: 0 }), (s) => s.sentence === sentence)),
];

function build(machine) {
  const { page: { picture }, on, sized, take, now } = machine;
  sized(picture, () => machine.narrow !== isNarrow(picture) && machine.update());
  on(picture, "click", ({ target }) => target.dataset.node && take({ box: Number(target.dataset.node) }));
  arrows(on, picture, (right, up) => ({ box: beside(now(), right, up) }), take);
}

/** The box next to the chosen one; the first when none is chosen. */
function beside({ rows, box }, right, up) {
  const step = rows.findIndex((row) => row.includes(box));
  if (step < 0) return rows[0][0];
  const row = rows[clamp(step - up, 0, rows.length - 1)];
  return row[clamp(rows[step].indexOf(box) + right, 0, row.length - 1)];
}

function show(now, machine) {
  const { page, data } = machine;
  const { sentence, width, penalty, found: [best], greedy, rows, box, chain } = now, tree = data.trees[sentence];
  const said = (text) => data.meanings[text] ? `“${text}” (“${data.meanings[text]}”)` : `“${text}”`;
  say(page.big, best.text);
  say(page.say, `${data.meanings[best.text] ? `In English: “${data.meanings[best.text]}”. ` : ""}${width === 1 ? "Only the likeliest piece is kept at each step."
    : greedy === best.text ? "Greedy decoding writes the same." : `Greedy decoding writes ${said(greedy)}.`} A person wrote ${
    data.people[sentence] === best.text ? "just this" : `“${data.people[sentence]}”`}.`);
  machine.narrow = isNarrow(page.picture);
  draw(page.picture, now, tree, Math.max(width, FEWEST), machine.narrow ? NARROW : SIZES);
  const worked = worksOut(tree, chain), order = rows.flat();
  say(page.chain, worked || "Press a box to see what leads to it and what was multiplied.");
  put(page.picture, { "aria-valuemin": 0, "aria-valuemax": order.length, "aria-valuenow": order.indexOf(box) + 1, "aria-valuetext": worked || "none" });
  say(page.head, penalty ? `Finished, best first: log-probability ÷ ((5 + pieces) / 6) to the power ${fixed(penalty, 1)}`
    : "Finished, best first: log-probability");
  fill(page.found, now.found, bar, (item, { text, total, length, score }) => {
    item.className = text === best.text ? "beam-best" : "";
    showBar(item, `${text} (${shareOf(total)}, ${length} pieces)`, Math.exp(score - best.score), 2);
    say(item.lastChild, fixed(score, 2));
  });
}

/** The product of a chain, in words. */
const worksOut = (tree, chain) => chain.map(({ node }) => `${tree[node][3] ? "end" : tree[node][1]} ${fixed(Math.exp(tree[node][2]), 2)}`).join(" · ")
  + (chain.length > 1 ? ` = ${chain.at(-1).so_far.toPrecision(2)}` : "");

const shareOf = (total) => Math.exp(total).toPrecision(2);

/** A row for each step, the likeliest beginning first, with the probability of all up to there; lines lead from what is continued,
 * and what leads to the chosen box is lit. */
function draw(picture, { rows, box: chosen, chain, found: [best] }, tree, columns, { wide, tall, box, gap }) {
  const column = wide / columns, where = new Map(), lines = [], boxes = [], under = box > SIZES.box;
  const way = new Set(lineage(tree, best.node)), led = new Set(chain.map(({ node }) => node)), alive = new Set(rows.flat().map((node) => tree[node][0]));
  rows.forEach((row, step) => row.forEach((node, at) => where.set(node, [(at + 0.5) * column, step * tall + box / 2 + 2])));
  for (const [node, [x, y]] of where) {
    const [parent, piece, , ends] = tree[node], kind = way.has(node) ? "beam-way" : ends || alive.has(node) ? "beam-kept" : "beam-dropped";
    const from = where.get(parent), lit = led.has(node) ? " beam-led" : "", name = `beam-piece ${kind}${piece.length >= LONG - 2 * under ? " beam-long" : ""}`, share = shareOf(lineage(tree, node).reduce((sum, at) => sum + tree[at][2], 0));
    if (from) lines[way.has(node) || lit ? "push" : "unshift"](rule(`beam-line ${kind}${lit}`, from[0], from[1] + box / 2, x, y - box / 2));
    boxes.push(rect(`beam-box ${kind}${lit}${ends ? " beam-end" : ""}${node === chosen ? " beam-chosen" : ""}`, x - column / 2 + gap, y - box / 2, column - 2 * gap, box, { rx: ends ? 14 : 5, data_node: node }));
    boxes.push(...(under ? [text(name, x, y - 2, ends ? "end" : piece, { text_anchor: "middle" }), text(`beam-share ${kind}`, x, y + 14, share, { text_anchor: "middle" })]
      : [text(name, x - column / 2 + 13, y + 5, ends ? "end" : piece), text(`beam-share ${kind}`, x + column / 2 - 12, y + 5, share, { text_anchor: "end" })]));
  }
  picture.setAttribute("viewBox", `0 0 ${wide} ${rows.length * tall - tall + box + 4}`);
  picture.replaceChildren(...lines, ...boxes);
}

const tell = ({ found }) => ` ${found.length} ${found.length === 1 ? "sentence" : "sentences"} finished; the best has ${fixed(found[0].score, 2)}.`;

export default machine({ name: "beam", label: "A beam as a tree", data: ["sentences", "people", "meanings", "trees", "widest", "longest", "penalties"],
  settings: ["sentence", "width", "penalty", "box"], prepare, stage, controls, build, compute, show, tell,
  fits: { box: (v, s, { trees }) => Number.isInteger(v) && v >= 0 && v < Math.max(...trees.map(({ length }) => length)),
    sentence: (v, s, { sentences }) => Number.isInteger(v) && v >= 0 && v < sentences.length } });
