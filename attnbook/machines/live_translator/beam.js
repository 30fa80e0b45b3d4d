// What a beam is worth, and the hypotheses that it was left with.

const BEAM = {
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
  },

  /** The hypotheses that the beam was left with, by what they are worth. */
  drawKept() {
    const { page } = this, { kept } = this.now;
    page.kept.hidden = !kept.length;
    const most = Math.max(...kept.map(({ sum }) => sum));
    fill(page.beam, kept, makeBar, (item, { words, sum, ended }, at) => {
      const chance = Math.exp(sum), text = detokenize(words.filter(Boolean));
      setBar(item, ended ? text || EMPTY : `${text} …`, Math.exp(sum - most));
      mark(item, { empty: !text, best: !at });
      item.firstChild.lastChild.textContent = chanceText(chance);
    });
  },
};
