// Guess what is lost without a part, then uncover the curve; the kit stands before it.

const LEFT = 44, WIDE = 548, RIGHT = WIDE - 114, TALL = 205, TOP = 32, LOW = TOP + TALL, HIGH = LOW + 26;

// ---- What is computed.

const middle = (list) => {
  const sorted = [...list].sort((a, b) => a - b), at = (sorted.length - 1) / 2;
  return (sorted[Math.floor(at)] + sorted[Math.ceil(at)]) / 2;
};

function compute({ curves, asked }, { part, rate, guess }) {
  const of = (one) => curves[one][rate].map(([updates, seeds]) => [updates, 100 * middle(seeds)]);
  const medians = of(part), [, right] = medians.find(([updates]) => updates === asked);
  return { medians, first: of(0), right, missed: Math.abs(guess - right) };
}

// ---- The page.

const without = (name) => (name === "nothing" ? "The whole model" : `Without ${name}`);

const stage = `<svg class="guess-plot" viewBox="0 0 ${WIDE} ${HIGH}" aria-hidden="true"></svg>`;

/** Another part, rate or guess is covered: what was shown of the last must not give it away. */
const anew = (one) => ({ ...one, read: (now) => ({ ...one.read(now), shown: false }) });

const controls = ({ names, rates, asked }) => [
  anew(chooser("Take out", "part", names.map((name, place) => [place, name]))),
  anew(chooser("Rate", "rate", rates.map((rate, place) => [place, String(rate)]))),
  anew(slider("Your guess", "guess", { min: 0, max: 100, text: (v) => `${v}%` })),
  button("Show", ({ shown }) => ({ shown: !shown, guessed: true }), ({ shown }) => shown),
];

/** A link that shows the answer is no guess. */
const words = ({ shown, guess, right, missed }, { asked }, mine) => (shown
  ? `${Math.round(right)}% are right${mine ? `. You guessed ${guess}%${missed < 5 ? ": well guessed" : ""}` : ` after ${whole(asked)} updates`}`
  : `You guess ${guess}% right after ${whole(asked)} updates`);

/** Why it is so, and what a dot is. No line joins them: each is a run of its own, and a fall is no forgetting. */
const explained = ({ part, medians }, { names, reasons }) => `${reasons[names[part]] ?? ""} Each dot is one model, trained from the start. The middle ones: ${
  medians.map(([updates, one]) => `${Math.round(one)}% after ${whole(updates)}`).join(", ")} updates.`.trim();

function show(now, { page, data, initial }) {
  const { names, rates, curves, asked, luck, most } = data;
  const { part, rate, guess, shown, first } = now, all = curves.flat(2).map(([updates]) => updates), ticks = [...new Set(all)].sort((a, b) => a - b);
  const [least, last] = [ticks[0], ticks.at(-1)].map(Math.log);
  const x = (updates) => LEFT + 16 + (Math.log(updates) - least) / (last - least) * (RIGHT - LEFT - 32), y = (share) => LOW - share / 100 * TALL;
  const name = names[part], end = { text_anchor: "end" }, centre = { text_anchor: "middle" };
  const mine = now.guessed || guess !== initial.guess;
  say(page.big, words(now, { asked }, mine));
  say(page.say, `${without(name)}, at a learning rate of ${rates[rate]}${shown
    ? `. ${explained(now, data)}` : ": move the slider or press in the picture, then Show."}`);
  const parts = [0, 50, 100].flatMap((share) => [rule("guess-grid", LEFT, y(share), RIGHT, y(share)), text("", LEFT - 6, y(share) + 4, `${share}%`, end)]);
  const beside = (share, ...lines) => [rule("guess-luck", LEFT, y(share), RIGHT, y(share)),
    ...lines.map((line, place) => text("guess-name", RIGHT + 6, y(share) + 5 + 20 * place, line))];
  parts.push(...ticks.flatMap((updates) => [rule("guess-grid", x(updates), TOP, x(updates), LOW), text("", x(updates), LOW + 17, whole(updates), centre)]),
    text("guess-name", RIGHT + 22, LOW + 17, "updates"));
  const path = (points) => `M${points.map(([updates, share]) => `${x(updates)},${y(share)}`).join("L")}`;
  if (part) { // the first is known: what is asked is how far this one falls short of it
    parts.push(svg("path", { class: "guess-whole", d: path(first) }), text("guess-name", x(first.at(-1)[0]), TOP - 10, names[0] === "nothing" ? "the whole model" : `without ${names[0]}`, centre));
  }
  if (shown) { // the line of luck gives away what is left without attention
    parts.push(...beside(100 * luck, "its own digit", `only: ${Math.round(100 * luck)}%`));
    if (most[name] > luck) parts.push(...beside(100 * most[name], `best bet ${Math.round(100 * most[name])}%`));
    parts.push(...curves[part][rate].flatMap(([updates, seeds]) => seeds.map((share) => svg("circle", { class: "guess-seed", cx: x(updates), cy: y(100 * share), r: 4 }))));
  }
  const [a, b] = [x(asked), y(guess)];
  if (mine || !shown) parts.push(svg("path", { class: "guess-mine", d: `M${a - 8},${b}L${a},${b - 8}L${a + 8},${b}L${a},${b + 8}Z` }), text("guess-mine", a - 14, b + 4, "you", end));
  page.plot.replaceChildren(...parts);
}

function build({ on, page, take }) {
  drag(on, page.plot, (_, down) => clamp(Math.round((LOW - down * HIGH) / TALL * 100), 0, 100), (guess) => take({ guess, shown: false }));
}

export default machine({ name: "guess", label: "What a part is worth", data: ["names", "rates", "curves", "asked", "luck", "most", "reasons"],
  settings: ["part", "rate", "guess", "guessed", "shown"], keeps: ["guess", "guessed"], stage, controls, build, compute, show });
