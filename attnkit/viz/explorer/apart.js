// One row, taken apart: the stages from q.k to the output, with the arithmetic of one key spelled
// out, and each stage of the whole map beside the others.

const FIRST_PRODUCTS = 3, SAFE = 30;

/** All numbers on the way of one row: a score, its exponential and its weight for each key. */
function takeApart(data, s, cell) {
  const row = readRow(data, s, cell), { weights } = row, shown = [...weights.keys()];
  const raw = shown.map((j) => row.raw[row.at + j]), scores = raw.map((v) => v * row.factor);
  const seen = shown.map(row.sees), most = Math.max(...scores.filter((_, j) => seen[j]));
  // Exponentials of large scores would run over: then the largest is taken off, as softmax does.
  const off = Math.abs(most) > SAFE && seen.includes(true) ? most : 0;
  const exps = scores.map((v, j) => seen[j] ? Math.exp(v - off) : 0);
  return { raw, scores, seen, off, exps, sum: exps.reduce((a, b) => a + b, 0), weights,
    output: data.value && outputOf(data, cell[0], weights) };
}

const amount = (v) => Math.abs(v) >= 1e4 ? v.toPrecision(4).replace("-", "−") : fixed(v, 2);

/** The stages that there are for these data, each with its name and its arithmetic. */
function stagesOf(data, s) {
  const scale = scaleOf(data, s), heat = s.temperature, name = data.kind === "qk" ? "q·k" : "score";
  const root = Math.sqrt(data.features), usual = Math.abs(scale * root - 1) < 1e-9;
  const by = (usual ? `× 1/√${data.features}` : `× ${short(scale)}`) + (heat === 1 ? "" : ` ÷ ${short(heat)}`);
  return [
    { name, tell: tellProduct },
    { name: by, tell: ({ raw, scores }, { key }) =>
      `${fixed(raw[key], 2)} × ${short(scale)}${heat === 1 ? "" : ` ÷ ${short(heat)}`} = ${fixed(scores[key], 2)}.` +
      (data.scale && !s.scaled ? " The scale is off, so nothing is taken away." : "") },
    { name: "mask", tell: ({ seen, scores }, { key, asks, is }) => seen[key]
      ? `${asks} may see ${is}: the score stays ${fixed(scores[key], 2)}.`
      : `${asks} may not see ${is}: its score becomes −∞.` },
    { name: "exp", tell: ({ exps, sum, scores, seen, off }, { key }) =>
      `e to the ${seen[key] ? fixed(scores[key], 2) : "−∞"}${off ? ` minus ${fixed(off, 2)}, the largest,` : ""} ` +
      `= ${amount(exps[key])}. All keys together: ${amount(sum)}.` },
    { name: "÷ sum", tell: ({ exps, sum, weights, seen }, { key }) =>
      sum ? `${amount(exps[key])} ÷ ${amount(sum)} = ${fixed(seen[key] ? weights[key] : 0)}, the weight: the number in the heat map.`
      : "Every key is hidden: there is nothing to divide, and all weights are 0." },
    ...data.value ? [{ name: "× V", tell: tellValue }] : [],
  ];
}

function tellProduct({ raw }, { data, head, query, key, asks, is }) {
  if (!data.query) return `The score of ${asks} and ${is} is ${fixed(raw[key], 2)}: it was given, not computed here.`;
  const q = data.query(head, query), k = data.key(head, key);
  const order = [...q.keys()].sort((a, b) => Math.abs(q[b] * k[b]) - Math.abs(q[a] * k[a]));
  const first = order.slice(0, FIRST_PRODUCTS).map((e) => `${fixed(q[e], 2)} × ${fixed(k[e], 2)}`);
  const more = q.length - first.length;
  return `${asks} asks, ${is} answers. Multiply ${q.length} features pair by pair and add: ` +
    `${first.join(" + ")}${more > 0 ? ` + ${more} more` : ""} = ${fixed(raw[key], 2)}.`;
}

function tellValue({ weights, output }, { data, head, key, asks, is }) {
  const value = data.value(head, key);
  return `${fixed(weights[key])} of the value of ${is} goes into the output of ${asks}. Its first feature: ` +
    `${fixed(weights[key])} × ${fixed(value[0])} = ${fixed(weights[key] * value[0])}; the sum over all keys is ` +
    `${fixed(output[0])}. The last line is that sum, for all ${output.length} features.`;
}

const APART = `<summary>One row, taken apart</summary><div class="explorer-stages" role="group"
aria-label="Stages"></div><table><thead><tr></tr></thead><tbody></tbody><tfoot><tr></tr></tfoot></table>
<p class="explorer-sum" role="status"></p><p class="machine-head">The whole map, stage by stage</p>
<div class="explorer-maps"></div>`;

class Apart {
  constructor(view, on) {
    Object.assign(this, { view, stage: 0, on });
    const { apart } = view.page, there = !view.data.frames;
    apart.hidden = !there;
    if (!there) return;
    on(apart, "toggle", () => this.show());
    on(apart, "click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.press(button);
    });
    // The table stands from the beginning, so that opening it needs no more than its numbers.
    apart.innerHTML = APART;
    keepKeys(apart);
    this.stage = stagesOf(view.data, view.settings).length - 1;
    // Where a row can be followed to its output it is, in the first such explorer of a page; not where
    // a guess is asked for: its answer is one line, and the next step has to stay in sight.
    if (!view.data.value || document.querySelector(".explorer-first")) return;
    apart.classList.add("explorer-first");
    apart.open = !asks(view.settings);
  }

  press(button) {
    const { view } = this, { stage, key } = button.dataset;
    if (stage !== undefined) this.stage = Number(stage);
    if (key !== undefined) {
      const cell = [...this.cell.slice(0, 2), Number(key)];
      view.take(cell, view.settings.pinned.length > 0);
      view.hover = null;
    }
    this.show();
    const again = stage === undefined ? `[data-key="${key}"]` : `[data-stage="${stage}"]`;
    view.page.apart.querySelector(again)?.focus();
  }

  /** Show the row of the cell in hand; nothing where the words are not on show. */
  show(cell = this.view.cursor) {
    const { view } = this, { data, settings: s, page: { apart } } = view;
    // Opened before the first drawing, it waits: there are no colours yet.
    if (!apart.open || apart.hidden || !view.hues || !view.isOnShow()) return;
    this.cell = cell;
    const [head, query, key] = cell, labels = labelsOf(data, s), row = takeApart(data, s, cell);
    const stages = stagesOf(data, s), hues = view.hues;
    const [group, , says] = ["stages", "table", "sum"].map((part) => apart.querySelector(`.explorer-${part}`));
    group.replaceChildren(...stages.map(({ name }, at) => {
      const button = make("button", { type: "button", textContent: `${at + 1} ${name}` });
      button.dataset.stage = at;
      button.ariaPressed = String(at === this.stage);
      return button;
    }));
    this.showTable(row, stages, labels, cell, hues);
    const asks = quoted(labels.queries[query]), is = quoted(labels.keys[key]);
    say(says, stages[this.stage].tell(row, { data, head, query, key, asks, is }));
    this.showMaps(head, stages, hues);
    keepKeys(apart);
  }

  showTable(row, stages, labels, [head, , key], hues) {
    const { view: { data, page: { apart } }, stage } = this, table = apart.querySelector("table");
    const at = (place, props, ...children) => make(props.scope ? "th" : "td", { ...props,
      className: place > stage ? "explorer-later" : place === stage ? "explorer-now" : place === stage - 1 ? "explorer-before" : "explorer-past" },
    ...children);
    const most = Math.max(...row.weights.map((w, j) => row.seen[j] ? w * largest(data.value?.(head, j)) : 0), 1e-9);
    const strip = (values, end) => stripOf(values, end, hues);
    const read = [(j) => fixed(row.raw[j], 2), (j) => fixed(row.scores[j], 2),
      (j) => row.seen[j] ? fixed(row.scores[j], 2) : "−∞", (j) => amount(row.exps[j]),
      (j) => fixed(row.seen[j] ? row.weights[j] : 0)];
    table.tHead.rows[0].replaceChildren(make("th", { scope: "col", textContent: "key" }),
      ...stages.map(({ name }, place) => at(place, { scope: "col", textContent: name })));
    table.tBodies[0].replaceChildren(...row.raw.map((_, j) => {
      const button = make("button", { type: "button", textContent: labels.keys[j] });
      button.dataset.key = j;
      button.ariaPressed = String(j === key);
      return make("tr", { className: j === key ? "explorer-chosen" : "" }, make("th", { scope: "row" }, button),
        ...stages.map((_, place) => place < 5 ? at(place, { textContent: read[place](j) })
          : at(place, {}, strip(data.value(head, j).map((v) => row.seen[j] ? v * row.weights[j] : 0), most))));
    }));
    const sums = ["", "", "", amount(row.sum), fixed([...row.weights].reduce((a, b) => a + b, 0))];
    table.tFoot.rows[0].replaceChildren(make("th", { scope: "row", textContent: "sum" }),
      ...stages.map((_, place) => place < 5 ? at(place, { textContent: sums[place] })
        : at(place, {}, strip(row.output, Math.max(largest(row.output), 1e-9)))));
  }

  /** Small maps of every stage of the whole head, and its output. */
  showMaps(head, stages, hues) {
    const { view: { data, settings: s, page: { apart } } } = this, { rows, cols } = sizeOf(data, s);
    const all = Array.from({ length: rows }, (_, i) => takeApart(data, s, [head, i]));
    const range = (lines) => Math.max(1e-9, ...lines.map((line) => largest(line.filter(Number.isFinite))));
    const map = (name, lines, end, width = cols, colours = hues.scores, low = -1) => make("figure", {},
      pixelsOf(lines, { width, ariaHidden: "true" }, colours, low, end), make("figcaption", { textContent: name }));
    const raw = all.map((row) => row.raw), scores = all.map((row) => row.scores);
    const hide = (lines) => lines.map((line, i) => [...line].map((v, j) => all[i].seen[j] ? v : null));
    const shown = [map(stages[0].name, raw, range(raw)), map(stages[1].name, scores, range(raw)),
      map("masked", hide(scores), range(raw)),
      map("weights", hide(all.map((row) => row.weights)), 1, cols, hues.weights, 0)];
    if (data.value) {
      const out = all.map((row) => row.output);
      shown.push(map("output", out, range(out), data.valueWidth));
    }
    apart.querySelector(".explorer-maps").replaceChildren(...shown);
  }
}

const largest = (values) => values ? values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) : 0;

/** A canvas with a pixel for each number, coloured from `low`, -1 or 0, to 1 of `end`; none for null. */
function pixelsOf(lines, props, colours, low, end) {
  const canvas = make("canvas", { ...props, height: lines.length }), pen = canvas.getContext("2d");
  const stops = colours.split(",").map(pixelOf);
  lines.forEach((line, i) => [...line].forEach((v, j) => {
    if (v === null) return;
    pen.fillStyle = `rgb(${colourAt(stops, Math.min(1, Math.max(0, (v / end - low) / (1 - low))))})`;
    pen.fillRect(j, i, 1, 1);
  }));
  return canvas;
}

/** A line of features as a strip of colours. */
function stripOf(values, end, hues) {
  const first = [...values].slice(0, 4).map((v) => fixed(v, 2)).join(", ");
  return pixelsOf([values], { className: "explorer-strip", width: values.length, role: "img",
    ariaLabel: first + (values.length > 4 ? ", …" : "") }, hues.scores, -1, end);
}
