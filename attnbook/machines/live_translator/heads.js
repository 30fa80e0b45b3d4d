// Heads to switch off: one by one, or all but those that are missed most.

const HEADS = {
  drawOff() {
    const { page } = this, { engine: { heads: every, config }, off } = this.now, best = this.trait("best");
    page.off.hidden = !every.length || !best.length;
    if (page.off.hidden) return;
    const [from, to] = this.languages.map(([name]) => name), each = every.length / 3;
    say(page["off-name"], `Switch heads off: ${every.length - off.length} of ${every.length} are on`);
    fill(page.worth, best, () => make("li", {}, this.button("translator-choice")), ({ firstChild: one }, [bleu, rest]) => {
      const left = every.length - rest.length;
      if (!one.children.length) one.append(...bar());
      showBar(one, rest.length ? left ? `The best ${left}` : "None" : "All on", bleu / best[0][0]);
      say(one.lastChild, fixed(bleu, 1));
      one.ariaPressed = alike(rest, off);
      one.onclick = () => this.switchOff(rest);
    });
    const kinds = [`${from} looks at ${from}`, `${to} looks back`, `${to} looks at ${from}`];
    fill(page.kinds, kinds, () => make("div", {}, make("p"), make("div")), ({ firstChild, lastChild }, kind, at) => {
      say(firstChild, kind);
      fill(lastChild, every.slice(at * each, (at + 1) * each), () => this.button(), (one, head, k) => {
        const place = at * each + k, dark = off.includes(place), [layer, number] = head.match(/\d+/g);
        say(one, `${layer}.${number}`);
        one.ariaLabel = `${kind}, layer ${layer}, head ${number}`;
        one.ariaPressed = !dark;
        one.onclick = () => this.switchOff(this.trait("off").filter((other) => other !== place).concat(dark ? [] : place));
      });
    });
    page.kinds.style.setProperty("--translator-heads", config.num_heads);
  },

  switchOff(off) {
    this.pause();
    this.at = null;
    write(this.model, { off: off.sort((a, b) => a - b) });
    this.whenDone(() => this.speak(this.page.said.textContent));
  },
};
