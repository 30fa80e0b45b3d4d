// A small Transformer whose every box is a switch, and whose every sum says its words; the kit and
// layers.js stand before it.

const WRITTEN = 8, UNREAD = [0, 1, 3]; // padding, begin, unknown: no words
const SWITCHES = {
  ePlaces: "position", eNorm1: "norm", eAttention: "attention", eLine1: "+", eNorm2: "norm", eForward: "feed-forward", eLine2: "+", eNorm3: "norm",
  dPlaces: "position", dNorm1: "norm", dSelf: "attention to itself", dLine1: "+", dNorm2: "norm", dCross: "attention to the English", dLine2: "+",
  dNorm3: "norm", dForward: "feed-forward", dLine3: "+", dNorm4: "norm",
};
const NAMES = Object.keys(SWITCHES), NORMS = NAMES.filter((name) => name.includes("Norm")), LINES = NAMES.filter((name) => name.includes("Line"));

// ---- What is computed.

const sumOf = (a, b) => a.map((row, i) => plus(row, b[i]));
const largest = (list) => list.indexOf(Math.max(...list));

const norm = ({ net, off }, rows, name, from) => (off.has(name) ? rows : rows.map((row) => normed(row, net[`${from}.weight`], net[`${from}.bias`])));

const linear = ({ net }, rows, name) => rows.map((row) => plus(times(net[`${name}.weight`], row), net[`${name}.bias`]));
/** Queries, keys or values: one third of the inner projection. */
const third = ({ net }, rows, name, which) => rows.map((row) => {
  const [from, to] = [which * row.length, (which + 1) * row.length];
  return plus(times(net[`${name}.in_proj.weight`].slice(from, to), row), net[`${name}.in_proj.bias`].slice(from, to));
});

function attend(it, name, rows, given, causal = false) {
  const [q, k, v] = [rows, given, given].map((side, which) => third(it, side, name, which));
  const size = rows[0].length / it.heads, found = Array.from({ length: it.heads }, (_, h) => {
    const part = (row) => row.slice(h * size, (h + 1) * size);
    return attention(q.map(part), k.map(part), v.map(part), (i, j) => (causal && j > i ? -Infinity : 0));
  });
  return { made: linear(it, rows.map((_, i) => found.flatMap(({ output }) => output[i])), `${name}.out_proj`),
    looks: rows.map((_, i) => given.map((_, j) => found.reduce((sum, { weights }) => sum + weights[i][j] / it.heads, 0))) };
}

/** The sum after a part: what comes along the line, and what the part makes of it. */
function added({ off }, x, made, part, line) {
  const kept = off.has(line) ? x.map((row) => row.map(() => 0)) : x;
  return off.has(part) ? kept : sumOf(kept, made);
}

const fed = (it, rows, name) => linear(it, linear(it, rows, `${name}.linear1`).map((row) => row.map((v) => Math.max(v, 0))), `${name}.linear2`);

function begun({ net, off }, side, ids) {
  return ids.map((id, at) => net[`${side}_embedding.weight`][id].map((v, i, { length }) => {
    const angle = at * 10000 ** (-(i - i % 2) / length);
    return v * Math.sqrt(length) + (off.has(side === "source" ? "ePlaces" : "dPlaces") ? 0 : i % 2 ? Math.cos(angle) : Math.sin(angle));
  }));
}

function encoded(it, ids) {
  const name = "encoder.layers.0", first = begun(it, "source", ids), y = norm(it, first, "eNorm1", `${name}.norm1`);
  const second = added(it, first, attend(it, `${name}.attention`, y, y).made, "eAttention", "eLine1");
  return [first, second, added(it, second, fed(it, norm(it, second, "eNorm2", `${name}.norm2`), name), "eForward", "eLine2")];
}

function decoded(it, ids, memory) {
  const name = "decoder.layers.0", first = begun(it, "target", ids), y = norm(it, first, "dNorm1", `${name}.norm1`);
  const second = added(it, first, attend(it, `${name}.self_attention`, y, y, true).made, "dSelf", "dLine1");
  const { made, looks } = attend(it, `${name}.cross_attention`, norm(it, second, "dNorm2", `${name}.norm2`), memory);
  const third = added(it, second, made, "dCross", "dLine2");
  return { sums: [first, second, third, added(it, third, fed(it, norm(it, third, "dNorm3", `${name}.norm3`), name), "dForward", "dLine3")], looks };
}

const memoryOf = (it, rows) => norm(it, rows, "eNorm3", "encoder.norm");
const readout = (it, rows) => linear(it, norm(it, rows, "dNorm4", "decoder.norm"), "output")
  .map((row) => row.map((v, id) => (UNREAD.includes(id) ? -Infinity : v)));
/** A sum of the encoder, as a decoder hears it that looks there alone and holds nothing else. */
const heard = (it, rows) => readout(it, linear(it, third(it, memoryOf(it, rows), "decoder.layers.0.cross_attention", 2), "decoder.layers.0.cross_attention.out_proj"));

function translated(it, ids) {
  const encoder = encoded(it, ids), memory = memoryOf(it, encoder[2]), written = [];
  for (;;) {
    const { sums, looks } = decoded(it, [BOS, ...written], memory), best = largest(readout(it, sums[3].slice(-1))[0]);
    if (best === EOS || written.length === WRITTEN) return { written, ended: best === EOS, encoder, decoder: sums, looks };
    written.push(best);
  }
}

const prepare = (data) => ({ net: unpacked(data) });
const offOf = (off) => new Set(off ? off.split(",") : []);

function compute({ net, heads, source, target, sentences }, { sentence, off }) {
  const words = sentences[sentence].split(" "), ids = words.map((word) => source.indexOf(word));
  const it = { net, heads, off: offOf(off) }, said = translated(it, ids), spell = (list) => list.map((id) => target[id]);
  const whole = off ? translated({ ...it, off: new Set() }, ids) : said;
  const read = (logits) => {
    const shares = logits.map(softmax);
    return [spell(shares.map(largest)), shares.map((row) => Math.max(...row))];
  };
  return { read: words, written: spell(said.written), ended: said.ended, whole: spell(whole.written),
    encoder: said.encoder.map((rows) => read(heard(it, rows))), decoder: said.decoder.map((rows) => read(readout(it, rows))), looks: said.looks };
}

// ---- The page.

// From the English down to the French: a row for each sum, with the switches that lead to it.
const ROWS = [["english"], ["ePlaces"], ["eNorm1", "eAttention", "eLine1"], ["eNorm2", "eForward", "eLine2"], ["eNorm3"],
  ["french"], ["dPlaces"], ["dNorm1", "dSelf", "dLine1"], ["dNorm2", "dCross", "dLine2"], ["dNorm3", "dForward", "dLine3"], ["dNorm4"]];
const HEARD = { 1: ["encoder", 0], 2: ["encoder", 1], 3: ["encoder", 2], 6: ["decoder", 0], 7: ["decoder", 1], 8: ["decoder", 2], 9: ["decoder", 3] };
const TELLS = { english: "English", french: "written so far", eNorm3: "→ to the decoder", dNorm4: "→ read out: the next word" };
const SAID = { ePlaces: "position, encoder", dPlaces: "position, decoder" };
const spoken = (name) => SAID[name] ?? (LINES.includes(name) ? `stream past the ${SWITCHES[NAMES[NAMES.indexOf(name) - 1]]}`
  : NORMS.includes(name) ? `norm${{ eNorm3: " after the encoder", dNorm4: " before the readout" }[name] ?? ` before the ${SWITCHES[NAMES[NAMES.indexOf(name) + 1]]}`}`
  : SWITCHES[name]) + (name[0] === "e" && !/Places|Norm3/.test(name) ? ", encoder" : "");

const stage = `<div class="towers-rows"></div>`;

/** All of some switches on, or all off. */
const flip = (off, names) => {
  const was = offOf(off), all = names.every((name) => was.has(name));
  return { off: NAMES.filter((name) => (names.includes(name) ? !all : was.has(name))).join(",") };
};
const allOff = (names) => ({ off }) => names.every((name) => offOf(off).has(name));

const controls = ({ sentences }) => [
  chooser("English", "sentence", sentences.map((words, place) => [place, words])),
  button("All norms off", ({ off }) => flip(off, NORMS), allOff(NORMS)),
  button("All streams off", ({ off }) => flip(off, LINES), allOff(LINES)),
];

const fits = { off: (v) => typeof v === "string" && v === NAMES.filter((name) => v.split(",").includes(name)).join(",") };

function build({ page, on, take, settings }) {
  const boxes = {};
  page.rows.append(...ROWS.map((names) => make("div", { className: `towers-row towers-${names[0]}` },
    make("div", { className: "towers-parts" }, ...names.filter((name) => name in SWITCHES).map((name) => {
      const kind = LINES.includes(name) ? "line" : NORMS.includes(name) ? "norm" : "part";
      const box = boxes[name] = make("span", { className: `towers-box towers-is-${kind}`, role: "switch", tabIndex: 0,
        textContent: SWITCHES[name], ariaLabel: spoken(name) });
      const turn = () => take(flip(settings().off, [name]));
      on(box, "click", turn);
      on(box, "keydown", (event) => {
        if (![" ", "Enter"].includes(event.key)) return;
        event.preventDefault();
        turn();
      });
      return box;
    }), ...(/Places/.test(names[0]) ? [make("span", { className: "towers-sum", textContent: "+" })] : []), ...(names[0] in TELLS ? [make("span", { className: "towers-tell", textContent: TELLS[names[0]] })] : [])),
    make("div", { className: "towers-words" }))));
  page.boxes = boxes;
}

const NONE = ["<bos>", "(start)"], END = ["<eos>", "(end)"];
const plainly = (word) => ({ [NONE[0]]: NONE[1], [END[0]]: END[1] })[word] ?? word;
const sentenceOf = (words, ended = true) => (words.length ? words.join(" ") : "(nothing)") + (ended ? "" : " …");

function show(now, { page }) {
  const { off, read, written, ended, whole } = now, gone = offOf(off), shades = heat(page.root);
  say(page.big, sentenceOf(written, ended));
  const names = [...gone].map(spoken);
  say(page.say, !names.length ? "Everything is on." : `Off: ${names.length > 4 ? `${names.length} of ${NAMES.length} switches` : names.join(" · ")}. ${
    sentenceOf(written) === sentenceOf(whole) ? "The French is the same as with everything on." : `With everything on: ${sentenceOf(whole)}.`}`);
  for (const name of NAMES) page.boxes[name].ariaChecked = String(!gone.has(name));
  ROWS.forEach((_, row) => {
    const cells = page.rows.children[row].lastChild, [side, at] = HEARD[row] ?? [];
    const [words, shares] = side ? now[side][at] : row === 0 ? [read] : row === 5 ? [["<bos>", ...written]] : [[]];
    fill(cells, words, () => make("span"), (cell, word, j) => {
      const shade = shares && shades(shares[j]);
      say(cell, plainly(word));
      Object.assign(cell.style, { background: shade?.background ?? "", color: shade?.color ?? "" });
      cell.title = shares ? `${Math.round(100 * shares[j])}%` : "";
    });
  });
}

const tell = ({ encoder, decoder }) => ` The sums say: ${[...encoder, ...decoder].map(([words]) => words.map(plainly).join(" ")).join("; ")}.`;

export default machine({ name: "towers", label: "A Transformer of switches", data: ["shapes", "weights", "heads", "source", "target", "sentences"],
  settings: ["sentence", "off"], prepare, stage, controls, fits, build, compute, show, tell });
