// The weights as a map: a row for each word written, a column for each word read; and a small one
// for each layer and head.

/** A table, so that it can be read without eyes: weights as shades, and as numbers that are there
 * to be heard. `chosen` is the row on show. */
function drawMap(table, { rows, source, target, hidden, chosen, onRow, onColumn, button }) {
  const makeCorner = () => make("td");
  const head = table.tHead ?? table.createTHead().appendChild(make("tr")).parentNode;
  const body = table.tBodies[0] ?? table.createTBody();
  const makeColumn = () => make("th", { scope: "col" }, button("translator-column"));
  const [line] = head.rows;
  if (!line.cells.length) line.append(makeCorner());
  while (line.cells.length > source.length + 1) line.lastChild.remove();
  while (line.cells.length < source.length + 1) line.append(makeColumn());
  source.forEach((word, place) => {
    const one = line.cells[place + 1].firstChild;
    say(one, word);
    one.ariaPressed = hidden.has(place);
    one.ariaLabel = `${word}, hide`;
    one.onclick = () => onColumn(place);
  });
  const makeRow = () => make("tr", {}, make("th", { scope: "row" }, button("translator-row")));
  fill(body, target, makeRow, (row, word, at) => {
    const one = row.cells[0].firstChild;
    say(one, word);
    one.ariaPressed = chosen === at;
    one.ariaLabel = `${word}, where it looked`;
    one.onclick = () => onRow(at);
    mark(row, { later: chosen !== null && at > chosen });
    while (row.cells.length > source.length + 1) row.lastChild.remove();
    while (row.cells.length < source.length + 1) row.append(make("td", {}, make("span")));
    rows[at].forEach((weight, place) => {
      const cell = row.cells[place + 1];
      say(cell.firstChild, fixed(weight, 2));
      cell.title = `${quoted(word)} looked at ${quoted(source[place])}: ${fixed(weight, 2)}`;
      cell.style.setProperty("--machine-share", `${(100 * Math.min(1, weight)).toFixed(1)}%`);
    });
  });
}

/** One pixel a weight, from the colour of nothing to that of all. */
function drawSmall(canvas, rows, stops) {
  const [width, height] = [rows[0]?.length ?? 1, rows.length || 1];
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  rows.flat().forEach((weight, i) =>
    image.data.set([...colourAt(stops, Math.min(1, weight)), 255], 4 * i));
  context.putImageData(image, 0, 0);
}
