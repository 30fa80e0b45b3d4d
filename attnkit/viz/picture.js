// The picture of a widget as it stands on the page, as SVG of shapes and letters, which any program draws.
// A page brings this when a reader asks for a picture.

// What a file of a drawing must say itself, since no style sheet goes with it.
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];

const isClear = (colour) => /^(none|transparent|rgba\(.*, 0\)|.*\/ 0\))$/.test(colour);
const plain = (colour) => (isClear(colour) ? "none" : `rgb(${pixelOf(colour)})`);
const printable = (text) => text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");

const typeOf = ({ color, fontFamily, fontSize, fontWeight, textDecorationLine: line }) => ({ fill: plain(color),
  font_family: fontFamily, font_size: fontSize, font_weight: fontWeight, text_decoration: line === "none" ? undefined : line });

/** How far the letters of a style reach above their line. */
function riseOf({ fontStyle, fontWeight, fontSize, fontFamily }) {
  PROBE.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  return PROBE.measureText("x").fontBoundingBoxAscent;
}

/** The lines of a text node on the page, each with its place, as far as what is seen shows them. */
function runsOf(node, seen) {
  const range = document.createRange(), lines = [];
  let at = 0;
  for (const letter of node.data) {
    range.setStart(node, at);
    range.setEnd(node, at += letter.length);
    const [place] = range.getClientRects(), last = lines.at(-1), blank = !letter.trim();
    const middle = place && (place.top + place.bottom) / 2;
    if (!place || place.left > seen.right || middle > seen.bottom || middle < seen.top) continue;
    if (last && Math.abs(last.top - place.top) < 2) {
      last.all += blank ? " " : letter;
      if (!blank) Object.assign(last, { text: last.all, right: place.right });
    } else if (!blank) lines.push({ all: letter, text: letter, left: place.left, right: place.right, top: place.top });
  }
  return lines;
}

/** A length of a style, or a share of so much. */
const lengthOf = (text, whole) => (parseFloat(text) || 0) * (text.endsWith("%") ? whole / 100 : 1);

/** A text box as one of the page's own texts, for its letters to be measured; to be removed again. */
function likeField(node, style) {
  const at = node.getBoundingClientRect(), like = make("div", { textContent: node.value });
  for (const name of ["font", "letterSpacing", "lineHeight", "padding", "color"]) like.style[name] = style[name];
  Object.assign(like.style, { position: "fixed", left: `${at.left + node.clientLeft}px`, top: `${at.top + node.clientTop}px`, boxSizing: "border-box",
    width: `${node.clientWidth}px`, height: `${node.clientHeight}px`, overflow: "hidden", whiteSpace: "pre-wrap", overflowWrap: "break-word" });
  document.body.append(like);
  like.scrollTop = node.scrollTop;
  return like;
}

/** The shapes of a box: its background, its shades, each of which may be a bar or a mark, and its border. */
function shapesOf({ x, y, width, height }, style, id) {
  const rx = Math.min(parseFloat(style.borderTopLeftRadius) || 0, height / 2), shapes = [];
  const area = (fill, left = x, wide = width) => shapes.push(svg("rect", { x: left, y, width: wide, height, rx: Math.min(rx, wide / 2), fill }));
  if (!isClear(style.backgroundColor)) area(plain(style.backgroundColor));
  const shades = style.backgroundImage.startsWith("linear") ? style.backgroundImage.match(/linear-gradient\((?:[^()]|\([^()]*\))*\)/g) : [];
  const [sizes, places] = [style.backgroundSize, style.backgroundPosition].map((all) => all.split(", ").map((one) => one.split(" ")[0]));
  shades.map((shade, j) => [shade, sizes[j % sizes.length], places[j % places.length], `${id}-${j}`]).reverse().forEach(([shade, size, place, name]) => {
    const stops = shade.match(/(?:rgba?|color|oklab)\([^)]*\)/g) ?? [], flat = new Set(stops).size < 2;
    const wide = size === "auto" ? width : lengthOf(size, width);
    if (!stops.length || !wide) return;
    if (!flat) shapes.push(svg("linearGradient", { id: name }, ...stops.map((stop, j) =>
      svg("stop", { offset: j / (stops.length - 1), stop_color: plain(stop) }))));
    area(flat ? plain(stops[0]) : `url(#${name})`, x + lengthOf(place, width - wide), wide);
  });
  const [right, low] = [x + width, y + height];
  const sides = { Top: [x, y, right, y], Right: [right, y, right, low], Bottom: [x, low, right, low], Left: [x, y, x, low] };
  const edges = Object.keys(sides).map((side) => ({ side, wide: parseFloat(style[`border${side}Width`]) || 0,
    colour: style[`border${side}Color`], kind: style[`border${side}Style`] })).filter(({ wide, colour }) => wide && !isClear(colour));
  const line = ({ wide, colour, kind }) => ({ stroke: plain(colour), stroke_width: wide,
    stroke_dasharray: { dashed: "4 3", dotted: "1 2" }[kind] });
  if (edges.length === 4) {
    shapes.push(svg("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(width - 1, 0), height: Math.max(height - 1, 0),
      rx, fill: "none", ...line(edges[0]) }));
    return shapes;
  }
  return [...shapes, ...edges.map((edge) => {
    const [x1, y1, x2, y2] = sides[edge.side], half = edge.wide / 2; // a border lies within its box
    const [right, down] = { Top: [0, half], Right: [-half, 0], Bottom: [0, -half], Left: [half, 0] }[edge.side];
    return svg("line", { x1: x1 + right, y1: y1 + down, x2: x2 + right, y2: y2 + down, ...line(edge) });
  })];
}

/** A drawing of the page as one that says itself how it looks. */
function drawingOf(node, place) {
  const copy = node.cloneNode(true), copies = [copy, ...copy.querySelectorAll("*")];
  [node, ...node.querySelectorAll("*")].forEach((one, j) => {
    const style = getComputedStyle(one);
    for (const name of ["class", "style", "tabindex", "role"]) copies[j].removeAttribute(name);
    for (const name of LOOKS) {
      const value = style.getPropertyValue(name);
      copies[j].setAttribute(name, /^(fill|stroke)$/.test(name) ? plain(value) : value);
    }
  });
  for (const [name, value] of Object.entries({ ...place, overflow: "visible" })) copy.setAttribute(name, value);
  return copy;
}

/** What is on show, without the controls' own shapes; `foot` are lines to put below it. */
function pictureOf(root, foot) {
  const box = root.getBoundingClientRect(), own = getComputedStyle(root);
  const [width, height] = [box.width, box.height + 14 * foot.length].map(Math.ceil);
  const out = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, svg("title", {}, printable(root.ariaLabel)),
    svg("rect", { width, height, fill: plain(own.backgroundColor) }));
  const placed = ({ left, top, width = 0, height = 0 }) => ({ x: left - box.left, y: top - box.top, width, height });

  function letters(node, style, seen) {
    const { parentNode } = node, type = typeOf(style), rise = riseOf(style);
    if (style.writingMode.startsWith("vertical")) {
      const { x, y, width, height } = placed(parentNode.getBoundingClientRect());
      out.append(svg("text", { ...type, text_anchor: "middle",
        transform: `translate(${x + width / 2 + rise / 3} ${y + height / 2}) rotate(-90)` }, printable(node.data)));
      return;
    }
    for (const line of runsOf(node, seen)) {
      const { x, y } = placed(line), textLength = line.right - line.left;
      out.append(svg("text", { x, y: y + rise, ...type, ...line.text.length > 1 && { textLength, lengthAdjust: "spacingAndGlyphs" } },
        printable(line.text)));
    }
  }

  /** A choice and a tick, whose text is no text of the page. */
  function choice(text, node, style) {
    const { x, y, height } = placed(node.getBoundingClientRect());
    out.append(svg("text", { x: x + 4, y: y + height / 2 + 5, ...typeOf(style) }, printable(text)));
  }

  function visit(node, seen) {
    if (node.nodeType === Node.TEXT_NODE && node.data.trim()) letters(node, getComputedStyle(node.parentNode), seen);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const style = getComputedStyle(node), at = node.getBoundingClientRect();
    if (!at.width || style.visibility === "hidden" || style.clipPath !== "none" || at.top > seen.bottom || at.bottom < seen.top) return;
    if (node.localName === "svg") out.append(drawingOf(node, placed(at)));
    else if (node.localName === "canvas") out.append(svg("image", { ...placed(at), href: node.toDataURL() }));
    else if (node.localName === "select") choice(node.selectedOptions[0].text, node, style);
    else if (node.localName === "input") choice(node.type === "checkbox" ? node.checked ? "✓" : "–" : node.value, node, style);
    else {
      if (node !== root) out.append(...shapesOf(placed(at), style, `shade-${out.childElementCount}`));
      const within = { ...seen };
      if (style.overflowX !== "visible") within.right = Math.min(seen.right, at.right);
      if (style.overflowY !== "visible") Object.assign(within, { top: Math.max(seen.top, at.top), bottom: Math.min(seen.bottom, at.bottom) });
      const field = node.localName === "textarea" && likeField(node, style);
      for (const child of (field || node).childNodes) visit(child, within);
      if (field) field.remove();
    }
  }

  visit(root, { top: -Infinity, right: Infinity, bottom: Infinity });
  foot.forEach((line, j) => out.append(svg("text", { x: 16, y: box.height + 6 + 14 * j, ...typeOf(own), font_size: 10 }, printable(line))));
  return new XMLSerializer().serializeToString(out);
}

/** A picture as pixels, two for each of the page's. */
async function rasterOf(picture) {
  const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(picture)}` });
  await image.decode();
  const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}
