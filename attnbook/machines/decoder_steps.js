// Two decoders, unrolled: press a word, or what a look found, and see what depends on it; the kit stands before it.

const KINDS = ["bahdanau", "luong"], NAMES = { bahdanau: "Bahdanau", luong: "Luong" };
const WHAT = { word: "The word it reads", context: "What its look finds" };

// ---- What is computed.

/**
 * Every part of every step: the largest of what it is made from. `read` and `found` give what comes in with
 * a word and with what a look finds; a look adds `more`.
 */
function unroll(kind, feeding, count, { read, found, more = 0 }) {
  const all = { state: [], look: [], found: [], written: [] };
  let state = 0, fed = 0;
  for (let t = 0; t < count; t++) {
    const given = read(t);
    if (kind === "luong") state = Math.max(state, given, feeding ? fed : 0);
    const look = state + more, context = Math.max(look, found(t));
    if (kind === "bahdanau") state = Math.max(state, given, context);
    const written = fed = Math.max(state, context, kind === "bahdanau" ? given : 0);
    for (const [name, value] of Object.entries({ state, look, found: context, written })) all[name].push(value);
  }
  return all;
}

function compute({ read: { length } }, { what, step, feeding }) {
  const here = (name) => (t) => Number(what === name && t === step - 1), never = () => 0;
  return Object.fromEntries(KINDS.map((kind) => {
    const touched = unroll(kind, feeding, length, { read: here("word"), found: here("context") });
    const { look } = unroll(kind, feeding, length, { read: never, found: never, more: 1 });
    return [kind, { ...touched, turns: Math.max(...look) }];
  }));
}

// ---- The page.

const PITCH = 66, WIDE = 54, LOOK = 38, TALL = 28, FIRST = 22, ROWS = { written: 4, joined: 50, upper: 92, lower: 144, read: 196 };
const JOIN = { left: 12, wide: 40, tall: 22 };
const PLACE = { bahdanau: { state: ROWS.upper, look: ROWS.lower }, luong: { look: ROWS.upper, state: ROWS.lower } };
const { written: TOP } = ROWS;

/** The words written of both decoders, by the names that a guess has. */
const namesOf = (count) => KINDS.flatMap((kind) => Array.from({ length: count }, (_, t) => `${kind} ${t + 1}`));
/** Another setting is another question, which a guess was not about. */
const anew = (one) => ({ ...one, read: (s) => ({ ...one.read(s), marked: [] }) });

const stage = `<div class="decoder-whole">${KINDS.map((kind) => `<div><p class="machine-head">${NAMES[kind]}</p>
<svg class="decoder-${kind}"></svg><p class="decoder-${kind}-turns machine-say"></p></div>`).join("")}</div>`;

/** One button, which covers what can change, for a guess, and then shows it. */
function cover() {
  const { element, next } = button("", ({ shown }) => ({ shown: !shown, ...shown && { marked: [] } }));
  return { element, next, show: ({ shown }) => say(element, shown ? "Guess first" : "Show") };
}

const controls = ({ read }) => [
  anew(slider("Step", "step", { min: 1, max: read.length, text: (n) => `${n} of ${read.length}` })),
  ...Object.entries(WHAT).map(([what, name]) => button(name, () => ({ what, marked: [] }), (s) => s.what === what)),
  anew(toggle("Input feeding", "feeding")),
  cover(),
];
const fits = {
  what: (v) => Object.keys(WHAT).includes(v),
  marked: (v, _, { read: { length } }) => Array.isArray(v) && v.every((one) => namesOf(length).includes(one)),
};

function build({ page, on, take, settings, data: { read, written } }) {
  const mark = ({ currentTarget: { dataset: { name } } }) => {
    const { shown, marked } = settings(), others = marked.filter((one) => one !== name);
    if (!shown) take({ marked: others.length < marked.length ? others : [...marked, name] });
  };
  for (const kind of KINDS) {
    const picture = page[kind], { state, look } = PLACE[kind];
    put(picture, { viewBox: `0 -12 ${FIRST + PITCH * read.length} 240`, role: "group" });
    for (const t of read.keys()) {
      const x = FIRST + t * PITCH, parts = [["written", "written", TOP, written[t]], ["look", "query", look, "look"],
        ["state", "state", state, "state"], ["read", "read", ROWS.read, read[t]]];
      if (kind === "luong") parts.push(["joined", "joined", ROWS.joined, "join"]);
      for (const [name, role, y, words] of parts) {
        const { left = 0, wide, tall = TALL } = { query: { wide: LOOK }, joined: JOIN }[role] ?? { wide: WIDE }; // beside a look, what passes it
        const node = svg("g", { class: `decoder-node decoder-${role}`, "data-part": name, "data-step": t },
          rect("", x + left, y, wide, tall, { rx: role === "query" ? tall / 2 : role === "state" || role === "joined" ? 5 : 1 }),
          text("", x + left + wide / 2, y + tall / 2 + 4, words, { text_anchor: "middle" }));
        const what = { read: "word", look: "context" }[name];
        if (what) on(node, "click", () => take({ what, step: t + 1, marked: [] }));
        if (name === "written") {
          put(node, { role: "button", tabindex: 0, "data-name": `${kind} ${t + 1}`, "aria-label": `${NAMES[kind]}, word ${t + 1} written: ${words}` });
          node.append(text("decoder-verdict", x + wide / 2, y - 5, "", { text_anchor: "middle" }));
          on(node, "click", mark);
          on(node, "keydown", (event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            mark(event);
          });
        }
        picture.append(node);
      }
    }
    picture.prepend(svg("g", { class: "decoder-arrows" }));
  }
}

/** The arrows of a decoder: from, to, which part is carried, and a class. */
function* links(kind, count, feeding) {
  const { state, look } = PLACE[kind], side = (t) => FIRST + t * PITCH;
  const up = (t, from, to, x = WIDE / 2) => [[side(t) + x, from], [side(t) + x, to + TALL]], near = LOOK / 2, past = (LOOK + WIDE) / 2;
  // The first state comes from the source: nothing here changes it, so step -1 is never live.
  if (kind === "bahdanau") yield [[2, state + TALL - 6], [side(0) + 8, look], "state", -1, "decoder-asks"];
  yield [[2, state + TALL / 2], [side(0), state + TALL / 2], "state", -1];
  for (let t = 0; t < count; t++) {
    const last = t + 1 === count;
    if (kind === "luong") {
      yield [...up(t, ROWS.read, state), "read", t];
      yield [...up(t, state, look, near), "state", t, "decoder-asks"];
      const { left, wide, tall } = JOIN, foot = ROWS.joined + tall, right = side(t) + left + wide;
      yield [[side(t) + near, look], [side(t) + near, foot], "found", t, "decoder-found"];
      yield [[side(t) + past, state], [side(t) + past, foot], "state", t];
      yield [[side(t) + left + wide / 2, ROWS.joined], [side(t) + left + wide / 2, TOP + TALL], "written", t];
      if (feeding && !last) yield [[right, foot - 6], [side(t + 1) + 4, state], "written", t, "decoder-fed"];
    } else {
      yield [...up(t, ROWS.read, state, past), "read", t];
      yield [...up(t, look, state, near), "found", t, "decoder-found"];
      yield [...up(t, state, TOP), "state", t];
      if (!last) yield [[side(t) + WIDE, state + TALL - 6], [side(t + 1) + 8, look], "state", t, "decoder-asks"];
    }
    if (!last) yield [[side(t) + WIDE, state + TALL / 2], [side(t + 1), state + TALL / 2], "state", t];
  }
}

const steps = (list, name) => {
  const places = list.flatMap((v, t) => (v ? [t + 1] : []));
  const [first, last] = [places[0], places.at(-1)], run = places.length > 1 && last - first + 1 === places.length;
  return places.length ? `${name}${places.length > 1 ? "s" : ""} ${run ? `${first}–${last}` : places.join(", ")}` : `no ${name}`;
};
const reached = ({ look, written }) => `${steps(look, "look")}, ${steps(written, "word")}`;

function show({ what, step, feeding, shown, marked, ...found }, { page, data: { read } }) {
  const pressed = what === "word" ? "read" : "look", number = read.length;
  const source = what === "word" ? `“${read[step - 1]}”` : `look ${step}`;
  for (const kind of KINDS) {
    const all = found[kind], picture = page[kind];
    for (const node of picture.querySelectorAll(".decoder-node")) {
      const { part, step: at } = node.dataset, is = part === pressed && Number(at) === step - 1;
      const lit = shown && Boolean(all[part === "joined" ? "written" : part]?.[at]);
      node.classList.toggle("decoder-pressed", is);
      node.classList.toggle("decoder-touched", lit);
      if (part !== "written") continue;
      const mine = marked.includes(node.dataset.name);
      node.classList.toggle("decoder-open", !shown);
      put(node, { tabindex: shown ? -1 : 0, "aria-disabled": String(shown), "aria-pressed": String(mine) });
      say(node.lastChild, !shown ? (mine ? "?" : "") : mine ? (lit ? "✓" : "✗") : lit && marked.length ? "missed" : "");
    }
    picture.querySelector(".decoder-arrows").replaceChildren(...[...links(kind, number, feeding)].flatMap(([from, to, part, t, extra = ""]) => {
      const live = shown && (part === "read" ? what === "word" && t === step - 1 : all[part][t]);
      return arrow(`decoder-arrow ${extra} ${live ? "decoder-live" : ""}`, from, to, live ? 2.5 : 1.2);
    }));
    picture.ariaLabel = `${NAMES[kind]}: ${shown ? `what depends on it: ${reached(all)}` : "what depends on it is covered"}`;
    const turns = all.turns === 1 ? `All ${number} looks can run at once` : "Each look waits for the one before";
    say(page[`${kind}-turns`], `${turns}.`);
  }
  const right = namesOf(number).filter((_, n) => KINDS.flatMap((kind) => found[kind].written)[n]);
  const hits = marked.filter((name) => right.includes(name)).length, wrong = marked.length - hits;
  say(page.big, shown ? `Lit up: what ${source} can change` : `Which words written can ${source} change?`);
  const [first, second] = KINDS.map((kind) => `${NAMES[kind]}${kind === "luong" && feeding ? ", with input feeding" : ""}: ${reached(found[kind])}`);
  const guess = marked.length ? `You found ${hits} of ${right.length}${wrong ? `, and marked ${wrong} that cannot change` : ""}. ` : "";
  say(page.say, shown ? `${guess}${first}. ${second}.` : `Press them in the upper rows, then Show. Marked: ${marked.length}.`);
}

export default machine({ name: "decoder", label: "Two decoders", data: ["read", "written"], settings: ["what", "step", "feeding", "shown", "marked"],
  stage, controls, fits, build, compute, show });
