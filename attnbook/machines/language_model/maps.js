// Maps of weights: all heads small on one canvas, one of them large.

const CELLS = 28; // of a small map, at most; of a longer text some tokens, and the largest of the weights that share a cell
const GAP = 3;

/** The weight of token i for token j in a head; rows are (layers * heads, tokens up to i). */
const weightAt = (rows, head, i, j) => (j > i ? 0 : rows[i][head * (i + 1) + j]);

const SHADES = new Map(); // by the stops of a theme

/** Colours of 256 shares, as one number a pixel. */
function shades(style) {
  const stops = style.getPropertyValue("--machine-weights");
  if (!SHADES.has(stops)) {
    const colours = stops.split(",").map(pixelOf);
    SHADES.set(stops, Uint32Array.from({ length: 256 }, (_, v) => {
      const [r, g, b] = colourAt(colours, v / 255);
      return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    }));
  }
  return SHADES.get(stops);
}

/** A column of small maps for each layer, a row for each head. */
function drawAll(canvas, { rows, layers, heads, off, chosen, colours, ink, accent }) {
  const count = rows.length, cells = Math.max(1, Math.min(count, CELLS)), step = cells + GAP;
  Object.assign(canvas, { width: layers * step + GAP, height: heads * step + GAP });
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer), share = count / cells;
  const edge = Array.from({ length: cells + 1 }, (_, c) => Math.floor(c * share));
  for (let layer = 0; layer < layers; layer++) for (let head = 0; head < heads; head++) {
    const which = layer * heads + head;
    for (let y = 0; y < cells; y++) {
      const start = (GAP + head * step + y) * canvas.width + GAP + layer * step;
      for (let x = 0; x <= y; x++) {
        const i = edge[y], last = Math.min(Math.max(edge[x + 1], edge[x] + 1), i + 1);
        let most = 0;
        for (let j = edge[x]; j < last; j++) most = Math.max(most, rows[i][which * (i + 1) + j]);
        pixels[start + x] = colours[Math.min(255, Math.round(255 * most))];
      }
    }
  }
  context.putImageData(image, 0, 0);
  for (const name of off) {
    const [layer, head] = name.split(".").map(Number);
    line(context, ink, GAP + layer * step, GAP + head * step, cells);
  }
  const [layer, head] = chosen;
  context.strokeStyle = accent;
  context.lineWidth = 2;
  context.strokeRect(GAP + layer * step - 2, GAP + head * step - 2, cells + 3, cells + 3);
}

/** A head that is off is struck out. */
function line(context, ink, x, y, size) {
  context.strokeStyle = ink;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [from, to] of [[0, size], [size, 0]]) { context.moveTo(x + from, y); context.lineTo(x + to, y + size); }
  context.stroke();
}

const LABELLED = 48; // tokens that still have room for their names

/** One head, a row for each token, with names where there is room. */
function drawOne(canvas, { rows, which, names, token, colours, ink, accent, width }) {
  const count = rows.length, named = count <= LABELLED && width > 300, left = named ? 92 : 0;
  const cell = Math.max(1, Math.min(22, Math.floor((width - left - 4) / Math.max(1, count))));
  const ratio = devicePixelRatio || 1, wide = left + cell * count + 4, high = cell * count + 4;
  Object.assign(canvas, { width: Math.ceil(wide * ratio), height: Math.ceil(high * ratio) });
  Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
  const context = canvas.getContext("2d"), size = cell - (cell > 4 ? 1 : 0);
  const styles = Array.from(colours, (colour) => `rgb(${colour & 255},${colour >> 8 & 255},${colour >> 16 & 255})`);
  context.scale(ratio, ratio);
  for (let i = 0; i < count; i++) for (let j = 0; j <= i; j++) {
    context.fillStyle = styles[Math.min(255, Math.round(255 * weightAt(rows, which, i, j)))];
    context.fillRect(left + j * cell + 2, i * cell + 2, size, size);
  }
  if (named) {
    context.fillStyle = ink;
    context.font = `${Math.max(9, Math.min(13, cell - 1))}px system-ui, sans-serif`;
    Object.assign(context, { textAlign: "right", textBaseline: "middle" });
    names.slice(0, count).forEach((name, i) => context.fillText(name, left - 4, (i + 0.5) * cell + 2, left - 6));
  }
  if (token < count) {
    context.strokeStyle = accent;
    context.lineWidth = 2;
    context.strokeRect(left + 1, token * cell + 1, cell * (token + 1) + 1, cell + 1);
  }
  return { cell };
}
