// A word to type, the vector that it becomes, and what is written from it; the kit stands before it.

const LETTERS = "abcdefghijklmnopqrstuvwxyz", LONGEST = 12, WRITTEN = 16, FIRST = 4, END = 2;

// ---- What is computed: nn.GRU twice, and additive attention where a model has it.

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

const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
const times = (rows, x, bias) => rows.map((row, i) => dot(row, x) + (bias ? bias[i] : 0));
const sigmoid = (v) => 1 / (1 + Math.exp(-v));

function gru(weights, side, x, state) {
  const [inner, outer] = [["ih", x], ["hh", state]].map(([part, v]) =>
    times(weights[`${side}.rnn.weight_${part}_l0`], v, weights[`${side}.rnn.bias_${part}_l0`])), n = state.length;
  return state.map((old, i) => {
    const keep = sigmoid(inner[n + i] + outer[n + i]), reset = sigmoid(inner[i] + outer[i]);
    return (1 - keep) * Math.tanh(inner[2 * n + i] + reset * outer[2 * n + i]) + keep * old;
  });
}

function answer(weights, word) {
  const states = [], found = { written: "", sure: [], looks: [] }, name = "decoder.attention";
  let state = weights["encoder.rnn.weight_hh_l0"][0].map(() => 0), token = 1;
  for (const letter of word) states.push(state = gru(weights, "encoder",
    weights["encoder.embedding.weight"][FIRST + LETTERS.indexOf(letter)], state));
  found.vector = [...state];
  if (!word) return found;
  state = Float64Array.from(times(weights["decoder.bridge.weight"], state, weights["decoder.bridge.bias"]), Math.tanh);
  const look = weights[`${name}.v`], keys = look && states.map((h) => times(weights[`${name}.key_proj.weight`], h));
  while (found.written.length < WRITTEN) {
    const x = weights["decoder.embedding.weight"][token];
    let context = [], row;
    if (look) {
      const asked = times(weights[`${name}.query_proj.weight`], state, weights[`${name}.query_proj.bias`]);
      row = softmax(keys.map((key) => look.reduce((sum, v, i) => sum + v * Math.tanh(asked[i] + key[i]), 0)));
      context = [...state].map((_, i) => row.reduce((sum, w, j) => sum + w * states[j][i], 0));
    }
    state = gru(weights, "decoder", [...x, ...context], state);
    const seen = look ? [...state, ...context, ...x] : state;
    const chances = softmax(times(weights["decoder.readout.weight"], seen, weights["decoder.readout.bias"]));
    const letters = chances.slice(FIRST), most = Math.max(...letters);
    if (chances[END] > most) break;
    token = FIRST + letters.indexOf(most);
    found.written += LETTERS[token - FIRST];
    found.sure.push(most);
    if (look) found.looks.push(row);
  }
  return found;
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

const WIDE = 360, TILE = WIDE / LONGEST, HIGH = 26, TOP = 20, STRIP = 92, SWING = 22, BOTTOM = 146;

const stage = `<div class="backwards-plot"><svg class="backwards-area" viewBox="0 0 ${WIDE} ${BOTTOM + 62}"><g class="backwards-lines"
aria-hidden="true"></g><g class="backwards-strip" aria-hidden="true"></g><g class="backwards-source"></g><g class="backwards-answer"
aria-hidden="true"></g></svg></div>`;

function wordField() {
  const input = make("input", { type: "text", maxLength: LONGEST, autocapitalize: "none", autocomplete: "off", spellcheck: false });
  const read = () => input.value.toLowerCase().replace(/[^a-z]/g, "").slice(0, LONGEST);
  const one = control("Type a word", input, "word", { show: (s) => { if (input.value !== s.word) input.value = s.word; }, read,
    fits: (v) => typeof v === "string" && /^[a-z]{0,12}$/.test(v) });
  return { ...one, read: () => ({ word: read(), at: -1 }) };
}

const controls = ({ names }) => [wordField(), chooser("Model", "model", names.map((name, place) => [place, name]))];
const fits = { at: (v) => Number.isInteger(v) && v >= -1 && v < LONGEST };

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
function strip(vector) {
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
  page.strip.replaceChildren(...read ? strip(vector) : []);
  page.answer.replaceChildren(text("backwards-name", 0, 12, "it reads"), ...read ? [text("backwards-name", 0, STRIP - 28, `the vector: ${vector.length} numbers`),
    text("backwards-name", 0, BOTTOM - 6, "it writes"), ...written(now)] : []);
}

export default machine({ name: "backwards", label: "A word to type", data: ["names", "shapes", "integers", "factors"],
  settings: ["model", "word", "at"], stage, prepare, controls, fits, build, compute, show });
