// A word to type, and of each model what it keeps and what it writes; the kit and recurrent.js stand before it.

const LETTERS = "abcdefghijklmnopqrstuvwxyz", LONGEST = 12, TRAINED = 8, WRITTEN = 16, FIRST = 4;

// ---- What is computed.

/** The weights of each model by name: vectors, and matrices as lists of rows. */
function prepare({ shapes, integers, factors }) {
  const ints = new Int8Array(integers.buffer, integers.byteOffset, integers.byteLength), scales = floats(factors);
  let at = 0, from = 0;
  const take = (count) => Float64Array.from(scales.slice(from, from += count));
  return { models: shapes.map((list) => Object.fromEntries(list.map(([name, rows, columns]) => {
    const factor = take(rows);
    return [name, columns ? Array.from(factor, (by) => new Float64Array(ints.subarray(at, at += columns)).map((v) => by * v)) : factor];
  }))) };
}

function answer(net, word) {
  const found = { kept: [], written: "", sure: [], looks: [] };
  if (!word) return found;
  const { states, first } = encode(net, [...word].map((letter) => FIRST + LETTERS.indexOf(letter)));
  const looks = net["decoder.attention.v"];
  let state = first, token = BOS;
  while (found.written.length < WRITTEN) {
    const seen = looks && look(net, state, states, states);
    const { state: after, chances } = advance(net, token, state, seen?.context);
    const letters = chances.slice(FIRST), most = Math.max(...letters);
    if (chances[EOS] > most) break;
    [state, token] = [after, FIRST + letters.indexOf(most)];
    found.written += LETTERS[token - FIRST];
    found.sure.push(most);
    if (seen) found.looks.push(seen.weights);
  }
  return { ...found, kept: looks ? states : states.slice(-1) };
}

const next = (letter) => LETTERS[(LETTERS.indexOf(letter) + 1) % 26];
const backwards = (word) => [...word].reverse().join("");

function compute({ models }, { word, at }) {
  const read = [...word].map((letter, j) => (j === at ? next(letter) : letter)).join(""), goal = backwards(read);
  return { read, answers: models.map((net) => {
    const found = answer(net, read), { written } = found, plain = read === word ? written : answer(net, word).written;
    return { ...found, right: [...written].filter((letter, j) => letter === goal[j]).length, exact: written === goal,
      moved: Array.from({ length: Math.max(written.length, plain.length) }, (_, j) => written[j] !== plain[j]) };
  }) };
}

// ---- The page.

const WIDE = 360, HIGH = 25, TOP = 19, FROM = 57, ROW = 82, SWING = 12, LOOK = 20;

const stage = ({ names }) => `<div class="backwards-plot"><svg class="backwards-area" viewBox="0 0 ${WIDE} ${FROM + names.length * ROW + LOOK}"><g
class="backwards-source"></g><g class="backwards-answers" aria-hidden="true"></g></svg></div>`;

function wordField() {
  const input = make("input", { type: "text", maxLength: LONGEST, autocapitalize: "none", autocomplete: "off", spellcheck: false });
  const read = () => input.value.normalize("NFD").toLowerCase().replace(/[^a-z]/g, "").slice(0, LONGEST);
  const one = control("Type a word", input, "word", { show: (s) => { if (input.value !== s.word) input.value = s.word; }, read,
    fits: (v) => typeof v === "string" && /^[a-z]{0,12}$/.test(v) });
  return { ...one, read: () => ({ word: read(), at: -1 }) };
}

const fits = { at: (v) => Number.isInteger(v) && v >= -1 && v < LONGEST };

function build({ page, on, take, settings }) {
  const press = (place) => take({ at: settings().at === place ? -1 : place });
  page.source.append(...Array.from({ length: LONGEST }, (_, j) => {
    const tile = svg("g", { class: "backwards-tile", role: "button", tabindex: 0 }, ...box(j, 1, TOP, "", 30));
    on(tile, "click", () => press(j));
    on(tile, "keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press(j);
    });
    return tile;
  }));
}

/** A letter in a frame. */
const box = (j, wide, y, letter, high = HIGH) => [rect("backwards-box", j * wide + 1, y, Math.max(wide - 2, 0), high, { rx: 4 }),
  text("backwards-letter", (j + 0.5) * wide, y + high / 2 + 5.5, letter, { text_anchor: "middle" })];

/** A state: a bar a number, up for a positive one and down for a negative one. */
function bars(state, x, y, wide) {
  const each = wide / state.length, tall = (v) => Math.sign(v) * Math.max(SWING * Math.abs(v), 0.2);
  return svg("path", { class: "backwards-bars", d: state.map((v, i) => `M${(x + i * each).toFixed(2)} ${y}v${(-tall(v)).toFixed(2)}h${(each * 0.8).toFixed(2)}V${y}Z`).join("") });
}

/** What a model keeps, a state or one of each letter; below it, letter by letter, what it writes. */
function row({ kept, looks, written, right, exact, moved }, i, name, read, tile) {
  const y = FROM + i * ROW, strip = y + 18 + SWING, all = kept.length > 1 || looks.length > 0, out = y + 46 + (all ? LOOK : 0), goal = backwards(read);
  return [text("backwards-name", 0, y + 12, name), text("backwards-name", WIDE, y + 12, exact ? "exact" : `${right} of ${read.length} in place`, { text_anchor: "end" }),
    ...kept.map((state, j) => (all ? bars(state, j * tile + 2, strip, tile - 4) : bars(state, 0, strip, WIDE))),
    ...looks.slice(0, LONGEST).flatMap((weights, k) => weights.flatMap((weight, j) => (weight < 0.03 ? [] :
      [rule("backwards-look", (j + 0.5) * tile, strip + SWING, (k + 0.5) * tile, out, { stroke_opacity: weight })]))),
    ...Array.from({ length: Math.min(Math.max(written.length, goal.length), LONGEST) }, (_, j) =>
      svg("g", { class: "backwards-out" + (written[j] === goal[j] ? " backwards-good" : "") + (moved[j] ? " backwards-moved" : "") }, ...box(j, tile, out, written[j] ?? "")))];
}

const list = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0]);

function show({ word, read, at, answers }, { page, data: { names } }) {
  const many = answers.map(({ moved }) => moved.filter(Boolean).length), swapped = read !== word;
  say(page.big, !read ? "Type a word" : swapped ? `${word[at]} becomes ${read[at]}: ${list(many)} letters change`
    : `${answers.filter(({ exact }) => exact).length} of ${plural(names.length, "answer")} exact`);
  say(page.say, !read ? "" : (swapped ? `It reads ${read} instead of ${word}. A thick frame: a written letter that changed.` : "Press a letter of the word to change it.")
    + (read.length > TRAINED ? ` No word in training was longer than ${TRAINED} letters.` : ""));
  const tile = WIDE / Math.max(TRAINED, ...[read, ...answers.map(({ written }) => written)].map((one) => Math.min(one.length, LONGEST)));
  [...page.source.children].forEach((node, j) => {
    const [frame, letter] = node.children, there = j < read.length;
    node.toggleAttribute("hidden", !there);
    put(node, { tabindex: there ? 0 : -1, "aria-pressed": String(j === at), "aria-label": `letter ${j}, ${read[j] ?? "none"}: change it` });
    node.style.display = there ? "" : "none";
    put(frame, { x: j * tile + 1, width: tile - 2 });
    put(letter, { x: (j + 0.5) * tile });
    say(letter, read[j] ?? "");
  });
  page.answers.replaceChildren(...read ? [text("backwards-name", 0, 12, "it reads"), text("backwards-name", WIDE, 12, `backwards: ${backwards(read)}`, { text_anchor: "end" }),
    ...answers.flatMap((one, i) => row(one, i, names[i], read, tile))] : []);
}

const tell = ({ read, answers }, { names }) => (read ? names.map((name, i) => ` ${name}: ${answers[i].written || "nothing"}, ${answers[i].right} of ${read.length} in place.`).join("") : "");

export default machine({ name: "backwards", label: "A word to type", data: ["names", "shapes", "integers", "factors"],
  settings: ["word", "at"], stage, prepare, controls: () => [wordField()], fits, build, compute, show, tell });
