// Attention as lines: queries on the left, keys on the right, and a line where there is weight.

const LEAST = 0.05;

/** Places of words and lines, with room for the longest length. */
function layLines(pen, width, most, em) {
  pen.font = fontOf(13, em);
  const wide = (texts) => Math.max(0, ...texts.map((text) => pen.measureText(text).width));
  const limit = width * 0.36, count = Math.max(most.rows, most.cols);
  const step = Math.max(16 * em, Math.min(30 * em, 560 / count)), top = 26 * em;
  const from = Math.min(limit, wide(most.queries)) + 12, right = Math.min(limit, wide(most.keys)) + 12;
  const to = Math.min(width - right, from + 360 * em);
  return { lines: true, width, em, limit, step, top, from, to, end: to + right - 1,
    panels: [], height: Math.ceil(top + count * step + 6) };
}

const middleOf = ({ top, step }, at) => top + (at + 0.5) * step;

/** What a row shows as lines: its keys of at least LEAST, and the weight of the others together. */
function linesOf({ weights }) {
  const drawn = [...weights.keys()].filter((j) => weights[j] >= LEAST);
  return { drawn, rest: weights.reduce((sum, w) => sum + (w < LEAST ? w : 0), 0) };
}

/** The lines of one query, as thick and as opaque as they have weight. */
function strands(pen, { data, settings: s, plan }, head, query, colour, strong) {
  const row = readRow(data, s, [head, query]);
  pen.strokeStyle = colour;
  for (const j of linesOf(row).drawn) {
    const weight = row.weights[j];
    pen.globalAlpha = strong ? 0.4 + 0.6 * weight : 0.1 + 0.4 * weight;
    pen.lineWidth = 0.75 + (strong ? 6 : 4) * weight;
    pen.beginPath();
    pen.moveTo(plan.from + 4, middleOf(plan, query));
    pen.lineTo(plan.to - 4, middleOf(plan, j));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** All words, and the lines of all rows, faint. */
function drawLines(pen, view) {
  const { plan, labels, shape: { rows, cols }, hues, heads: [head], settings: s } = view;
  const { from, to, em, limit, top } = plan;
  pen.textBaseline = "middle";
  for (let i = 0; i < rows; i++) if (!covers(s, [head, i])) strands(pen, view, head, i, hues.ink, false);
  const column = (texts, x, textAlign, name) => {
    pen.textAlign = textAlign;
    pen.fillStyle = hues.muted;
    pen.font = fontOf(12, em);
    pen.fillText(name, x, top / 2);
    pen.fillStyle = hues.ink;
    pen.font = fontOf(13, em);
    texts.forEach((text, at) => pen.fillText(shorten(pen, text, limit), x, middleOf(plan, at)));
  };
  column(labels.queries.slice(0, rows), from - 4, "right", "query");
  column(labels.keys.slice(0, cols), to + 4, "left", "key");
}

/** The row of a cell, its lines strong and its two words framed. */
function drawLinesOfRow(pen, view, [head, query, key], kind) {
  const { plan, hues, settings: s, heads } = view, { from, to, step, end } = plan;
  if (head !== heads[0]) return;
  const hidden = covers(s, [head, query]);
  if (!hidden) strands(pen, view, head, query, hues.query, true);
  pen.strokeStyle = hues.accent;
  pen.lineWidth = kind === "pinned" ? 2.5 : 1.5;
  pen.setLineDash(kind === "hover" ? [3, 3] : []);
  pen.strokeRect(1.5, middleOf(plan, query) - step / 2 + 1, from - 2, step - 2);
  if (!hidden) pen.strokeRect(to - 1, middleOf(plan, key) - step / 2 + 1, end - to, step - 2);
  pen.setLineDash([]);
}

/** The cell below a place: a query and its strongest key, a key for the query in hand, or a line. */
function lineUnder(view, x, y) {
  const { plan, shape: { rows, cols }, data, settings: s, cursor, heads: [head] } = view;
  const at = Math.floor((y - plan.top) / plan.step), least = (i) => readRow(data, s, [head, i]);
  if (x <= plan.from) {
    if (!(at >= 0 && at < rows)) return;
    return [head, at, covers(s, [head, at]) ? clamp(cursor[2], cols) : bestKeys(least(at))[0] ?? 0];
  }
  if (x >= plan.to) return at >= 0 && at < cols ? [head, clamp(cursor[1], rows), at] : undefined;
  const part = (x - plan.from) / (plan.to - plan.from);
  let near = 8, found;
  for (let i = 0; i < rows; i++) {
    if (covers(s, [head, i])) continue;
    for (const j of linesOf(least(i)).drawn) {
      const away = Math.abs(middleOf(plan, i) + (j - i) * plan.step * part - y);
      if (away < near) [near, found] = [away, [head, i, j]];
    }
  }
  return found;
}

/** Which lines there are, and what they leave out. */
function describeLines({ data, settings: s, labels }, cell) {
  const which = data.heads > 1 ? `${data.names[cell[0]]}. ` : "";
  const rule = `A line for each weight of at least ${fixed(LEAST, 2)}, the thicker the more.`;
  if (covers(s, cell)) return which + rule;
  const { rest } = linesOf(readRow(data, s, cell));
  return `${which}${rule} Not drawn: ${fixed(rest)} of the row of ${quoted(labels.queries[cell[1]])}.`;
}
