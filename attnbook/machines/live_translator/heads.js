// Heads to switch off: one by one, or all but those that are missed most.

const HEADS = {
  drawOff() {
    const { page } = this, { engine: { heads: every, config }, off } = this.now, best = this.trait("best");
    page.off.hidden = !every.length || !best.length;
    if (page.off.hidden) return;
    const [from, to] = this.languages.map(([name]) => name), each = every.length / 3;
    say(page["off-name"], `Switch heads off: ${every.length - off.length} of ${every.length} are on`);
    this.drawWorth(best, every.length);
    const kinds = [`${from} looks at ${from}`, `${to} looks back`, this.cross];
    const makeOne = () => make("div", {}, this.button("translator-way"), make("div"));
    fill(page.kinds, kinds, makeOne, ({ firstChild, lastChild }, kind, at) => {
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

  /** What is written now, below what all heads together wrote; and a bar for each choice that was measured,
   * with a tick where as many heads drawn by lot come. */
  drawWorth(best, count) {
    const { page } = this, { off, words: now } = this.now, before = this.plain.words, lots = this.trait("by_lot");
    const { marks } = compare(before, now), fresh = new Set(marks.flatMap((mark, place) => (mark ? [place] : [])));
    page.was.replaceChildren(make("span", { textContent: "Before: " }), ...sentence(before, lostPlaces(before, now), "del"), stop(before));
    page.is.replaceChildren(make("span", { textContent: "Now: " }), ...sentence(now, fresh, "ins"), stop(now));
    fill(page.worth, best, () => make("li", {}, this.button("translator-choice")), ({ firstChild: one }, [bleu, rest], at) => {
      const left = count - rest.length, lot = lots[at];
      if (!one.children.length) one.append(...bar());
      showBar(one, rest.length ? left ? `Keep ${left}` : "None" : "All on", bleu / best[0][0]);
      say(one.lastChild, fixed(bleu, 1));
      const ticked = lot !== undefined && rest.length && left;
      mark(one, { ticked });
      if (ticked) one.children[1].style.setProperty("--translator-lot", lot / best[0][0]);
      one.ariaLabel = `${one.firstChild.textContent}, BLEU ${fixed(bleu, 1)}${ticked ? `, as many by lot ${fixed(lot, 1)}` : ""}`;
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
