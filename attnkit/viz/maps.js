// What the maps of weights share.

/** A copy of the bytes of a trait; none where the state was saved before there was such a trait. */
function bytesOf(view) {
  if (!view) return new Uint8Array(0);
  return new Uint8Array(view.buffer || view, view.byteOffset || 0, view.byteLength).slice();
}

const floats = (view) => new Float32Array(bytesOf(view).buffer);

/** A number, its thousands apart; a page's first `toLocaleString` would cost a phone 0.1 s. */
const whole = (n) => `${n}`.replace(/(?<!\..*)\B(?=(\d{3})+\b)/g, ",");
const plural = (n, one) => `${whole(n)} ${one}${n === 1 ? "" : "s"}`;
const quoted = (word) => `“${word}”`;
const fixed = (v, digits = 3) => v.toFixed(digits).replace("-", "−");

/** Fill a line of a list of bars: a name, a share, a number. */
function showBar({ children: [label, bar, number] }, text, share, digits = 3) {
  say(label, text);
  bar.style.setProperty("--machine-share", `${100 * share}%`);
  say(number, fixed(share, digits));
}

// ---- Colours, as [r, g, b].

const PROBE = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

function pixelOf(colour) {
  PROBE.fillStyle = colour;
  PROBE.fillRect(0, 0, 1, 1);
  return [...PROBE.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/** Whether white reads better than black on a colour, by WCAG's luminance. */
function isDark(colour) {
  const [r, g, b] = colour.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179;
}

/** The colour at a part of the way, from 0 to 1, along the stops. */
function colourAt(stops, part) {
  const place = part * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
  return stops[low].map((v, c) => Math.round(v + (stops[low + 1][c] - v) * (place - low)));
}

/** The root's style, after marking whether it is dark. */
function readStyle(root) {
  const style = getComputedStyle(root);
  root.toggleAttribute("data-dark", isDark(pixelOf(style.backgroundColor)));
  return style;
}

