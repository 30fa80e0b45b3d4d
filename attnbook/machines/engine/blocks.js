// Weights of a GGUF file as they lie there: blocks of 32 in eight bits, or plain numbers.

/** The number that each half-precision pattern stands for. */
const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
});

const BLOCK = 32; // features that share a scale

const half = (bytes, p) => HALVES[(bytes[p] & 255) | (bytes[p + 1] & 255) << 8];

/** Put a row of a table or a matrix into `row`, and return it. */
function rowOf({ bytes, buffer }, { form, shape: [width], at }, number, row = new Float64Array(width)) {
  if (form.name === "F32") row.set(new Float32Array(buffer, at + 4 * number * width, width));
  else if (form.name !== "Q8_0") throw new Error(`Rows of the form ${form.name} are not known here.`);
  else for (let i = 0, p = at + number * width / BLOCK * form.bytes; i < width; p += form.bytes) {
    const scale = half(bytes, p);
    for (let q = p + 2; q < p + 2 + BLOCK; q++, i++) row[i] = scale * bytes[q];
  }
  return row;
}
