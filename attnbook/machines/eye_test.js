// Healthy or broken? A quiz of attention maps; the kit stands before it.

const HEALTHY = "h", BROKEN = "b", OPEN = "-", NAMES = { [HEALTHY]: "healthy", [BROKEN]: "broken" };

/** Which exhibit is shown at each place: as given at first, then mixed. */
function mixed({ length }, turn) {
  const key = (k) => (turn ? (k + 10 * turn) ** 3 % 101 : k); // no two have the same cube
  return [...Array(length).keys()].sort((a, b) => key(a) - key(b));
}

function compute({ exhibits }, { replies, turn }) {
  const order = mixed(exhibits, turn), asked = order.map((k) => exhibits[k]);
  const marks = asked.map(({ broken }, k) => (replies[k] === OPEN ? null : (replies[k] === BROKEN) === broken));
  return { order, marks, right: marks.filter((mark) => mark).length, answered: marks.filter((mark) => mark !== null).length,
    fooled: asked.filter((_, k) => marks[k] === false).map(({ name }) => name) };
}

const fits = { replies: (v, _, { exhibits }) => typeof v === "string" && v.length === exhibits.length && /^[hb-]*$/.test(v),
  turn: (v) => Number.isInteger(v) && v >= 0 && v <= 99 };

// ---- The page.

const stage = '<svg class="eye-map" aria-hidden="true"></svg><ol class="eye-marks"></ol>';

function controls({ exhibits }) {
  const many = exhibits.length;
  const isAsked = ({ place, replies }) => replies[place - 1] === OPEN; // the first answer counts
  const answer = (words, letter) => {
    const one = button(words, (s) => (isAsked(s) ? { replies: s.replies.slice(0, s.place - 1) + letter + s.replies.slice(s.place) } : {}),
      ({ place, replies }) => replies[place - 1] === letter);
    return { ...one, show: (s) => { one.show(s); one.element.ariaDisabled = String(!isAsked(s)); } };
  };
  const isOver = ({ place, replies }) => place > many && !replies.includes(OPEN);
  const next = button("Next", (s) => (isOver(s) ? { place: 1, replies: OPEN.repeat(many), turn: s.turn % 99 + 1 } :
    { place: s.place > many ? s.replies.indexOf(OPEN) + 1 : s.place + 1 }));
  return [
    slider("Map", "place", { min: 1, max: many + 1, text: (v) => (v > many ? "the score" : `${v} of ${many}`) }),
    answer("Healthy", HEALTHY),
    answer("Broken", BROKEN),
    { ...next, show: (s) => say(next.element, isOver(s) ? "Again, shuffled" : "Next") },
  ];
}

const mark = (is) => (is === null ? "·" : is ? "✓" : "✗");

function build({ page, on, take }) {
  on(page.marks, "click", ({ target }) => {
    const item = target.closest("li");
    if (item) take({ place: [...page.marks.children].indexOf(item) + 1 });
  });
}

function show(now, { page, data: { exhibits } }) {
  const { place, replies, order, marks, right, answered } = now, asked = order.map((k) => exhibits[k]), one = asked[place - 1];
  const is = marks[place - 1], many = exhibits.length;
  page.map.style.display = one ? "" : "none";
  if (one) draw(page.map, one, is !== null, heat(page.root));
  say(page.big, one ? is === null ? "Healthy or broken?" : `${is ? "Right" : "No"}: ${one.broken ? "broken" : "healthy"}, ${one.name}`
    : `${right} of ${many}${answered < many ? `, with ${many - answered} to go` : ""}`);
  say(page.say, one ? is === null ? one.told : one.because : verdict(now, asked));
  fill(page.marks, asked, () => make("li", {}, make("span"), make("span")), (item, { name, broken }, k) => {
    const [sign, words] = item.children;
    item.className = marks[k] === null ? "" : marks[k] ? "eye-good" : "eye-bad";
    say(sign, mark(marks[k]));
    say(words, one || marks[k] === null ? `${k + 1}` : `${k + 1}: ${name}${marks[k] ? "" : `; you said ${NAMES[replies[k]]}`}`);
    item.classList.toggle("eye-here", k === place - 1);
  });
  page.marks.classList.toggle("eye-list", !one);
}

function verdict({ answered, marks, turn }, asked) {
  if (answered < asked.length) return "Answer them all, then come back.";
  const [broken, healthy] = [true, false].map((is) => asked.filter((one) => one.broken === is).length);
  const wrong = (is) => asked.filter((one, k) => one.broken === is && !marks[k]).length;
  return `You accused ${wrong(false)} of ${healthy} healthy maps, and ${wrong(true)} of ${broken} broken ones got past you. Always “Broken” would earn ${
    broken}.${turn ? " The text numbers the maps as they came at first." : ""}`;
}

/** Rows are queries, columns keys; darker is more, from 0 to 1. Once it is answered, what each row sums to. */
function draw(picture, { weights, tokens }, isAnswered, shades) {
  const n = tokens.length, cell = 26, left = 66, top = 62, parts = [];
  parts.push(text("eye-axis", left, 11, "keys →"), text("eye-axis", 2, top - 6, "queries ↓"));
  tokens.forEach((token, k) => {
    const middle = (k + 0.5) * cell;
    parts.push(text("", left - 6, top + middle + 4, token, { text_anchor: "end" }),
      text("", left + middle - 2, top - 6, token, { transform: `rotate(-45 ${left + middle} ${top - 6})` }));
  });
  weights.forEach((row, i) => row.forEach((share, j) =>
    parts.push(rect("eye-cell", left + j * cell, top + i * cell, cell, cell, { fill: shades(share).background }))));
  if (isAnswered) {
    parts.push(text("eye-axis", left + n * cell + 5, top - 5, "sum"));
    weights.forEach((row, i) => {
      const sum = fixed(sumOf(row), 2);
      parts.push(text(sum === "1.00" ? "eye-axis" : "eye-axis eye-off", left + n * cell + 5, top + (i + 0.5) * cell + 4, sum));
    });
  }
  const bottom = top + n * cell + 14, wide = n * cell;
  for (let k = 0; k < 20; k++) parts.push(rect("", left + k * wide / 20, bottom, wide / 20 + 0.5, 8, { fill: shades((k + 0.5) / 20).background }));
  [["0", 0, "start"], ["weight", 0.5, "middle"], ["1", 1, "end"]].forEach(([words, at, anchor]) =>
    parts.push(text("eye-axis", left + at * wide, bottom + 21, words, { text_anchor: anchor })));
  picture.setAttribute("viewBox", `0 0 ${left + wide + 34} ${bottom + 26}`);
  picture.replaceChildren(...parts);
}

/** What is heard: where each row looks, since the map is for eyes. */
function words({ place, order, marks }, { exhibits }) {
  const one = exhibits[order[place - 1]];
  if (!one) return `The score: ${marks.filter((is) => is).length} of ${exhibits.length}.`;
  const rows = one.weights.map((row, i) => `${one.tokens[i]} looks most at ${one.tokens[row.indexOf(Math.max(...row))]}, ${
    fixed(Math.max(...row), 2)} of a sum of ${fixed(sumOf(row), 2)}`);
  return `Map ${place}. ${one.told} ${rows.join("; ")}.${marks[place - 1] === null ? "" :
    ` ${marks[place - 1] ? "Right" : "No"}: ${one.broken ? "broken" : "healthy"}, ${one.name}. ${one.because}`}`;
}

export default machine({ name: "eye", label: "Healthy or broken?", data: ["exhibits"], settings: ["place", "replies", "turn"],
  stage, controls, fits, build, compute, show, words });
