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

const PITCH = 66, WIDE = 54, LOOK = 38, TALL = 28, FIRST = 22, ROWS = { joined: 50, upper: 92, lower: 144, read: 196 };
const JOIN = { left: 12, wide: 40, tall: 22 };
const PLACE = { bahdanau: { written: 40, state: ROWS.upper, look: ROWS.lower }, luong: { written: 4, look: ROWS.upper, state: ROWS.lower } };

const stage = `<div class="decoder-whole">${KINDS.map((kind) => `<div><p class="machine-head">${NAMES[kind]}</p>
<svg class="decoder-${kind}"></svg><p class="decoder-${kind}-turns machine-say"></p></div>`).join("")}</div>`;

const controls = ({ read }) => [
  slider("Step", "step", { min: 1, max: read.length, text: (n) => `${n} of ${read.length}` }),
  ...Object.entries(WHAT).map(([what, name]) => button(name, () => ({ what }), (s) => s.what === what)),
  toggle("Input feeding", "feeding"),
];
const fits = { what: (v) => Object.keys(WHAT).includes(v) };

function build({ page, on, take, data: { read, written } }) {
  for (const kind of KINDS) {
    const picture = page[kind], { written: top, state, look } = PLACE[kind];
    picture.setAttribute("viewBox", `0 ${top - 4} ${FIRST + PITCH * read.length} ${232 - top}`);
    picture.setAttribute("role", "img");
    for (const t of read.keys()) {
      const x = FIRST + t * PITCH, parts = [["written", "written", top, written[t]], ["look", "query", look, "look"],
        ["state", "state", state, "state"], ["read", "read", ROWS.read, read[t]]];
      if (kind === "luong") parts.push(["joined", "joined", ROWS.joined, "join"]);
      for (const [name, role, y, words] of parts) {
        const { left = 0, wide, tall = TALL } = { query: { wide: LOOK }, joined: JOIN }[role] ?? { wide: WIDE }; // beside a look, what passes it
        const node = svg("g", { class: `decoder-node decoder-${role}`, "data-part": name, "data-step": t },
          rect("", x + left, y, wide, tall, { rx: role === "query" ? tall / 2 : role === "state" || role === "joined" ? 5 : 1 }),
          text("", x + left + wide / 2, y + tall / 2 + 4, words, { text_anchor: "middle" }));
        const what = { read: "word", look: "context" }[name];
        if (what) on(node, "click", () => take({ what, step: t + 1 }));
        picture.append(node);
      }
    }
    picture.prepend(svg("g", { class: "decoder-arrows" }));
  }
}

/** The arrows of a decoder: from, to, which part is carried, and a class. */
function* links(kind, count, feeding) {
  const { written, state, look } = PLACE[kind], side = (t) => FIRST + t * PITCH;
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
      yield [[side(t) + left + wide / 2, ROWS.joined], [side(t) + left + wide / 2, written + TALL], "written", t];
      if (feeding && !last) yield [[right, foot - 6], [side(t + 1) + 4, state], "written", t, "decoder-fed"];
    } else {
      yield [...up(t, ROWS.read, state, past), "read", t];
      yield [...up(t, look, state, near), "found", t, "decoder-found"];
      yield [...up(t, state, written), "state", t];
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

function show({ what, step, feeding, ...found }, { page, data: { read } }) {
  const pressed = what === "word" ? "read" : "look", number = read.length;
  for (const kind of KINDS) {
    const all = found[kind], picture = page[kind];
    for (const node of picture.querySelectorAll(".decoder-node")) {
      const { part, step: at } = node.dataset, is = part === pressed && Number(at) === step - 1;
      node.classList.toggle("decoder-pressed", is);
      node.classList.toggle("decoder-touched", Boolean(all[part === "joined" ? "written" : part]?.[at]));
    }
    picture.querySelector(".decoder-arrows").replaceChildren(...[...links(kind, number, feeding)].flatMap(([from, to, part, t, extra = ""]) => {
      const live = part === "read" ? what === "word" && t === step - 1 : all[part][t];
      return arrow(`decoder-arrow ${extra} ${live ? "decoder-live" : ""}`, from, to, live ? 2.5 : 1.2);
    }));
    picture.ariaLabel = `${NAMES[kind]}: what depends on it: ${reached(all)}`;
    const turns = all.turns === 1 ? `All ${number} looks can run at once` : `The ${number} looks wait for each other`;
    say(page[`${kind}-turns`], `${turns}.`);
  }
  say(page.big, `Lit up: what ${what === "word" ? `“${read[step - 1]}”` : `look ${step}`} can change`);
  const [first, second] = KINDS.map((kind) => `${NAMES[kind]}${kind === "luong" && feeding ? ", with input feeding" : ""}: ${reached(found[kind])}`);
  say(page.say, `${first}. ${second}.`);
}

export default machine({ name: "decoder", label: "Two decoders", data: ["read", "written"], settings: ["what", "step", "feeding"],
  stage, controls, fits, build, compute, show });
