// Lines from word to word.

// A line for every weight from here on.
const LEAST = 0.04;

/** From the middle of a source word's edge to that of a target word. */
function curve(from, to, tall) {
  const [x0, y0] = tall
    ? [from.left + from.width, from.top + from.height / 2]
    : [from.left + from.width / 2, from.top + from.height];
  const [x1, y1] = tall
    ? [to.left, to.top + to.height / 2] : [to.left + to.width / 2, to.top];
  const [dx, dy] = tall ? [(x1 - x0) / 2, 0] : [0, (y1 - y0) / 2];
  const points = [x0, y0, x0 + dx, y0 + dy, x1 - dx, y1 - dy, x1, y1].map((v) => v.toFixed(1));
  return `M${points.slice(0, 2)}C${points.slice(2)}`;
}

function flash(node) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  node.animate([{ transform: "translateY(-6px)", opacity: 0.2 }, { transform: "none", opacity: 1 }],
    { duration: 260, easing: "ease-out" });
}
