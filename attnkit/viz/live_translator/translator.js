// A sentence, its translation, and the attention between them; the engine's files stand before it.

const LEAST = 0.04; // a line for every weight from here on
const STEP_TIME = 800; // ms, while playing
const SETTLED = 700; // ms without typing until a translation is spoken

const PAGE = `<p class="lt-title"></p>
<p class="lt-lead"></p>
<div class="lt-ask"><input class="lt-text" type="text" autocomplete="off" autocapitalize="off"
spellcheck="false"><label class="lt-which">Model<select class="lt-model">
</select></label></div>
<div class="lt-tries" role="group" aria-label="Sentences to try"></div>
<p class="lt-flag"></p>
<div class="lt-stage"><svg class="lt-lines" aria-hidden="true"></svg>
<div class="lt-from"><p class="lt-from-name"></p><ol class="lt-source"></ol></div>
<div class="lt-to"><p class="lt-to-name"></p><ol class="lt-target"></ol></div></div>
<p class="lt-said"></p>
<div class="lt-walk"><button class="lt-play" type="button">Play</button>
<input class="lt-step" type="range" min="0" aria-label="Word being written">
<span class="lt-where"></span><label class="lt-heads">Lines of<select class="lt-head">
</select></label></div>
<div class="lt-why"><div><p class="lt-looked-name"></p><ol class="lt-looked"></ol></div>
<div><p class="lt-other-name"></p><ol class="lt-other"></ol></div></div>
<p class="lt-note"></p><p class="lt-live" role="status"></p>`;

// ---- What changed: the old and the new tokens, in step.

/** For each new token whether it is new and which old ones it took the place of; and the old ones
 * that nothing took the place of, with where they stood. By the longest common subsequence. */
function compare(before, now) {
  const [n, m] = [before.length, now.length];
  const same = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      same[i][j] = before[i] === now[j]
        ? same[i + 1][j + 1] + 1 : Math.max(same[i + 1][j], same[i][j + 1]);
    }
  }
  const marks = [], gone = [];
  let lost = [], fresh = [];
  const settle = (at) => {
    fresh.forEach((j, k) => { marks[j] = { was: lost[k] === undefined ? [] : [lost[k]] }; });
    const left = lost.slice(fresh.length);
    if (fresh.length) marks[fresh.at(-1)].was.push(...left);
    else if (left.length) gone.push({ at, tokens: left });
    [lost, fresh] = [[], []];
  };
  for (let i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && before[i] === now[j]) {
      settle(j);
      marks[j] = null;
      i++, j++;
    } else if (j === m || (i < n && same[i + 1][j] >= same[i][j + 1])) lost.push(before[i++]);
    else fresh.push(j++);
    if (i === n && j === m) settle(j);
  }
  return { marks, gone };
}

/** Text of tokens as nodes, those at `marked` places in an element `tag`. */
function sentence(tokens, marked, tag) {
  const nodes = [];
  tokens.forEach((token, at) => {
    const joined = at > 0 && detokenize([tokens[at - 1], token]) === tokens[at - 1] + token;
    if (at > 0 && !joined) nodes.push(" ");
    nodes.push(marked.has(at) ? make(tag, { textContent: token }) : token);
  });
  return nodes;
}

/** Places in `before` that are not in `now`. */
const lostPlaces = (before, now) => new Set(
  compare(now, before).marks.flatMap((mark, place) => (mark ? [place] : [])));

const listed = (words) => words.map(quoted).join(words.length > 2 ? ", " : " and ");
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** As many children as there are items, each filled in place, so that the focus stays. */
function fill(list, items, makeOne, fillOne) {
  while (list.children.length > items.length) list.lastChild.remove();
  while (list.children.length < items.length) list.append(makeOne(list.children.length));
  items.forEach((item, at) => fillOne(list.children[at], item, at));
}

function setBar(item, text, share) {
  const [label, bar, number] = item.children;
  label.textContent = text;
  bar.style.setProperty("--lt-share", `${100 * share}%`);
  number.textContent = fixed(share, 2);
}

const makeBar = () => make("li", {}, make("span"), make("i"), make("span"));

// ---- The view.

class View {
  constructor(model, el) {
    this.model = model;
    this.loaded = [];
    this.asked = new Set();
    this.at = null; // the step on show; null for all of them
    this.head = "mean";
    const page = this.page = buildPage(model, "attnkit-translator", PAGE, "A live translator");
    page["from-name"].textContent = `${this.languages[0][0]}, read`;
    page["to-name"].textContent = `${this.languages[1][0]}, written`;
    this.buildControls();
    page.root.snapshot = () => this.snapshot();
    page.root.hide = (place) => this.hide(place);
    this.listen();
    el.append(page.root);
    this.update();
  }

  get languages() { return this.model.get("languages"); }

  get engine() { return this.loaded[this.model.get("model")]; }

  buildControls() {
    const { page, languages } = this, names = this.model.get("names");
    page.lead.append("Press ", make("b", { textContent: `a word in ${languages[0][0]}` }),
      " to hide it from the translator’s attention. Press ",
      make("b", { textContent: `a word in ${languages[1][0]}` }), " to see where it looked.");
    Object.assign(page.text, { lang: languages[0][1], ariaLabel: `Sentence in ${languages[0][0]}`,
      placeholder: `Write a sentence in ${languages[0][0]}` });
    page.source.lang = languages[0][1];
    page.target.lang = languages[1][1];
    page.model.append(...names.map((name, value) => make("option", { textContent: name, value })));
    page.which.hidden = names.length < 2;
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
    const { on, end } = follow(model, ["text", "hidden", "model"], page.root, update);
    on(page.text, "input", () => this.write(page.text.value));
    on(page.model, "change", () => write(model, { model: Number(page.model.value) }));
    on(page.head, "change", () => { this.head = page.head.value; this.draw(); });
    on(page.step, "input", () => { this.pause(); this.show(this.placeOf(page.step.value)); });
    on(page.play, "click", () => (this.timer ? this.pause() : this.play()));
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
    if (!this.seen || this.loaded[place] || this.asked.has(place)) return;
    this.asked.add(place);
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
    this.draw();
  }

  // ---- What the reader does.

  write(text) {
    this.pause();
    this.at = null;
    if (this.model.get("hidden").length) this.model.set("hidden", []);
    write(this.model, { text });
    this.speakLater(() => this.spoken());
  }

  hide(place) {
    if (!this.engine || !(place in this.now.source)) return;
    const hidden = new Set(this.model.get("hidden"));
    if (!hidden.delete(place)) hidden.add(place);
    this.at = null;
    this.pause();
    write(this.model, { hidden: [...hidden].sort((a, b) => a - b) });
    this.speak(this.page.said.textContent);
  }

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
    const written = detokenize(steps.map(({ token }) => token));
    return `${this.page.flag.textContent} ${this.languages[1][0]}: ${written}.`.trim();
  }

  spokenStep(at) {
    const { token, candidates } = this.now.steps[at], [first] = this.looked(at);
    const others = candidates.slice(1, 3).map(([text]) => text).join(", ");
    return `Word ${at + 1}, ${quoted(token)}: it looked at ${first ? quoted(first.text) : "nothing"}` +
      `${first ? ` with ${fixed(first.weight, 2)}` : ""}. It could have written ${others}.`;
  }

  /** Source tokens by the weight that step `at` gave them. */
  looked(at) {
    const { source } = this.now, weights = this.rows[at];
    return source.map((text, j) => ({ text, weight: weights[j] }))
      .filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  }

  // ---- From the traits to the page.

  update() {
    const { page, model } = this, text = model.get("text"), chosen = model.get("model");
    if (page.text.value !== text) page.text.value = text;
    page.model.value = chosen;
    for (const one of page.tries.children) {
      one.setAttribute("aria-pressed", one.textContent === text);
    }
    this.load();
    if (this.engine) this.compute();
    this.draw();
  }

  /** Translate what is there, and what would be there if nothing were hidden. */
  compute() {
    const { engine, model } = this, text = model.get("text");
    const all = readSource(engine, text), source = all.slice(0, model.get("longest"));
    const hidden = new Set(model.get("hidden").filter((place) => place < source.length));
    const asked = JSON.stringify([model.get("model"), source, [...hidden]]);
    if (this.asked.last === asked) return;
    const plainly = JSON.stringify([model.get("model"), source]);
    const run = (without) => source.length
      ? translate(engine, source, without, model.get("max_len")) : { steps: [], ended: true };
    if (this.plain?.key !== plainly) this.plain = { key: plainly, ...run(new Set()) };
    const result = hidden.size ? run(hidden) : this.plain;
    this.asked.last = asked;
    this.now = { ...result, all, source, hidden };
    if (this.at !== null && this.at >= result.steps.length) this.at = null;
  }

  draw() {
    const { page } = this;
    readStyle(page.root);
    page.flag.textContent = this.flag();
    page.flag.hidden = !page.flag.textContent;
    page.root.toggleAttribute("data-waiting", !this.engine);
    if (!this.engine) return;
    this.chooseHeads();
    const before = this.plain.steps.map(({ token }) => token);
    const now = this.now.steps.map(({ token }) => token);
    const changed = compare(before, now);
    this.drawSource();
    this.drawTarget(now, changed);
    this.drawSaid(before, now, changed);
    this.drawWalk();
    this.drawWhy();
    this.layOut();
  }

  /** What is in the way of a good translation, or none yet. */
  flag() {
    if (this.failed && !this.engine) {
      return this.model.get("files").length ? "The model could not be loaded."
        : "This needs a kernel: run the notebook to translate.";
    }
    if (!this.engine) return this.seen ? "The model is on its way…" : "";
    const { all, source, ended } = this.now, { ids } = this.engine;
    if (!all.length) return `Write a sentence in ${this.languages[0][0]}.`;
    const parts = [], unknown = [...new Set(source.filter((token) => !ids.has(token)))];
    if (all.length > source.length) {
      parts.push(`That is ${plural(all.length, "word")}: only the first ${source.length} are read.`);
    }
    if (unknown.length) {
      const shown = unknown.length > 6 ? [...unknown.slice(0, 6), "…"] : unknown;
      parts.push(`Not among the ${ids.size - 4} words it has learned: ${shown.join(", ")}.`);
    }
    if (!ended) parts.push(`It found no end, and was stopped after ${this.now.steps.length} words.`);
    return parts.join(" ");
  }

  drawSource() {
    const { source, hidden } = this.now, { ids } = this.engine;
    const makeOne = (at) => {
      const one = this.button("lt-word");
      one.onclick = () => this.hide(at);
      return make("li", {}, one);
    };
    fill(this.page.source, source, makeOne, ({ firstChild: one }, token, at) => {
      const known = ids.has(token), off = hidden.has(at);
      one.replaceChildren(token);
      if (!known) one.append(make("sup", { textContent: "?", ariaHidden: "true" }));
      one.classList.toggle("lt-unknown", !known);
      one.setAttribute("aria-pressed", off);
      one.ariaLabel = `${token}${known ? "" : ", unknown"}, hide`;
      one.title = known ? (off ? "Show it again" : "Hide it") : "Not among the words it has learned";
    });
  }

  drawTarget(now, { marks, gone }) {
    const makeOne = (at) => {
      const one = this.button("lt-word");
      one.onclick = () => { this.pause(); this.show(this.at === at ? null : at); };
      return make("li", {}, one);
    };
    fill(this.page.target, now, makeOne, (item, token, at) => {
      const one = item.firstChild, mark = marks[at], was = mark?.was.join(" ") ?? "";
      const before = gone.find((lost) => lost.at === at)?.tokens;
      const after = at === now.length - 1 && gone.find((lost) => lost.at === now.length)?.tokens;
      item.replaceChildren(...ghost(before), one, ...ghost(after));
      const fresh = Boolean(mark) && !one.classList.contains("lt-changed");
      one.replaceChildren(token);
      if (mark) one.append(make("del", { textContent: was || "+" }));
      one.classList.toggle("lt-changed", Boolean(mark));
      if (fresh) flash(one);
      one.classList.toggle("lt-later", this.at !== null && at > this.at);
      one.setAttribute("aria-pressed", this.at === at);
      const what = !mark ? "" : was ? `, before: ${was}` : ", added";
      one.ariaLabel = `${token}${what}, where it looked`;
    });
  }

  drawSaid(before, now, { marks, gone }) {
    const { page } = this, { source, hidden } = this.now;
    const names = listed([...hidden].map((place) => source[place]));
    page.said.classList.toggle("lt-hint", !hidden.size);
    if (!source.length) page.said.replaceChildren();
    else if (!hidden.size) {
      page.said.replaceChildren("Which words does a word need? Hide one and see: that is evidence. " +
        "A line is only a hint.");
    } else if (!marks.some(Boolean) && !gone.length) {
      page.said.replaceChildren(`You hid ${names}. Nothing changed. ${this.whyNothing()}`);
    } else {
      const fresh = new Set(marks.flatMap((mark, place) => (mark ? [place] : [])));
      page.said.replaceChildren(`You hid ${names}. Before: `,
        ...sentence(before, lostPlaces(before, now), "del"), ". Now: ",
        ...sentence(now, fresh, "ins"), ".");
    }
    if (hidden.size) page.said.append(" ", this.showAll());
  }

  showAll() {
    const one = this.all ??= this.button("lt-all");
    one.textContent = `Show ${this.now.hidden.size > 1 ? "them" : "it"} again`;
    one.onclick = () => {
      write(this.model, { hidden: [] });
      this.page.text.focus({ preventScroll: true });
      this.speak(this.spoken());
    };
    return one;
  }

  /** Where the attention had looked at the hidden words most. */
  whyNothing() {
    const { source, hidden } = this.now;
    const looks = this.plain.steps.flatMap(({ token, mean }) =>
      [...hidden].map((place) => ({ token, from: source[place], weight: mean[place] })));
    const most = looks.reduce((a, b) => (b.weight > a.weight ? b : a), { weight: 0 });
    if (most.weight < 0.3) return "No line of any weight had led there.";
    return `And yet ${quoted(most.token)} had looked at ${quoted(most.from)} with ` +
      `${fixed(most.weight, 2)}: the states of its neighbours have read it, too.`;
  }

  drawWalk() {
    const { page, at } = this, count = this.now.steps.length;
    page.step.max = count;
    page.step.value = at ?? count;
    page.step.disabled = page.play.disabled = !count;
    page.where.textContent = at === null ? "all words" : `word ${at + 1} of ${count}`;
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
    this.rows = steps.map(({ mean, weights }) =>
      (this.head === "mean" ? mean : weights[layer][head]));
  }

  /** Where the chosen step looked, or else the least sure one, and what it could have written. */
  drawWhy() {
    const { page } = this, { steps } = this.now;
    page.why.hidden = !steps.length;
    if (!steps.length) return;
    const sure = steps.map(({ candidates: [[, chance]] }) => chance);
    const at = this.at ?? sure.indexOf(Math.min(...sure)), { token, candidates } = steps[at];
    const looked = this.looked(at).slice(0, candidates.length);
    page["looked-name"].textContent = this.at === null
      ? `Least sure of ${quoted(token)}, it looked at` : `To write ${quoted(token)} it looked at`;
    page["other-name"].textContent = "and could have written";
    const pad = Array.from({ length: candidates.length - looked.length }, () => null);
    fill(page.looked, [...looked, ...pad], makeBar, (item, one) => {
      item.classList.toggle("lt-none", !one);
      setBar(item, one?.text ?? "", one?.weight ?? 0);
    });
    fill(page.other, candidates, makeBar, (item, [text, chance]) => {
      setBar(item, text === "<eos>" ? "(the end)" : text, chance);
    });
  }

  // ---- The lines.

  /** Words side by side where they have room, else one below the other; then the lines. */
  layOut() {
    const { page } = this;
    if (!this.engine) return;
    page.stage.classList.remove("lt-tall");
    const narrow = [page.source, page.target].some((list) => list.scrollWidth > list.clientWidth + 1);
    page.stage.classList.toggle("lt-tall", narrow);
    this.drawLines(narrow);
  }

  drawLines(tall) {
    const { page, at } = this, box = page.stage.getBoundingClientRect();
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

  /** What is on show; null until there is a model to translate with. */
  snapshot() {
    if (!this.engine || !this.now) return null;
    const { source, hidden, steps, ended } = this.now;
    return { source, target: steps.map(({ token }) => token), hidden: [...hidden],
      weights: this.rows.map((weights) => [...weights]),
      candidates: steps.map(({ candidates }) => candidates),
      heads: steps.map(({ weights }) => weights), model: this.model.get("names")[this.model.get("model")],
      text: this.model.get("text"), step: this.at, ended };
  }
}

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

/** Words that were there and that nothing took the place of. */
const ghost = (tokens) =>
  (tokens ? [make("del", { className: "lt-gone", textContent: tokens.join(" ") })] : []);

function flash(node) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  node.animate([{ transform: "translateY(-6px)", opacity: 0.2 }, { transform: "none", opacity: 1 }],
    { duration: 260, easing: "ease-out" });
}

// ---- Files of a built book, which lie beside its script.

const bookScript = () => document.querySelector('script[src*="attnkit-explorer.js"]');

/** A page opened from `file:` may not fetch, but may run a script, so there the same bytes come in
 * one that carries them as base64. */
async function readFile(name, beside) {
  if (!name) throw new Error("no file");
  const { href } = new URL(name, beside);
  if (location.protocol !== "file:") {
    const answer = await fetch(href);
    if (!answer.ok) throw new Error(`${href}: ${answer.status}`);
    return answer.arrayBuffer();
  }
  const script = make("script", { src: `${href}.js` });
  await new Promise((onload, onerror) => {
    document.head.append(Object.assign(script, { onload, onerror }));
  });
  script.remove();
  return Uint8Array.from(atob(script.dataset.base64), (letter) => letter.charCodeAt(0)).buffer;
}

export default { render: ({ model, el }) => new View(model, el).close };
