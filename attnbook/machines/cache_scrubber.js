// A cache that grows word by word, and what it costs; the kit stands before it.

const WIDTH = 340, LEFT = 46, WORK = 96;

// ---- What is counted.

/** Multiply-adds of the attention layers at one step; `times` is how many words are computed. */
const stepCost = ({ embed_dim: E, num_heads: H, num_layers }, kvHeads, step, times) =>
  (2 * E * E + 2 * E * (kvHeads * E / H) + 2 * step * E) * times * num_layers;

function compute(data, { step, kv_heads: kvHeads }) {
  const each = data.words.map((_, j) => [1, j + 1].map((times) => stepCost(data, kvHeads, j + 1, times)));
  const total = (way) => each.slice(0, step).reduce((sum, one) => sum + one[way], 0);
  const perHead = 2 * step * (data.embed_dim / data.num_heads) * data.num_layers, numbers = perHead * kvHeads;
  return { each, numbers, bytes: numbers * data.number_bytes,
    saved: (perHead * data.num_heads - numbers) * data.number_bytes, cached: total(0), again: total(1) };
}

// ---- The page.

const divisors = (n) => Array.from({ length: n }, (_, i) => n - i).filter((d) => n % d === 0);
const kind = (kv, heads) => (kv === heads ? `${kv}, one each (MHA)` : kv === 1 ? "1 for all (MQA)" : `${kv}, shared (GQA)`);

const stage = `<div class="cache-plot"><svg class="cache-picture" aria-hidden="true"></svg></div>
<table class="cache-table"><thead><tr><th scope="col">multiply-adds</th><th scope="col">this word</th>
<th scope="col">so far</th></tr></thead><tbody></tbody></table>`;

const controls = ({ words, num_heads: heads }) => [
  slider("Words", "step", { min: 1, max: words.length, text: (n) => `${n} of ${words.length}`,
    heard: (n) => `${n}, ${quoted(words[n - 1])}` }),
  chooser("Key heads", "kv_heads", divisors(heads).map((kv) => [kv, kind(kv, heads)])),
];

function build({ page, data: { words }, on, take }) {
  page.table.tBodies[0].append(...["with the cache", "without the cache"].map((name) => make("tr", {},
    make("th", { scope: "row", textContent: name }), make("td"), make("td"))));
  const under = (x) => clamp(Math.ceil((x * WIDTH - LEFT) / (WIDTH - LEFT) * words.length), 1, words.length);
  drag(on, page.plot, (x) => ({ step: under(x) }), take);
}

function show(now, { page, data }) {
  const { step, kv_heads: kvHeads, numbers, each, cached, again } = now, { num_layers: layers, number_bytes: wide } = data;
  say(page.big, `${whole(now.bytes)} bytes in the cache`);
  say(page.say, `${plural(step, "word")} × 2 (key, value) × ${plural(kvHeads, "head")} × ${data.embed_dim / data.num_heads} features × ` +
    `${plural(layers, "layer")} = ${whole(numbers)} numbers of ${wide} bytes.`);
  [cached, again].forEach((sum, way) => [each[step - 1][way], sum].forEach((n, at) =>
    say(page.table.tBodies[0].rows[way].cells[at + 1], whole(n))));
  draw(page.picture, now, data);
}

const tell = ({ step, saved, each }) => `${saved ? ` Sharing saves ${whole(saved)} bytes.` : ""} Word ${step} takes ` +
  `${whole(each[step - 1][0])} multiply-adds with the cache, ${whole(each[step - 1][1])} without.`;

/** A column for each word: its keys and values in the cache, and below it the work of its step. Rows that
 * shared heads save keep their place and size, empty, with the bytes that they would have taken; and all
 * settings have one scale, so that shared heads show what they save. */
function draw(picture, { step, kv_heads: kvHeads, saved, each }, data) {
  const { words: names, num_heads: heads } = data, pitch = (WIDTH - LEFT) / names.length, wide = pitch - 3;
  const most = stepCost(data, heads, names.length, names.length);
  const tall = clamp(64 / heads, 6, 16), top = 6, row = (head, value) => top + (2 * head + value) * (tall + 2);
  const floor = row(heads, 0) + 14 + WORK;
  const left = tall < 12 ? [["cache", top + 12]] : [["key", row(0, 0) + tall - 4], ["value", row(0, 1) + tall - 4]];
  const parts = [...left, ["work", floor - WORK + 12]].map(([name, y]) => text("", 0, y, name));
  names.forEach((name, j) => {
    const x = LEFT + j * pitch, there = j < step, now = j === step - 1 ? " cache-new" : "";
    const [kept, again] = each[j].map((n) => Math.max(WORK * n / most, 1));
    for (let at = 0; at < 2 * (there ? heads : kvHeads); at++) {
      const role = at >= 2 * kvHeads ? "cache-saved" : there ? `cache-${at % 2 ? "value" : "key"}${now}` : "cache-empty";
      parts.push(rect(role, x, top + at * (tall + 2), wide, tall));
    }
    if (there) parts.push(rect("cache-again", x, floor - again, wide, again), rect(`cache-work${now}`, x, floor - kept, wide, kept));
    parts.push(text(now ? "cache-now" : there ? "" : "cache-later", 0, 0, name, { text_anchor: "end",
      transform: `translate(${(x + wide / 2 + 4).toFixed(1)} ${floor + 12}) rotate(-55)` }));
  });
  parts.push(rule("cache-floor", LEFT, floor, WIDTH, floor));
  if (saved) parts.push(text("cache-less", LEFT + 6, (row(kvHeads, 0) + row(heads, 0)) / 2 + 3, `saved: ${whole(saved)} bytes`));
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${floor + 62}`);
  picture.replaceChildren(...parts);
}

export default machine({ name: "cache", label: "A cache to grow",
  data: ["words", "embed_dim", "num_heads", "num_layers", "number_bytes"], settings: ["step", "kv_heads"],
  stage, controls, build, compute, show, tell });
