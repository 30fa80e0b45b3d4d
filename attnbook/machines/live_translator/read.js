// What is read: the text and its words, what is in the way of a good translation, and what is said aloud.

const READ = {
  /** What is in the way of a good translation, or none yet: text, and perhaps a link. */
  flag() {
    const { model } = this;
    if (this.failed && !this.engine) {
      return [model.get("files").length ? "The model could not be loaded."
        : "This needs a kernel: run the notebook to translate."];
    }
    if (!this.engine) return [this.seen && this.willing ? "The model is on its way…" : ""];
    if (!this.ready) return [this.job ? "Translating…" : ""];
    const { read: { words, tokens, count }, steps, ended, stuck, engine } = this.now;
    if (!count) return [this.job ? "Translating…" : `Write a sentence in ${this.languages[0][0]}.`];
    const parts = [], [inPieces] = engine.pieces;
    if (count - this.withEnd > words.length) {
      parts.push(`That is ${plural(count - this.withEnd, "word")}: only the first ${words.length} ` +
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
    if (this.lacksEnd) {
      parts.push(this.withEnd ? "A full stop was added: nearly all that it learned from has one." : "Without a full stop it often stammers.",
        this.undo("full_stop", this.withEnd ? "Leave it out" : "Add one", !this.withEnd));
    }
    if (stuck) parts.push("It repeats itself, and was stopped.");
    else if (!ended) {
      parts.push(`It found no end, and was stopped after ${plural(steps.length, NAMES[engine.pieces[1]])}.`);
    }
    return parts.flatMap((part, at) => (at ? [" ", part] : [part]));
  },

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
  },

  /** Whether a source token was in the training, as far as that is known. */
  met(token) {
    const { engine, place } = this.now, id = engine.ids.get(token), bits = this.trait("seen")[place];
    if (id === undefined || !bits) return id !== undefined;
    if (this.bits?.from !== bits) {
      this.bits = { from: bits, bytes: Uint8Array.from(atob(bits), (letter) => letter.charCodeAt(0)) };
    }
    return Boolean(this.bits.bytes[id >> 3] & (1 << (id & 7)));
  },

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
  },

  drawSource() {
    const { source, hidden, read: { tokens, spans } } = this.now, inPieces = this.inPieces(0), added = this.withEnd;
    const makeOne = (at) => {
      const one = this.button("translator-word");
      one.onclick = () => this.hide(at);
      return make("li", {}, one);
    };
    fill(this.page.source, source, makeOne, ({ firstChild: one }, word, at) => {
      const parts = tokens.slice(...spans[at]), off = hidden.has(at);
      const met = parts.map((part) => this.met(part)), known = met.every(Boolean);
      one.replaceChildren(...(inPieces ? drawPieces(parts, (node, part) =>
        mark(node, { unmet: !met[part] })) : [word]));
      if (!known) one.append(make("sup", { textContent: "?", ariaHidden: "true" }));
      mark(one, { unknown: !known, added: added && at === source.length - 1 });
      one.ariaPressed = off;
      const unknown = known ? "" : inPieces ? ", never met in training" : ", unknown";
      one.ariaLabel = `${word}${spokenPieces(parts)}${unknown}, hide`;
      one.title = !known ? (inPieces ? "A part of it was never met in training"
        : "Not among the words it has learned") : off ? "Show it again" : "Hide it";
    });
  },

  spoken() {
    const { steps, source } = this.now ?? {};
    if (!source?.length || !this.engine) return this.page.flag.textContent;
    const { words } = this.now, written = detokenize(words);
    return `${this.page.flag.textContent} ${this.languages[1][0]}: ${written || EMPTY}${stop(words)}`.trim();
  },

  speak(text) {
    clearTimeout(this.speaking);
    this.page.live.textContent = text;
  },

  speakLater(words, wait = SETTLED) {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => this.speak(words()), wait);
  },
};
