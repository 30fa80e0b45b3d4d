// One step: where it looked, what else it could have written; and the walk from step to step.

const WHY = {
  /** Press a word that was written: show its step; with several pieces one after the other. */
  pressTarget(word) {
    const [from, to] = this.now.spans[word], { at } = this;
    this.pause();
    this.show(at === null || at < from || at >= to ? from : at + 1 < to ? at + 1 : null);
  },

  /** The written word that step `at` belongs to. */
  wordAt(at) { return this.now.spans.findIndex(([from, to]) => from <= at && at < to); },

  /** Show step `at` alone; null for all of them. */
  show(at) {
    this.at = at;
    this.draw();
    this.speakLater(() => (at === null ? this.spoken() : this.spokenStep(at)), 200);
  },

  placeOf(value) {
    return Number(value) >= this.now.steps.length ? null : Number(value);
  },

  play() {
    if (!this.now?.steps.length) return;
    this.page.play.textContent = "Pause";
    this.show(0);
    this.timer = setInterval(() => {
      this.show(this.placeOf(this.at === null ? Infinity : this.at + 1));
      if (this.at === null) this.pause();
    }, STEP_TIME);
  },

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.page.play.textContent = "Play";
  },

  spokenStep(at) {
    const { id, token, candidates } = this.now.steps[at], [first] = this.looked(at);
    const text = (token) => shownToken(token, this.inPieces(1));
    const others = candidates.filter((other) => other.id !== id).slice(0, 2)
      .map(({ token }) => text(token)).join(", ");
    return `${this.inPieces(1) ? "Piece" : "Word"} ${at + 1}, ${quoted(text(token))}: it looked at ${first ? quoted(first.text) : "nothing"}` +
      `${first ? ` with ${fixed(first.weight, 2)}` : ""}. It could have written ${others}.`;
  },

  /** Source tokens by the weight that step `at` gave them. */
  looked(at) {
    const { source, read } = this.now, [weights] = rowsOfWords([this.rowsOfSteps[at]], [[0, 1]], read.spans);
    return source.map((text, j) => ({ text, weight: weights[j] }))
      .filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  },

  drawWalk() {
    const { page, at } = this, count = this.now.steps.length;
    page.step.max = count;
    page.step.value = at ?? count;
    page.step.disabled = page.play.disabled = !count;
    page.where.textContent = at === null ? "all words"
      : `${NAMES[this.inPieces(1)]} ${at + 1} of ${count}`;
    page.step.ariaValueText = page.where.textContent;
  },

  /** The heads to choose from, where there is more than one, and the weights of the chosen. */
  chooseHeads() {
    const { page } = this, { steps } = this.now, layers = steps[0]?.weights ?? [[]];
    const single = layers.length * layers[0].length < 2;
    page.heads.hidden = single;
    const names = single ? [] : layers.flatMap((heads, layer) =>
      heads.map((_, head) => [`${layer} ${head}`, `layer ${layer}, head ${head}`]));
    if (names.length !== page.head.options.length - 1) {
      page.head.replaceChildren(...[["mean", "all heads, mean"], ...names].map(
        ([value, textContent]) => make("option", { value, textContent })));
    }
    page.head.value = this.head;
    if (page.head.value !== this.head) page.head.value = this.head = "mean";
    const [layer, head] = this.head.split(" ").map(Number);
    this.rowsOfSteps = this.stepRows(this.head === "mean" ? null : [layer, head]);
    this.rows = this.wordRows(this.rowsOfSteps);
  },

  /** The weights of each step over the source tokens, of a head or the mean of all. */
  stepRows(which) {
    return this.now.steps.map(({ mean, weights }) => (which ? weights[which[0]][which[1]] : mean));
  },

  /** The same from word to word; of a word that is being written, the piece on show alone. */
  wordRows(rows) {
    const { spans, read } = this.now, { at } = this;
    const shown = spans.map(([from, to]) => (from <= at && at < to && at !== null ? [at, at + 1] : [from, to]));
    return rowsOfWords(rows, shown, read.spans);
  },

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
      ? `Least sure of ${quoted(text(token))}: it looked at`
      : `To write ${quoted(text(token))} it looked at`;
    if (!looked.length && this.now.off.length) page["looked-name"].append(" nothing: what is shown is switched off");
    page["other-name"].textContent = `${inDoubt ? "It" : "and"} could have written, with probability`;
    const pad = Array.from({ length: looked.length && candidates.length - looked.length }, () => null);
    fill(page.looked, [...looked, ...pad], makeBar, (item, one) => {
      mark(item, { none: !one });
      setBar(item, one?.text ?? "", one?.weight ?? 0);
    });
    const makeChoice = () => make("li", {}, this.button("translator-choice"));
    fill(page.other, candidates, makeChoice, (item, other) => {
      const one = item.firstChild, name = text(other.token);
      if (!one.children.length) one.append(...bar());
      setBar(item, name, other.chance);
      one.ariaPressed = other.id === id;
      one.ariaLabel = `${name}, ${shareText(other.chance)}, write it`;
      one.title = other.id === id ? "" : `Write ${quoted(name)}, and see how it goes on`;
      one.onclick = () => this.force(at, other.id);
    });
  },
};
