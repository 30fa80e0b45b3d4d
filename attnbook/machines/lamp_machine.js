// Heads to aim, two read-outs fitted at every move, and a lamp for each command that is named; the kit and
// layers.js stand before it.

const SIDES = ["left", "right", "absent"], DECAY = 0.001, STEPS = 60, FAR = 30, SAME = 1e-6, TINY = 1e-12;
const PAIRS = [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]];

// ---- What is computed.

/** The strength of each head for which the command on a side is likeliest, by Newton's method: `heard`
 *  has for each of SIDES what the heads bring of it. */
function fit(heard, side) {
  const loss = (s) => {
    const logits = heard.map((row) => dot(row, s)), most = Math.max(...logits);
    return Math.log(logits.reduce((sum, v) => sum + Math.exp(v - most), 0)) + most - logits[side] + DECAY * dot(s, s);
  };
  let s = heard[0].map(() => 0);
  for (let n = 0; n < STEPS; n++) {
    const chances = softmax(heard.map((row) => dot(row, s))), column = (h) => heard.map((row) => row[h]);
    const average = s.map((_, h) => dot(chances, column(h)));
    const slope = s.map((v, h) => average[h] - heard[side][h] + 2 * DECAY * v);
    const bend = s.map((_, h) => s.map((_, k) => heard.reduce((sum, row, c) => sum + chances[c] * row[h] * row[k], 0) -
      average[h] * average[k] + 2 * DECAY * (h === k)));
    let step = solve(bend, slope);
    const moved = () => s.map((v, h) => v - step[h]), before = loss(s);
    while (loss(moved()) > before && Math.max(...step.map(Math.abs)) > TINY) step = step.map((v) => v / 2);
    s = moved();
    if (Math.max(...step.map(Math.abs)) < TINY) break;
  }
  return s;
}

/** One equation or two. */
function solve([[a, b], below], [x, y]) {
  if (!below) return [x / a];
  const [c, d] = below, by = a * d - b * c;
  return [(d * x - b * y) / by, (a * y - c * x) / by];
}

function compute(_, { second, head0, head1 }) {
  const weights = (second ? [head0, head1] : [head0]).map((q) => softmax([-q / 10, q / 10]));
  const heard = [...[0, 1].map((side) => weights.map((row) => row[side])), weights.map(() => 0)];
  const strengths = [0, 1].map((side) => fit(heard, side)), chances = strengths.map((s) => softmax(heard.map((row) => dot(row, s))));
  const named = chances.map((row) => {
    const [best, next] = [...row.keys()].sort((a, b) => row[b] - row[a]);
    return row[best] - row[next] < SAME ? "" : SIDES[best];
  });
  const right = named.map((name, side) => Number(name === SIDES[side]));
  return { weights, strengths, chances, named, lit: 6 * (right[0] + right[1]), both: 6 * right[0] * right[1] };
}

// ---- The page.

const WIDE = 320, LEFT = 40, RIGHT = WIDE - LEFT, TRACK = [14, 148], WORDS = 82, REACH = [68, 98], HALF = 24;
const SPAN = WIDE / 2 - LEFT - HALF; // of a query's middle on either side: its name stays clear of its weights
const MIX = { x: 86, high: 22, fits: 62 };

const stage = `<div class="lamp-whole"><svg class="lamp-picture" viewBox="0 0 ${WIDE} 132" aria-hidden="true"></svg>
<ol class="lamp-cards"></ol></div>`;

const query = (v) => fixed(v / 10, 1);
/** A second head begins where the first one looks. */
const beside = (one) => ({ ...one, read: (s) => ({ ...one.read(s), head1: s.head0 }) });
const controls = () => [
  slider("Query of head 0", "head0", { min: -FAR, max: FAR, text: query }),
  beside(toggle("A second head", "second")),
  slider("Query of head 1", "head1", { min: -FAR, max: FAR, text: query, shown: (s) => s.second }),
];

const lamp = () => make("span", { className: "lamp" }, svg("svg", { viewBox: "0 0 30 30", aria_hidden: "true" },
  svg("circle", { class: "lamp-glow", cx: 15, cy: 15, r: 14 }), svg("circle", { class: "lamp-bulb", cx: 15, cy: 15, r: 9 })), make("span"));

function build({ page, data: { commands }, on, take, settings }) {
  page.cards.append(...PAIRS.map(([a, b]) => make("li", {}, ...[commands[a], "not", commands[b]].map((textContent) =>
    make("span", { className: "lamp-words", textContent })), lamp(), lamp())));
  // Drawn across the picture: down to its words head 0, below them head 1.
  drag(on, page.picture, (x, y) => ({ [settings().second && y > 0.45 ? "head1" : "head0"]:
    clamp(Math.round((x * WIDE - WIDE / 2) / SPAN * FAR), -FAR, FAR) }), take);
}

/** Where a read-out goes wrong, in words. */
const heardAs = { left: "names the left command", right: "names the right command", absent: "names one that is absent", "": "cannot tell" };

function show(now, { page, data: { commands } }) {
  const { chances, named, lit, both } = now;
  const failing = named.flatMap((name, side) => (name === SIDES[side] ? [] : [`The read-out for the ${SIDES[side]} ${heardAs[name]}. `]));
  say(page.big, `${lit} of 12 lamps are lit`);
  say(page.say, `${failing.join("")}Read both ways: ${both} of 6.`);
  draw(page.picture, now, commands);
  [...page.cards.children].forEach((card, n) => [0, 1].forEach((side) => {
    const node = card.children[3 + side], ok = named[side] === SIDES[side], third = 3 - PAIRS[n][0] - PAIRS[n][1];
    node.classList.toggle("lamp-lit", ok);
    node.firstChild.firstChild.style.opacity = ok ? (0.6 * chances[side][side]).toFixed(2) : 0;
    const said = { left: commands[PAIRS[n][0]], right: commands[PAIRS[n][1]], absent: commands[third], "": "?" }[named[side]];
    say(node.lastChild, `${said} ${ok ? "✓" : "✗"}`);
    node.ariaLabel = `${SIDES[side]}: ${said}, ${ok ? "correct" : "not correct"}`;
  }));
}

/** What is heard after the lamps. */
const tell = ({ second, weights }) => weights.map(([left, right], h) =>
  ` ${second ? `Head ${h}` : "The head"} gives ${fixed(left, 2)} to the left and ${fixed(right, 2)} to the right.`).join("");

/** Each head's query on a track between the two commands, its weights as ribbons to them, and below it the mix that it brings. */
function draw(picture, { second, head0, head1, weights }, commands) {
  const middle = { text_anchor: "middle" }, top = second ? 172 : 106, long = WIDE - MIX.x;
  const parts = weights.flatMap(([left, right], h) => {
    const x = WIDE / 2 + [head0, head1][h] / FAR * SPAN, y = TRACK[h], to = REACH[h], low = top + h * (MIX.high + 4);
    const ribbon = (end, weight) => svg("path", { class: "lamp-ribbon", d: `M${x.toFixed(1)} ${y}Q${end} ${y} ${end} ${to}`, stroke_width: 0.5 + 13 * weight });
    const number = (end, weight, text_anchor) => text("lamp-weight", end, y + 4, fixed(weight, 2), { text_anchor });
    const part = (from, weight, side) => [rect("lamp-mix", from, low, long * weight, MIX.high),
      long * weight > MIX.fits && text("lamp-part", from + long * weight / 2, low + 15, `${fixed(weight, 2)} ${commands[side]}`, middle)].filter(Boolean);
    return [rule("lamp-track", LEFT, y, RIGHT, y), ribbon(LEFT, left), ribbon(RIGHT, right),
      number(LEFT - 8, left, "end"), number(RIGHT + 8, right, "start"),
      rect("lamp-query", x - HALF, y - 10, 2 * HALF, 20, { rx: 10 }), text("lamp-name", x, y + 4, `head ${h}`, middle),
      text("lamp-brings", 0, low + 15, `head ${h} brings`), ...part(MIX.x, left, 0), ...part(MIX.x + long * left, right, 1)];
  });
  picture.setAttribute("viewBox", `0 0 ${WIDE} ${top + weights.length * (MIX.high + 4)}`);
  picture.replaceChildren(...parts, ...[[LEFT, commands[0]], [WIDE / 2, "not"], [RIGHT, commands[1]]].map(([x, word]) => text("lamp-word", x, WORDS + 6, word, middle)));
}

export default machine({ name: "lamp", label: "Light all the lamps", data: ["commands"], settings: ["second", "head0", "head1"],
  stage, controls, build, compute, show, tell });
