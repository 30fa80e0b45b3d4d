// What is written: words, what changed in them, and the lines that lead to them.

const STAGE = {
  drawTarget(now, { marks, gone }) {
    const makeOne = (at) => {
      const one = this.button("translator-word");
      one.onclick = () => this.pressTarget(at);
      return make("li", {}, one);
    };
    const { steps, spans } = this.now, chosen = this.at === null ? -1 : this.wordAt(this.at);
    fill(this.page.target, now, makeOne, (item, token, at) => {
      const mine = steps.slice(...spans[at]), [first] = spans[at];
      const by = (who) => mine.some(({ chosenBy }) => chosenBy === who);
      const forced = by("reader"), searched = !forced && by("beam");
      const one = item.querySelector("button"), change = marks[at], was = change?.was.join(" ") ?? "";
      const before = gone.find((lost) => lost.at === at)?.tokens;
      const after = at === now.length - 1 && gone.find((lost) => lost.at === now.length)?.tokens;
      item.replaceChildren(...ghost(before), one, ...ghost(after));
      const fresh = change && !one.classList.contains("translator-changed");
      one.replaceChildren(...(this.inPieces(1)
        ? drawPieces(mine.map(({ token }) => token), (node, part) => {
          mark(node, { now: this.at === first + part && mine.length > 1, later: chosen === at && first + part > this.at });
        }) : [token]));
      if (forced) one.append(make("sup", { textContent: "✎", ariaHidden: "true" }));
      if (searched) one.append(make("sup", { textContent: "◆", ariaHidden: "true" }));
      one.title = searched ? "Not the likeliest here: the beam chose it for what follows" : "";
      if (change) one.append(make("del", { textContent: was || "+" }));
      mark(one, { forced, searched, changed: Boolean(change), later: chosen >= 0 && at > chosen });
      if (fresh) flash(one);
      one.ariaPressed = chosen === at;
      const yours = forced ? ", written by you" : searched ? ", chosen by the beam" : "", what = !change ? "" : was ? `, before: ${was}` : ", added";
      const parts = spokenPieces(mine.map(({ token }) => token));
      one.ariaLabel = `${token}${parts}${yours}${what}, where it looked`;
    });
  },

  drawSaid(before, now, { marks, gone }) {
    const { page } = this, { source, hidden, off } = this.now, forced = this.trait("forced");
    const done = this.doings();
    if (!source.length) page.said.replaceChildren();
    else if (!done.length && this.size > 1) page.said.replaceChildren(...this.sayBeam(now));
    else if (!done.length) {
      page.said.replaceChildren(`A line is only a hint. Hide its word in ${this.languages[0][0]}, and see what changes. ` +
        "(The words beside it have read it, too.)");
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
    if (off.length) page.said.append(" ", this.undo("off", off.length > 1 ? "Switch them on" : "Switch it on"));
    if (this.cameFrom?.isConnected) page.said.append(" ", this.wayBack());
  },

  /** What the reader has done to this translation, in sentences. */
  doings() {
    const { source, hidden, off, engine, steps, ended } = this.now, forced = this.trait("forced"), done = [];
    if (off.length) done.push(`You switched off ${this.nameOff(off, engine.heads)}.`);
    if (hidden.size) done.push(`You hid ${listed([...hidden].map((place) => source[place]))}.`);
    if (!forced.length) return done;
    const last = steps[forced.length - 1];
    if (!last) done.push(ended ? "You ended it there." : "You chose how it begins.");
    else {
      const [own] = last.candidates, text = (token) => quoted(shownToken(token, this.inPieces(1)));
      done.push(`You wrote ${text(last.token)} where it would have written ${text(own.token)}.`);
    }
    return done;
  },

  /** A button that leads back to the link in the text that led here. */
  wayBack() {
    const one = this.back ??= this.button("translator-all");
    one.textContent = "Back to the text";
    one.onclick = () => {
      const from = this.cameFrom, calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.cameFrom = null;
      this.draw();
      from.scrollIntoView({ block: "center", behavior: calm ? "instant" : "smooth" });
      from.focus({ preventScroll: true });
    };
    return one;
  },

  /** A button that takes back what the reader did. */
  undo(name, textContent, value = []) {
    const one = (this.undos ??= {})[name] ??= this.button("translator-all");
    one.textContent = textContent;
    one.onclick = () => {
      write(this.model, { [name]: value });
      this.page.text.focus({ preventScroll: true });
      this.whenDone(() => this.speak(this.spoken()));
    };
    return one;
  },

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
  },

  /** Words side by side where they have room, else one below the other; then the lines. */
  layOut() {
    const { page } = this;
    if (!this.ready || this.asMap) return;
    const wide = () => [page.source, page.target].some((list) => list.scrollWidth > list.clientWidth + 1);
    mark(page.stage, { tall: false, tight: false });
    // Where a finger has no need of their width, words move together first: what is there now can be compared
    // with what was.
    if (page.stage.clientWidth > 560 && wide()) mark(page.stage, { tight: true });
    const narrow = wide();
    mark(page.stage, { tall: narrow, tight: !narrow && page.stage.classList.contains("translator-tight") });
    this.drawLines(narrow);
  },

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
      mark(path, { chosen });
    });
  },

  /** As lines, or as a map. */
  showAs(asMap) {
    const { page } = this;
    this.asMap = asMap;
    for (const [name, chosen] of [["as-lines", !asMap], ["as-map", asMap]]) {
      page[name].ariaSelected = chosen;
      page[name].tabIndex = chosen ? 0 : -1;
    }
    page["heads-name"].textContent = this.cross;
  },

  drawMap(style) {
    const { page } = this, { source, words, hidden } = this.now;
    drawMap(page.table, { rows: this.rows, source, target: words, hidden,
      chosen: this.at === null ? null : this.wordAt(this.at), onRow: (at) => this.pressTarget(at),
      onColumn: (place) => this.hide(place), button: (name) => this.button(name) });
    const [, ...heads] = [...page.head.options].map(({ value }) => value);
    const stops = ["--machine-back", "--machine-control"].map((name) => pixelOf(style.getPropertyValue(name)));
    stops[0] = pixelOf(style.backgroundColor);
    const choices = heads.length ? ["mean", ...heads] : [];
    page["all-heads"].hidden = !choices.length;
    page["all-heads"].style.setProperty("--translator-heads", heads.filter((one) => one.startsWith("0 ")).length);
    const makeOne = () => {
      const one = this.button("translator-small");
      one.append(make("canvas"), make("span"));
      return one;
    };
    fill(page["all-heads"], choices, makeOne, (one, value, at) => {
      const [layer, head] = value.split(" ").map(Number), mean = value === "mean";
      drawSmall(one.firstChild, this.wordRows(this.stepRows(mean ? null : [layer, head])), stops);
      one.lastChild.textContent = mean ? "mean" : `${layer}.${head}`;
      one.ariaLabel = page.head.options[at].textContent;
      one.ariaPressed = this.head === value;
      one.onclick = () => { this.head = value; this.draw(); };
    });
  },
};
