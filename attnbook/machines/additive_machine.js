// Additive attention in one picture, with a magnifier on one score; the kit and recurrent.js stand before it.

const MOST = 12, PLACES = 6, PAD = "(padding)", SQUASH = { tanh: Math.tanh, none: same };

// ---- What is computed: the sentence is read and written with these settings, word by word.

const prepare = (data) => ({ net: unpacked(data) });

function compute({ net, sentences, ids, target }, { sentence, step, at, squash, padding }) {
  const { states: read, first } = encode(net, ids[sentence]), zeros = read[0].map(() => 0);
  const source = [...sentences[sentence], ...Array(padding === "none" ? 0 : PLACES).fill(PAD)], states = source.map((_, j) => read[j] ?? zeros);
  const mask = source.map((_, j) => padding === "unmasked" || j < read.length), steps = [];
  for (let state = first, token = BOS; steps.length < MOST;) {
    const found = look(net, state, states, mask, SQUASH[squash]), next = advance(net, token, state, found.context);
    token = largest(next.chances);
    if (token === EOS && steps.length) break;
    steps.push({ state, ...found, after: next.state, chances: next.chances, token });
    if (token === EOS) break;
    state = next.state;
  }
  const now = Math.min(step, steps.length - 1), under = Math.min(at, source.length - 1);
  const { state, asked, keys, scores, weights, context, after, chances } = steps[now];
  const total = plus(asked, keys[under]), squashed = total.map(SQUASH[squash]), v = net["decoder.attention.v"];
  const best = [...chances.keys()].sort((a, b) => chances[b] - chances[a]).slice(0, 3);
  return { source, written: steps.map(({ token }) => target[token]), now, under, map: steps.map(({ weights }) => weights),
    state, states, asked, key: keys[under], total, squashed, v, parts: squashed.map((x, i) => x * v[i]), scores,
    weighed: weights, context, after, best: best.map((i) => [target[i], chances[i]]) };
}

// ---- The page.

const stage = `<div class="additive-whole"><div class="additive-left">
<p class="additive-asks machine-head"></p><div class="additive-state"></div>
<table class="additive-rows"><thead><tr><th scope="col">word</th><th scope="col">key</th><th scope="col">score</th><th scope="col" colspan="2">weight</th></tr></thead><tbody></tbody></table>
<p class="machine-head">context: the average of the keys</p><div class="additive-context"></div>
<p class="additive-into machine-head"></p><div class="additive-after"></div><ol class="additive-best machine-side"></ol>
</div><div class="additive-right"><p class="machine-head">all its looks, a row for each word</p><div class="additive-scroll" tabindex="0" role="group" aria-label="All looks">
<table class="additive-map"><thead></thead><tbody></tbody></table></div><p class="additive-under machine-head"></p>
<table class="additive-lens"><thead></thead><tbody></tbody><tfoot></tfoot></table></div></div>`;

const word = ({ source, under }) => source?.[under] ?? "";
/** Another step: a magnifier on the largest weight goes with it, one put elsewhere stays. */
const onto = ({ map, now, under }, step) => (under === largest(map[now]) ? { step, at: largest(map[step]) } : { step });

const reading = (control, also) => ({ ...control, read: (s) => also(s, control.read(s)) });

const controls = (data) => [
  // Another sentence is read as it should be, with the tanh and without padding.
  reading(chooser("Sentence", "sentence", data.sentences.map((one, at) => [at, one.join(" ")])), (s, { sentence }) => {
    const settings = { sentence, squash: "tanh", padding: "none" }, { map, now } = compute(data, { ...s, ...settings });
    return { ...settings, at: largest(map[now]) };
  }),
  reading(slider("It writes", "step", { max: (s) => (s.written?.length ?? MOST) - 1, text: (_, s) => s.written?.[s.now] ?? "" }), (s, { step }) => onto(s, step)),
  slider("Magnifier on", "at", { max: (s) => (s.source?.length ?? MOST + PLACES) - 1, text: (_, s) => word(s) }),
  chooser("Score", "squash", [["tanh", "with the tanh"], ["none", "without the tanh"]]),
  chooser("Padding", "padding", [["none", "none"], ["masked", "six places, masked"], ["unmasked", "six places, no mask"]]),
  button("Next word", (s) => onto(s, (s.now + 1) % s.written.length)),
];

const cell = (tag, textContent, more) => make(tag, { textContent, ...more });
const head = (textContent, scope = "col") => cell("th", textContent, { scope });
const number = (v) => fixed(v, 2);

function build({ page, on, take, now }) {
  for (const [name, role] of [["state", "query"], ["context", "value"], ["after", "state"]]) page[name].append(stripOf(role));
  page.lens.tHead.append(make("tr", {}, make("td"), head("W s + b"), head("U h"), head("sum"), head("tanh"), head("v"), head("× v")));
  page.lens.tFoot.append(make("tr", {}, head("score", "row"), ...Array.from({ length: 6 }, () => make("td"))));
  const pressed = (name, settings) => on(page[name].tBodies[0], "click", ({ target }) => {
    const line = target.closest("tr");
    if (line) take(settings(line.sectionRowIndex));
  });
  pressed("rows", (at) => ({ at }));
  pressed("map", (step) => onto(now(), step));
}

function show(now, { page }) {
  const { source, written, map, scores, weighed, squash, under, padding } = now, colours = heat(page.root), at = now.now;
  say(page.big, `It has written ${at ? quoted(written.slice(0, at).join(" ")) : "nothing yet"}. ${at && at === written.length - 1 ? "Last" : "Next"}: ${quoted(written[at])}`);
  const first = largest(weighed), blind = squash === "none";
  say(page.say, `To write ${quoted(written[at])} it looks most at ${quoted(source[first])}, with weight ${number(weighed[first])}.${blind
    ? " Without the tanh every row of the map is the same: what it asks makes no difference."
    : padding === "unmasked" ? ` Padding holds ${number(weighed.reduce((sum, w, j) => sum + (source[j] === PAD ? w : 0), 0))} of this look.`
      : ""}`);
  say(page.asks, `query: the state before ${quoted(written[at])}`);
  say(page.into, `step, with ${at ? quoted(written[at - 1]) : "the start"}: new state, next word`);
  for (const [name, vector] of [["state", now.state], ["context", now.context], ["after", now.after]]) strip(page[name].firstChild, vector);
  fill(page.rows.tBodies[0], source, () => make("tr", {}, head("", "row"), make("td", {}, stripOf("key")), make("td"), make("td", {}, make("i")), make("td")),
    (line, name, j) => {
      const [title, picture, score, bar, weight] = line.cells;
      line.className = j === under ? "additive-chosen" : "";
      say(title, name);
      strip(picture.firstChild, now.states[j]);
      say(score, number(scores[j]));
      bar.firstChild.style.setProperty("--machine-share", `${100 * weighed[j]}%`);
      say(weight, number(weighed[j]));
    });
  fill(page.best, now.best, bar, (item, [name, share]) => showBar(item, name, share, 2));
  say(page.under, `under the magnifier: the score of ${quoted(source[under])}`);
  const columns = [now.asked, now.key, now.total, now.squashed, now.v, now.parts];
  say(page.lens.tHead.rows[0].cells[4], blind ? "no tanh" : "tanh");
  fill(page.lens.tBodies[0], now.v, (a) => make("tr", {}, head(String(a), "row"), ...columns.map(() => make("td"))),
    (line, _, a) => columns.forEach((column, c) => say(line.cells[c + 1], number(column[a]))));
  say(page.lens.tFoot.rows[0].cells[6], number(scores[under]));
  fill(page.map.tHead, [source], () => make("tr"), (line) => fill(line, ["", ...source], (j) => (j ? head("") : make("td")), say));
  fill(page.map.tBodies[0], written, () => make("tr", {}, head("", "row")), (line, name, i) => {
    line.className = i === at ? "additive-chosen" : "";
    fill(line, [name, ...map[i]], (j) => (j ? make("td") : head("", "row")), (box, value, j) => {
      say(box, j ? number(value).replace(/^0\./, ".") : value);
      if (j) Object.assign(box.style, colours(value));
    });
  });
}

const tell = ({ source, scores, weighed, under }) => ` Under the magnifier: ${quoted(source[under])}, score ${number(scores[under])}, weight ${number(weighed[under])}.`;

export default machine({ name: "additive", label: "One look of a small translator", data: ["shapes", "weights", "sentences", "ids", "target"],
  settings: ["sentence", "step", "at", "squash", "padding"], prepare, stage, controls, build, compute, show, tell });
