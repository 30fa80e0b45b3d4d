// A small Transformer whose every box is a switch, and whose every sum says its words; the kit and
// layers.js stand before it.

const WRITTEN = 8, UNREAD = [0, 1, 3]; // padding, begin, unknown: no words
const namesOf = ({ switches }) => switches.map(([name]) => name);

// ---- What is computed.

const norm = ({ net, off }, rows, name, from) => (off.has(name) ? rows : rows.map((row) => normed(row, net[`${from}.weight`], net[`${from}.bias`])));

const linear = ({ net }, rows, name) => rows.map((row) => plus(times(net[`${name}.weight`], row), net[`${name}.bias`]));
/** Queries, keys or values: one third of the inner projection. */
const third = ({ net }, rows, name, which) => rows.map((row) => {
  const cut = (of) => net[`${name}.in_proj.${of}`].slice(which * row.length, (which + 1) * row.length);
  return plus(times(cut("weight"), row), cut("bias"));
});

function attend(it, name, rows, given, causal = false) {
  const [q, k, v] = [rows, given, given].map((side, which) => third(it, side, name, which));
  const size = rows[0].length / it.heads, found = Array.from({ length: it.heads }, (_, h) => {
    const part = (row) => row.slice(h * size, (h + 1) * size);
    return attention(q.map(part), k.map(part), v.map(part), (i, j) => (causal && j > i ? -Infinity : 0));
  });
  return linear(it, rows.map((_, i) => found.flatMap(({ output }) => output[i])), `${name}.out_proj`);
}

/** The sum after a part: what comes along the line, and what the part makes of it. */
function added({ off }, x, made, part, line) {
  const kept = off.has(line) ? x.map((row) => row.map(() => 0)) : x;
  return off.has(part) ? kept : kept.map((row, i) => plus(row, made[i]));
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
  const second = added(it, first, attend(it, `${name}.attention`, y, y), "eAttention", "eLine1");
  return [first, second, added(it, second, fed(it, norm(it, second, "eNorm2", `${name}.norm2`), name), "eForward", "eLine2")];
}

function decoded(it, ids, memory) {
  const name = "decoder.layers.0", first = begun(it, "target", ids), y = norm(it, first, "dNorm1", `${name}.norm1`);
  const second = added(it, first, attend(it, `${name}.self_attention`, y, y, true), "dSelf", "dLine1");
  const third = added(it, second, attend(it, `${name}.cross_attention`, norm(it, second, "dNorm2", `${name}.norm2`), memory), "dCross", "dLine2");
  return [first, second, third, added(it, third, fed(it, norm(it, third, "dNorm3", `${name}.norm3`), name), "dForward", "dLine3")];
}

const memoryOf = (it, rows) => norm(it, rows, "eNorm3", "encoder.norm");
const readout = (it, rows) => linear(it, norm(it, rows, "dNorm4", "decoder.norm"), "output")
  .map((row) => row.map((v, id) => (UNREAD.includes(id) ? -Infinity : v)));
/** A sum of the encoder, as a decoder hears it that looks there alone and holds nothing else. */
const heard = (it, rows) => readout(it, linear(it, third(it, memoryOf(it, rows), "decoder.layers.0.cross_attention", 2), "decoder.layers.0.cross_attention.out_proj"));

function translated(it, ids) {
  const encoder = encoded(it, ids), memory = memoryOf(it, encoder[2]), written = [];
  for (;;) {
    const sums = decoded(it, [BOS, ...written], memory), best = largest(readout(it, sums[3].slice(-1))[0]);
    if (best === EOS || written.length === WRITTEN) return { written, ended: best === EOS, encoder, decoder: sums };
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
    encoder: said.encoder.map((rows) => read(heard(it, rows))), decoder: said.decoder.map((rows) => read(readout(it, rows))) };
}

// ---- The page.

const stage = `<p class="towers-key">unsure <i></i> sure · point at a row, or tap it: percentages</p><div class="towers-rows"></div>`;

const flip = (data, off, name) => {
  const was = offOf(off);
  return { off: namesOf(data).filter((one) => was.has(one) !== (one === name)).join(",") };
};

const controls = (data) => [chooser("English", "sentence", data.sentences.map((words, place) => [place, words])),
  button("Everything on", () => ({ off: "" }))];

const fits = { off: (v, _, data) => typeof v === "string" && v === namesOf(data).filter((name) => v.split(",").includes(name)).join(",") };

function build({ page, data, on, take, settings }) {
  page.boxes = Object.fromEntries(data.switches.map(([name, textContent, ariaLabel]) => {
    const kind = /Line|Norm/.exec(name)?.[0].toLowerCase() ?? "part";
    const box = make("span", { className: `towers-box towers-is-${kind}`, role: "switch", tabIndex: 0, textContent, ariaLabel });
    const turn = () => take(flip(data, settings().off, name));
    on(box, "click", turn);
    on(box, "keydown", (event) => {
      if (![" ", "Enter"].includes(event.key)) return;
      event.preventDefault();
      turn();
    });
    return [name, box];
  }));
  const span = (className, textContent) => (textContent ? [make("span", { className, textContent })] : []);
  page.rows.append(...data.rows.map(([names, title, side]) => make("div", { className: `towers-row towers-${names[0]}` },
    make("div", { className: "towers-parts" }, ...names.flatMap((name) => page.boxes[name] ?? []),
      ...span("towers-tell", title), ...span("towers-sum", /Places/.test(names[0]) && "+")),
    make("div", { className: "towers-words", ...(side && { tabIndex: 0, role: "group" }) }))));
}

const plainly = (word) => ({ "<bos>": "(start)", "<eos>": "(end)" })[word] ?? word;
const sentenceOf = (words, ended = true) => (words.length ? words.join(" ") : "(nothing)") + (ended ? "" : " …");

function show(now, { page, data }) {
  const { off, read, written, ended, whole } = now, gone = offOf(off), shades = heat(page.root);
  say(page.big, sentenceOf(written, ended));
  const names = data.switches.filter(([name]) => gone.has(name)).map(([, , heard]) => heard);
  say(page.say, !names.length ? "Everything is on." : `Off: ${names.length > 4 ? `${names.length} of ${data.switches.length} switches` : names.join(" · ")}. ${
    sentenceOf(written) === sentenceOf(whole) ? "The French is the same as with everything on." : `With everything on: ${sentenceOf(whole)}.`}`);
  for (const name of namesOf(data)) page.boxes[name].ariaChecked = String(!gone.has(name));
  const told = { english: read, french: ["<bos>", ...written] };
  data.rows.forEach(([[name], , side, at], row) => {
    const cells = page.rows.children[row].lastChild, [words, shares] = side ? now[side][at] : [told[name] ?? []];
    fill(cells, words, () => make("span"), (cell, word, j) => {
      const shade = shares && shades(shares[j]);
      say(cell, plainly(word));
      Object.assign(cell.style, { background: shade?.background ?? "", color: shade?.color ?? "" });
      if (shares) cell.dataset.share = ` ${Math.round(100 * shares[j])}%`;
    });
    if (side) cells.ariaLabel = [...cells.children].map((cell) => cell.textContent + cell.dataset.share).join(", ");
  });
}

const tell = ({ encoder, decoder }) => ` The sums say: ${[...encoder, ...decoder].map(([words]) => words.map(plainly).join(" ")).join("; ")}.`;

export default machine({ name: "towers", label: "A Transformer of switches", data: ["shapes", "weights", "heads", "switches", "rows", "source", "target", "sentences"],
  settings: ["sentence", "off"], prepare, stage, controls, fits, build, compute, show, tell });
