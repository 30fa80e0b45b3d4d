// What the small models of the machines are made of; a machine, or another kit, stands after it.

const BOS = 1, EOS = 2;

function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  return exponent ? sign * (1 + fraction / 1024) * 2 ** (exponent - 15) : sign * fraction * 2 ** -24;
}

/** The tensors by name: a list, or rows. */
function unpacked({ shapes, weights }) {
  const numbers = Array.from(new Uint16Array(bytesOf(weights).buffer), fromHalf), found = {};
  let at = 0;
  for (const [name, [high, wide]] of shapes) {
    found[name] = wide ? Array.from({ length: high }, () => numbers.slice(at, at += wide)) : numbers.slice(at, at += high);
  }
  return found;
}

const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; return sum; };
const times = (matrix, x) => matrix.map((row) => dot(row, x));
const plus = (a, b) => a.map((v, i) => v + b[i]);

function averaged(weights, states) {
  const sum = states[0].map(() => 0);
  weights.forEach((w, j) => { for (let f = 0; f < sum.length; f++) sum[f] += w * states[j][f]; });
  return sum;
}


/** Weights of each query over the keys, with what is added to a score, and the averages of the values; `shares` makes weights of scores. */
function attention(queries, keys, values, added = () => 0, shares = softmax) {
  const weights = queries.map((query, i) => shares(keys.map((key, j) => dot(query, key) / Math.sqrt(query.length) + added(i, j)), i));
  return { weights, output: weights.map((row) => averaged(row, values)) };
}

/** nn.LayerNorm of a vector. */
function normed(x, weight, bias) {
  const mean = sumOf(x) / x.length, centred = x.map((v) => v - mean);
  const by = 1 / Math.sqrt(dot(centred, centred) / x.length + 1e-5);
  return centred.map((v, i) => v * by * weight[i] + bias[i]);
}

/** nn.RMSNorm of a vector. */
function rms(x, weight) {
  const by = 1 / Math.sqrt(dot(x, x) / x.length + 1e-5);
  return x.map((v, i) => v * by * weight[i]);
}

/** Pairs of features turned by the place, as `positions.rotary` turns them. */
const rotated = (x, place) => x.map((v, i) => {
  const pair = i - i % 2, angle = place / 10000 ** (pair / x.length), [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return i % 2 ? x[pair] * sin + v * cos : v * cos - x[i + 1] * sin;
});

const largest = (list) => list.indexOf(Math.max(...list));
