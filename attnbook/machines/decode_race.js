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

/** What a writer says by itself, and its logits over the song, for `until` words or more. */
function runOf(it, song, bug, until) {
  const words = it.songs[song], run = it.runs[song + bug] ??= { logits: [], written: [words[0]], told: keeper(it, song, bug), alone: keeper(it, song, bug) };
  for (let n = run.logits.length; n < until; n++) {
    run.logits.push(run.told(words[n]));
    run.written.push(largest(run.alone(run.written[n])));
  }
  return run;
}

function prepare(data) {
  const net = unpacked(data), layers = data.shapes.filter(([name]) => name.includes("in_proj")).length, [V, E] = data.shapes[0][1];
  const word = 4 * E * E + 3 * E * net["stack.layers.0.gate.weight"].length, last = data.songs[0].length - 1;
  const counts = Array.from({ length: last }, (_, n) => [word + 2 * (n + 1) * E, (n + 1) * (word + (n + 2) * E)].map((one) => layers * one + V * E));
  return { net, layers, last, counts, runs: {} };
}

function compute(data, { song, bug, step }) {
  const [right, run] = ["none", bug].map((one) => runOf(data, song, one, bug === "none" ? step : data.last)), spell = ({ written }) => written.slice(0, step + 1).map((id) => data.words[id]);
  const apart = run.logits.map((row, n) => Math.max(...row.map((v, i) => Math.abs(v - right.logits[n][i]))));
  const each = data.counts.slice(0, step);
  return { written: spell(run), right: spell(right), caught: apart.findIndex((v) => v > SEEN) + 1,
    differs: Math.max(run.written.findIndex((id, n) => id !== right.written[n]), 0), now: each.at(-1), all: each.reduce(plus) };
}

// ---- The page.

const HIGH = 126, LINE = 16, SHOWN = 32, NAMES = ["with a cache", "everything again"];
const stage = `<div class="race-lanes">${NAMES.map((name) => `<div><p class="machine-head">${name}</p><p></p><p class="race-written"></p></div>`).join("")}</div>
<p class="race-key"></p><svg class="race-picture" aria-hidden="true"></svg>`;

const controls = (data) => [
  ...[chooser("Song", "song", data.titles.map((name, n) => [n, name])), chooser("Bug", "bug", data.bugs)].map((one) => leading(data, one)),
  slider("Words", "step", { min: 1, max: data.last, text: whole }),
  button("Race", () => ({ step: data.last })),
];

/** A chooser that goes on to the first wrong word, if there is one, and some after it. */
function leading(data, one) {
  return { ...one, read(s) {
    const set = one.read(s), { differs } = compute(data, { ...s, ...set });
    return differs ? { ...set, step: Math.min(differs + 8, data.last) } : set;
  } };
}

function build(it) {
  const { page, on } = it;
  on(page.controls.querySelector("button"), "click", () => race(it));
  it.sized(page.picture, it.update);
}

/** Both writers, one call at a time: whose clock shows less goes on. */
function race(it) {
  const { data, page } = it, { song, bug } = it.settings(), writers = [keeper(data, song, bug), again(data)];
  const last = [0, 0].fill(data.songs[song][0]), clocks = [0, 0], words = last.map((id) => [data.words[id]]), run = it.run = { key: song + bug, ms: [[], []], words, going: true };
  const frame = () => {
    if (it.run !== run || !page.root.isConnected) return;
    const until = performance.now() + 14;
    do {
      const n = Number(clocks[1] < clocks[0]), began = performance.now();
      words[n].push(data.words[last[n] = largest(writers[n](last[n]))]);
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

const millions = (n) => `${n < 1e7 ? fixed(n / 1e6, 2) : whole(Math.round(n / 1e6))} M`;
const ms = (v) => (v === undefined ? "–" : v < 10 ? fixed(v, v < 1 ? 2 : 1) : whole(Math.round(v)));

function show(now, it) {
  const { page, data } = it, { step, bug, right, caught, differs, all } = now, run = it.run = it.run?.key === now.song + bug ? it.run : undefined;
  const lists = (run?.ms ?? [[], []]).map((list) => (run?.going ? list : list.slice(0, step))), so = lists.map((list) => ms(run && sumOf(list)));
  say(page.big, run ? `${so[0]} ms with a cache, ${so[1]} ms without` : differs ? `Wrong from word ${differs} on` : `${significant(all[1] / all[0])} times less arithmetic with a cache`);
  const lanes = run?.words ?? [now.written, caught ? right : []];
  say(page.say, caught ? `Wrong logits from word ${caught} on.${differs ? ` You could notice at word ${differs}.` : ""}`
    : !run ? "Will both write the same words?" : run.going ? "" : `Both wrote ${lanes[0].join() === lanes[1].join() ? "the same" : "different"} words.`);
  lanes.forEach((words, n) => {
    const done = run?.going ? lists[n].length : step, from = Math.max(0, done + 1 - SHOWN);
    const tag = (at) => (!at ? "i" : n || !differs || at < differs ? "span" : at > differs ? "em" : "strong");
    const parts = words.slice(from, done + 1).flatMap((textContent, i) => [make(tag(from + i), { textContent }), " "]);
    page.lanes.children[n].lastChild.replaceChildren(n && caught && !run ? "right: " : "", from ? "… " : "", ...parts);
    say(page.lanes.children[n].children[1], `${millions(sumOf(data.counts.slice(0, done).map((of) => of[n])))} multiply-adds${run ? `, ${so[n]} ms` : ""}`);
  });
  draw(it, run, now);
}

/** Each step of both: counted as a line, measured as dots, each up to the top, but for a few that took longer; what one step takes; and where it goes wrong. */
function draw(it, run, { step, caught, differs }) {
  const { data: { last, counts }, page: { key, picture } } = it, wide = picture.clientWidth || 640, most = counts.at(-1)[1];
  const x = (n) => n / last * wide, y = (share) => HIGH - share * (HIGH - LINE - 4);
  const all = run?.ms.flat().sort((a, b) => a - b), high = all?.at(-1 - all.length / 40);
  const parts = [rule("race-floor", 0, HIGH, wide, HIGH)];
  for (const n of [1, 0]) {
    const of = `race-of${n}`;
    parts.push(svg("path", { class: `race-line ${of}`, d: `M${counts.map((one, i) => `${x(i + 1).toFixed(1)} ${y(one[n] / most).toFixed(1)}`).join("L")}` }),
      ...(run?.ms[n] ?? []).map((v, i) => svg("circle", { class: of, cx: x(i + 1), cy: y(Math.min(v / high, 1)), r: 1.8 })),
      text(`race-note ${of}`, n ? 0 : wide, n ? LINE - 4 : HIGH - 22, `${NAMES[n]}, word ${step}: ${millions(counts[step - 1][n])}`, { text_anchor: !n && "end" }));
  }
  [[step, "step", HIGH + LINE, `word ${step}`], [caught, "wrong", 2 * LINE, "wrong logits"], [differs, "wrong", 3 * LINE, "wrong word"]].forEach(([n, css, y, said]) => n &&
    parts.unshift(rule(`race-${css}`, x(n), LINE + 4, x(n), HIGH)) &&
    parts.push(text(`race-note race-${css}`, x(n) + 4, y, said, { text_anchor: n > last / 2 && "end" })));
  say(key, `Lines: multiply-adds a word.${run ? ` Dots: milliseconds, up to ${ms(high)}.` : ""}`);
  put(picture, { viewBox: `0 0 ${wide} ${HIGH + LINE + 4}` });
  picture.replaceChildren(...parts);
}

export default machine({ name: "race", label: "A race of writers",
  data: ["words", "shapes", "weights", "heads", "bugs", "titles", "songs"], settings: ["song", "bug", "step"],
  prepare, stage, controls, build, compute, show });
