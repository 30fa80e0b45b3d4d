// What the explorer says, in words.

const short = (v) => Number(v.toPrecision(3));
const keys = (n) => `${n} key${n === 1 ? "" : "s"}`;

const maskName = (mask) => MASKS[mask].name || mask;

function describeCell({ queries, keys }, { raw, at, factor, weights, sees }, [, query, key]) {
  const score = raw ? `score ${fixed(raw[at + key] * factor, 2)}, ` : "";
  return `query ${quoted(queries[query])}, key ${quoted(keys[key])}: ${score}` +
    (sees(key) ? `weight ${fixed(weights[key])}` : "masked, weight 0");
}

/** How the number in large type came about. */
function describeScore(data, s, { raw, at, factor, weights, sees }, key) {
  if (!raw) return sees(key) ? "weight, recorded" : "weight 0";
  const name = data.kind === "qk" ? "q·k " : "", scale = scaleOf(data, s), heat = s.temperature;
  const steps = (scale === 1 ? "" : ` × ${short(scale)}`) + (heat === 1 ? "" : ` ÷ ${short(heat)}`);
  const score = `score ${fixed(raw[at + key] * factor, 2)}` +
    (name || steps ? ` = ${name}${fixed(raw[at + key], 2)}${steps}` : "");
  if (s.stage === "weights") return sees(key) ? `weight, from ${score}` : `its score would be ${score.slice("score ".length)}`;
  return `${score}; weight ${sees(key) ? fixed(weights[key]) : "0, masked"}`;
}

/** The number on show in large type: of the stage that the map shows. */
function mainNumber(s, { raw, at, factor, weights, sees }, key) {
  if (s.stage !== "scores" && !sees(key)) return "masked";
  return s.stage === "weights" ? fixed(weights[key]) : fixed(raw[at + key] * factor, 2);
}

function describeRow({ weights, count }) {
  const sum = weights.reduce((a, b) => a + b, 0), total = fixed(sum);
  if (count === 0 && sum === 0) return "Every key that this row may see is hidden: its weights are 0.";
  if (total !== "1.000") return `Row sum ${total}, not 1: this is no distribution, and has no entropy`;
  const entropy = weights.reduce((h, w) => w > 0 ? h - w * Math.log(w) : h, 0);
  const [most, of] = count === null ? ["", ""]
    : [` of at most ${fixed(Math.log(count), 2)}`, ` of ${count}`];
  return `Row sum ${total} · entropy ${fixed(entropy, 2)} nats${most}, as if spread evenly ` +
    `over ${fixed(Math.exp(entropy), 1)}${of || ""} ` + (count === 1 ? "key" : "keys");
}

const labelsOfCell = ({ queries, keys }, [, query, key]) => [queries[query], keys[key]];

/** A cell of the row that is covered until the reader has guessed. */
const describeCovered = (labels, cell) => {
  const [query, key] = labelsOfCell(labels, cell).map(quoted);
  return `query ${query}, key ${key}: covered. Enter guesses that most of the weight is here`;
};

function describeView(data, s) {
  const { rows, cols } = sizeOf(data, s);
  const gone = s.hidden.filter((j) => j < cols).map((j) => quoted(labelsOf(data, s).keys[j])).join(", ");
  const how = data.frames ? "recorded weights"
    : `${s.stage}, mask ${maskName(s.mask)}${gone && `, ${gone} hidden`}`;
  const large = data.heads > 1 ? " Plus opens the map in hand large, minus shows all." : "";
  const what = s.view === "lines" ? "Attention as lines from queries to keys" : "Attention heat map";
  return `${what}, ${s.head === "all" ? "all heads" : data.names[s.head]}: ${rows} ` +
    `queries by ${cols} keys, ${how}. Arrow keys, Home and End move between cells, Page Up and ` +
    `Page Down between heads. Enter pins a cell, Escape frees it.${large}`;
}
