// A small fast memory, the tile that fits it, and the bytes that cross; the kit stands before it.

const WIDE = 400, SIDE = 112, LEFT = 150, BARS = 26;

// ---- What is computed.

function compute(data, { length: L, fast, width: E, bits }) {
  const size = bits / 8, room = 1024 * fast / size;
  let side = 1;
  while (side < L && (2 * side) ** 2 + 8 * side * E <= room) side *= 2;
  const whole = size * (4 * L * E + 4 * L * L), tiles = size * (2 * L * E + 2 * L * E * (L / side)), operations = 4 * L * L * E;
  return { side, used: size * (side ** 2 + 4 * side * E), table: size * L * L, whole, tiles, intensity: [operations / whole, operations / tiles] };
}

// ---- The page.

const stage = `<svg class="fast-picture" viewBox="0 0 ${WIDE} ${SIDE + 24}" aria-hidden="true"></svg>`;

function bytes(v) {
  const at = clamp(Math.floor(Math.log2(v) / 10), 0, 4);
  return `${significant(v / 1024 ** at, 3)} ${["bytes", "KiB", "MiB", "GiB", "TiB"][at]}`;
}

const controls = ({ choices: { length, fast, width, bits } }) => [
  slider("Fast memory", "fast", { values: fast, text: (n) => bytes(1024 * n) }), slider("Tokens", "length", { values: length, text: whole }),
  chooser("Features", "width", width.map((n) => [n, String(n)])), chooser("Bits", "bits", bits.map((n) => [n, String(n)])),
];

function show({ length, side, used, table, whole: all, tiles, intensity: [low, high] }, { page }) {
  const times = all / tiles;
  say(page.big, `${bytes(tiles)} in tiles, ${bytes(all)} with the table`);
  say(page.say, `A tile is ${side} by ${side}; with its blocks of queries, keys, values and output it takes ${bytes(used)}. ` +
    `${significant(high)} operations for each byte moved, ${significant(low)} with the table: ${times >= 1 ? `${significant(times, 3)} times fewer bytes` : "tiles move more"}.`);
  const tile = SIDE * side / length, most = Math.max(all, tiles), long = WIDE - LEFT - 2;
  const bar = (y, name, v, kind) => [text("fast-name", LEFT, y - 6, `${name} ${bytes(v)}`), rect(kind, LEFT, y, Math.max(v / most * long, 1), 20)];
  // The smallest tile stays in sight; a small one is pointed at.
  const drawn = Math.max(tile, 3), small = tile < SIDE / 4;
  page.picture.replaceChildren(rect("fast-row", 0, 0, SIDE, drawn), rect("fast-tile", 0, 0, drawn, drawn), rect("fast-table", 0, 0, SIDE, SIDE),
    ...small ? [...arrow("fast-arrow", [28, drawn + 24], [drawn + 3, drawn + 4], 1.5), text("fast-name", 32, drawn + 34, "the tile"), text("fast-name", SIDE + 5, Math.max(drawn / 2 + 4, 9), "row")] : [],
    text("fast-name", 0, SIDE + 16, `${whole(length)} × ${whole(length)}: ${bytes(table)}`),
    ...bar(BARS, "moved, with the table:", all, "fast-all"), ...bar(BARS + 52, "moved, in tiles:", tiles, "fast-tiles"));
}

export default machine({ name: "fast", label: "What a fast memory saves", data: ["choices"], settings: ["length", "fast", "width", "bits"],
  stage, controls, compute, show });
