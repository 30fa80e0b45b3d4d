// Tensors out of a safetensors file, and the few operations on vectors that the models need.

const READERS = {
  F32: (bytes) => new Float32Array(bytes),
  F16: (bytes) => Float32Array.from(new Uint16Array(bytes), fromHalf),
  I8: (bytes) => new Float32Array(new Int8Array(bytes)),
};

/** The tensors by name, float32 with a `shape`, and the state that was saved with them. */
function readTensors(buffer) {
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  const { __metadata__: metadata, ...entries } = header, tensors = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(entries)) {
    const values = READERS[dtype](buffer.slice(start + from, start + to));
    tensors[name] = Object.assign(values, { shape });
  }
  for (const name of Object.keys(tensors).filter((name) => name.endsWith(":scale"))) {
    scaleRows(tensors[name.slice(0, -":scale".length)], tensors[name]);
    delete tensors[name];
  }
  const state = JSON.parse(metadata.state);
  for (const [name, first] of Object.entries(state.shared)) tensors[name] = tensors[first];
  return { tensors, state };
}

/** What attnlab.training.quantization.dequantize does: each row times its scale. */
function scaleRows(values, scales) {
  const width = values.length / scales.length;
  for (let i = 0, at = 0; i < scales.length; i++) {
    for (const end = at + width; at < end; at++) values[at] *= scales[i];
  }
}

function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Row i of a matrix; or rows `from` to `to` of it, as a matrix. */
const row = (matrix, i) => matrix.subarray(i * matrix.shape[1], (i + 1) * matrix.shape[1]);
function rows(matrix, from, to) {
  const width = matrix.shape[1] ?? 1;
  const part = matrix.subarray(from * width, to * width);
  return Object.assign(part, { shape: [to - from, ...matrix.shape.slice(1)] });
}

/** W x + b, as nn.Linear. Four sums at a time, since one would wait for each addition: this is where
 * nearly all of the time goes. */
function linear(weight, x, bias) {
  const [height, width] = weight.shape, y = new Float32Array(height), even = width - (width % 4);
  for (let i = 0, at = 0; i < height; i++) {
    let a = bias ? bias[i] : 0, b = 0, c = 0, d = 0, j = 0;
    for (; j < even; j += 4, at += 4) {
      a += weight[at] * x[j];
      b += weight[at + 1] * x[j + 1];
      c += weight[at + 2] * x[j + 2];
      d += weight[at + 3] * x[j + 3];
    }
    for (; j < width; j++, at++) a += weight[at] * x[j];
    y[i] = a + b + c + d;
  }
  return y;
}

function concat(...parts) {
  const joined = new Float32Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((at, part) => (joined.set(part, at), at + part.length), 0);
  return joined;
}

const add = (a, b) => a.map((value, i) => value + b[i]);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Softmax; the kit of the machines has that name. */
function shares(scores) {
  let most = -Infinity, sum = 0;
  for (const score of scores) most = Math.max(most, score);
  const parts = [];
  for (const score of scores) sum += parts[parts.push(Math.exp(score - most)) - 1];
  return parts.map((part) => part / sum);
}

/** attnkit.masked_softmax of one row: weights 0 where `mask` is false, and everywhere if it all is. */
function maskedSoftmax(scores, mask) {
  if (!mask.includes(true)) return Array(scores.length).fill(0);
  return shares(scores.map((score, j) => (mask[j] ? score : -Infinity)));
}

/** The sum of the values, each times its weight. */
function average(weights, values) {
  const sum = new Float32Array(values[0].length);
  weights.forEach((weight, j) => {
    if (weight) for (let i = 0; i < sum.length; i++) sum[i] += weight * values[j][i];
  });
  return sum;
}
