// A reversal to lie to: hide a state, or tell another last letter; the kit and recurrent.js stand before it.

const LEAST = 3, LONGEST = 10, SPECIAL = 4;
const HIDE = { nothing: "nothing", pointed: "where it points", neighbour: "the letter it wrote last", right: "the letter it must copy" };
const LIES = { none: "what it wrote", another: "another letter", answer: "the letter it must copy" };
const HIDDEN = ["nothing", "pointed", "right"], CASES = Object.keys(LIES).flatMap((lie) => HIDDEN.map((hide) => [lie, hide]));

// ---- What is computed: all steps are told the right letters, and one of them is changed.

const prepare = (data) => ({ net: unpacked(data) });

function compute({ net, letters }, { word, step, hide, lie }) {
  const source = [...word], right = [...source].reverse(), now = Math.min(step, source.length - 1);
  const id = (letter) => letters.indexOf(letter) + SPECIAL, { states, first } = encode(net, source.map(id));
  const tokens = [BOS, ...right.map(id)], queries = [], map = [];
  for (let state = first, at = 0; at < source.length; at++) {
    const { weights, context } = look(net, state, states, source.map(() => true));
    queries.push(state);
    map.push(weights);
    ({ state } = advance(net, tokens[at], state, context));
  }
  const changed = (letter, hidden) => {
    const found = look(net, queries[now], states, source.map((_, j) => j !== hidden));
    return { ...found, chances: advance(net, id(letter), queries[now], found.context).chances.slice(SPECIAL) };
  };
  const place = source.length - 1 - now, pointed = largest(map[now]);
  const last = right[now - 1], lied = letters.find((one) => one !== last && one !== right[now]);
  const places = { nothing: -1, pointed, neighbour: place + 1, right: place }, letter = { none: last, another: lied, answer: right[now] };
  const hidden = places[hide], told = letter[lie];
  const likely = (chances) => [...chances.keys()].sort((a, b) => chances[b] - chances[a]);
  const { weights, chances } = changed(told, hidden), best = likely(chances).slice(0, 3);
  return { right, now, place, pointed, hidden, last, told, lied, map, weighed: weights, answer: letters[best[0]],
    best: best.map((i) => [letters[i], chances[i]]),
    table: CASES.map(([lie, hide]) => letters[likely(changed(letter[lie], places[hide]).chances)[0]]) };
}

// ---- The page.

const stage = `<div class="lie-whole"><div><svg class="lie-picture" aria-hidden="true"></svg><ol class="lie-best machine-side"></ol></div>
<div><table class="lie-table"><caption></caption><thead></thead><tbody></tbody></table><p class="lie-hundred"></p></div></div>`;

/** A field for the word: what cannot be one is not taken, and it says why. */
function wordField({ letters }) {
  const input = make("input", { type: "text", maxLength: LONGEST, autocapitalize: "none", autocomplete: "off", spellcheck: false });
  const why = make("span", { className: "lie-odd", role: "status" }), known = [...letters].sort();
  const typed = () => input.value.trim().toLowerCase();
  return control("A word", input, "word", {
    show(s) {
      const odd = document.activeElement === input && !isWord(typed(), letters);
      if (!odd) input.value = s.word;
      input.ariaInvalid = String(odd);
      say(why, !odd ? "" : `${[...typed()].every((one) => letters.includes(one)) ? `${LEAST} to ${LONGEST} letters` : `Only ${known[0]} to ${known.at(-1)}`}: still ${quoted(s.word)}`);
    },
    read: (s) => (isWord(typed(), letters) ? typed() : s.word), fits: (v) => isWord(v, letters) }, why);
}
const isWord = (v, letters) => typeof v === "string" && v.length >= LEAST && v.length <= LONGEST && [...v].every((one) => letters.includes(one));

const controls = (data) => [
  wordField(data),
  slider("It writes", "step", { min: 1, max: (s) => (s.word?.length ?? LONGEST) - 1, text: (_, s) => (s.right ? `${s.right[s.now]}, ${s.now + 1} of ${s.word.length}` : "") }),
  chooser("Hide", "hide", Object.entries(HIDE)),
  chooser("Tell it that it wrote", "lie", Object.entries(LIES)),
  toggle("The same for 100 words", "hundred"),
];

const fits = { step: (v) => Number.isInteger(v) && v >= 1 && v < LONGEST };

const head = (textContent, scope) => make("th", { textContent, scope });
const NAMES = { none: "told the truth", another: "told another letter", answer: "told the one to copy" };

function build({ page, on, take, update, settings, controls: [{ input }] }) {
  on(input, "blur", update); // what is no word goes
  // The arrows turn the word by a letter.
  on(input, "keydown", (event) => {
    const turned = { ArrowDown: (s) => s.slice(1) + s[0], ArrowUp: (s) => s.at(-1) + s.slice(0, -1) }[event.key];
    if (!turned) return;
    event.preventDefault();
    take({ word: turned(settings().word) });
  });
  page.table.tHead.append(make("tr", {}, make("td"), ...["as it looks", "where it points is hidden", "the right letter is hidden"].map((name) => head(name, "col"))));
  page.table.tBodies[0].append(...Object.values(NAMES).map((name) => make("tr", {}, head(name, "row"), ...HIDDEN.map(() => make("td")))));
  on(page.table.tBodies[0], "click", ({ target }) => {
    const box = target.closest("td");
    if (box) take({ lie: Object.keys(LIES)[box.parentNode.sectionRowIndex], hide: HIDDEN[box.cellIndex - 1] });
  });
}

const share = (counts, kind) => `${Math.round(100 * counts[kind] / (sumOf(counts) || 1))}%`;
const verdict = (letter, { right, now, last }) => (letter === right[now] ? "right" : letter === last ? "again the last" : "wrong");

function show(now, { page, data: { counts, control } }) {
  const { right, place, pointed, hidden, last, told, lie, weighed, answer, hide, table, hundred } = now;
  const at = now.now, wanted = right[at];
  say(page.big, `It writes ${quoted(answer)}: ${{ right: "right", wrong: "wrong", "again the last": "the last letter again" }[verdict(answer, now)]}`);
  say(page.say, `It should copy ${quoted(wanted)}, and ${pointed === place ? "points there" : `points at ${quoted(right[right.length - 1 - pointed])}, ${
    pointed === place + 1 ? "which it wrote last" : "another letter"}`}${told !== last ? `. You told it that it had written ${quoted(told)}, not ${quoted(last)}` : ""}${
    hidden < 0 ? "" : `. Hidden: ${HIDE[hide]}`}.`);
  draw(page.picture, now, heat(page.root));
  fill(page.best, now.best, bar, (item, [name, share]) => showBar(item, name, share, 2));
  say(page.table.caption, hundred ? `right answers in the ${whole(sumOf(counts[0]))} steps of 100 words that point at a wrong letter` : `this step: what it writes`);
  CASES.forEach(([lied, hid], k) => {
    const box = page.table.tBodies[0].rows[Math.floor(k / HIDDEN.length)].cells[1 + k % HIDDEN.length];
    say(box, hundred ? `${share(counts[k], 0)} (last again: ${share(counts[k], 1)})` : `${table[k]}, ${verdict(table[k], now)}`);
    box.className = lied === lie && hide === hid ? "lie-chosen" : "";
  });
  say(page.hundred, hundred ? `A hundred other words, of ten letters. The control: in the ${whole(sumOf(control[0]))} steps that point at the right letter, ${
    share(control[1], 0)} are right when told another letter.` : "");
}

/** The word and its weights above, what it has written below; lines for the largest weight and the right place. */
function draw(picture, { word, right, now, place, pointed, hidden, weighed, told, answer }, shades) {
  const n = word.length, pitch = 320 / n, x = (j) => 10 + pitch * (j + 0.5), wide = Math.min(pitch - 4, 28), parts = [];
  const centre = { text_anchor: "middle" }, y = (at) => x(at);
  parts.push(text("lie-name", 10, 12, "it has read, and looks with weight"));
  [...word].forEach((letter, j) => {
    const shade = shades(weighed[j]);
    parts.push(rect(`lie-state${j === hidden ? " lie-gone" : ""}`, x(j) - wide / 2, 50, wide, 26, { fill: shade.background }),
      text("", x(j), 68, letter, { ...centre, style: `fill:${j === hidden ? "currentColor" : shade.color}` }),
      text("lie-weight", x(j), 42, fixed(weighed[j], 2).replace(/^0/, ""), centre));
    if (j === hidden) parts.push(rule("lie-cross", x(j) - wide / 2, 76, x(j) + wide / 2, 50));
  });
  parts.push(text("lie-mark", x(place), 92, "↑ to copy", centre));
  if (pointed !== place) parts.push(text("lie-points", x(pointed), 28, hidden === pointed ? "pointed" : "points", centre));
  parts.push(text("lie-name", 10, 122, "it has written"));
  right.slice(0, now).forEach((letter, at) => parts.push(text(at === now - 1 && told !== right[at] ? "lie-told" : "", y(at), 146, at === now - 1 ? told : letter, centre)));
  parts.push(text(answer === right[now] ? "lie-good" : "lie-bad", y(now), 146, answer, centre), rule("lie-line", y(now) - 10, 152, y(now) + 10, 152));
  if (told !== right[now - 1]) parts.push(text("lie-told", y(now - 1), 164, "lie", centre));
  picture.setAttribute("viewBox", "0 0 340 170");
  picture.replaceChildren(...parts);
}

const tell = ({ table }) => ` Each with nothing hidden, where it points, the right letter: ${Object.values(NAMES).map((name, k) => `${name} ${table.slice(3 * k, 3 * k + 3).join(", ")}`).join("; ")}.`;

export default machine({ name: "lie", label: "A model to lie to", data: ["shapes", "weights", "letters", "counts", "control"],
  settings: ["word", "step", "hide", "lie", "hundred"], prepare, stage, controls, fits, build, compute, show, tell });
