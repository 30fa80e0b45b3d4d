// A cache that grows word by word, and what it costs; common.js and maps.js stand before it.

const SETTINGS = ["step", "kv_heads"], WIDTH = 340, LEFT = 46, WORK = 96;

// ---- What is counted.

/** Multiply-adds of the attention layers at one step; `again` is how many words are computed. */
function stepCost({ embed_dim: E, num_heads: H, num_layers }, kvHeads, step, again) {
  return (2 * E * E + 2 * E * (kvHeads * E / H) + 2 * step * E) * again * num_layers;
}

function count(data, step, kvHeads) {
  const each = data.words.map((_, j) => [stepCost(data, kvHeads, j + 1, 1), stepCost(data, kvHeads, j + 1, j + 1)]);
  const total = (way) => each.slice(0, step).reduce((sum, one) => sum + one[way], 0);
  const numbers = 2 * step * kvHeads * (data.embed_dim / data.num_heads) * data.num_layers;
  return { each, numbers, bytes: numbers * data.number_bytes, withCache: total(0), again: total(1) };
}

const divisors = (n) => Array.from({ length: n }, (_, i) => n - i).filter((d) => n % d === 0);
const whole = (n) => n.toLocaleString("en-US");
const kind = (kv, heads) => kv === heads ? `${kv}, one each (MHA)` : kv === 1 ? "1 for all (MQA)" : `${kv}, shared (GQA)`;

const PAGE = `<p class="ak-title"></p><div class="ak-controls"></div><p class="ak-big"></p><p class="ak-say"></p>
<div class="ck-plot"><svg class="ck-cache" aria-hidden="true"></svg></div>
<table class="ck-table"><thead><tr><th scope="col">multiply-adds</th><th scope="col">this word</th>
<th scope="col">so far</th></tr></thead><tbody></tbody></table>
<p class="ak-note"></p><p class="ak-live" role="status"></p>`;

class View {
  constructor(model, el) {
    this.model = model;
    const data = this.data = traitsOf(model, ["words", "embed_dim", "num_heads", "num_layers", "number_bytes"]);
    this.initial = traitsOf(model, SETTINGS);
    const page = this.page = buildPage(model, "attnkit-explorer attnkit-hand attnkit-scrubber", PAGE, "A cache to grow");
    this.choices = divisors(data.num_heads);
    this.addControls();
    this.rows = ["with the cache", "everything again"].map((name) => make("tr", {},
      make("th", { scope: "row", textContent: name }), make("td"), make("td")));
    page.table.tBodies[0].append(...this.rows);
    page.root.snapshot = () => this.snapshot();
    this.listen();
    el.append(page.root);
    this.update();
  }

  addControls() {
    const { words, num_heads: heads } = this.data;
    this.slider = make("input", { type: "range", min: 1, max: words.length, step: 1, ariaLabel: "Words" });
    this.output = make("output");
    this.chooser = make("select", { ariaLabel: "Key heads" },
      ...this.choices.map((kv) => make("option", { textContent: kind(kv, heads) })));
    this.reset = make("button", { type: "button", textContent: "Reset", className: "ak-reset" });
    this.page.controls.append(make("label", {}, "Words", this.slider, this.output),
      make("label", {}, "Key heads", this.chooser), this.reset);
  }

  listen() {
    const { root, plot } = this.page, update = () => this.update();
    const { on, end } = follow(this.model, SETTINGS, root, update);
    on(this.slider, "input", () => this.take({ step: Number(this.slider.value) }));
    on(this.chooser, "input", () => this.take({ kv_heads: this.choices[this.chooser.selectedIndex] }));
    on(this.reset, "click", () => this.take(this.initial));
    on(plot, "pointerdown", (event) => this.take({ step: this.under(event) }));
    on(plot, "pointermove", (event) => event.buttons && this.take({ step: this.under(event) }));
    on(matchMedia("print"), "change", update);
    this.close = end;
  }

  /** The word whose column is under a pointer. */
  under({ clientX }) {
    const box = this.page.cache.getBoundingClientRect(), { words } = this.data;
    const at = ((clientX - box.left) * WIDTH / box.width - LEFT) / (WIDTH - LEFT) * words.length;
    return Math.min(Math.max(Math.ceil(at), 1), words.length);
  }

  take(values) {
    write(this.model, values);
    const { big, say: said, live } = this.page, { step, saved, withCacheNow, againNow } = this.snapshot();
    const less = saved ? ` Sharing saves ${whole(saved)} bytes.` : "";
    live.textContent = `${big.textContent}. ${said.textContent}${less} Word ${step} takes ${whole(withCacheNow)} ` +
      `multiply-adds with the cache, ${whole(againNow)} without.`;
  }

  update() {
    const { page, data } = this, found = this.snapshot(), { step, kvHeads } = found;
    readStyle(page.root);
    this.slider.value = step;
    this.chooser.selectedIndex = this.choices.indexOf(kvHeads);
    say(this.output, `${step} of ${data.words.length}`);
    this.slider.ariaValueText = `${step}, ${quoted(data.words[step - 1])}`;
    say(page.big, `${whole(found.bytes)} bytes in the cache`);
    const size = data.embed_dim / data.num_heads;
    say(page.say, `${step} ${step > 1 ? "words" : "word"} × 2 (key, value) × ${kvHeads} ${kvHeads > 1 ? "heads" : "head"} × ${size} features × ` +
      `${data.num_layers} ${data.num_layers > 1 ? "layers" : "layer"} = ${whole(found.numbers)} numbers of ${data.number_bytes} bytes.`);
    [[found.withCacheNow, found.withCache], [found.againNow, found.again]].forEach((pair, way) => {
      [...this.rows[way].cells].slice(1).forEach((cell, at) => say(cell, whole(pair[at])));
    });
    this.draw(found);
  }

  /**
   * A column for each word: its keys and values in the cache, and below it the work of its step. Rows that
   * shared heads save keep their place and size, empty, with the bytes that they would have taken.
   */
  draw({ step, kvHeads, saved, each }) {
    const { words, num_heads: heads } = this.data, pitch = (WIDTH - LEFT) / words.length, wide = pitch - 3;
    const tall = Math.max(6, Math.min(16, 64 / heads)), top = 6, row = (head, value) => top + (2 * head + value) * (tall + 2);
    // One scale for all settings, so that shared heads show what they save.
    const most = stepCost(this.data, heads, words.length, words.length), floor = row(heads, 0) + 14 + WORK;
    const box = (name, x, y, w, h) => `<rect class="${name}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${w.toFixed(1)}" height="${Math.max(h, 1).toFixed(1)}"/>`;
    const name = (y, text) => `<text x="0" y="${y}">${text}</text>`;
    const names = tall < 12 ? [name(top + 12, "cache")] : [0, 1].map((value) => name(row(0, value) + tall - 4, value ? "value" : "key"));
    const parts = [...names, name(floor - WORK + 12, "work")];
    words.forEach((_, j) => {
      const x = LEFT + j * pitch, there = j < step, [kept, again] = each[j];
      for (let head = 0; head < (there ? heads : kvHeads); head++) {
        for (const value of [0, 1]) {
          const kept = `ck-${value ? "value" : "key"}${j === step - 1 ? " ck-new" : ""}`;
          const role = head >= kvHeads ? "ck-saved" : there ? kept : "ck-empty";
          parts.push(box(role, x, row(head, value), wide, tall));
        }
      }
      if (there) {
        parts.push(box("ck-again", x, floor - WORK * again / most, wide, WORK * again / most),
          box(j === step - 1 ? "ck-work ck-new" : "ck-work", x, floor - WORK * kept / most, wide, WORK * kept / most));
      }
    });
    parts.push(`<line class="ck-floor" x1="${LEFT}" x2="${WIDTH}" y1="${floor}" y2="${floor}"/>`);
    if (saved) parts.push(`<text class="ck-less" x="${LEFT + 6}" y="${(row(kvHeads, 0) + row(heads, 0)) / 2 + 3}">saved: ${whole(saved)} bytes</text>`);
    const svg = this.page.cache, high = floor + 62;
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${high}`);
    svg.innerHTML = parts.join("");
    words.forEach((word, j) => {
      const text = document.createElementNS(svg.namespaceURI, "text"), x = LEFT + j * pitch + wide / 2 + 4;
      text.setAttribute("transform", `translate(${x.toFixed(1)} ${floor + 12}) rotate(-55)`);
      text.setAttribute("text-anchor", "end");
      text.setAttribute("class", j < step ? j === step - 1 ? "ck-now" : "" : "ck-later");
      text.textContent = word;
      svg.append(text);
    });
  }

  /** What is on show: settings and counts. */
  snapshot() {
    const { step, kv_heads: kvHeads } = traitsOf(this.model, SETTINGS), found = count(this.data, step, kvHeads);
    const saved = count(this.data, step, this.data.num_heads).bytes - found.bytes;
    const [withCacheNow, againNow] = found.each[step - 1];
    return { step, kvHeads, ...found, saved, withCacheNow, againNow };
  }
}

export default { render: ({ model, el }) => new View(model, el).close };
