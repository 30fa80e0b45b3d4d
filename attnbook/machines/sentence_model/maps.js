// All maps of one sentence, below what else a page asks of the sentence model; the kit, loader.js and heads.js stand before it.

const MAPS = `<details class="sentence-maps sentence-none"><summary>All 72 maps of a sentence</summary>
<label>Sentence<input class="sentence-typed" type="text" maxlength="300" autocomplete="off" aria-label="Sentence to open"></label>
<p class="sentence-wait machine-say"></p>${ALL_HEADS}${ONE_HEAD}</details>`;
const REST = 400; // ms without a key until it is read

/** Of a machine whose `now()` has `sentences` and those `missing` that its `loader` has not read yet. */
class SentenceMaps {
  constructor(machine, failed) {
    const { page, on } = machine;
    Object.assign(this, { machine, page, at: { layer: 0, head: 0, token: 1, off: [] } });
    page.caption.textContent = "All heads: heads from left to right, layers from top to bottom";
    this.heads = new Heads(page, on, { layers: 6, heads: 12, place: (layer, head) => [head, layer], failed, choose: (taken) => {
      Object.assign(this.at, taken);
      this.show();
      page.live.textContent = page.which.textContent;
    } });
    on(page.maps, "toggle", () => { page.typed.value ||= machine.now().sentences[0] ?? ""; this.show(); });
    on(page.typed, "input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.show(), REST); });
  }

  /** Have a sentence read with its maps, if that can be now: after the text. */
  ask(text) {
    const { machine } = this, can = machine.loader?.state === "ready" && !machine.now().missing.length;
    if (can) machine.loader.send("work", { number: machine.number = (machine.number ?? 0) + 1, texts: [text], maps: true });
    return can;
  }

  /** The maps that the model has sent. */
  hear({ text, tokens, weights }) {
    if (!weights || text !== this.asked) return;
    const count = tokens.length;
    this.read = { of: text, names: tokens, causal: false, weight: (which, i, j) => weights[(which * count + i) * count + j] };
    this.at.token = 1;
    this.show();
  }

  show() {
    const { page, read, at } = this, text = page.typed.value.trim();
    if (!page.maps.open) return;
    if (text && text !== this.asked && this.ask(text)) this.asked = text;
    say(page.wait, read?.of === text ? "" : !text ? "Type a sentence." : text === this.asked ? "The model is reading." : "They come with the model, when it has read the text above.");
    page.maps.classList.toggle("sentence-none", !read);
    if (read) this.heads.show(read, at);
  }
}
