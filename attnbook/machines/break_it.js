// A layer of attention to break, line by line; the kit and layers.js stand before it.

const HEADS = 2, SIZE = 4, PADDING = 2, LOWEST = -3.4028234663852886e38, CANNOT = "cannot be asked: ";

// ---- What is computed.

const transposed = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));

/** Weights (H, L, L) and output (L, E) of the layer with these lines broken. */
function run({ qkv, mix }, names) {
  const broken = Object.fromEntries(names.map((name) => [name, true]));
  const n = qkv.length, wide = HEADS * SIZE, heads = [...Array(HEADS).keys()];
  const [query, key, value] = [0, 1, 2].map((part) => {
    const rows = qkv.map((row) => row.slice(part * wide, (part + 1) * wide)), flat = rows.flat();
    return heads.map((h) => rows.map((row, i) => (broken.split ? flat.slice((h * n + i) * SIZE, (h * n + i + 1) * SIZE) : row.slice(h * SIZE, (h + 1) * SIZE))));
  });
  const seen = (i, j) => j <= i + Number(broken.causal ?? 0) && (broken.axis ? i : j) >= PADDING;
  const low = broken.fill ? -1e9 : LOWEST, by = broken.scale ? 1 : Math.sqrt(SIZE);
  const weights = heads.map((h) => {
    const scores = query[h].map((q, i) => key[h].map((k, j) => (broken.kept || seen(i, j) ? dot(q, k) / by : low)));
    const shares = broken.axis_of_softmax ? transposed(transposed(scores).map(softmax)) : scores.map(softmax);
    return shares.map((row, i) => row.map((w, j) => (broken.empty || seen(i, j) ? w : 0)));
  });
  const output = qkv.map((_, i) => times(mix, heads.flatMap((h) => averaged(weights[h][i], value[h]))));
  return { output, weights: broken.mean ? [weights[0].map((row, i) => row.map((w, j) => (w + weights[1][i][j]) / 2))] : weights };
}

const switches = ({ lines }) => lines.filter(([, , name]) => name);

function compute(data, { first, second }) {
  const broken = switches(data).map(([, , name]) => name).filter((name) => name === first || name === second);
  const right = run(data, []), now = run(data, broken), said = data.rows[broken.join(" ")];
  const isRed = (place) => place > 0 && !data.words[place].startsWith(CANNOT);
  return { right: right.weights, weights: now.weights, said, broken,
    moved: broken.includes("dropout") ? null : now.output.map((row, i) => Math.hypot(...row.map((v, e) => v - right.output[i][e]))),
    red: [...said.keys()].filter((n) => isRed(said[n])) };
}

// ---- The page.

const stage = `<div class="break-whole"><svg class="break-maps" aria-hidden="true"></svg><p class="break-legend">Each row shows where one word looks: the <span class="break-more">darker</span> the cell, the more. Inside the heavy line it may look. A red dot is weight where it may not. A red Σ is a wrong sum: a pad row should have 0, the others 1.</p><ul class="break-lamps"></ul></div>`;

/** A line of code in one piece or two: a comment at its end goes to the next line as a whole. */
function coded(line) {
  const [, words, why] = line.match(/^(.*\S)(  # .*)$/) ?? [];
  return why ? [words, make("span", { className: "break-why", textContent: why })] : [line];
}

/** A line of the code that a box breaks; a third one mends the oldest. */
function breakable([right, wrong, name, exhibit, slip]) {
  const one = toggle(exhibit, name), code = make("code", { className: "break-in" }), broken = ({ first, second }) => [first, second].filter((v) => v && v !== name);
  one.element.replaceChildren(one.input, code);
  one.show = (s) => {
    const is = s.broken.includes(name);
    one.input.checked = is;
    const words = is ? `${wrong}  # ${slip || exhibit}` : right;
    if (code.textContent !== words) code.replaceChildren(...coded(words));
    one.element.classList.toggle("break-broken", is);
  };
  one.read = (s) => {
    const [first = "", second = ""] = [...broken(s), ...one.input.checked ? [name] : []].slice(-2);
    return { first, second };
  };
  return one;
}

const controls = (data) => switches(data).map(breakable);

/** Put the lines that no box breaks where they stand. */
function build({ page: { controls: box }, data: { lines } }) {
  lines.forEach(([right, , name], n) => {
    if (!name) box.insertBefore(make("code", { className: `break-fixed${n ? " break-in" : ""}` }, ...coded(right)), box.children[n]);
  });
}

function show(now, { page, data }) {
  const { red, weights, right, moved, said } = now, broken = switches(data).filter(([, , name]) => now.broken.includes(name));
  const usual = red.filter((n) => n < 3).length, unsure = said.filter((place, n) => place && !red.includes(n)).length, changed = weights.length < 2 || weights.some((head, h) => head.some((row, i) => row.some((w, j) => Math.abs(w - right[h][i][j]) > 5e-4)));
  say(page.big, broken.length ? `${usual} of 3 usual tests and ${red.length - usual} of 9 checks fail${unsure ? `, ${unsure} cannot tell` : ""}` : "All tests and all checks pass");
  const places = moved ? moved.filter((v) => v > 5e-4).length : 0;
  say(page.say, !broken.length ? "Nothing is broken. Tick a line to break it: one, or two." : `The map${changed ? " changes" : " stays as it was"}; ${
    moved ? places ? `the output changes at ${places} of ${moved.length} places` : "the output stays as it was" : "the output is another at each call"}.${broken.length > 1 ? " A third tick clears the older." : ""}`);
  drawMaps(page.maps, now, data, heat(page.root));
  say(page.more, page.root.hasAttribute("data-dark") ? "lighter" : "darker");
  const first = red.find((n) => n >= 3);
  fill(page.lamps, data.lamps, () => make("li", {}, svg("svg", { viewBox: "0 0 20 20", aria_hidden: "true" }, svg("circle", { cx: 10, cy: 10, r: 8 })), make("span")),
    (item, name, n) => {
      const words = data.words[said[n]], state = red.includes(n) ? "red" : words ? "grey" : "green", key = `${said[n]} ${n === first}`;
      if (item.dataset.key === key) return;
      item.dataset.key = key;
      item.className = `break-${state}`;
      const label = `${name} ${{ red: "fails", grey: "cannot tell", green: "passes" }[state]}`;
      item.lastChild.replaceWith(n < 3 || !words ? make("span", { textContent: label })
        : make("details", { open: n === first }, make("summary", { textContent: label }), make("span", { className: "break-said", textContent: words.replace(`${name}: `, "").replace(CANNOT, "") })));
    });
}

const CELL = 21, LEFT = 48, GAP = 32;

/** Head 0, or the mean, as it should be and as it is, with the sum of a row where that is not what it should be. */
function drawMaps(picture, { right, weights }, { names }, shades) {
  const n = names.length, side = n * CELL, top = 22, parts = [], centre = { text_anchor: "middle" };
  [right, weights].forEach((maps, which) => {
    const left = LEFT + which * (side + GAP);
    parts.push(text("break-name", left, top - 8, `${which ? "yours" : "correct"}, ${maps.length > 1 ? "head 0" : "mean of both heads"}`));
    maps[0].forEach((row, i) => {
      if (!which) parts.push(text("break-axis", left - 6, top + i * CELL + 15, names[i], { text_anchor: "end" }));
      row.forEach((w, j) => {
        const at = [left + j * CELL, top + i * CELL];
        parts.push(rect("break-cell", ...at, CELL, CELL, { fill: shades(w).background }));
        if ((j > i || j < PADDING) && w > 1e-6) parts.push(svg("circle", { class: "break-leak", cx: at[0] + CELL / 2, cy: at[1] + CELL / 2, r: 4 }));
      });
      const sum = sumOf(row);
      if (which && Math.abs(sum - (i >= PADDING)) > 1e-3) parts.push(text("break-sum", left + side + 4, top + i * CELL + 15, `Σ ${fixed(sum, 2)}`));
    });
    names.forEach((name, j) => parts.push(text("break-key", left + (j + 0.5) * CELL, top + side + 11, name, centre)));
    parts.push(svg("path", { class: "break-edge", d: `M${left + PADDING * CELL} ${top + PADDING * CELL}${
      Array.from({ length: n - PADDING }, (_, k) => `H${left + (k + 1 + PADDING) * CELL}V${top + (k + 1 + PADDING) * CELL}`).join("")}H${left + PADDING * CELL}Z` }));
  });
  picture.setAttribute("viewBox", `0 0 ${LEFT + 2 * side + GAP + 44} ${top + side + 16}`);
  picture.replaceChildren(...parts);
}

const tell = ({ red }, { lamps }) => (red.length ? ` Red: ${red.map((n) => lamps[n]).join(", ")}.` : "");

const known = (v, _, data) => v === "" || switches(data).some(([, , name]) => name === v);

export default machine({ name: "break", label: "A layer to break", data: ["names", "lines", "qkv", "mix", "lamps", "words", "rows"],
  settings: ["first", "second"], fits: { first: known, second: known }, stage, controls, build, compute, show, tell });
