// Healthy or broken? A quiz of attention maps; the kit stands before it.

const HEALTHY = "h", BROKEN = "b", OPEN = "-", NAMES = { [HEALTHY]: "healthy", [BROKEN]: "broken" };

function compute({ exhibits }, { replies }) {
  const marks = exhibits.map(({ broken }, k) => (replies[k] === OPEN ? null : (replies[k] === BROKEN) === broken));
  return { marks, right: marks.filter((mark) => mark).length, answered: marks.filter((mark) => mark !== null).length,
    fooled: exhibits.filter((_, k) => marks[k] === false).map(({ name }) => name) };
}

const fits = { replies: (v, _, { exhibits }) => typeof v === "string" && v.length === exhibits.length && /^[hb-]*$/.test(v) };

// ---- The page.

const stage = '<svg class="eye-map" aria-hidden="true"></svg><ol class="eye-marks"></ol>';

function controls({ exhibits }) {
  const said = (letter) => ({ place, replies }) =>
    (place > exhibits.length ? {} : { replies: replies.slice(0, place - 1) + letter + replies.slice(place) });
  const held = (letter) => ({ place, replies }) => replies[place - 1] === letter;
  return [
    slider("Map", "place", { min: 1, max: exhibits.length + 1, text: (v) => (v > exhibits.length ? "the score" : `${v} of ${exhibits.length}`) }),
    button("Healthy", said(HEALTHY), held(HEALTHY)),
    button("Broken", said(BROKEN), held(BROKEN)),
    button("Next", ({ place }) => ({ place: place > exhibits.length ? 1 : place + 1 })),
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
  const { place, replies, marks, right, answered } = now, one = exhibits[place - 1];
  page.map.style.display = one ? "" : "none";
  if (one) draw(page.map, one, heat(page.root));
  const is = marks[place - 1], many = exhibits.length;
  say(page.big, one ? is === null ? "Healthy or broken?" : `${is ? "Right" : "No"}: ${one.broken ? "broken" : "healthy"}, ${one.name}`
    : `${right} of ${many}${answered < many ? `, with ${many - answered} to go` : ""}`);
  say(page.say, one ? is === null ? one.told : one.because : verdict(now, many));
  fill(page.marks, exhibits, () => make("li", {}, make("span"), make("span")), (item, { name, broken }, k) => {
    const [sign, words] = item.children;
    item.className = marks[k] === null ? "" : marks[k] ? "eye-good" : "eye-bad";
    say(sign, mark(marks[k]));
    say(words, one || marks[k] === null ? `${k + 1}` : `${k + 1}: ${name}${marks[k] ? "" : `; you said ${NAMES[replies[k]]}`}`);
    item.classList.toggle("eye-here", k === place - 1);
  });
  page.marks.classList.toggle("eye-list", !one);
}

const verdict = ({ answered, fooled }, many) => (answered < many ? "Answer them all, then come back." :
  fooled.length ? `What fooled you: ${fooled.join("; ")}.` : "Nothing fooled you. Would a colleague do as well?");

/** Rows are queries, columns keys; darker is more, from 0 to 1. */
function draw(picture, { weights, tokens }, shades) {
  const n = tokens.length, cell = 26, left = 66, top = 62, parts = [];
  parts.push(text("eye-axis", left, 11, "keys →"), text("eye-axis", 2, top - 6, "queries ↓"));
  tokens.forEach((token, k) => {
    const middle = (k + 0.5) * cell;
    parts.push(text("", left - 6, top + middle + 4, token, { text_anchor: "end" }),
      text("", left + middle - 2, top - 6, token, { transform: `rotate(-45 ${left + middle} ${top - 6})` }));
  });
  weights.forEach((row, i) => row.forEach((share, j) =>
    parts.push(rect("eye-cell", left + j * cell, top + i * cell, cell, cell, { fill: shades(share).background }))));
  const bottom = top + n * cell + 14, wide = n * cell;
  for (let k = 0; k < 20; k++) parts.push(rect("", left + k * wide / 20, bottom, wide / 20 + 0.5, 8, { fill: shades((k + 0.5) / 20).background }));
  [["0", 0, "start"], ["weight", 0.5, "middle"], ["1", 1, "end"]].forEach(([words, at, anchor]) =>
    parts.push(text("eye-axis", left + at * wide, bottom + 21, words, { text_anchor: anchor })));
  picture.setAttribute("viewBox", `0 0 ${left + wide + 34} ${bottom + 26}`);
  picture.replaceChildren(...parts);
}

/** What is heard: where each row looks, since the map is for eyes. */
function words({ place, marks }, { exhibits }) {
  const one = exhibits[place - 1];
  if (!one) return `The score: ${marks.filter((is) => is).length} of ${exhibits.length}.`;
  const rows = one.weights.map((row, i) => `${one.tokens[i]} looks most at ${one.tokens[row.indexOf(Math.max(...row))]}, ${
    fixed(Math.max(...row), 2)} of a sum of ${fixed(sumOf(row), 2)}`);
  return `Map ${place}. ${one.told} ${rows.join("; ")}.${marks[place - 1] === null ? "" :
    ` ${marks[place - 1] ? "Right" : "No"}: ${one.broken ? "broken" : "healthy"}, ${one.name}. ${one.because}`}`;
}

export default machine({ name: "eye", label: "Healthy or broken?", data: ["exhibits"], settings: ["place", "replies"],
  stage, controls, fits, build, compute, show, words });
