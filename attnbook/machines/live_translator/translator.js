// A sentence, its translation, and the attention between them; the engine's files stand before it.

const LEAST = 0.04; // a line for every weight from here on
const SURE = 0.995; // shown as 1.00
const STEP_TIME = 800; // ms, while playing
const SETTLED = 700; // ms without typing until a translation is spoken

const PAGE = `<p class="lt-title"></p>
<p class="lt-lead"></p>
<div class="lt-ask"><input class="lt-text" type="text" autocomplete="off" autocapitalize="off"
spellcheck="false"><label class="lt-which">Model<select class="lt-model">
</select></label><label class="lt-search">Search<select class="lt-beam-size"></select></label></div>
<div class="lt-tries" role="group" aria-label="Sentences to try"></div>
<p class="lt-flag"></p>
<div class="lt-fetch"><button class="lt-load" type="button"></button>
<span class="lt-promise">It then runs here, in your browser: what you type stays here.</span></div>
<p class="lt-output"></p>
<div class="lt-tabs" role="tablist" aria-label="How the weights are drawn">
<button class="lt-as-lines" type="button" role="tab" aria-selected="true">Lines</button>
<button class="lt-as-map" type="button" role="tab" aria-selected="false">Map</button></div>
<div class="lt-stage" role="tabpanel"><svg class="lt-lines" aria-hidden="true"></svg>
<div class="lt-from"><p class="lt-from-name"></p><ol class="lt-source"></ol></div>
<div class="lt-to"><p class="lt-to-name"></p><ol class="lt-target"></ol></div></div>
<div class="lt-map" role="tabpanel"><div class="lt-scroll"><table class="lt-table"></table></div>
<div class="lt-all-heads" role="group" aria-label="Layers and heads"></div></div>
<p class="lt-said"></p>
<div class="lt-walk"><button class="lt-play" type="button">Play</button>
<input class="lt-step" type="range" min="0" aria-label="Word being written">
<span class="lt-where"></span><label class="lt-heads"><span class="lt-heads-name"></span><select class="lt-head">
</select></label></div>
<div class="lt-why"><div><p class="lt-looked-name"></p><ol class="lt-looked"></ol></div>
<div><p class="lt-other-name"></p><ol class="lt-other"></ol></div></div>
<div class="lt-kept"><p class="lt-kept-name"></p><ol class="lt-beam"></ol>
<p class="lt-forgiven">A longer sentence is forgiven a lower probability. Bars are drawn against the most probable.</p></div>
<p class="lt-note"></p><p class="lt-live" role="status"></p>`;

/** A full stop, where a sentence has no end of its own. */
const stop = (words) => (/^[.!?…]$/.test(words.at(-1) ?? "") ? "" : ".");
const listed = (words) => words.map(quoted).join(words.length > 2 ? ", " : " and ");
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function setBar({ firstChild: line }, text, share) {
  const [label, bar, number] = line.children;
  label.textContent = text;
  bar.style.setProperty("--lt-share", `${100 * share}%`);
  number.textContent = fixed(share, 2);
}

/** A probability: two digits that say something, however small it is. */
const chanceText = (chance) => (chance < 1e-6 ? chance.toExponential(1) : chance >= SURE ? "1.0" : chance.toPrecision(2));

const bar = () => [make("span"), make("i"), make("span")];
const makeBar = () => make("li", {}, make("div", {}, ...bar()));

const NAMES = { true: "piece", false: "word" }; // of a token
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
    this.at = null; // the step on show; null for all of them
    this.head = "mean";
    this.asMap = false;
    this.willing = !this.trait("on_demand").length; // to load weights
    const page = this.page = buildPage(model, "attnkit-translator", PAGE, "A live translator");
    page["from-name"].textContent = `${this.languages[0][0]}, read`;
    page["to-name"].textContent = `${this.languages[1][0]}, written`;
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

  /** A list that states saved by an older attnkit lack. */
  trait(name) { return this.model.get(name) ?? []; }

  /** Hypotheses that the search keeps; 1 for a greedy one. */
  get size() { return this.model.get("beam_size") ?? 1; }

  /** Whether tokens of one side, 0 for the source, are pieces of words. */
  inPieces(side) { return this.now.engine.pieces[side]; }

  buildControls() {
    const { page, languages } = this, names = this.model.get("names");
    page.lead.append("Press ", make("b", { textContent: `a word in ${languages[0][0]}` }),
      " to hide it from the translator’s attention. Press ",
      make("b", { textContent: `a word in ${languages[1][0]}` }), " to see where it looked and what else it could have written; press one of those to write it.");
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
    page.stage.ariaLabel = "Weights as lines";
    page.map.ariaLabel = "Weights as a map";
    page.scroll.tabIndex = 0;
    Object.assign(page.scroll, { role: "group", ariaLabel: "Map" });
    fill(page.tries, this.model.get("sentences"), () => this.button("lt-try"), (one, text) => {
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
    const traits = ["text", "hidden", "forced", "model", "beam_size"];
    const { on, end } = follow(model, traits, page.root, update);
    on(page.text, "input", () => this.write(page.text.value));
    on(page.model, "change", () => {
      const place = Number(page.model.value);  // which is put back as soon as anything is set
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
    const sized = new ResizeObserver(() => this.layOut());
    sized.observe(page.stage);
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
      sized.disconnect();
      near.disconnect();
      model.off("msg:custom", heard);
      end();
    };
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

  /** As lines, or as a map. */
  showAs(asMap) {
    const { page } = this;
    this.asMap = asMap;
    for (const [name, chosen] of [["as-lines", !asMap], ["as-map", asMap]]) {
      page[name].ariaSelected = String(chosen);
      page[name].tabIndex = chosen ? 0 : -1;
    }
    page["heads-name"].textContent = asMap ? "Map of" : "Lines of";
  }

  /** Press a word that was written: show its step; with several pieces one after the other. */
  pressTarget(word) {
    const [from, to] = this.now.spans[word], { at } = this;
    this.pause();
    this.show(at === null || at < from || at >= to ? from : at + 1 < to ? at + 1 : null);
  }

  /** The written word that step `at` belongs to. */
  wordAt(at) { return this.now.spans.findIndex(([from, to]) => from <= at && at < to); }

  /** Show step `at` alone; null for all of them. */
  show(at) {
    this.at = at;
    this.draw();
    this.speakLater(() => (at === null ? this.spoken() : this.spokenStep(at)), 200);
  }

  placeOf(value) {
    return Number(value) >= this.now.steps.length ? null : Number(value);
  }

  play() {
    if (!this.now?.steps.length) return;
    this.page.play.textContent = "Pause";
    this.show(0);
    this.timer = setInterval(() => {
      this.show(this.placeOf(this.at === null ? Infinity : this.at + 1));
      if (this.at === null) this.pause();
    }, STEP_TIME);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.page.play.textContent = "Play";
  }

  // ---- What is said.

  speak(text) {
    clearTimeout(this.speaking);
    this.page.live.textContent = text;
  }

  speakLater(words, wait = SETTLED) {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => this.speak(words()), wait);
  }

  spoken() {
    const { steps, source } = this.now ?? {};
    if (!source?.length || !this.engine) return this.page.flag.textContent;
    const written = detokenize(this.now.words);
    return `${this.page.flag.textContent} ${this.languages[1][0]}: ${written || EMPTY}.`.trim();
  }

  spokenStep(at) {
    const { id, token, candidates } = this.now.steps[at], [first] = this.looked(at);
    const text = (token) => shownToken(token, this.inPieces(1));
    const others = candidates.filter((other) => other.id !== id).slice(0, 2)
      .map(({ token }) => text(token)).join(", ");
    return `${this.inPieces(1) ? "Piece" : "Word"} ${at + 1}, ${quoted(text(token))}: it looked at ${first ? quoted(first.text) : "nothing"}` +
      `${first ? ` with ${fixed(first.weight, 2)}` : ""}. It could have written ${others}.`;
  }

  /** Source tokens by the weight that step `at` gave them. */
  looked(at) {
    const { source, read } = this.now, [weights] = rowsOfWords([this.rowsOfSteps[at]], [[0, 1]], read.spans);
    return source.map((text, j) => ({ text, weight: weights[j] }))
      .filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  }

  // ---- From the traits to the page.

  update() {
    const { page, model } = this, text = model.get("text"), chosen = model.get("model");
    if (page.text.value !== text) page.text.value = text;
    page.model.value = chosen;
    page["beam-size"].value = this.size;
    for (const one of page.tries.children) {
      one.setAttribute("aria-pressed", one.textContent === text);
    }
    this.load();
    if (this.engine) this.compute();
    this.draw();
  }

  /** Whether what is on show was written by the model that is chosen. */
  get ready() { return Boolean(this.engine && this.now?.engine === this.engine); }

  /** Translate what is there, and what would be there if nothing were hidden or forced; with a beam,
   * also what a greedy search finds. */
  compute() {
    const { engine, model, size } = this, place = model.get("model"), longest = model.get("max_len");
    const read = readSource(engine, model.get("text"), model.get("longest")), { words } = read;
    const hidden = new Set(model.get("hidden").filter((place) => place < words.length));
    const forced = this.trait("forced"), plainly = JSON.stringify([place, words]);
    const wanted = JSON.stringify([place, words, [...hidden], forced, size]);
    if (this.wanted === wanted) return;
    this.wanted = wanted;
    this.job?.stop();
    const view = this;
    function* work() {
      const run = function* (options) {
        if (!words.length) return { steps: [], ended: true, sum: 0, kept: [], spans: [], words: [] };
        return yield* translating(engine, read, { longest, ...options });
      };
      if (view.found?.of !== plainly) view.found = { of: plainly, bySize: new Map() };
      const { bySize } = view.found;
      for (const one of new Set([1, size])) {
        if (!bySize.has(one)) bySize.set(one, yield* run({ hidden: new Set(), size: one }));
      }
      [view.greedy, view.plain] = [bySize.get(1), bySize.get(size)];
      return hidden.size || forced.length ? yield* run({ hidden, forced, size }) : view.plain;
    }
    this.job = inSlices(work(), (result) => {
      this.job = null;
      this.now = { ...result, engine, read, source: words, hidden, place };
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
    const style = readStyle(page.root), asking = !this.willing && !this.engine;
    page.flag.replaceChildren(...this.flag());
    page.flag.hidden = !page.flag.textContent;
    page.fetch.hidden = !asking;
    if (asking) {
      const bytes = this.trait("on_demand")[this.model.get("model")];
      page.load.textContent = `Load the model, ${megabytes(bytes)}`;
    }
    page.root.toggleAttribute("data-asking", asking);
    page.root.ariaBusy = String(Boolean(this.job));
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
    this.drawWalk();
    this.drawWhy();
    this.drawKept();
    if (this.asMap) this.drawMap(style);
    else this.layOut();
  }

  /** Grey out what is on show while it belongs to a text that is there no more. */
  fade(stale) {
    const { page } = this;
    for (const name of ["flag", "output", "stage", "map", "said", "why", "kept"]) {
      page[name].classList.toggle("lt-stale", stale);
    }
    page.output.ariaBusy = String(stale);
  }

  /** What is in the way of a good translation, or none yet: text, and perhaps a link. */
  flag() {
    const { model } = this;
    if (this.failed && !this.engine) {
      return [model.get("files").length ? "The model could not be loaded."
        : "This needs a kernel: run the notebook to translate."];
    }
    if (!this.engine) return [this.seen && this.willing ? "The model is on its way…" : ""];
    if (!this.ready) return [this.job ? "Translating…" : ""];
    const { read: { words, tokens, count }, steps, ended, engine } = this.now;
    if (!count) return [this.job ? "Translating…" : `Write a sentence in ${this.languages[0][0]}.`];
    const parts = [], [inPieces] = engine.pieces;
    if (count > words.length) {
      parts.push(`That is ${plural(count, "word")}: only the first ${words.length} ` +
        `${words.length === 1 ? "is" : "are"} read.`);
    }
    parts.push(...this.flagKind(sentencesIn(words), tokens.length, inPieces));
    const unknown = [...new Set(tokens.filter((token) => !this.met(token)))];
    if (unknown.length) {
      const name = (token) => (engine.ids.has(token) ? shownToken(token, inPieces) : token);
      const few = unknown.slice(0, 6).map(name);
      const listed = (unknown.length > 6 ? [...few, "and more"] : few).join(", ");
      parts.push(inPieces ? `In no sentence that it learned from: ${listed}.`
        : `Not among the ${engine.ids.size - 4} words it has learned: ${listed}.`);
    }
    if (inPieces) parts.push(...this.flagStrange());
    if (!ended) {
      parts.push(`It found no end, and was stopped after ${plural(steps.length, NAMES[engine.pieces[1]])}.`);
    }
    return parts.flatMap((part, at) => (at ? [" ", part] : [part]));
  }

  /** That a text has more sentences than nearly all that the model learned from, or is longer, and
   * where the book says more. */
  flagKind(sentences, count, inPieces) {
    const [usual, single] = ["trained", "single"].map((name) => this.trait(name)[this.now.place]);
    const several = single && sentences > 1;
    if (!several && (!usual || count <= usual)) return [];
    const said = several
      ? `It learned from one sentence at a time, and this has ${sentences}: expect mistakes.`
      : `Of the sentences that it learned from, 99 in 100 have at most ` +
        `${plural(usual, NAMES[inPieces])}, and this has ${count}: expect mistakes.`;
    const [text, path] = this.trait("length_page"), href = text && pageOfBook(path);
    if (!text) return [said];
    const page = href ? make("a", { href, textContent: text }) : text;
    return [said, make("span", {}, page, " measures them.")];
  }

  /** Whether a source token was in the training, as far as that is known. */
  met(token) {
    const { engine, place } = this.now, id = engine.ids.get(token), bits = this.trait("seen")[place];
    if (id === undefined || !bits) return id !== undefined;
    if (this.bits?.from !== bits) {
      this.bits = { from: bits, bytes: Uint8Array.from(atob(bits), (letter) => letter.charCodeAt(0)) };
    }
    return Boolean(this.bits.bytes[id >> 3] & (1 << (id & 7)));
  }

  /** Words of another language have pieces that were never met, and rare words many pieces. */
  flagStrange() {
    const { words, tokens, spans } = this.now.read;
    const real = spans.filter((_, place) => /\p{L}/u.test(words[place]));
    const sizes = real.map(([from, to]) => to - from);
    const odd = real.filter(([from, to]) => !tokens.slice(from, to).every((one) => this.met(one)));
    if (real.length > 1 && 3 * odd.length >= real.length) {
      return [`It has hardly met such words. Are they ${this.languages[0][0]}?`];
    }
    return real.length && total(sizes) >= 2 * real.length
      ? ["It has hardly met these words, which fall into many pieces: expect mistakes."] : [];
  }

  drawSource() {
    const { source, hidden, read: { tokens, spans } } = this.now, inPieces = this.inPieces(0);
    const makeOne = (at) => {
      const one = this.button("lt-word");
      one.onclick = () => this.hide(at);
      return make("li", {}, one);
    };
    fill(this.page.source, source, makeOne, ({ firstChild: one }, word, at) => {
      const parts = tokens.slice(...spans[at]), off = hidden.has(at);
      const met = parts.map((part) => this.met(part)), known = met.every(Boolean);
      one.replaceChildren(...(inPieces ? drawPieces(parts, (node, part) =>
        node.classList.toggle("lt-unmet", !met[part])) : [word]));
      if (!known) one.append(make("sup", { textContent: "?", ariaHidden: "true" }));
      one.classList.toggle("lt-unknown", !known);
      one.setAttribute("aria-pressed", off);
      const unknown = known ? "" : inPieces ? ", never met in training" : ", unknown";
      one.ariaLabel = `${word}${spokenPieces(parts)}${unknown}, hide`;
      one.title = !known ? (inPieces ? "A part of it was never met in training"
        : "Not among the words it has learned") : off ? "Show it again" : "Hide it";
    });
  }

  drawTarget(now, { marks, gone }) {
    const makeOne = (at) => {
      const one = this.button("lt-word");
      one.onclick = () => this.pressTarget(at);
      return make("li", {}, one);
    };
    const { steps, spans } = this.now, chosen = this.at === null ? -1 : this.wordAt(this.at);
    fill(this.page.target, now, makeOne, (item, token, at) => {
      const mine = steps.slice(...spans[at]), [first] = spans[at];
      const by = (who) => mine.some(({ chosenBy }) => chosenBy === who);
      const forced = by("reader"), searched = !forced && by("beam");
      const one = item.querySelector("button"), mark = marks[at], was = mark?.was.join(" ") ?? "";
      const before = gone.find((lost) => lost.at === at)?.tokens;
      const after = at === now.length - 1 && gone.find((lost) => lost.at === now.length)?.tokens;
      item.replaceChildren(...ghost(before), one, ...ghost(after));
      const fresh = Boolean(mark) && !one.classList.contains("lt-changed");
      one.replaceChildren(...(this.inPieces(1)
        ? drawPieces(mine.map(({ token }) => token), (node, part) => {
          node.classList.toggle("lt-now", this.at === first + part && mine.length > 1);
          node.classList.toggle("lt-later", chosen === at && first + part > this.at);
        }) : [token]));
      if (forced) one.append(make("sup", { textContent: "✎", ariaHidden: "true" }));
      if (searched) one.append(make("sup", { textContent: "◆", ariaHidden: "true" }));
      one.classList.toggle("lt-forced", forced);
      one.classList.toggle("lt-searched", searched);
      one.title = searched ? "Not the likeliest here: the beam chose it for what follows" : "";
      if (mark) one.append(make("del", { textContent: was || "+" }));
      one.classList.toggle("lt-changed", Boolean(mark));
      if (fresh) flash(one);
      one.classList.toggle("lt-later", chosen >= 0 && at > chosen);
      one.setAttribute("aria-pressed", chosen === at);
      const yours = forced ? ", written by you" : searched ? ", chosen by the beam" : "", what = !mark ? "" : was ? `, before: ${was}` : ", added";
      const parts = spokenPieces(mine.map(({ token }) => token));
      one.ariaLabel = `${token}${parts}${yours}${what}, where it looked`;
    });
  }

  drawSaid(before, now, { marks, gone }) {
    const { page } = this, { source, hidden } = this.now, forced = this.trait("forced");
    const done = this.doings();
    page.said.classList.toggle("lt-hint", !done.length && this.size === 1);
    if (!source.length) page.said.replaceChildren();
    else if (!done.length && this.size > 1) page.said.replaceChildren(...this.sayBeam(now));
    else if (!done.length) {
      page.said.replaceChildren("A line is only a hint. Hide the word that it leads to, and see what changes. " +
        "(Its neighbours have read that word, too.)");
    } else if (!marks.some(Boolean) && !gone.length) {
      const why = hidden.size && !forced.length ? ` ${this.whyNothing()}` : "";
      page.said.replaceChildren(`${done.join(" ")} Nothing changed.${why}`);
    } else {
      const fresh = new Set(marks.flatMap((mark, place) => (mark ? [place] : [])));
      page.said.replaceChildren(`${done.join(" ")} Before: `,
        ...sentence(before, lostPlaces(before, now), "del"), `${stop(before)} Now: `,
        ...sentence(now, fresh, "ins"), stop(now));
    }
    if (hidden.size) page.said.append(" ", this.undo("hidden", hidden.size > 1 ? "Show them again" : "Show it again"));
    if (forced.length) page.said.append(" ", this.undo("forced", "Let it choose again"));
  }

  /** What the beam is worth for this sentence, as nodes. */
  sayBeam(now) {
    const { greedy, size } = this, before = greedy.words;
    if (JSON.stringify(before) === JSON.stringify(now)) {
      return [`A greedy search writes the same, and a beam of ${size} finds nothing better.`];
    }
    const fresh = new Set(compare(before, now).marks.flatMap((mark, place) => (mark ? [place] : [])));
    return ["Greedy, with probability ", `${chanceText(Math.exp(greedy.sum))}: `,
      ...sentence(before, lostPlaces(before, now), "del"), `${stop(before)} With a beam of ${size}, `,
      `${chanceText(Math.exp(this.now.sum))}: `, ...sentence(now, fresh, "ins"), stop(now)];
  }

  /** The hypotheses that the beam was left with, by what they are worth. */
  drawKept() {
    const { page } = this, { kept } = this.now;
    page.kept.hidden = !kept.length;
    page["kept-name"].textContent = "What the beam kept, best first, and how probable each is";
    const most = Math.max(...kept.map(({ sum }) => sum));
    fill(page.beam, kept, makeBar, (item, { words, sum, ended }, at) => {
      const chance = Math.exp(sum), text = detokenize(words.filter(Boolean));
      setBar(item, ended ? text || EMPTY : `${text} …`, Math.exp(sum - most));
      item.classList.toggle("lt-empty", !text);
      item.firstChild.lastChild.textContent = chanceText(chance);
      item.classList.toggle("lt-best", !at);
    });
  }

  /** What the reader has done to this translation, in sentences. */
  doings() {
    const { source, hidden, steps, ended } = this.now, forced = this.trait("forced"), done = [];
    if (hidden.size) done.push(`You hid ${listed([...hidden].map((place) => source[place]))}.`);
    if (!forced.length) return done;
    const last = steps[forced.length - 1];
    if (!last) done.push(ended ? "You ended it there." : "You chose how it begins.");
    else {
      const [own] = last.candidates, text = (token) => quoted(shownToken(token, this.inPieces(1)));
      done.push(`You wrote ${text(last.token)} where it would have written ${text(own.token)}.`);
    }
    return done;
  }

  /** A button that takes back what the reader did. */
  undo(name, textContent) {
    const one = (this.undos ??= {})[name] ??= this.button("lt-all");
    one.textContent = textContent;
    one.onclick = () => {
      write(this.model, { [name]: [] });
      this.page.text.focus({ preventScroll: true });
      this.whenDone(() => this.speak(this.spoken()));
    };
    return one;
  }

  /** Where the attention had looked at the hidden words most. */
  whyNothing() {
    const { source, hidden, read } = this.now, { steps, spans, words } = this.plain;
    const rows = rowsOfWords(steps.map(({ mean }) => mean), spans, read.spans);
    const looks = words.flatMap((token, at) =>
      [...hidden].map((place) => ({ token, from: source[place], weight: rows[at][place] })));
    const most = looks.reduce((a, b) => (b.weight > a.weight ? b : a), { weight: 0 });
    if (most.weight < 0.3) return "No line of any weight had led there.";
    return `And yet ${quoted(most.token)} had looked at ${quoted(most.from)} with ` +
      `${fixed(most.weight, 2)}: the states of its neighbours have read it, too. Leave it out to see if that is why.`;
  }

  drawWalk() {
    const { page, at } = this, count = this.now.steps.length;
    page.step.max = count;
    page.step.value = at ?? count;
    page.step.disabled = page.play.disabled = !count;
    page.where.textContent = at === null ? "all words"
      : `${NAMES[this.inPieces(1)]} ${at + 1} of ${count}`;
    page.step.setAttribute("aria-valuetext", page.where.textContent);
  }

  /** The heads to choose from, where there is more than one, and the weights of the chosen. */
  chooseHeads() {
    const { page } = this, { steps } = this.now, layers = steps[0]?.weights ?? [[]];
    const single = layers.length * layers[0].length < 2;
    page.heads.hidden = single;
    const names = single ? [] : layers.flatMap((heads, layer) =>
      heads.map((_, head) => [`${layer} ${head}`, `layer ${layer + 1}, head ${head + 1}`]));
    if (names.length !== page.head.options.length - 1) {
      page.head.replaceChildren(...[["mean", "all heads, mean"], ...names].map(
        ([value, textContent]) => make("option", { value, textContent })));
    }
    page.head.value = this.head;
    if (page.head.value !== this.head) page.head.value = this.head = "mean";
    const [layer, head] = this.head.split(" ").map(Number);
    this.rowsOfSteps = this.stepRows(this.head === "mean" ? null : [layer, head]);
    this.rows = this.wordRows(this.rowsOfSteps);
  }

  /** The weights of each step over the source tokens, of a head or the mean of all. */
  stepRows(which) {
    return this.now.steps.map(({ mean, weights }) => (which ? weights[which[0]][which[1]] : mean));
  }

  /** The same from word to word; of a word that is being written, the piece on show alone. */
  wordRows(rows) {
    const { spans, read } = this.now, { at } = this;
    const shown = spans.map(([from, to]) => (from <= at && at < to && at !== null ? [at, at + 1] : [from, to]));
    return rowsOfWords(rows, shown, read.spans);
  }

  /** Where the chosen step looked, or else the least sure one, and what it could have written. */
  drawWhy() {
    const { page } = this, { steps } = this.now;
    page.why.hidden = !steps.length;
    if (!steps.length) return;
    const sure = steps.map(({ candidates: [{ chance }] }) => chance);
    const at = this.at ?? sure.indexOf(Math.min(...sure)), { id, token, candidates } = steps[at];
    const text = (token) => shownToken(token, this.inPieces(1));
    const looked = this.looked(at).slice(0, candidates.length);
    const inDoubt = this.at === null && sure[at] < SURE;
    page["looked-name"].textContent = inDoubt
      ? `It was least sure of ${quoted(text(token))}, and looked at`
      : `To write ${quoted(text(token))} it looked at`;
    page["other-name"].textContent = `${inDoubt ? "It" : "and"} could have written`;
    const pad = Array.from({ length: candidates.length - looked.length }, () => null);
    fill(page.looked, [...looked, ...pad], makeBar, (item, one) => {
      item.classList.toggle("lt-none", !one);
      setBar(item, one?.text ?? "", one?.weight ?? 0);
    });
    const makeChoice = () => make("li", {}, this.button("lt-choice"));
    fill(page.other, candidates, makeChoice, (item, other) => {
      const one = item.firstChild, name = text(other.token);
      if (!one.children.length) one.append(...bar());
      setBar(item, name, other.chance);
      one.setAttribute("aria-pressed", other.id === id);
      one.ariaLabel = `${name}, ${fixed(other.chance, 2)}, write it`;
      one.title = other.id === id ? "" : `Write ${quoted(name)}, and see how it goes on`;
      one.onclick = () => this.force(at, other.id);
    });
  }

  // ---- The map.

  drawMap(style) {
    const { page } = this, { source, words, hidden } = this.now;
    drawMap(page.table, { rows: this.rows, source, target: words, hidden,
      chosen: this.at === null ? null : this.wordAt(this.at), onRow: (at) => this.pressTarget(at),
      onColumn: (place) => this.hide(place), button: (name) => this.button(name) });
    const [, ...heads] = [...page.head.options].map(({ value }) => value);
    const stops = ["--lt-back", "--lt-hue"].map((name) => pixelOf(style.getPropertyValue(name)));
    stops[0] = pixelOf(style.backgroundColor);
    const choices = heads.length ? ["mean", ...heads] : [];
    page["all-heads"].hidden = !choices.length;
    page["all-heads"].style.setProperty("--lt-heads", heads.filter((one) => one.startsWith("0 ")).length);
    const makeOne = () => {
      const one = this.button("lt-small");
      one.append(make("canvas"), make("span"));
      return one;
    };
    fill(page["all-heads"], choices, makeOne, (one, value, at) => {
      const [layer, head] = value.split(" ").map(Number), mean = value === "mean";
      drawSmall(one.firstChild, this.wordRows(this.stepRows(mean ? null : [layer, head])), stops);
      one.lastChild.textContent = mean ? "mean" : `${layer + 1}.${head + 1}`;
      one.ariaLabel = page.head.options[at].textContent;
      one.title = one.ariaLabel;
      one.setAttribute("aria-pressed", this.head === value);
      one.onclick = () => { this.head = value; this.draw(); };
    });
  }

  // ---- The lines.

  /** Words side by side where they have room, else one below the other; then the lines. */
  layOut() {
    const { page } = this;
    if (!this.ready || this.asMap) return;
    page.stage.classList.remove("lt-tall");
    const narrow = [page.source, page.target].some((list) => list.scrollWidth > list.clientWidth + 1);
    page.stage.classList.toggle("lt-tall", narrow);
    this.drawLines(narrow);
  }

  drawLines(tall) {
    const { page } = this, at = this.at === null ? null : this.wordAt(this.at);
    const box = page.stage.getBoundingClientRect();
    const place = (node) => {
      const { left, top, width, height } = node.getBoundingClientRect();
      return { left: left - box.left, top: top - box.top, width, height };
    };
    const words = (list) => [...list.querySelectorAll("button")].map(place);
    const [from, to] = [words(page.source), words(page.target)], lines = [];
    this.rows.forEach((weights, i) => weights.forEach((weight, j) => {
      if (weight < LEAST || (at !== null && i > at)) return;
      lines.push({ d: curve(from[j], to[i], tall), weight, chosen: at === i,
        faint: at !== null && at !== i });
    }));
    page.lines.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const makePath = () => document.createElementNS(page.lines.namespaceURI, "path");
    fill(page.lines, lines, makePath, (path, { d, weight, chosen, faint }) => {
      path.setAttribute("d", d);
      path.setAttribute("stroke-width", (1 + 7 * weight).toFixed(2));
      path.style.opacity = (faint ? 0.15 : 1) * Math.max(0.18, Math.min(1, weight + 0.1));
      path.classList.toggle("lt-chosen", chosen);
    });
  }

  /** What is on show, once what is being computed is there; null until there is a model to translate
   * with. `source`, `target` and `weights` are words; `pieces`, `candidates` and `heads` are tokens
   * and steps. */
  snapshot() {
    this.job?.finish();
    if (!this.ready) return null;
    const { source, words, hidden, steps, ended, read } = this.now;
    return { source, target: words, hidden: [...hidden], forced: [...this.trait("forced")],
      weights: this.rows.map((weights) => [...weights]),
      pieces: { source: read.tokens, target: steps.map(({ token }) => token) },
      candidates: steps.map(({ candidates }) => candidates.map(({ token, chance }) => [token, chance])),
      heads: steps.map(({ weights }) => weights),
      kept: this.now.kept.map(({ words, sum }) => [detokenize(words.filter(Boolean)), Math.exp(sum)]),
      model: this.model.get("names")[this.model.get("model")],
      text: this.model.get("text"), translation: detokenize(words.filter(Boolean)),
      step: this.at, as: this.asMap ? "map" : "lines", ended };
  }
}

/** The pieces of a word as one word, with a seam between them. */
function drawPieces(parts, mark) {
  return parts.map((part, at) => {
    const node = make("span", { className: "lt-piece", textContent: at ? part : wholeWord([part]) });
    mark(node, at);
    return node;
  });
}

const spokenPieces = (parts) => (parts.length > 1 && parts[0].startsWith(START)
  ? `, ${parts.length} pieces: ${parts.map((part) => wholeWord([part])).filter(Boolean).join(", ")}` : "");

/** From the middle of a source word's edge to that of a target word. */
function curve(from, to, tall) {
  const [x0, y0] = tall
    ? [from.left + from.width, from.top + from.height / 2]
    : [from.left + from.width / 2, from.top + from.height];
  const [x1, y1] = tall
    ? [to.left, to.top + to.height / 2] : [to.left + to.width / 2, to.top];
  const [dx, dy] = tall ? [(x1 - x0) / 2, 0] : [0, (y1 - y0) / 2];
  const points = [x0, y0, x0 + dx, y0 + dy, x1 - dx, y1 - dy, x1, y1].map((v) => v.toFixed(1));
  return `M${points.slice(0, 2)}C${points.slice(2)}`;
}

function flash(node) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  node.animate([{ transform: "translateY(-6px)", opacity: 0.2 }, { transform: "none", opacity: 1 }],
    { duration: 260, easing: "ease-out" });
}

export default { render: ({ model, el }) => new View(model, el).close };
