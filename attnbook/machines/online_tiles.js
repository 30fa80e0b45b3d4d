// One row of attention, read a tile at a time; the kit stands before it.

const LOW = -4, HIGH = 6, TOP = 27, TALL = 70, SHARES = 109, DEEP = 60, FOOT = 88, SLIDE = 400, FLOAT32 = 3.4e38;
/** Units across, and what the names of the sums take of them: on a telephone a unit is about a pixel. */
const widthsOf = (area, shift) => (isNarrow(area) ? [330, shift ? 146 : 118] : [480, shift ? 150 : 132]);

// ---- What is computed.

const known = (v) => (Number.isFinite(v) ? v : null);

function compute({ values }, { scores: own, order, size, seen, shift, rescale, largest }) {
  const scores = own.map((v) => v + shift), parts = scores.map(() => 0);
  let m = -Infinity, d = 0, o = 0, factor = 1;
  for (let start = 0; start < seen; start += size) {
    const tile = order.slice(start, start + size), next = Math.max(m, ...tile.map((j) => scores[j]));
    const base = largest ? next : 0;
    factor = rescale && start ? Math.exp((largest ? m : 0) - base) : 1;
    parts.forEach((v, j) => { parts[j] = v * factor; });
    d *= factor;
    o *= factor;
    for (const j of tile) {
      parts[j] = Math.exp(scores[j] - base);
      d += parts[j];
      o += parts[j] * values[j];
    }
    m = next;
  }
  const all = softmax(scores);
  return { maximum: seen ? m : null, sum: known(d), weighted: known(o), factor: known(factor), output: known(d ? o / d : 0),
    weights: parts.map((v) => known(d ? v / d : v)), all, whole: all.reduce((sum, v, j) => sum + v * values[j], 0) };
}

// ---- The page.

const stage = `<div class="online-plot"><svg class="online-area"><g class="online-under"></g><g class="online-keys"></g></svg></div>
<ul class="online-carried"><li></li><li></li><li></li><li></li></ul>`;

/** The same keys from the largest score to the lowest, and in an order that is mixed but always the same. */
const falling = ({ scores, order }) => [...order].sort((a, b) => scores[b] - scores[a]);
const mixed = (order) => [...order.filter((_, p) => p % 2), ...order.filter((_, p) => p % 2 === 0)];

const controls = ({ values, shifts }) => {
  const count = values.length, sizes = values.map((_, n) => n + 1).filter((n) => count % n === 0);
  const size = chooser("Tile", "size", sizes.map((n) => [n, plural(n, "key")])), { read } = size;
  // What has been read is a number of whole tiles, and not nothing where there was something.
  size.read = (s) => { const { size: n } = read(s); return { size: n, seen: Math.max(Math.floor(s.seen / n), s.seen ? 1 : 0) * n }; };
  // Without a maximum there is nothing to correct.
  const correct = toggle("Correct when the maximum grows", "rescale"), { show: tick } = correct;
  correct.show = (s) => { tick(s); correct.input.disabled = !s.largest; };
  // After the last tile the same button begins the row again, and says so.
  const next = button("Next tile", ({ seen, size: n }) => ({ seen: seen < count ? seen + n : 0 }));
  next.show = ({ seen }) => { next.element.textContent = seen < count ? "Next tile" : "Start again"; };
  return [
    size, chooser("Added to all", "shift", shifts.map((n) => [n, String(n)])),
    correct, toggle("Subtract the maximum", "largest"),
    next, button("Shuffle", ({ order }) => ({ order: mixed(order) })), button("Largest first", (s) => ({ order: falling(s) })),
  ];
};
const fits = {
  seen: (v, { size }, { values }) => Number.isInteger(v) && v >= 0 && v <= values.length && v % size === 0,
  scores: (v, s, { values }) => Array.isArray(v) && v.length === values.length && v.every((one) => Number.isFinite(one) && one >= LOW && one <= HIGH),
  order: (v, s, { values }) => Array.isArray(v) && alike([...v].sort((a, b) => a - b), values.map((_, j) => j)),
};

const height = (score) => TOP + TALL * (HIGH - score) / (HIGH - LOW);

function build({ page, data: { values }, on, sized, take, settings, update }) {
  const set = (j, v) => ({ scores: settings().scores.map((old, k) => (k === j ? clamp(Math.round(2 * v) / 2, LOW, HIGH) : old)) });
  page.keys.append(...values.map((_, j) => svg("g", { class: "online-key", tabindex: 0, role: "slider", "aria-label": `Score of key ${j}`,
    "aria-valuemin": LOW, "aria-valuemax": HIGH }, rect("online-hand", 0, 0, 0, SHARES - 10), rect("online-score", 0, 0, 0, 0),
    rect("online-grip", 0, 0, 0, 7, { rx: 3 }), text("online-number", 0, 0, "", { text_anchor: "middle" }))));
  [...page.keys.children].forEach((node, j) => {
    arrows(on, node, (right, up) => set(j, settings().scores[j] + (right + up) / 2), take, true);
    drag(on, node.firstChild, (x, y) => set(j, HIGH - (y * (SHARES - 10) - TOP) / TALL * (HIGH - LOW)), take);
    on(node, "pointerdown", () => node.focus({ preventScroll: true }));
  });
  sized(page.area, () => page.wide !== widthsOf(page.area)[0] && update());
}

/** Whether this is the next tile of what was on show, and may be seen to come. */
const follows = (now, before) => before && now.seen === before.seen + now.size && !matchMedia("(prefers-reduced-motion: reduce)").matches &&
  ["scores", "order", "size", "shift", "rescale", "largest"].every((name) => alike(now[name], before[name]));

/** A bar that comes from another length, if it moves: `scale` is that length as a multiple of its own. */
function from(moves, scale, axis, bar) {
  if (moves && Number.isFinite(scale) && scale !== 1) {
    bar.animate([{ transform: `scale${axis}(${scale})` }, { transform: "none" }], { duration: SLIDE, easing: "ease-in-out" });
  }
  return bar;
}

const number = (v) => (v === null ? "too large" : Math.abs(v) >= 1e4 ? v.toExponential(2).replace("e+", "e") : fixed(v, 2));

function show(now, { page, data: { values } }) {
  const { scores, order, size, seen, shift, rescale, largest, maximum, sum, weighted, factor, output, weights, all, whole: wanted } = now;
  // What was carried before the last tile, to show what becomes of it.
  const old = compute({ values }, { ...now, seen: Math.max(0, seen - size) }), changed = seen > size;
  const times = significant(factor, 3);
  const left = values.length - seen, done = !left, off = output === null || Math.abs(output - wanted) > 1e-9;
  const moves = follows(now, page.before), maxima = changed ? `${fixed(old.maximum, 1)} − ${maximum < 0 ? `(${fixed(maximum, 1)})` : fixed(maximum, 1)}` : "";
  page.before = now;
  say(page.big, `${done ? "Output" : "Output so far"} ${output === null ? "not a number" : seen ? fixed(output, 3) : "nothing"}; the whole row's: ${fixed(wanted, 3)}`);
  say(page.say, done ? off ? "All keys read, and wrong." : largest && !rescale && changed ? "All keys read: right, by luck. In this order the maximum never grew."
    : `All keys read: the same, in tiles of ${plural(size, "key")}, in this order, and in any other.`
    : `${plural(left, "key")} to come${seen && rescale && output !== null ? ", so each weight so far is too large" : ""}.`);
  const [wide, before] = widthsOf(page.area, shift), pitch = wide / values.length, low = SHARES + DEEP, foot = low + 25, place = { text_anchor: "middle" };
  page.wide = wide;
  put(page.area, { viewBox: `0 0 ${wide} ${SHARES + DEEP + FOOT}` });
  const tall = (share) => DEEP * (share || 0) * 0.95, long = (v) => (wide - before - 46) * v / Math.max(sum, old.sum), legend = wide / 480;
  const carried = changed && sum !== null && old.sum !== null, kept = carried ? old.sum * factor : 0;
  const row = (at, words, value, ...bars) => [svg("text", { class: "online-name", x: before - 8, y: foot + 9 + at, text_anchor: "end" }, ...words), ...bars,
    text("online-name", before + long(value) + 6, foot + 9 + at, number(value))];
  const raised = svg("tspan", { class: "online-power", dy: -4 }, maxima), fallen = svg("tspan", { dy: 4 }, ` = ${times}`);
  page.under.replaceChildren(text("online-name", 0, 9, largest && seen ? "scores (drag them), and their maximum so far" : "scores (drag them)"), rule("online-axis", 0, height(0), wide, height(0)), ...order.flatMap((j, p) => {
      const x = p * pitch, at = x + pitch * 0.24, thick = pitch * 0.52, was = changed ? tall(old.weights[j]) : 0, is = tall(weights[j]), end = low - tall(all[j]);
      return [...p % size ? [] : [rect(p < seen ? "online-tile online-read" : "online-tile", x + 1, 13, pitch * size - 2, low - 11, { rx: 5 })],
        rect("online-was", at, low - was, thick, was), rule("online-true", at - 5, end, at + thick + 5, end), from(moves && p < seen, was / is, "Y", rect("online-share", at, low - is, thick, is)),
        text("online-value", x + pitch / 2, low + 15, p ? significant(values[j], 3) : `v = ${significant(values[j], 3)}`, place)];
    }), ...largest && seen ? [rule("online-most", 1, height(maximum - shift), pitch * seen - 1, height(maximum - shift))] : [],
    rect("online-share", 0, foot, 9, 9), text("online-name", 14, foot + 9, "weight so far"), rect("online-was", 150 * legend, foot, 9, 9), text("online-name", 150 * legend + 14, foot + 9, "one tile before"),
    rule("online-true", 320 * legend, foot + 5, 320 * legend + 18, foot + 5), text("online-name", 320 * legend + 24, foot + 9, "in the end"),
    ...carried ? [...row(18, ["sum d before"], old.sum, rect("online-sum online-old", before, foot + 18, long(old.sum), 10)),
      ...row(35, largest && rescale ? ["× e", raised, fallen] : [largest ? "not corrected" : "unchanged"], kept, from(moves, old.sum / kept, "X", rect("online-sum", before, foot + 35, long(kept), 10))),
      ...row(52, ["+ this tile"], sum, rect("online-sum", before, foot + 52, long(kept), 10),
        from(moves, 0, "X", rect("online-sum online-new", before + long(kept), foot + 52, long(sum - kept), 10)))] : []);
  order.forEach((j, p) => {
    const node = page.keys.children[j], [hand, box, grip, said] = node.children, y = height(scores[j]), zero = height(0);
    put(node, { transform: `translate(${p * pitch} 0)`, class: p < seen ? "online-key" : "online-key online-later",
      "aria-valuenow": scores[j], "aria-valuetext": `${fixed(scores[j], 1)}, weight ${fixed(all[j], 2)}, ${p < seen ? "read" : "to come"}` });
    put(hand, { width: pitch });
    put(box, { x: pitch * 0.24, width: pitch * 0.52, y: Math.min(y, zero), height: Math.abs(y - zero) });
    put(grip, { x: pitch * 0.16, width: pitch * 0.68, y: y - 3.5 });
    put(said, { x: pitch / 2, y: scores[j] < 0 ? y + 14 : y - 6 });
    say(said, fixed(scores[j] + shift, 1));
  });
  const [a, b, c, e] = page.carried.children;
  // What was carried, times the correction, and what the tile adds.
  const made = (before, after) => (!changed || before === null || after === null ? "" : `${number(before)}${largest && rescale ? ` × ${times}` : ""} + ${number(after - before * factor)} = `);
  say(a, largest ? `maximum m = ${maximum === null ? "−∞" : fixed(maximum, 1)}${changed ? `, was ${fixed(old.maximum, 1)}` : ""}` : "maximum m: not used");
  say(b, `sum d = ${made(old.sum, sum)}${number(sum)}${sum > FLOAT32 ? " (too large for float32)" : ""}`);
  say(c, `undivided output o = ${made(old.weighted, weighted)}${number(weighted)}`);
  say(e, !largest ? "nothing is subtracted, so nothing to correct" : !changed ? done ? "one tile: nothing to correct" : "nothing to correct yet" : rescale ? `correction × ${times}` : "correction left out");
}

export default machine({ name: "online", label: "One row, a tile at a time", data: ["values", "shifts"],
  settings: ["scores", "order", "size", "seen", "shift", "rescale", "largest"], stage, controls, fits, build, compute, show,
  tell: ({ maximum, sum, largest }) => ` Carried: maximum ${!largest ? "not used" : maximum === null ? "none" : fixed(maximum, 1)}, sum ${number(sum)}.` });
