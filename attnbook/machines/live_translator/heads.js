// Heads to switch off: one by one, or all but those that are missed most.

const HEADS = {
  /** The ways of looking, as the page calls them: a third of the heads each. */
  ways() {
    const [from, to] = this.languages.map(([name]) => name);
    return [`${from} looks at ${from}`, `${to} looks back`, this.cross];
  },

  /** What is off, by name where it has one: a head, or all of a way of looking. */
  nameOff(off, every) {
    const each = every.length / 3, way = quoted(this.ways()[Math.floor(off[0] / each)]);
    if (off.length === 1) {
      const [layer, head] = every[off[0]].match(/\d+/g);
      return `head ${head} of layer ${layer} of ${way}`;
    }
    const whole = off.length === each && off[0] % each === 0 && off.at(-1) === off[0] + each - 1;
    return whole ? `all of ${way}` : `${off.length} of its ${every.length} heads`;
  },

  /** Switches follow the reader at once; what is written waits for its translation. */
  drawOff() {
    const { page } = this, { engine: { heads: every, config } } = this.now, best = this.trait("best");
    page.off.hidden = !every.length || !best.length;
    if (page.off.hidden) return;
    const off = this.trait("off").filter((head) => head < every.length), each = every.length / 3;
    say(page["off-name"], `Switch heads off: ${every.length - off.length} of ${every.length} are on`);
    this.drawLit();
    this.drawWorth(best, off, every.length);
    const makeOne = () => make("div", {}, this.button("translator-way"), make("div"));
    fill(page.kinds, this.ways(), makeOne, ({ firstChild, lastChild }, kind, at) => {
      const mine = every.map((_, place) => place).slice(at * each, at * each + each);
      const dark = mine.filter((place) => off.includes(place)).length, lit = each - dark;
      say(firstChild, kind);
      firstChild.ariaPressed = lit && dark ? "mixed" : !dark;
      firstChild.onclick = () =>
        this.switchOff(this.trait("off").filter((head) => !mine.includes(head)).concat(lit ? mine : []));
      fill(lastChild, mine, () => this.button(), (one, place) => {
        const dark = off.includes(place), [layer, number] = every[place].match(/\d+/g);
        say(one, `${layer}.${number}`);
        one.ariaLabel = `${kind}, layer ${layer}, head ${number}`;
        one.ariaPressed = !dark;
        one.onclick = () => this.switchOff(this.trait("off").filter((other) => other !== place).concat(dark ? [] : place));
      });
    });
    page.kinds.style.setProperty("--translator-heads", config.num_heads);
  },

  /** What is written now, below what all heads together write, the same words hidden and put into its mouth. */
  drawLit() {
    const { page } = this, { off, lit, words: now } = this.now, label = (textContent) => make("span", { textContent });
    const { marks } = compare(lit, now), fresh = new Set(marks.flatMap((mark, place) => (mark ? [place] : [])));
    page.was.replaceChildren(label("All on: "), ...sentence(lit, lostPlaces(lit, now), "del"), stop(lit));
    page.is.replaceChildren(label("Now: "), ...(off.length ? [...sentence(now, fresh, "ins"), stop(now)]
      : [label("press a way of looking, a head, or a bar")]));
  },

  /** A bar for each choice that was measured, with ticks where as many heads drawn by lot come. */
  drawWorth(best, off, count) {
    const { page } = this, lots = this.trait("by_lot");
    fill(page.worth, best, () => make("li", {}, this.button("translator-choice")), ({ firstChild: one }, [bleu, rest], at) => {
      const left = count - rest.length, lot = rest.length && left ? lots[at] ?? [] : [];
      if (!one.children.length) one.append(...bar());
      showBar(one, rest.length ? left ? `Keep ${left}` : "None" : "All on", bleu / best[0][0]);
      say(one.lastChild, fixed(bleu, 1));
      fill(one.children[1], lot, () => make("b"), (tick, drawn) => tick.style.setProperty("--translator-lot", drawn / best[0][0]));
      const byLot = lot.length ? `, as many by lot ${lot.map((drawn) => fixed(drawn, 1)).join(", ")}` : "";
      one.ariaLabel = `${one.firstChild.textContent}, BLEU ${fixed(bleu, 1)}${byLot}`;
      one.ariaPressed = alike(rest, off);
      one.onclick = () => this.switchOff(rest);
    });
    const measured = best.some(([, rest]) => alike(rest, off));
    const [what = "", how = ""] = this.trait("worth_of");
    say(page["worth-of"], what);
    say(page["worth-how"], `${measured ? "" : "No bar was measured with just the heads that you chose. "}${how}`);
  },

  switchOff(off) {
    this.pause();
    this.at = null;
    write(this.model, { off: off.sort((a, b) => a - b) });
    this.whenDone(() => this.speak(this.page.said.textContent));
  },
};
