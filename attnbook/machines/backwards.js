// A word to type, the vector that it becomes, and what is written from it; the kit and recurrent.js stand before it.

const LETTERS = "abcdefghijklmnopqrstuvwxyz", LONGEST = 12, WRITTEN = 16, FIRST = 4;

// ---- What is computed.

/** The weights of each model by name: vectors, and matrices as lists of rows. */
function prepare({ shapes, integers, factors }) {
  const ints = new Int8Array(integers.buffer, integers.byteOffset, integers.byteLength), scales = floats(factors);
  let at = 0, from = 0;
  const take = (count) => Float64Array.from(scales.slice(from, from += count));
  return { models: shapes.map((list) => Object.fromEntries(list.map(([name, rows, columns]) => {
    const factor = take(rows);
    return [name, columns ? Array.from(factor, (by) => Float64Array.from(ints.slice(at, at += columns), (v) => by * v)) : factor];
  }))) };
}

function answer(net, word) {
  const found = { written: "", sure: [], looks: [], vector: net["encoder.rnn.weight_hh_l0"][0].map(() => 0) };
  if (!word) return { ...found, vector: [...found.vector] };
  const { states, first } = encode(net, [...word].map((letter) => FIRST + LETTERS.indexOf(letter)));
  let state = first, token = BOS;
  while (found.written.length < WRITTEN) {
    const seen = net["decoder.attention.v"] && look(net, state, states, states);
    const { state: after, chances } = advance(net, token, state, seen?.context);
    const letters = chances.slice(FIRST), most = Math.max(...letters);
    if (chances[EOS] > most) break;
    [state, token] = [after, FIRST + letters.indexOf(most)];
    found.written += LETTERS[token - FIRST];
    found.sure.push(most);
    if (seen) found.looks.push(seen.weights);
  }
  return { ...found, vector: states.at(-1) };
}

const next = (letter) => LETTERS[(LETTERS.indexOf(letter) + 1) % 26];
const backwards = (word) => [...word].reverse().join("");

function compute({ models }, { model, word, at }) {
  const read = [...word].map((letter, j) => (j === at ? next(letter) : letter)).join("");
  const found = answer(models[model], read), { written } = found, goal = backwards(read);
  const plain = read === word ? written : answer(models[model], word).written;
  return { read, ...found, right: [...written].filter((letter, j) => letter === goal[j]).length, exact: written === goal,
    moved: Array.from({ length: Math.max(written.length, plain.length) }, (_, j) => written[j] !== plain[j]) };
}

// ---- The page.

const WIDE = 360, TILE = WIDE / LONGEST, HIGH = 26, TOP = 20, STRIP = 90, SWING = 22, BOTTOM = 138;

const stage = `<div class="backwards-plot"><svg class="backwards-area" viewBox="0 0 ${WIDE} ${BOTTOM + 50}"><g class="backwards-lines"
aria-hidden="true"></g><g class="backwards-strip" aria-hidden="true"></g><g class="backwards-source"></g><g class="backwards-answer"
aria-hidden="true"></g></svg></div>`;

function wordField() {
  const input = make("input", { type: "text", maxLength: LONGEST, autocapitalize: "none", autocomplete: "off", spellcheck: false });
  const read = () => input.value.normalize("NFD").toLowerCase().replace(/[^a-z]/g, "").slice(0, LONGEST);
  const one = control("Type a word", input, "word", { show: (s) => { if (input.value !== s.word) input.value = s.word; }, read,
    fits: (v) => typeof v === "string" && /^[a-z]{0,12}$/.test(v) });
  return { ...one, read: () => ({ word: read(), at: -1 }) };
}

const controls = ({ names }) => [wordField(), ...names.map((name, place) => button(name, () => ({ model: place }), ({ model }) => model === place))];
const fits = { at: (v) => Number.isInteger(v) && v >= -1 && v < LONGEST, model: (v, _, { names }) => Number.isInteger(v) && v >= 0 && v < names.length };

function build({ page, on, take, settings }) {
  const press = (place) => take({ at: settings().at === place ? -1 : place });
  page.source.append(...Array.from({ length: LONGEST }, (_, j) => {
    const tile = svg("g", { class: "backwards-tile", role: "button", tabindex: 0 }, rect("backwards-box", j * TILE + 1, TOP, TILE - 2, HIGH, { rx: 4 }),
      text("backwards-letter", (j + 0.5) * TILE, TOP + 18, "", { text_anchor: "middle" }));
    on(tile, "click", () => press(j));
    on(tile, "keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press(j);
    });
    return tile;
  }));
}

/** Bars of the vector, up for a positive number and down for a negative one. */
function bars(vector) {
  const wide = WIDE / vector.length;
  return [rule("backwards-axis", 0, STRIP, WIDE, STRIP), ...vector.map((v, j) =>
    rect("backwards-bar", j * wide + 0.5, Math.min(STRIP, STRIP - SWING * v), wide - 1, Math.max(SWING * Math.abs(v), 0.3)))];
}

/** A letter that was written, or an empty place for one that was not; under a wrong one the right one. */
function written({ read, written: said, moved }) {
  const goal = backwards(read);
  return Array.from({ length: Math.min(Math.max(said.length, goal.length), LONGEST) }, (_, j) => {
    const good = said[j] === goal[j], x = (j + 0.5) * TILE, place = { text_anchor: "middle" };
    return svg("g", { class: "backwards-out" + (good ? " backwards-good" : "") + (moved[j] ? " backwards-moved" : "") },
      rect("backwards-box", j * TILE + 1, BOTTOM, TILE - 2, HIGH, { rx: 4 }), text("backwards-letter", x, BOTTOM + 18, said[j] ?? "", place),
      ...good ? [] : [text("backwards-goal", x, BOTTOM + 42, goal[j] ?? "none", place)]);
  });
}

function show(now, { page, data: { names } }) {
  const { word, read, at, vector, looks, exact, right, written: said, moved, model } = now, many = moved.filter(Boolean).length;
  const changed = read !== word ? ` With ${word[at]} exchanged for ${read[at]}, ${many ? plural(many, "written letter") : "no written letter"} moved.` : "";
  say(page.big, !read ? "Type a word" : exact ? `All ${plural(read.length, "letter")} right: ${said}` : `${right} of ${plural(read.length, "letter")} in place: ${said || "nothing"}`);
  say(page.say, `${names[model]}.${changed || (read ? " Press a letter of the word to change it." : "")}`);
  [...page.source.children].forEach((tile, j) => {
    tile.toggleAttribute("hidden", j >= read.length);
    put(tile, { tabindex: j < read.length ? 0 : -1, "aria-pressed": String(j === at), "aria-label": `letter ${j}, ${read[j] ?? "none"}: change it` });
    tile.style.display = j < read.length ? "" : "none";
    say(tile.lastChild, read[j] ?? "");
  });
  page.lines.replaceChildren(...looks.flatMap((row, i) => (i < LONGEST ? row.flatMap((weight, j) => (weight < 0.03 ? [] :
    [svg("line", { class: "backwards-look", x1: (j + 0.5) * TILE, y1: TOP + HIGH, x2: (i + 0.5) * TILE, y2: BOTTOM, stroke_opacity: weight })])) : [])));
  page.strip.replaceChildren(...read ? bars(vector) : []);
  page.answer.replaceChildren(text("backwards-name", 0, 12, "it reads"), ...read ? [text("backwards-name", 0, STRIP - 28, `the vector: ${vector.length} numbers${looks.length ? "; lines: where it looks back" : ""}`),
    text("backwards-name", 0, BOTTOM - 6, exact ? "it writes" : "it writes (dashed: wrong, with the right letter below)"), ...written(now)] : []);
}

export default machine({ name: "backwards", label: "A word to type", data: ["names", "shapes", "integers", "factors"],
  settings: ["model", "word", "at"], stage, prepare, controls, fits, build, compute, show });
