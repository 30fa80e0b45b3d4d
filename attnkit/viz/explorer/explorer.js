// The explorer: one view of one model.

const SETTINGS = [...COMPARED, "stage", "pinned", "stretch", "view", "guess", "kept", "difference"];
// Settings that states have no value of which were saved before there were such.
const LATER = { hidden: [], view: "map", guess: [], kept: {}, difference: false };
const TOP_KEYS = 5;

// What a key adds to [head, query, key].
const FAR = 1e9, STAY = [0, 0, 0];
const MOVES = { ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], ArrowUp: [0, -1, 0],
  ArrowDown: [0, 1, 0], Home: [0, 0, -FAR], End: [0, 0, FAR], PageUp: [-1, 0, 0],
  PageDown: [1, 0, 0], Enter: STAY, " ": STAY };

const PAD = [["◀", "ArrowLeft", "key before"], ["▶", "ArrowRight", "next key"],
  ["▲", "ArrowUp", "query before"], ["▼", "ArrowDown", "next query"]];

const PAGE = `<p class="machine-title"></p><div class="explorer-tour" role="group" aria-label="Guide" tabindex="-1">
<p class="machine-say" aria-live="polite"></p><div class="explorer-steps"><button class="explorer-back" type="button">Back</button>
<span class="explorer-count"></span><button class="explorer-again" type="button">Again</button><button class="explorer-next" type="button">Next</button></div></div>
<div class="machine-controls"><button class="machine-reset" type="button">Reset</button></div>
<div class="explorer-guess" role="group" aria-label="Guess first" hidden><p class="explorer-ask"></p>
<div class="explorer-answers"></div><p class="explorer-told"></p><button class="explorer-skip" type="button"></button></div>
<div class="explorer-hide" role="group" aria-label="Press a word to hide it" hidden></div><div class="machine-body">
<div class="explorer-plot"><canvas class="explorer-map" aria-hidden="true"></canvas>
<canvas class="explorer-cursor" tabindex="0" role="application"></canvas></div>
<div class="explorer-kept" role="group" aria-label="The kept picture" hidden>
<canvas class="explorer-before" aria-hidden="true"></canvas><p class="explorer-old"></p><p class="explorer-scale"><span class="explorer-less"></span><i class="explorer-hues"></i>
<span class="explorer-more"></span></p><p class="explorer-change"></p><label class="explorer-differs"><input type="checkbox"
aria-label="show the difference">show the difference</label></div>
<p class="explorer-line" aria-hidden="true"></p>
<div class="explorer-bar"><span class="explorer-least"></span><span class="explorer-low"></span><i class="explorer-ramp"></i><span class="explorer-high"></span>
<span class="explorer-masked"><i></i>masked</span><span class="explorer-nan"><i></i>not a number</span>
<label class="explorer-stretch"><input type="checkbox" aria-label="stretch colours">stretch colours</label>
<span class="explorer-pad">${PAD.map(([sign, key, name]) =>
    `<button type="button" data-key="${key}" aria-label="${name}">${sign}</button>`).join("")}</span>
<button class="explorer-open" type="button"></button><button class="explorer-keep" type="button"></button></div>
<div class="machine-side"><div><button class="explorer-chip" type="button" hidden></button>
<p class="explorer-pair"><span>query</span><span class="explorer-query"></span>
<span>key</span><span class="explorer-key"></span></p><p class="machine-big"></p><p class="machine-score"></p></div>
<div><p class="machine-head"></p>
<ol class="machine-top">${"<li><span></span><i></i><span></span></li>".repeat(TOP_KEYS)}</ol>
<p class="explorer-row"></p></div></div></div>
<details class="explorer-apart"></details>
<details class="explorer-data"><summary>This row as a table</summary></details>
<p class="machine-note"></p><p class="machine-live" role="status"></p>`;

const clamp = (at, count) => Math.max(0, Math.min(at, count - 1));

function readSettings(model) {
  const read = traitsOf(model, SETTINGS);
  for (const [name, value] of Object.entries(LATER)) read[name] ??= value;
  return read;
}

class View {
  constructor(model, el) {
    this.model = model;
    this.page = buildPage(model, "machine attnkit-explorer", PAGE, "Attention explorer");
    this.data = readData(model);
    this.most = mostOf(this.data);
    this.settings = readSettings(model);
    this.initial = beginningOf(model, this.settings);
    this.controls = buildControls(this.data, model.get("controls"));
    this.page.controls.prepend(...placeControls(this.controls));
    this.stretch = this.page.stretch.firstElementChild;
    this.picture = new Picture(this.data, this.most);
    this.plans = new Map();
    this.page.root.snapshot = () => this.snapshot();
    this.placeCursor();
    this.listen();
    el.append(this.page.root);
    this.update();
  }

  listen() {
    const { model, page } = this, update = () => this.update();
    const { on, end } = follow(model, [...SETTINGS, "step"], page.root, update);
    this.tour = new Tour(this, on);
    this.apart = new Apart(this, on);
    this.words = hideWords(this, on);
    this.asked = guessFirst(this, on);
    this.compared = compare(this, on);
    for (const { input, read } of this.controls) on(input, "input", () => this.set(read(this.settings)));
    on(this.stretch, "input", () => this.set({ stretch: this.stretch.checked }));
    on(page.reset, "click", () => this.set({ ...this.initial, step: 0 }));
    on(page.chip, "click", () => this.letGo());
    on(page.open, "click", () => this.openLarge());
    for (const button of page.pad.children) on(button, "click", () => this.press(button.dataset.key));
    for (const name of ["pointermove", "pointerleave", "pointerup", "click", "keydown"]) {
      on(page.cursor, name, (event) => this[name](event));
    }
    on(page.root, "keydown", (event) => this.escape(event));
    on(page.data, "toggle", () => this.showTable());
    on(matchMedia("print"), "change", () => {
      page.cursor.width = 0; // so that it is made anew, not cleared: see fit
      this.redraw(true, this.width = 0);
    });
    on(matchMedia("(forced-colors: active)"), "change", () => this.redraw());
    const sizes = new ResizeObserver(() => page.body.clientWidth !== this.width && update(this.width = 0));
    sizes.observe(page.body);
    this.close = () => {
      end();
      sizes.disconnect();
      cancelAnimationFrame(this.frame);
    };
  }

  // ---- Which cell is in hand. `cursor` is the one that the reader chose, pinned or not, and stays
  // when it is not on show; `hover` the one below the pointer while another is pinned.

  /** Begin at the last query and its strongest key. */
  placeCursor() {
    const { data, settings: s } = this, [head] = shownHeads(data, s), query = sizeOf(data, s).rows - 1;
    const { weights } = readRow(data, s, [head, query]);
    this.choose([head, query, weights.indexOf(Math.max(...weights))]);
  }

  /** Choose a cell, and remember at which length. */
  choose(cell) {
    this.cursor = [...cell];
    this.home = this.settings.seq_len;
    this.hover = null;
  }

  /** Read the settings, and follow the pin and the head. */
  sync() {
    const s = this.settings = readSettings(this.model);
    if (s.pinned.length && !alike(s.pinned, this.pinned)) this.choose(s.pinned);
    this.pinned = s.pinned;
    if (asks(s) && !alike(s.guess, this.guess) && !s.pinned.length) {
      this.choose([...s.guess, clamp(s.guess[1], sizeOf(this.data, s).cols)]);
    }
    this.guess = s.guess;
    if (s.head !== "all") this.cursor[0] = s.head;
    if (!s.pinned.length && this.otherWords(this.cursor)) this.placeCursor();
  }

  /** Whether recorded tokens give other words to a cell than when it was chosen. */
  otherWords([, query, key]) {
    const { data, settings: s } = this;
    if (!data.frames || s.seq_len === this.home) return false;
    const now = labelsOf(data, s), then = labelsOf(data, { seq_len: this.home });
    return now !== then && (now.queries[query] !== then.queries[query] || now.keys[key] !== then.keys[key]);
  }

  /** Whether a cell is on show: the length may be too short for it. */
  onShow([head, query, key]) {
    const { rows, cols } = this.shape ?? sizeOf(this.data, this.settings);
    return head < this.data.heads && query < rows && key < cols && !this.otherWords([head, query, key]);
  }

  /** The names of a cell's query and key, as they were when it was chosen. */
  wordsOf([, query, key]) {
    const { queries, keys } = labelsOf(this.data, { seq_len: this.home });
    return [queries[query], keys[key]];
  }

  /** Where a pointer is on the map. */
  placeOf({ clientX, clientY }) {
    const { left, top } = this.page.cursor.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  /** The cell below a pointer. */
  under(event) {
    if (!this.plan) return;
    const { panels, cell, lines } = this.plan, { rows, cols } = this.shape, [right, down] = this.placeOf(event);
    if (lines) return lineUnder(this, right, down);
    for (const [at, { x, y }] of panels.entries()) {
      const key = Math.floor((right - x) / cell), query = Math.floor((down - y) / cell);
      if (key >= 0 && key < cols && query >= 0 && query < rows) return [this.heads[at], query, key];
    }
  }

  /** The head whose title is below a pointer. */
  titleUnder(event) {
    if (!this.plan?.title) return;
    const { panels, cell, title, top, axis, most } = this.plan, [right, down] = this.placeOf(event);
    const at = panels.findIndex(({ x, y, first }) => {
      const above = y - down - (first ? top + axis : 0);
      return right >= x && right - x < most.cols * cell && above > 0 && above <= title;
    });
    return this.heads[at];
  }

  pointermove(event) {
    const cell = this.under(event), title = this.titleUnder(event) !== undefined;
    this.page.cursor.style.cursor = title ? "zoom-in" : "";
    if (!cell) return;
    if (this.settings.pinned.length) this.hover = cell;
    else this.choose(cell);
    this.update(false);
  }

  pointerleave() {
    this.hover = null;
    this.update(false);
  }

  pointerup({ pointerType }) {
    if (pointerType !== "mouse") this.pointerleave();
  }

  click(event) {
    const cell = this.under(event), title = this.titleUnder(event);
    if (title !== undefined) this.openLarge(title);
    if (cell && covers(this.settings, cell)) this.asked.press(cell[2]);
    else if (cell) this.take(cell, !alike(this.settings.pinned, cell));
  }

  keydown(event) {
    const { key, altKey, metaKey, ctrlKey } = event;
    if (altKey || metaKey || ctrlKey) return;
    const zoom = this.data.heads > 1 && (key === "+" ? this.settings.head === "all"
      : key === "-" && this.settings.head !== "all");
    if (!MOVES[key] && !zoom) return;
    event.preventDefault();
    event.stopPropagation();
    if (zoom) this.openLarge();
    else this.press(key);
  }

  /** What a key, or the button that stands for it, does. */
  press(key) {
    const { rows, cols } = this.shape ?? sizeOf(this.data, this.settings);
    const counts = [this.data.heads, rows, cols], held = this.settings.pinned.length > 0;
    const cell = this.cursor.map((at, dim) => clamp(clamp(at, counts[dim]) + MOVES[key][dim], counts[dim]));
    if (MOVES[key] === STAY && covers(this.settings, cell)) this.asked.press(cell[2]);
    else this.take(cell, MOVES[key] === STAY ? !held : held, MOVES[key][0] !== 0);
  }

  escape(event) {
    if (event.key !== "Escape" || !this.settings.pinned.length) return;
    event.preventDefault();
    event.stopPropagation();
    this.letGo();
  }

  letGo() {
    this.set({ pinned: [] });
    say(this.page.live, `The cell is free again: ${this.page.live.textContent}`);
    if (document.activeElement === this.page.chip) this.page.cursor.focus();
  }

  /** Show one of all heads large, or all again. */
  openLarge(head = this.cursor[0]) {
    const large = this.settings.head === "all";
    this.cursor[0] = head;
    this.set({ head: large ? head : "all" });
    say(this.page.live, `${large ? `${this.data.names[head]}, large` : "All heads"}. ${this.said()}`);
  }

  /** Move to a cell, pin it or not, and say what is in it. */
  take(cell, pin, otherHead) {
    const { data, model, page } = this, freed = this.settings.pinned.length && !pin;
    if (this.settings.head !== "all") model.set("head", cell[0]);
    this.choose(cell);
    model.set("pinned", pin ? [...cell] : []);
    model.save_changes();
    this.sync();
    this.update(false);
    const head = otherHead && data.heads > 1 ? `${data.names[cell[0]]}: ` : "";
    say(page.live, head + this.said() + (freed ? "; no longer pinned" : ""));
    this.tour.address.note();
  }

  /** Set traits, as a control does, and say what the row in hand then looks at. */
  set(values, first = "") {
    write(this.model, values);
    this.sync();
    say(this.page.live, first + this.said(true));
    this.tour.unmark();
    this.tour.address.note();
  }

  /** The cell in hand in words, and the strongest key of its row. */
  said(best) {
    const { data, settings: s, cursor } = this;
    if (!this.isOnShow()) return this.absent();
    const labels = labelsOf(data, s), row = readRow(data, s, cursor);
    if (covers(s, cursor)) return describeCovered(labels, cursor);
    const [most] = best ? bestKeys(row) : [];
    return describeCell(labels, row, cursor) + (most === undefined ? ""
      : `; it looks most at ${quoted(labels.keys[most])}, ${fixed(row.weights[most])}`);
  }

  isOnShow() {
    this.shape = sizeOf(this.data, this.settings);
    return this.onShow(this.cursor);
  }

  /** That the cell in hand is not there, by its words. */
  absent() {
    const [query, key] = this.wordsOf(this.cursor), { queries } = labelsOf(this.data, this.settings);
    const row = this.cursor[1] >= this.shape.rows || queries[this.cursor[1]] !== query;
    return `${quoted(row ? query : key)} is not on show at this length.`;
  }

  // ---- Drawing.

  /** Draw in the next frame, and the map only when more than the cursor changed. */
  update(map = true) {
    this.stale ||= map || this.settings.view === "lines";
    this.frame ||= requestAnimationFrame(() => this.redraw(this.stale));
  }

  redraw(map = true) {
    cancelAnimationFrame(this.frame);
    this.frame = this.stale = 0;
    this.sync();
    this.shape = sizeOf(this.data, this.settings);
    if (this.hover && !this.onShow(this.hover)) this.hover = null;
    this.there = this.onShow(this.cursor);
    this.tour.show();
    if (map) this.draw();
    if (this.plan) this.drawFrames();
    this.showRow();
  }

  draw() {
    const { page, data, settings: s } = this;
    for (const control of this.controls) control.show(s);
    this.stretch.checked = s.stretch;
    this.words.show();
    this.asked.show();
    this.compared.show();
    const about = describeView(data, s);
    if (page.cursor.ariaLabel !== about) page.cursor.ariaLabel = about;
    page.open.hidden = data.heads < 2 || !this.model.get("controls").includes("head");
    const lines = s.view === "lines", drawn = lines ? { ...s, stage: "weights" } : s;
    page.root.classList.toggle("explorer-lines", lines);
    this.heads = lines ? [this.cursor[0]] : shownHeads(data, s);
    this.width ||= page.body.clientWidth;
    if (!this.width) return;
    this.readColours();
    this.planFor(this.heads.length);
    this.labels = labelsOf(data, s);
    this.compared.draw();
    if (lines) return drawLines(fit(page.map, this.plan), this);
    this.end = endOfColours(data, s);
    this.picture.show(this);
    const pen = fit(page.map, this.plan), covered = this.plan.panels[this.heads.indexOf(s.guess[0])];
    drawMap(pen, this);
    if (asks(s) && covered && s.guess[1] < this.shape.rows) coverRow(pen, this.plan, covered, this.shape, s.guess[1], this.hues);
    this.drawBar();
  }

  /** The size of the reader's type: 1 where the browser's is as it was. */
  em() {
    return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  }

  /** One plan for all lengths; many or small maps have the numbers below, not beside them. */
  planFor(count) {
    const { page, data, most, settings: s } = this, em = this.em(), two = !page.kept.hidden;
    const pen = page.map.getContext("2d"), key = [this.width, count, em, two, s.view].join();
    this.plan = this.plans.get(key);
    if (this.plan) return page.body.classList.toggle("explorer-wide", this.plan.wide);
    const side = this.width >= 560 * em ? 226 * em : 0, room = (width) => layOut(pen, width, count, most, em);
    const beside = room(this.width - side);
    const below = two || count > 4 || (side && count > 1 && beside.cell < 14);
    page.body.classList.toggle("explorer-wide", Boolean(below));
    const left = page.plot.clientWidth, plan = s.view === "lines" ? layLines(pen, left, most, em)
      : !below && left === this.width - side ? beside : room(left);
    this.plans.set(key, this.plan = { ...plan, wide: Boolean(below) });
  }

  drawFrames() {
    const { page, plan, shape, hues, settings: s } = this, pen = fit(page.cursor, plan);
    const frame = (cell, kind) => {
      if (plan.lines) return drawLinesOfRow(pen, this, cell, kind);
      plan.panels.forEach((panel, at) => {
        const own = this.heads[at] === cell[0];
        if (own || kind === "pinned") drawFrame(pen, plan, panel, shape, cell, own && !covers(s, cell) ? kind : "row", hues);
      });
    };
    if (this.there) frame(this.cursor, s.pinned.length ? "pinned" : "here");
    if (this.hover) frame(this.hover, "hover");
  }

  /** All colours are in explorer.css. */
  readColours() {
    const style = readStyle(this.page.root), named = (name) => style.getPropertyValue(`--machine-${name}`);
    this.hues = { ink: style.color, back: style.backgroundColor,
      weights: named("weights"), scores: named("scores") };
    this.hues.map = this.hues[this.settings.stage === "weights" ? "weights" : "scores"];
    for (const name of ["muted", "line", "accent", "hatch", "nan", "soft", "query"]) this.hues[name] = named(name);
  }

  drawBar() {
    const { end, page, settings: s, hues, data, shape, picture } = this, weights = s.stage === "weights";
    const text = fixed(end, end < 0.1 ? 3 : 2);
    say(page.low, weights ? "weight 0" : `score −${text}`);
    say(page.high, weights ? text : `+${text}`);
    const ramp = `linear-gradient(to right,${hues.map})`;
    if (this.ramp !== ramp) page.ramp.style.background = this.ramp = ramp;
    page.masked.hidden = !hatches(data, s, shape);
    page.nan.hidden = !picture.hasNaN;
  }

  showRow() {
    const { page, data, settings: s } = this, labels = labelsOf(data, s), pinned = s.pinned.length > 0;
    page.chip.hidden = !pinned || covers(s, this.cursor);
    const large = s.head === "all" ? `Open ${data.names[(this.hover ?? this.cursor)[0]]} large` : "Show all";
    if (!page.open.hidden) say(page.open, large);
    if (pinned) {
      const [query, key] = this.wordsOf(this.cursor);
      say(page.chip, `pinned: ${query} → ${key} ✕`);
      page.chip.ariaLabel = `pinned: query ${quoted(query)}, key ${quoted(key)}. Let go.`;
    }
    const cell = this.hover ?? (this.there ? this.cursor : null);
    page.root.classList.toggle("explorer-absent", !cell);
    if (!cell) return this.showWords(...this.wordsOf(this.cursor), "–", this.absent());
    if (this.plan?.lines) say(page.least, describeLines(this, cell));
    if (covers(s, cell)) return this.showWords(...labelsOfCell(labels, cell), "?", "covered until you have guessed");
    const [head, , key] = cell, row = readRow(data, s, cell), { weights } = row;
    const [asks, is] = labelsOfCell(labels, cell), number = mainNumber(s, row, key);
    say(page.query, quoted(asks));
    say(page.key, quoted(is));
    say(page.big, number);
    say(page.score, describeScore(data, s, row, key));
    say(page.line, `${asks} → ${is} ${number}`);
    say(page.head, `${quoted(asks)} attends to` + (s.head === "all" ? ` (${data.names[head]})` : ""));
    say(page.row, describeRow(row));
    const best = bestKeys(row);
    [...page.top.children].forEach((item, place) => {
      item.hidden = place >= best.length;
      if (!item.hidden) showBar(item, labels.keys[best[place]], weights[best[place]]);
    });
    this.showTable(cell);
    this.apart.show(cell);
  }

  /** Two words and, in place of numbers, why there are none. */
  showWords(query, key, number, words) {
    const { page } = this;
    say(page.query, quoted(query));
    say(page.key, quoted(key));
    say(page.big, number);
    say(page.score, words);
    say(page.line, words);
    say(page.head, "");
    say(page.row, "");
    for (const item of page.top.children) item.hidden = true;
  }

  /** The row in hand, as a table that can be read cell by cell. */
  showTable(cell = this.cursor) {
    const { page, data, settings: s } = this;
    if (!page.data.open || !this.there) return;
    const labels = labelsOf(data, s), row = readRow(data, s, cell);
    const heads = ["key", ...row.raw ? ["score"] : [], "weight"];
    const lines = [...row.weights].map((weight, j) => make("tr", {},
      make("th", { scope: "row", textContent: labels.keys[j] }),
      ...row.raw ? [make("td", { textContent: fixed(row.raw[row.at + j] * row.factor, 2) })] : [],
      make("td", { textContent: row.sees(j) ? fixed(weight) : "masked" })));
    page.data.querySelector("table")?.remove();
    page.data.append(make("table", {},
      make("caption", { textContent: `${quoted(labels.queries[cell[1]])}, ${data.names[cell[0]]}` }),
      make("thead", {}, make("tr", {}, ...heads.map((textContent) => make("th", { scope: "col", textContent })))),
      make("tbody", {}, ...lines)));
  }

  /** What is on show. `weights` are rows of numbers, or such rows for each of all heads; `scale`
   *  is the number in use, 1 when it is off; `output` is weights times values, where there are
   *  values. */
  snapshot() {
    const s = readSettings(this.model), { data } = this, { queries, keys } = tokensOf(data, s);
    const rows = (read) => {
      const found = shownHeads(data, s).map((head) =>
        queries.map((_, i) => [...read(head, readRow(data, s, [head, i]).weights)]));
      return s.head === "all" ? found : found[0];
    };
    return { ...s, tokens: keys, queryTokens: queries, keyTokens: keys, seqLen: s.seq_len,
      scale: scaleOf(data, s), weights: rows((_, weights) => weights),
      ...data.value && { output: rows((head, weights) => outputOf(data, head, weights)) } };
  }
}

export default { render: ({ model, el }) => new View(model, el).close };
