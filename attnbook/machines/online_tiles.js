// One row of attention, read a tile at a time; the kit stands before it.

const LOW = -4, HIGH = 6, WIDE = 480, TOP = 16, TALL = 70, SHARES = 98, DEEP = 60, FOOT = 69, BEFORE = 130;

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

const stage = `<div class="online-plot"><svg class="online-area" viewBox="0 0 ${WIDE} ${SHARES + DEEP + FOOT}"><g class="online-under"></g><g class="online-keys"></g></svg></div>
<ul class="online-carried"><li></li><li></li><li></li><li></li></ul>`;

/** The same keys from the largest score to the lowest, and in an order that is mixed but always the same. */
const falling = ({ scores, order }) => [...order].sort((a, b) => scores[b] - scores[a]);
const mixed = (order) => [...order.filter((_, p) => p % 2), ...order.filter((_, p) => p % 2 === 0)];

const controls = ({ values, shifts }) => {
  const count = values.length, sizes = values.map((_, n) => n + 1).filter((n) => count % n === 0);
  const size = chooser("Tile", "size", sizes.map((n) => [n, plural(n, "key")])), { read } = size;
  // What has been read is a number of whole tiles.
  size.read = (s) => { const { size: n } = read(s); return { size: n, seen: Math.floor(s.seen / n) * n }; };
  // After the last tile the same button begins the row again, and says so.
  const next = button("Next tile", ({ seen, size: n }) => ({ seen: seen < count ? seen + n : 0 }));
  next.show = ({ seen }) => { next.element.textContent = seen < count ? "Next tile" : "Start again"; };
  return [
    size, chooser("Added to all", "shift", shifts.map((n) => [n, String(n)])),
    toggle("Subtract the maximum", "largest"), toggle("Correct when the maximum grows", "rescale"),
    next, button("Shuffle", ({ order }) => ({ order: mixed(order) })), button("Largest first", (s) => ({ order: falling(s) })),
  ];
};
const fits = {
  seen: (v, { size }, { values }) => Number.isInteger(v) && v >= 0 && v <= values.length && v % size === 0,
  scores: (v, s, { values }) => Array.isArray(v) && v.length === values.length && v.every((one) => Number.isFinite(one) && one >= LOW && one <= HIGH),
  order: (v, s, { values }) => Array.isArray(v) && alike([...v].sort((a, b) => a - b), values.map((_, j) => j)),
};

const height = (score) => TOP + TALL * (HIGH - score) / (HIGH - LOW);

function build({ page, data: { values }, on, take, settings }) {
  const pitch = WIDE / values.length, set = (j, v) => ({ scores: settings().scores.map((old, k) => (k === j ? clamp(Math.round(2 * v) / 2, LOW, HIGH) : old)) });
  page.keys.append(...values.map((_, j) => svg("g", { class: "online-key", tabindex: 0, role: "slider", "aria-label": `Score of key ${j}`,
    "aria-valuemin": LOW, "aria-valuemax": HIGH }, rect("online-hand", 0, 0, pitch, SHARES - 10), rect("online-score", pitch * 0.24, 0, pitch * 0.52, 0),
    rect("online-grip", pitch * 0.16, 0, pitch * 0.68, 7, { rx: 3 }))));
  [...page.keys.children].forEach((node, j) => {
    arrows(on, node, (right, up) => set(j, settings().scores[j] + (right + up) / 2), take);
    drag(on, node.firstChild, (x, y) => set(j, HIGH - (y * (SHARES - 10) - TOP) / TALL * (HIGH - LOW)), take);
    on(node, "pointerdown", () => node.focus({ preventScroll: true }));
  });
}

const number = (v) => (v === null ? "too large" : Math.abs(v) >= 1e4 ? v.toExponential(2).replace("e+", "e") : fixed(v, 2));

function show(now, { page, data: { values } }) {
  const { scores, order, size, seen, shift, rescale, largest, maximum, sum, weighted, factor, output, weights, all, whole: wanted } = now;
  // What was carried before the last tile, to show what becomes of it.
  const old = compute({ values }, { ...now, seen: Math.max(0, seen - size) }), changed = seen > size;
  const times = factor >= 0.01 || factor === 0 ? fixed(factor, 2) : factor.toExponential(1).replace("-", "−");
  const left = values.length - seen, done = !left, off = output === null || Math.abs(output - wanted) > 1e-9;
  say(page.big, `${done ? "Output" : "Output so far"} ${output === null ? "not a number" : seen ? fixed(output, 3) : "nothing"}; the whole row's: ${fixed(wanted, 3)}`);
  say(page.say, done ? off ? "All keys read, and wrong." : largest && !rescale ? "All keys read: right, by luck. In this order the maximum never grew."
    : `All keys read: the same, in tiles of ${plural(size, "key")}, in this order, and in any other.`
    : `${plural(left, "key")} to come${seen && rescale && output !== null ? ", so each weight so far is too large" : ""}.`);
  const pitch = WIDE / values.length, low = SHARES + DEEP, place = { text_anchor: "middle" };
  const foot = low + 23, tall = (share) => DEEP * (share || 0) * 0.95, long = (v) => (WIDE - BEFORE) * v / Math.max(sum, old.sum);
  const carried = changed && sum !== null && old.sum !== null, kept = carried ? long(old.sum * factor) : 0, row = (y, words) => text("online-name", BEFORE - 8, y, words, { text_anchor: "end" });
  page.under.replaceChildren(text("online-name", 0, 9, "scores (drag them)"), rule("online-axis", 0, height(0), WIDE, height(0)), ...order.flatMap((j, p) => {
      const x = p * pitch, at = x + pitch * 0.24, wide = pitch * 0.52, was = changed ? tall(old.weights[j]) : 0, now = tall(weights[j]), end = low - tall(all[j]);
      return [...p % size ? [] : [rect(p < seen ? "online-tile online-read" : "online-tile", x + 1, 13, pitch * size - 2, low - 11, { rx: 5 })],
        rect("online-was", at, low - was, wide, was), rule("online-true", at - 7, end, at + wide + 7, end), rect("online-share", at, low - now, wide, now),
        text("online-value", x + pitch / 2, low + 14, p ? significant(values[j], 3) : `v = ${significant(values[j], 3)}`, place)];
    }), rect("online-share", 0, foot, 9, 9), text("online-name", 14, foot + 9, "weight so far"), rect("online-was", 150, foot, 9, 9), text("online-name", 164, foot + 9, "one tile before"),
    rule("online-true", 320, foot + 5, 338, foot + 5), text("online-name", 344, foot + 9, "in the end"),
    ...carried ? [row(foot + 26, "sum d before"), rect("online-was online-sum", BEFORE, foot + 18, long(old.sum), 9),
      row(foot + 43, `${rescale ? `× ${times}` : "as it was"} + new`), rect("online-sum", BEFORE, foot + 35, kept, 9), rect("online-share", BEFORE + kept, foot + 35, long(sum) - kept, 9)] : []);
  order.forEach((j, p) => {
    const node = page.keys.children[j], [, box, grip] = node.children, y = height(scores[j]), zero = height(0);
    put(node, { transform: `translate(${p * pitch} 0)`, class: p < seen ? "online-key" : "online-key online-later",
      "aria-valuenow": scores[j], "aria-valuetext": `${fixed(scores[j], 1)}, weight ${fixed(all[j], 2)}, ${p < seen ? "read" : "to come"}` });
    put(box, { y: Math.min(y, zero), height: Math.abs(y - zero) });
    put(grip, { y: y - 3.5 });
  });
  const [a, b, c, e] = page.carried.children;
  // What was carried, times the correction, and what the tile adds.
  const made = (before, after) => (!changed || before === null || after === null ? "" : `${number(before)}${rescale ? ` × ${times}` : ""} + ${number(after - before * factor)} = `);
  say(a, `maximum m = ${maximum === null ? "−∞" : fixed(maximum, 1)}${changed ? `, was ${fixed(old.maximum, 1)}` : ""}`);
  say(b, `sum d = ${made(old.sum, sum)}${number(sum)}`);
  say(c, `undivided output o = ${made(old.weighted, weighted)}${number(weighted)}`);
  say(e, changed ? rescale ? `correction × ${times}` : "correction left out" : "nothing to correct yet");
  if (shift) a.append(` (${shift} of it added)`);
}

export default machine({ name: "online", label: "One row, a tile at a time", data: ["values", "shifts"],
  settings: ["scores", "order", "size", "seen", "shift", "rescale", "largest"], stage, controls, fits, build, compute, show,
  tell: ({ maximum, sum }) => ` Carried: maximum ${maximum === null ? "none" : fixed(maximum, 1)}, sum ${number(sum)}.` });
