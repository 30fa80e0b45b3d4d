// A race of two writers, with a cache and without; the kit and layers.js stand before it.

const DRAFTED = 8, DRAFT = 2, LEFT = 24, SEEN = 1e-4;

// ---- What is computed.

/** Keys and values of each head of each layer, and how many words there were; or of `one` layer, for all. */
function emptyCache({ layers, heads }, one) {
  const made = Array.from({ length: layers }, () => Array.from({ length: heads }, () => ({ keys: [], values: [] })));
  return { length: 0, layers: one ? made.fill(made[0]) : made };
}

/** The last state of a word that follows those in the cache, which it joins. */
function readWord({ net, heads }, word, cache, bug) {
  let x = net["embedding.weight"][word];
  const place = bug === "place" ? 0 : cache.length++, first = bug === "left" ? (_, j) => (j ? -Infinity : 0) : undefined;
  cache.layers.forEach((kept, n) => {
    const at = (name, y) => times(net[`stack.layers.${n}.${name}.weight`], y), norm = (name) => rms(x, net[`stack.layers.${n}.${name}.weight`]);
    const made = at("attention.in_proj", norm("norm1")), size = x.length / heads, part = (h) => made.slice(h * size, (h + 1) * size);
    const found = kept.flatMap(({ keys, values }, h) => {
      keys.push(rotated(part(heads + h), place));
      values.push(part(2 * heads + h));
      return attention([rotated(part(h), place)], keys, values, first).output[0];
    });
    x = plus(x, at("attention.out_proj", found));
    const y = norm("norm2"), inner = at("linear1", y);
    x = plus(x, at("linear2", at("gate", y).map((g, i) => g / (1 + Math.exp(-g)) * inner[i])));
  });
  return x;
}

const logitsOf = ({ net }, x) => times(net["embedding.weight"], rms(x, net["stack.norm.weight"]));

/** A writer with a cache: each call reads a word and gives the logits of the next. */
function keeper(it, song, bug) {
  const ids = it.songs[song], other = it.songs[(song + 1) % it.songs.length], cache = emptyCache(it, bug === "layers");
  const join = (words) => words.forEach((word) => readWord(it, word, cache));
  let n = 0;
  if (bug === "old") join(other.slice(0, LEFT));
  return (word) => {
    if (bug === "draft" && n && n % DRAFTED === 0) join(ids.slice(0, DRAFT));
    const logits = logitsOf(it, readWord(it, word, cache, bug));
    if (bug === "readers") join([other[n]]);
    n++;
    return logits;
  };
}

/** A writer that keeps the words alone, and reads all of them at each call. */
function again(it) {
  const words = [];
  return (word) => {
    words.push(word);
    const cache = emptyCache(it);
    return logitsOf(it, words.map((one) => readWord(it, one, cache)).at(-1));
  };
}

/** What a writer says by itself, and its logits over the song: one writer, until what it says is not the song. */
function runOf(it, song, bug) {
  const writer = () => keeper(it, song, bug), words = it.songs[song], told = writer(), written = [words[0]];
  let alone;
  const read = (word, n) => {
    const logits = told(word), own = written[n];
    if (own !== word) alone ??= written.slice(0, n).reduce((one, before) => (one(before), one), writer());
    written.push(largest(alone ? alone(own) : logits));
    return logits;
  };
  return it.runs[song + bug] ??= { logits: words.slice(0, -1).map(read), written };
}

function prepare(data) {
  const net = unpacked(data), layers = data.shapes.filter(([name]) => name.includes("in_proj")).length, [V, E] = data.shapes[0][1];
  const word = 4 * E * E + 3 * E * net["stack.layers.0.gate.weight"].length, last = data.songs[0].length - 1;
  const counts = Array.from({ length: last }, (_, n) => [word + 2 * (n + 1) * E, (n + 1) * (word + (n + 2) * E)].map((one) => layers * one + V * E));
  return { net, layers, last, counts, runs: {} };
}

function compute(data, { song, bug, step }) {
  const right = runOf(data, song, "none"), run = runOf(data, song, bug), spell = ({ written }) => written.slice(0, step + 1).map((id) => data.words[id]);
  const apart = run.logits.map((row, n) => Math.max(...row.map((v, i) => Math.abs(v - right.logits[n][i]))));
  const each = data.counts.slice(0, step);
  return { written: spell(run), right: spell(right), caught: apart.findIndex((v) => v > SEEN) + 1, apart: Math.max(...apart),
    differs: Math.max(run.written.findIndex((id, n) => id !== right.written[n]), 0), now: each.at(-1), all: each.reduce(plus) };
}

// ---- The page.

const WIDE = 640, HIGH = 126, TOP = 20, SHOWN = 32, NAMES = ["with a cache", "everything again"];
const stage = `<div class="race-lanes">${NAMES.map((name) => `<div><p class="machine-head">${name}</p><p></p><p class="race-written"></p></div>`).join("")}</div>
<p class="race-key"></p><svg class="race-picture" viewBox="0 0 ${WIDE} ${HIGH + 20}" aria-hidden="true"></svg>`;

const controls = ({ titles, bugs, last }) => [
  chooser("Song", "song", titles.map((name, n) => [n, name])),
  chooser("In the cache", "bug", bugs),
  slider("Words", "step", { min: 1, max: last, text: whole }),
  button("Race", () => ({ step: last })),
];

function build(it) {
  const { page, on } = it;
  on(page.controls.querySelector("button"), "click", () => race(it));
}

/** Both writers, one call at a time: whose clock shows less goes on. */
function race(it) {
  const { data, page } = it, { song, bug } = it.settings(), writers = [keeper(data, song, bug), again(data)];
  const words = [0, 0].fill(data.songs[song][0]), clocks = [0, 0], run = it.run = { key: song + bug, ms: [[], []], going: true };
  const frame = () => {
    if (it.run !== run || !page.root.isConnected) return;
    const until = performance.now() + 14;
    do {
      const n = Number(clocks[1] < clocks[0]), began = performance.now();
      words[n] = largest(writers[n](words[n]));
      const took = performance.now() - began;
      clocks[n] = run.ms[n].push(took) < data.last ? clocks[n] + took : Infinity;
      run.going = clocks.some(isFinite);
    } while (run.going && performance.now() < until);
    it.update();
    if (run.going) requestAnimationFrame(frame);
    else page.live.textContent = page.big.textContent;
  };
  frame();
}

const millions = (n = 0) => `${fixed(n / 1e6, n < 1e7 ? 2 : 0)} M`;
const ms = (v) => (v === undefined ? "–" : v < 10 ? fixed(v, v < 1 ? 2 : 1) : whole(Math.round(v)));

const sumOf = (list) => list.reduce((a, b) => a + b, 0);

function show(now, it) {
  const { page, data } = it, { step, bug, right, caught, differs, all } = now, run = it.run = it.run?.key === now.song + bug ? it.run : undefined;
  const lists = (run?.ms ?? [[], []]).map((list) => (run?.going ? list : list.slice(0, step))), so = lists.map((list) => ms(run && sumOf(list)));
  say(page.big, run ? `${so[0]} ms with a cache, ${so[1]} ms without` : differs ? `Wrong from word ${differs + 1} on` : `${significant(all[1] / all[0])} times less arithmetic with a cache`);
  say(page.say, caught ? `The logits are wrong from step ${caught} on. ${differs ? `A reader could notice at word ${differs + 1}.` : "No word changes."}`
    : "Both write the same words.");
  [now.written, right].forEach((words, n) => {
    const done = run?.going ? lists[n].length : step, counted = data.counts.slice(0, done).map((one) => one[n]);
    const from = Math.max(0, done + 1 - SHOWN), parts = words.slice(from, done + 1).map((word, i) => (word === right[from + i] ? word : make("em", { textContent: word })));
    page.lanes.children[n].lastChild.replaceChildren(from ? "… " : "", ...parts.flatMap((part) => [part, " "]));
    say(page.lanes.children[n].children[1], `${millions(sumOf(counted))} multiply-adds${run ? `, ${so[n]} ms` : ""}`);
  });
  draw(page, data, run, step);
}

/** Each step of both: counted as a line, measured as dots, on scales that end alike; and what one step takes. */
function draw({ key, picture }, { last, counts }, run, step) {
  const x = (n) => (n + 1) / last * WIDE, y = (share) => HIGH - share * (HIGH - TOP), at = run?.ms[1].length, top = counts.at(-1)[1];
  const high = at && sumOf(run.ms[1]) * top / counts.slice(0, at).reduce(plus)[1];
  const parts = [rule("race-floor", 0, HIGH, WIDE, HIGH)];
  for (const n of [1, 0]) {
    parts.push(svg("path", { class: `race-line race-of${n}`, d: `M${counts.map((one, i) => `${x(i).toFixed(1)} ${y(one[n] / top).toFixed(1)}`).join("L")}` }),
      ...(run?.ms[n] ?? []).map((v, i) => svg("circle", { class: `race-of${n}`, cx: x(i), cy: y(Math.min(v / high, 1)), r: 1.8 })));
  }
  const note = (name, x, y, words) => parts.push(text(`race-note race-of${name}`, x, y, words, { text_anchor: x ? "end" : "start" }));
  const [kept, afresh] = counts[step - 1].map(millions), side = step > last / 2;
  parts.push(rule("race-step", x(step - 1), TOP, x(step - 1), HIGH));
  note(1, 0, 12, `everything again: ${afresh}`);
  note(0, WIDE, HIGH - 10, `with a cache: ${kept}`);
  parts.push(text("race-note", x(step - 1), HIGH + 16, `word ${step}`, { text_anchor: side ? "end" : "start" }));
  say(key, `What each word costs. Lines: multiply-adds, counted.${run ? ` Dots: milliseconds, up to ${ms(high)}.` : ""}`);
  picture.replaceChildren(...parts);
}

export default machine({ name: "race", label: "A race of writers",
  data: ["words", "shapes", "weights", "heads", "bugs", "titles", "songs"], settings: ["song", "bug", "step"],
  prepare, stage, controls, build, compute, show });
