// A sentence, its translation, and the attention between them; the engine's files stand before it.

// Shown as 1.00.
const SURE = 0.995;
// Milliseconds, while playing.
const STEP_TIME = 800;
// Milliseconds without typing until a translation is spoken.
const SETTLED = 700;

// $ begins the names of its own classes.
const PAGE = `<p class="machine-title"></p>
<p class="$lead"></p>
<div class="$ask"><input class="$text" type="text" autocomplete="off" autocapitalize="off"
spellcheck="false"></div>
<div class="$tries" role="group" aria-label="Sentences to try"></div>
<p class="$flag"></p>
<div class="$fetch"><button class="$load" type="button"></button>
<span class="$promise">It then runs here, in your browser: what you type stays here.</span></div>
<p class="$output"></p>
<div class="$views"><div class="$tabs" role="tablist" aria-label="How the weights are drawn">
<button class="$as-lines" type="button" role="tab" aria-selected="true">Lines</button>
<button class="$as-map" type="button" role="tab" aria-selected="false">Map</button></div>
<label class="$heads"><span class="$heads-name"></span><select class="$head"></select></label></div>
<div class="$stage" role="tabpanel" aria-label="Weights as lines"><svg class="$lines" aria-hidden="true"></svg>
<div class="$from"><p class="$from-name"></p><ol class="$source"></ol></div>
<div class="$to"><p class="$to-name"></p><ol class="$target"></ol></div></div>
<div class="$map" role="tabpanel" aria-label="Weights as a map"><div class="$scroll" tabindex="0" role="group" aria-label="Map"><table class="$table"></table></div>
<div class="$all-heads" role="group" aria-label="Layers and heads"></div></div>
<p class="$said"></p>
<div class="$walk"><button class="$play" type="button">Play</button>
<input class="$step" type="range" min="0" aria-label="Word being written">
<span class="$where"></span></div>
<div class="$why"><div><p class="$looked-name"></p><ol class="$looked"></ol></div>
<div><p class="$other-name"></p><ol class="$other"></ol></div></div>
<div class="$kept"><p class="$kept-name">What the beam kept, best first, and how probable each is</p><ol class="$beam"></ol>
<p class="$forgiven">Longer sentences are penalised less. Bars are drawn against the most probable.</p></div>
<div class="$off"><p class="$off-name"></p><p class="$was"></p><p class="$is"></p>
<div class="$bars"><p class="$worth-of"></p><ol class="$worth"></ol></div>
<div class="$lamps"><div class="$kinds"></div><p class="$worth-how"></p></div></div>
<div class="$settings"><label class="$which">Model<select class="$model">
</select></label><label class="$search">Search<select class="$beam-size"></select></label></div>
<p class="machine-note"></p><p class="machine-live" role="status"></p>`.replaceAll("$", "translator-");

/** A full stop, where a sentence has no end of its own. */
const stop = (words) => (/^[.!?…]$/.test(words.at(-1) ?? "") ? "" : ".");
const listed = (words) => words.map(quoted).join(words.length > 2 ? ", " : " and ");

/** A share with two digits; of one that is there all the same, that it is less. */
const shareText = (share) => (share > 0 && share < 0.005 ? "<0.01" : fixed(share, 2));

/** Fill a bar, which is in a box or a button of its line. */
function setBar({ firstChild: line }, text, share) {
  showBar(line, text, share, 2);
  say(line.lastChild, shareText(share));
}

/** A probability: two digits that say something, however small it is. */
const chanceText = (chance) => (chance < 1e-6 ? chance.toExponential(1) : chance >= SURE ? "1.0" : chance.toPrecision(2));

/** Set classes of its own, or take them away. */
const mark = (node, names) =>
  Object.entries(names).forEach(([name, is]) => node.classList.toggle(`translator-${name}`, is));

const bar = () => [make("span"), make("i"), make("span")];
const makeBar = () => make("li", {}, make("div", {}, ...bar()));

const TRAITS = ["text", "hidden", "forced", "model", "beam_size", "off", "full_stop"];
// Of a token.
const NAMES = { true: "piece", false: "word" };
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Text of a token as the reader sees it; what goes on in a word begins with dots. */
function shownToken(token, inPieces) {
  if (token === "<eos>") return "(the end)";
  if (!inPieces || token === START) return token;
  return token.startsWith(START) ? token.slice(START.length) : `…${token}`;
}

// ---- The view.

class View {
  constructor(model, el) {
    this.model = model;
    this.loaded = [];
    this.asked = new Set();
    // The step on show; null for all of them.
    this.at = null;
    this.head = "mean";
    this.asMap = false;
    // To load weights.
    this.willing = !this.trait("on_demand").length;
    const page = this.page = buildPage(model, "machine machine-translator", PAGE, "A live translator");
    page["from-name"].textContent = `${this.languages[0][0]}, read`;
    this.buildControls();
    page.root.snapshot = () => this.snapshot();
    page.root.hide = (place) => this.hide(place);
    this.showAs(false);
    this.listen();
    el.append(page.root);
    this.update();
  }

  get languages() { return this.model.get("languages"); }

  get engine() { return this.loaded[this.model.get("model")]; }

  /** The way of looking whose weights are drawn. */
  get cross() { return `${this.languages[1][0]} looks at ${this.languages[0][0]}`; }

  /** A list that states saved by an older attnkit lack. */
  trait(name) { return this.model.get(name) ?? []; }

  /** Whether a full stop is added, or could be. */
  get lacksEnd() { return this.initial.full_stop && withStop(this.model.get("text")) !== this.model.get("text"); }

  get withEnd() { return this.lacksEnd && this.model.get("full_stop"); }

  /** Hypotheses that the search keeps; 1 for a greedy one. */
  get size() { return this.model.get("beam_size") ?? 1; }

  /** Whether tokens of one side, 0 for the source, are pieces of words. */
  inPieces(side) { return this.now.engine.pieces[side]; }

  buildControls() {
    const { page, languages } = this, names = this.model.get("names");
    page.lead.append("Press ", make("b", { textContent: `a word in ${languages[0][0]}` }),
      " to hide it. Press ", make("b", { textContent: `a word in ${languages[1][0]}` }),
      " to see where it looked, and what else it could have written: press one of those to write it.");
    Object.assign(page.text, { lang: languages[0][1], ariaLabel: `Sentence in ${languages[0][0]}`,
      placeholder: `Write a sentence in ${languages[0][0]}` });
    page.source.lang = languages[0][1];
    page.output.lang = languages[1][1];
    page.target.lang = languages[1][1];
    page.model.append(...names.map((name, value) => make("option", { textContent: name, value })));
    page.which.hidden = names.length < 2;
    const sizes = this.trait("beam_sizes");
    page["beam-size"].append(...[1, ...sizes].map((value) =>
      make("option", { textContent: value === 1 ? "greedy" : `beam of ${value}`, value })));
    page.search.hidden = !sizes.length;
    fill(page.tries, this.model.get("sentences"), () => this.button("translator-try"), (one, text) => {
      Object.assign(one, { textContent: text, lang: languages[0][1],
        onclick: () => this.write(text) });
    });
  }

  button(className) {
    const one = make("button", { className, type: "button" });
    one.dataset.lmSuppressShortcuts = "true";
    return one;
  }

  listen() {
    const { page, model } = this, update = () => this.update();
    const { on, sized, end } = follow(model, TRAITS, page.root, update);
    // Before the address hears of the same press.
    on(document, "click", ({ target }) => {
      const from = target.closest?.("a[href*='#']");
      if (from?.hash.startsWith(`#${model.get("anchor")}=`)) this.cameFrom = from;
    }, { capture: true });
    this.initial = beginningOf(model, this.settings());
    this.address = keepAddress({ root: page.root, model, on, visit: (rest) => this.visit(rest), goal: () => this.goal, view: () => this.landing,
      behind: () => writeAddress(changedOf(this.settings(), this.initial)) });
    addTools(page, this.address.link, on);
    on(page.text, "input", () => this.write(page.text.value));
    on(page.model, "change", () => {
      // Which is put back as soon as anything is set.
      const place = Number(page.model.value);
      if (this.trait("forced").length) model.set("forced", []);
      write(model, { model: place });
    });
    on(page["beam-size"], "change", () => {
      this.pause();
      this.at = null;
      write(model, { beam_size: Number(page["beam-size"].value) });
      this.whenDone(() => this.speak(page.said.textContent));
    });
    on(page.head, "change", () => { this.head = page.head.value; this.draw(); });
    on(page.step, "input", () => { this.pause(); this.show(this.placeOf(page.step.value)); });
    on(page.play, "click", () => (this.timer ? this.pause() : this.play()));
    on(page.load, "click", () => {
      this.willing = true;
      this.load();
      this.draw();
      page.text.focus({ preventScroll: true });
    });
    for (const [one, asMap] of [[page["as-lines"], false], [page["as-map"], true]]) {
      on(one, "click", () => { this.showAs(asMap); this.draw(); });
      on(one, "keydown", ({ key }) => {
        if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) return;
        this.showAs(key === "End" || (key !== "Home" && !asMap));
        this.draw();
        page[this.asMap ? "as-map" : "as-lines"].focus();
      });
    }
    on(matchMedia("print"), "change", update);
    const heard = (content, buffers) => this.receive(content, buffers);
    model.on("msg:custom", heard);
    sized(page.stage, () => this.layOut());
    const near = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      this.seen = true;
      this.load();
    }, { rootMargin: "300px" });
    near.observe(page.root);
    this.close = () => {
      this.pause();
      this.job?.stop();
      clearTimeout(this.speaking);
      near.disconnect();
      model.off("msg:custom", heard);
      end();
    };
  }

  // ---- The address: what the reader typed, hid and wrote, and which step is on show.

  settings() {
    return { ...traitsOf(this.model, TRAITS), step: this.at, head: this.head, as: this.asMap ? "map" : "lines" };
  }

  keepAddress() {
    const settings = JSON.stringify(this.settings());
    if (this.noted && this.noted !== settings) this.address.note();
    this.noted = settings;
  }

  /** Take the settings of an address, if all of them can be; what of them no model has is left out later. */
  visit(rest) {
    const found = parseAddress(rest), place = (v) => Number.isInteger(v) && v >= 0;
    const places = (v) => Array.isArray(v) && v.every(place), names = this.model.get("names");
    const words = (v) => typeof v === "string";
    const fits = { text: words, head: words, hidden: places, forced: places, off: places,
      full_stop: (v) => typeof v === "boolean", model: (v) => place(v) && v < names.length,
      beam_size: (v) => [1, ...this.trait("beam_sizes")].includes(v), step: place, as: (v) => ["map", "lines"].includes(v) };
    if (!found || !Object.entries(found).every(([name, v]) => Object.hasOwn(fits, name) && fits[name](v))) return false;
    const { step, head, as, ...traits } = { ...this.initial, ...found };
    this.pause();
    this.showAs(as === "map");
    // A link is a press.
    this.seen = this.willing = true;
    Object.assign(this, { at: step, head });
    write(this.model, traits);
    this.update();
    return true;
  }

  /** What gets the focus when a link leads here: not the box, where that would bring up a keyboard of glass. */
  get goal() {
    const { page } = this;
    return matchMedia("(pointer: coarse)").matches ? page[this.asMap ? "as-map" : "as-lines"] : page.text;
  }

  /** What a link brings to the top of the window: what is written, with what is in its way. */
  get landing() {
    const { page } = this;
    return [page.flag, page.output, page.views].find((one) => !one.hidden && one.offsetHeight) ?? page.root;
  }

  // ---- Weights: in the saved state, in a file of the built book, or asked of the kernel.

  load() {
    const place = this.model.get("model"), sizes = this.model.get("sizes");
    if (!this.seen || !this.willing || this.loaded[place] || this.asked.has(place)) return;
    this.asked.add(place);
    this.failed = false;
    const book = bookScript();
    if (sizes.length) {
      const start = sizes.slice(0, place).reduce((a, b) => a + b, 0);
      this.take(place, bytesOf(this.model.get("weights")).buffer.slice(start, start + sizes[place]));
    } else if (book) {
      readFile(this.model.get("files")[place], book.src).then(
        (buffer) => this.take(place, buffer), () => this.fail(place));
    } else this.model.send({ weights: place });
  }

  receive(content, buffers) {
    const place = content?.weights;
    if (Number.isInteger(place) && buffers?.length && !this.loaded[place]) {
      this.take(place, bytesOf(buffers[0]).buffer);
    }
  }

  take(place, buffer) {
    this.loaded[place] = loadModel(buffer);
    this.update();
  }

  fail(place) {
    this.asked.delete(place);
    this.failed = true;
    this.willing = !this.trait("on_demand").length;
    this.draw();
  }

  // ---- What the reader does.

  write(text) {
    this.pause();
    this.at = null;
    for (const name of ["hidden", "forced"]) if (this.trait(name).length) this.model.set(name, []);
    write(this.model, { text });
    this.speakLater(() => this.spoken());
  }

  hide(place) {
    this.job?.finish();
    if (!this.now || !(place in this.now.source)) return;
    const hidden = new Set(this.model.get("hidden"));
    if (!hidden.delete(place)) hidden.add(place);
    this.at = null;
    this.pause();
    write(this.model, { hidden: [...hidden].sort((a, b) => a - b) });
    this.whenDone(() => this.speak(this.page.said.textContent));
  }

  /** Write a token at a step whatever the model would, and let it go on from there. */
  force(at, id) {
    const ids = [...this.now.steps.slice(0, at).map((step) => step.id), id];
    const own = this.now.steps.map(({ candidates }) => candidates[0].id);
    // What it would have written anyway need not be forced.
    while (this.size === 1 && ids.length && ids.at(-1) === own[ids.length - 1]) ids.pop();
    this.pause();
    this.at = null;
    write(this.model, { forced: ids });
    this.whenDone(() => this.speak(this.page.said.textContent));
  }

  // ---- From the traits to the page.

  update() {
    const { page, model } = this, text = model.get("text"), chosen = model.get("model");
    if (page.text.value !== text) page.text.value = text;
    page.model.value = chosen;
    page["to-name"].textContent = `${this.languages[1][0]}, written${page.which.hidden ? "" : ` (${model.get("names")[chosen]})`}`;
    page["beam-size"].value = this.size;
    for (const one of page.tries.children) {
      one.ariaPressed = one.textContent === text;
    }
    this.load();
    if (this.engine) this.compute();
    this.draw();
  }

  /** Whether what is on show was written by the model that is chosen. */
  get ready() { return Boolean(this.engine && this.now?.engine === this.engine); }

  /** Translate what is there, and what would be there if nothing were hidden or forced, or with all heads
   * on (`lit`); with a beam, also what a greedy search finds. */
  compute() {
    const { engine, model, size } = this, place = model.get("model"), longest = model.get("max_len");
    const read = readSource(engine, (this.withEnd ? withStop : same)(model.get("text")), model.get("longest")), { words } = read;
    const hidden = new Set(model.get("hidden").filter((place) => place < words.length));
    let forced = this.trait("forced");
    // From an address.
    if (forced.some((id) => id < EOS || id >= engine.target.length)) write(model, { forced: forced = [] });
    const off = this.trait("off").filter((head) => head < engine.heads.length);
    const plainly = JSON.stringify([place, words]);
    const wanted = JSON.stringify([place, words, [...hidden], forced, size, off]);
    if (this.wanted === wanted) return;
    this.wanted = wanted;
    this.job?.stop();
    const view = this;
    function* work() {
      const run = function* (options) {
        if (!words.length) return { steps: [], ended: true, sum: 0, kept: [], spans: [], words: [] };
        return yield* translating(engine, read, { longest, patience: PATIENCE, ...options });
      };
      if (view.found?.of !== plainly) view.found = { of: plainly, bySize: new Map() };
      const { bySize } = view.found;
      for (const one of new Set([1, size])) {
        if (!bySize.has(one)) bySize.set(one, yield* run({ hidden: new Set(), size: one }));
      }
      [view.greedy, view.plain] = [bySize.get(1), bySize.get(size)];
      const meant = hidden.size || forced.length, plain = view.plain;
      const now = meant || off.length ? yield* run({ hidden, forced, size, off }) : plain;
      const lit = !off.length ? now : meant ? yield* run({ hidden, forced, size }) : plain;
      return { ...now, lit: lit.words };
    }
    this.job = inSlices(work(), (result) => {
      this.job = null;
      this.now = { ...result, engine, read, source: words, hidden, off, place };
      if (this.at !== null && this.at >= result.steps.length) this.at = null;
      if (this.waited) this.draw();
      this.done?.();
      this.done = null;
    });
    this.waited = false;
    this.job.start();
    this.waited = true;
  }

  /** Call `action` when the translation that is being made has been drawn. */
  whenDone(action) {
    if (this.job) this.done = action;
    else action();
  }

  draw() {
    const { page } = this;
    this.keepAddress();
    const style = readStyle(page.root), asking = !this.willing && !this.engine;
    page.flag.replaceChildren(...this.flag());
    page.flag.hidden = !page.flag.textContent;
    page.fetch.hidden = !asking;
    if (asking) {
      const bytes = this.trait("on_demand")[this.model.get("model")];
      page.load.textContent = `Load the model, ${megabytes(bytes)}`;
    }
    page.root.toggleAttribute("data-asking", asking);
    page.root.ariaBusy = Boolean(this.job);
    page.root.toggleAttribute("data-waiting", !asking && !this.ready);
    this.fade(Boolean(this.job) && this.ready);
    if (!this.ready) return;
    this.chooseHeads();
    const before = this.plain.words, now = this.now.words, changed = compare(before, now);
    page.output.hidden = !this.inPieces(1) || !now.length;
    page.output.textContent = detokenize(now.filter(Boolean));
    page.stage.hidden = this.asMap;
    page.map.hidden = !this.asMap;
    this.drawSource();
    this.drawTarget(now, changed);
    this.drawSaid(before, now, changed);
    this.drawOff();
    this.drawWalk();
    this.drawWhy();
    this.drawKept();
    if (this.asMap) this.drawMap(style);
    else this.layOut();
  }

  /** Grey out what is on show while it belongs to a text that is there no more. */
  fade(stale) {
    const { page } = this;
    for (const name of ["flag", "output", "stage", "map", "said", "was", "is", "why", "kept"]) {
      mark(page[name], { stale });
    }
    page.output.ariaBusy = stale;
  }

  /** What is on show, once what is being computed is there; null until there is a model to translate
   * with. `source`, `target` and `weights` are words; `pieces`, `candidates` and `heads` are tokens
   * and steps. */
  snapshot() {
    this.job?.finish();
    if (!this.ready) return null;
    const { source, words, hidden, steps, ended, read } = this.now;
    return { source, target: words, hidden: [...hidden], off: [...this.now.off], forced: [...this.trait("forced")],
      weights: this.rows.map((weights) => [...weights]),
      pieces: { source: read.tokens, target: steps.map(({ token }) => token) },
      candidates: steps.map(({ candidates }) => candidates.map(({ token, chance }) => [token, chance])),
      heads: steps.map(({ weights }) => weights),
      kept: this.now.kept.map(({ words, sum }) => [detokenize(words.filter(Boolean)), Math.exp(sum)]),
      model: this.model.get("names")[this.model.get("model")],
      text: this.model.get("text"), translation: detokenize(words.filter(Boolean)),
      step: this.at, as: this.asMap ? "map" : "lines", ended, stuck: Boolean(this.now.stuck) };
  }
}

/** The pieces of a word as one word, with a seam between them. */
function drawPieces(parts, mark) {
  return parts.map((part, at) => {
    const node = make("span", { className: "translator-piece", textContent: at ? part : wholeWord([part]) });
    mark(node, at);
    return node;
  });
}

const spokenPieces = (parts) => (parts.length > 1 && parts[0].startsWith(START)
  ? `, ${parts.length} pieces: ${parts.map((part) => wholeWord([part])).filter(Boolean).join(", ")}` : "");

Object.assign(View.prototype, READ, STAGE, BEAM, HEADS, WHY);

export default { render: ({ model, el }) => new View(model, el).close };
