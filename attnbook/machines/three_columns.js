// One sentence, three translators; the kit and the translator's engine stand before it.

const SPOKEN = 700; // ms without typing until what was written is spoken
const LONGEST = 24, ROW = 19, NAMES = 84, HEAD = 58, WIDE = 250; // tokens that are read; units of a picture
const SLANTED = 15, UPRIGHT = 12; // units that a column needs for its name
const ATTENTION = 1; // the column whose choice can be taken away

function compute({ sentences, runs }, { text, even }) {
  const found = runs[sentences.indexOf(text)];
  if (!found) return { source: [], columns: [] };
  const [source, fixed, additive, transformer, alike] = found;
  return { source, columns: [fixed, even ? alike : additive, transformer] };
}

// ---- The model that the engine lacks, since it has nothing to look at.

/** Seq2Seq.begin with a FixedVectorDecoder: the first state is all that it gets of the source. */
function* beginFixed(model, source) {
  const { tensors } = model, { last } = yield* encodeRecurrent(model, source);
  function step(token, state) {
    let input = row(tensors["decoder.embedding.weight"], token);
    const next = state.map((hidden, layer) =>
      (input = gruCell(tensors, "decoder.rnn", `l${layer}`, input, hidden)));
    return { logits: readout(tensors, input), weights: [], state: next };
  }
  return { step, state: bridged(tensors, last) };
}

BEGIN.fixed = beginFixed;

// ---- The page.

const stage = `<p class="columns-fetch" hidden><button class="columns-load" type="button"></button> <span class="columns-state"></span></p>
<p class="columns-legend"><span>share of a look: 0</span><i></i><i></i><i></i><i></i><i></i><i></i><span>1</span></p><p class="machine-say"></p><div class="columns-all"></div>`;

function textField() {
  const input = make("input", { type: "text", maxLength: 200, lang: "en", autocomplete: "off", autocapitalize: "off", spellcheck: false });
  return control("A sentence in English", input, "text", { fits: (v) => typeof v === "string",
    show: (s) => { if (input.value !== s.text) input.value = s.text; }, read: () => input.value });
}

/** Sentences to choose from; another sentence than these leaves its first line. */
function testField(sentences) {
  const one = chooser("From the test", "text", [["", `${sentences.length} sentences`, true], ...sentences.map((text) => [text, text])]);
  return { ...one, show: ({ text }) => { one.input.selectedIndex = 1 + sentences.indexOf(text); } };
}

const controls = ({ sentences, listed, chosen }) => [textField(), ...(chosen ? [testField(sentences.slice(listed, listed + chosen))] : []),
  toggle("Bahdanau’s must look everywhere alike", "even"),
  ...sentences.slice(0, listed).map((text) => button(text, () => ({ text }), (s) => s.text === text))];

function build(machine) {
  const { page, data: { names, abouts, files, sentences, sizes }, on, update, close } = machine;
  page.all.append(...names.map((name, at) => make("section", { style: `--name:"${name}"` }, make("p", { className: "machine-head", textContent: name }),
    make("p", { className: "columns-about", textContent: abouts[at] }),
    make("p", { className: "columns-written", lang: "fr" }), make("p", { className: "columns-meaning" }),
    make("p", { className: "columns-read" }), svg("svg", { class: "columns-picture", ...(at ? { role: "img", tabindex: "0", aria_label: `Where ${name} looked: arrow keys go from cell to cell` } : { aria_hidden: "true" }) }), make("p", { className: "columns-note" }))));
  [...page.all.children].slice(1).forEach((section, at) => readable(machine, section, at + 1));
  const book = bookScript(), engines = machine.engines = [];
  const field = machine.controls[0].input, size = `${(sizes.reduce((a, b) => a + b, 0) / 1e6).toFixed(1)} MB`;
  machine.fetched = files.length && book ? "not" : "never"; // then "asked", and "here" or "failed"
  page.load.textContent = `Load the three models, ${size}`;
  const load = () => {
    machine.fetched = "asked";
    page.load.hidden = true;
    say(page.state, `The models are on their way, ${size}.`);
    update();
    Promise.all(files.map((file, at) => readFile(file, book.src).then((buffer) => {
      engines[at] = loadModel(buffer);
      machine.wanted = null;
      update();
    }))).then(() => {
      machine.fetched = "here";
      update();
    }, () => {
      machine.fetched = "failed";
      page.load.hidden = false;
      say(page.state, "They could not be loaded. Press again.");
      update();
    });
  };
  on(page.load, "click", load);
  on(field, "input", () => machine.fetched === "not" && !sentences.includes(field.value) && load()); // who types has asked
  machine.visit = (rest) => { // a link shows all at once
    machine.followed = true;
    const taken = Object.getPrototypeOf(machine).visit.call(machine, rest);
    machine.followed = false;
    return taken;
  };
  machine.close = () => { machine.stop?.(); close(); };
}

/** The numbers of a map, by pointer and by keys. */
function readable(machine, section, at) {
  const picture = section.querySelector(".columns-picture"), { on } = machine;
  const read = (place) => { machine.reading = place && { at, ...place }; showRead(machine, section, at); };
  const point = ({ target }) => {
    const place = [...picture.querySelectorAll(".columns-cell")].indexOf(target), wide = machine.columns[at]?.source.length;
    if (place >= 0) read({ i: Math.floor(place / wide), j: place % wide });
  };
  on(picture, "pointermove", point);
  on(picture, "pointerdown", point);
  on(picture, "pointerleave", ({ pointerType }) => pointerType === "mouse" && read(null));
  arrows(on, picture, (right, up) => [right, up], ([right, up]) => {
    const one = machine.columns[at], from = placeOf(machine, at) ?? { i: up > 0 ? 1 : -1, j: 0 };
    if (!one?.weights.length) return;
    read({ i: clamp(from.i - up, 0, one.target.length - 1), j: clamp(from.j + right, 0, one.source.length - 1) });
    machine.page.live.textContent = section.querySelector(".columns-read").textContent;
  });
}

/** The cell that is read: the reader's, or the one with a ring. */
function placeOf({ reading, rings }, at) {
  const [i, j] = rings[at] ?? [];
  return reading?.at === at ? reading : i === undefined ? null : { i, j };
}

/** Below a map the two words of a cell and its number. */
function showRead(machine, section, at) {
  const one = machine.columns[at], place = placeOf(machine, at), own = machine.reading?.at === at;
  const { i, j } = place ?? {}, share = one?.weights[i]?.[j];
  say(section.querySelector(".columns-read"), !at || !one?.weights.length ? "" : share === undefined ? "Point at or tap a cell." : `${one.target[i]} → ${one.source[j]}: ${share.toFixed(2)}`);
  [...section.querySelectorAll(".columns-cell")].forEach((cell, k) => cell.classList.toggle("columns-here", own && k === i * one.source.length + j));
}

/** A model whose scores are all alike: v is 0. */
const alikeOf = (engine) => ({ ...engine, tensors: { ...engine.tensors, "decoder.attention.v": engine.tensors["decoder.attention.v"].map(() => 0) } });

/** What is still being typed ends as its models have learned that sentences end. */
const complete = (text) => (/[.!?…]\s*$/.test(text) || !text.trim() ? text : `${text.trimEnd()}.`);

/** Translate the reader's own sentence by each model that is there, one after another. */
function work(machine, { text, even }) {
  const { engines } = machine;
  return function* () {
    for (const [at, engine] of engines.entries()) {
      if (!engine) continue;
      const read = readSource(engine, complete(text), LONGEST), one = even && at === ATTENTION ? alikeOf(engine) : engine;
      const { words, steps, spans } = read.words.length
        ? yield* translating(one, read, { hidden: new Set(), longest: 40 }) : { words: [], steps: [], spans: [] };
      const weights = at ? rowsOfWords(steps.map(({ mean }) => mean), spans, read.spans) : [];
      // With its own English: until all are done, a column beside it is of another sentence.
      machine.found[at] = { of: machine.wanted, source: read.words, target: words, weights, cut: read.count > read.words.length };
      machine.update();
    }
  }();
}

/** What is on show, each column with its own English: the record, or what the models have given so far;
 * `old` is what was written for another sentence. */
function shownOf(now, machine, wanted) {
  if (now.columns.length) {
    machine.stop?.();
    machine.wanted = null;
    return machine.found = now.columns.map((one) => ({ ...one, source: now.source }));
  }
  if (machine.engines.length && machine.wanted !== wanted) {
    machine.stop?.();
    machine.wanted = wanted;
    machine.found = [...machine.found ?? []];
    const job = inSlices(work(machine, now), () => {
      machine.update();
      machine.speaking = setTimeout(() => { machine.page.live.textContent = spoken(machine.found, machine.data); }, SPOKEN);
    });
    machine.stop = () => { job.stop(); clearTimeout(machine.speaking); };
    job.start();
  }
  return (machine.found ?? []).map((one) => ({ ...one, old: one.of !== wanted }));
}

const spoken = (columns, { names }) => columns.map((one, at) => `${names[at]}: ${(detokenize(one.target) || "nothing").replace(/[^.!?…]$/, "$&.")}`).join(" ");

function show(now, machine) {
  const { page, data } = machine, key = JSON.stringify([now.text, now.even]), columns = shownOf(now, machine, key), own = !now.columns.length, empty = !now.text.trim(), asks = empty || (own && !machine.engines.length);
  const shades = heat(page.root);
  // After a press another sentence of the record is written word by word, like one that is translated here.
  page.all.classList.toggle("columns-live", !own && !machine.followed && (machine.before ?? key) !== key);
  machine.before = key;
  page.fetch.hidden = !own || empty || machine.fetched === "never" || machine.fetched === "here";
  say(page.say, empty ? "Type some English." : asks && machine.fetched === "never" ? "In the built book, type your own."
    : asks ? "Your own sentence needs the models."
      : now.even ? "Bahdanau’s model has its attention, but must weigh all words alike."
        : columns[0]?.cut ? `Too long: only its first ${columns[0].source.length} words and marks are read, up to “${columns[0].source.at(-1)}”.`
          : own ? "Your sentence; its answers come without English." : "Three answers; in grey, what they say.");
  Object.assign(machine, { columns: asks ? [] : columns, reading: null, rings: [] });
  [...page.all.children].forEach((section, at) => {
    const [,, written, meaning,, picture, note] = section.children, one = asks || (own && !machine.engines[at]) ? undefined : columns[at];
    const [,, i, j, seen] = own || (now.even && at === ATTENTION) ? [] : data.notes.find(([text, column]) => text === now.text && column === at) ?? [];
    section.classList.toggle("columns-old", Boolean(one?.old));
    section.style.setProperty("--step", `${Math.min(0.3, 3 / (one?.target.length || 1))}s`);
    written.replaceChildren(...(one ? wordByWord(one.target) : ["…"]));
    meaning.replaceChildren(wordSpan(one && data.meanings[one.target.join(" ")], one?.target.length)); // not before the French
    if (!one) picture.replaceChildren();
    else if (at) drawMap(picture, one, shades, [i, j]);
    else drawVector(picture, one, data.numbers);
    say(note, seen ?? "");
    machine.rings[at] = [i, j];
    showRead(machine, section, at);
  });
  [...page.legend.querySelectorAll("i")].forEach((node, at, all) => { node.style.background = shades(at / (all.length - 1)).background; });
}

/** What is written, a span for each word with the space before it. */
function wordByWord(target) {
  const whole = detokenize(target);
  let done = 0;
  const parts = target.map((_, i) => {
    const end = i + 1 < target.length ? detokenize(target.slice(0, i + 1)).length : whole.length;
    return wordSpan(whole.slice(done, done = end), i);
  });
  return whole ? parts : ["(nothing)"];
}

const wordSpan = (textContent, i) => {
  const node = make("span", { className: "columns-row", textContent });
  node.style.setProperty("--at", i);
  return node;
};

const short = (word, most = 11) => (word.length > most ? `${word.slice(0, most - 1)}…` : word);

/** The English above the columns of a picture, the French beside its rows, from row `first` on. */
function drawWords(source, target, first = 0) {
  const room = (WIDE - NAMES - 14) / Math.max(1, source.length), pitch = clamp(room, UPRIGHT, 26), x = (j) => NAMES + pitch * (j + 0.5);
  const slanted = room >= SLANTED, turn = slanted ? -52 : -90; // names of many words stand upright, in a wider picture
  return { pitch, x, wide: Math.max(WIDE, NAMES + pitch * source.length + 14),
    names: source.map((word, j) => text("", 0, 0, short(word, slanted ? 11 : 8), { transform: `translate(${(x(j) + 4).toFixed(1)} ${HEAD - 5}) rotate(${turn})` })),
    row: (i, ...more) => svg("g", { class: "columns-row", style: `--at:${i}` },
      text("", NAMES - 6, HEAD + ROW * (i + first) + 14, short(target[i]), { text_anchor: "end" }), ...more) };
}

/** A row for each word that was written: where it looked, on average over the heads; a ring is where to look. */
function drawMap(picture, { source, target, weights }, shades, [row, place]) {
  const { pitch, x, wide, names, row: written } = drawWords(source, target), cell = (i, j) => [x(j) - pitch / 2, HEAD + ROW * i];
  put(picture, { viewBox: `0 0 ${wide} ${HEAD + ROW * target.length + 2}` });
  picture.replaceChildren(...names, ...weights.map((shares, i) => written(i, ...shares.map((share, j) => {
    const [left, top] = cell(i, j);
    return rect("columns-cell", left + 0.5, top + 0.5, pitch - 1, ROW - 1, { fill: shades(share).background });
  }))));
  if (row === undefined) return;
  const [left, top] = cell(row, place);
  picture.append(svg("g", { class: "columns-row", style: `--at:${row}` }, rect("columns-ring", left - 0.5, top - 0.5, pitch + 1, ROW + 1)));
}

/** All the English into one vector, and all the French out of it. */
function drawVector(picture, { source, target }, numbers) {
  const { pitch, wide: all, names, row: written } = drawWords(source, target, 1), wide = Math.max(pitch * source.length, 86);
  put(picture, { viewBox: `0 0 ${all} ${HEAD + ROW * (target.length + 1) + 2}` });
  picture.replaceChildren(...names);
  if (!source.length) return;
  const middle = (i) => HEAD + ROW * (i + 1.5);
  picture.append(rect("columns-one", NAMES, HEAD, wide, ROW), text("", NAMES + 6, HEAD + 14, `${numbers} numbers`),
    ...target.map((_, i) => written(i, rule("columns-from", NAMES + 5, i ? middle(i - 1) : HEAD + ROW, NAMES + 5, middle(i)),
      rule("columns-from", NAMES - 2, middle(i), NAMES + 5, middle(i)))));
}

const words = (now, data) => (now.columns.length ? spoken(now.columns, data) : `Your sentence: ${now.text}`);

export default machine({ name: "columns", label: "Three translators", data: ["sentences", "listed", "chosen", "numbers", "runs", "names", "abouts", "meanings", "notes", "files", "sizes"],
  settings: ["text", "even"], lead: false, stage, controls, build, compute, show, words });
