// A Llama (Touvron et al. 2023) on the weights of a GGUF file as they lie there, one token at a time.

const DROPPED_AT = 16; // tokens read before the first one is dropped

/** What the reader can change: heads whose output is left out, as "layer.head"; the first token "seen", "dropped" once
 *  16 tokens are read, or "never" seen; a window of so many tokens, 0 for none, and whether it keeps the first;
 *  positions moved and stretched. */
const UNCHANGED = { off: [], first: "seen", window: 0, keep: false, shift: 0, scale: 1 };

function openModel(file) {
  const { buffer, settings, tensors } = file, of = (name) => settings.get(`llama.${name}`);
  const kind = settings.get("general.architecture");
  if (kind !== "llama") throw new Error(`The file holds a model of the kind ${kind}, and only llama is known here.`);
  const width = of("embedding_length"), heads = of("attention.head_count"), layers = of("block_count");
  const sizes = { width, heads, layers, groups: of("attention.head_count_kv") ?? heads, size: of("attention.key_length") ?? width / heads,
    hidden: of("feed_forward_length"), longest: of("context_length"), base: of("rope.freq_base") ?? 10000,
    epsilon: of("attention.layer_norm_rms_epsilon") };
  if (of("rope.scaling.type") ?? of("attention.sliding_window") ?? of("expert_count"))
    throw new Error("The file asks for scaled positions, a window or experts, which are not known here.");
  const used = new Set();
  const tensor = (name, ...shape) => {
    const found = tensors.get(`${name}.weight`);
    if (!found || found.shape.join() !== shape.join()) throw new Error(`The file has no ${name} of ${shape.join(" by ")}.`);
    used.add(found.name);
    return found;
  };
  const norm = (name) => new Float32Array(buffer, tensor(name, width).at, width);
  const { groups, size, hidden } = sizes, words = tensors.get("token_embd.weight")?.shape[1];
  const model = { ...sizes, words, ints: new Int32Array(buffer, 0, buffer.byteLength >> 2), bytes: new Int8Array(buffer),
    buffer, embedding: tensor("token_embd", width, words), norm: norm("output_norm"),
    blocks: Array.from({ length: layers }, (_, n) => ({
      norm1: norm(`blk.${n}.attn_norm`), norm2: norm(`blk.${n}.ffn_norm`),
      query: tensor(`blk.${n}.attn_q`, width, heads * size), key: tensor(`blk.${n}.attn_k`, width, groups * size),
      value: tensor(`blk.${n}.attn_v`, width, groups * size), output: tensor(`blk.${n}.attn_output`, heads * size, width),
      gate: tensor(`blk.${n}.ffn_gate`, width, hidden), up: tensor(`blk.${n}.ffn_up`, width, hidden),
      down: tensor(`blk.${n}.ffn_down`, hidden, width) })) };
  model.head = tensors.has("output.weight") ? tensor("output", width, words) : model.embedding;
  const left = [...tensors.keys()].find((name) => !used.has(name));
  if (left) throw new Error(`The file has ${left}, of which this model makes no use.`);
  return model;
}

// ---- Products. What several matrices share, the tables of x, is made once for all of them.

const TABLES = new Float64Array(16 * 256);

/** Put the products of matrices with x into `outs`. A block of four bits is 16 bytes, each with one feature of
 *  the first half and one of the second: for every byte that there can be, a table holds what it adds. */
function multiply(model, matrices, x, outs) {
  const four = matrices.filter(({ form }) => form.name === "Q4_1");
  for (const [at, matrix] of matrices.entries()) {
    outs[at].fill(0);
    if (matrix.form.name === "Q8_0") multiplyEight(model, matrix, x, outs[at]);
    else if (matrix.form.name === "F32") multiplyPlain(model, matrix, x, outs[at]);
  }
  for (let block = 0; four.length && block < x.length / BLOCK; block++) {
    const from = block * BLOCK;
    let sum = 0;
    for (let j = 0, t = 0; j < 16; j++) {
      const low = x[from + j], high = x[from + 16 + j];
      sum += low + high;
      for (let h = 0; h < 16; h++) for (let l = 0, v = h * high; l < 16; l++, v += low) TABLES[t++] = v;
    }
    for (const [at, matrix] of matrices.entries())
      if (matrix.form.name === "Q4_1") addBlock(model.ints, matrix, block, sum, outs[at]);
  }
}

function addBlock(ints, { shape: [columns, rows], at }, block, sum, out) {
  const step = columns / BLOCK * 5;
  for (let row = 0, p = (at >> 2) + block * 5; row < rows; row++, p += step) {
    const scales = ints[p], a = ints[p + 1], b = ints[p + 2], c = ints[p + 3], d = ints[p + 4];
    const parts = TABLES[a & 255] + TABLES[256 + (a >> 8 & 255)] + (TABLES[512 + (a >> 16 & 255)] + TABLES[768 + (a >>> 24)])
      + (TABLES[1024 + (b & 255)] + TABLES[1280 + (b >> 8 & 255)] + (TABLES[1536 + (b >> 16 & 255)] + TABLES[1792 + (b >>> 24)]))
      + (TABLES[2048 + (c & 255)] + TABLES[2304 + (c >> 8 & 255)] + (TABLES[2560 + (c >> 16 & 255)] + TABLES[2816 + (c >>> 24)]))
      + (TABLES[3072 + (d & 255)] + TABLES[3328 + (d >> 8 & 255)] + (TABLES[3584 + (d >> 16 & 255)] + TABLES[3840 + (d >>> 24)]));
    out[row] += HALVES[scales & 65535] * parts + HALVES[scales >>> 16] * sum;
  }
}

function multiplyEight({ bytes }, { shape: [columns, rows], at }, x, out) {
  for (let row = 0, p = at; row < rows; row++) {
    let sum = 0;
    for (let i = 0; i < columns; p += 2 + BLOCK) {
      let part = 0;
      for (let q = p + 2; q < p + 2 + BLOCK; q += 4, i += 4)
        part += bytes[q] * x[i] + bytes[q + 1] * x[i + 1] + (bytes[q + 2] * x[i + 2] + bytes[q + 3] * x[i + 3]);
      sum += half(bytes, p) * part;
    }
    out[row] = sum;
  }
}

function multiplyPlain({ buffer }, { shape: [columns, rows], at }, x, out) {
  const values = new Float32Array(buffer, at, columns * rows);
  for (let row = 0, p = 0; row < rows; row++) for (let i = 0; i < columns; i++) out[row] += values[p++] * x[i];
}

function normed(x, weight, epsilon) {
  let sum = 0;
  for (const v of x) sum += v * v;
  const by = 1 / Math.sqrt(sum / x.length + epsilon);
  return x.map((v, i) => v * by * weight[i]);
}

/** Turn the pairs of neighbours of each vector of `size` features by angles that grow with the place. */
function turn(x, size, place, base) {
  for (let i = 0; i < size; i += 2) {
    const angle = place * base ** (-i / size), cos = Math.cos(angle), sin = Math.sin(angle);
    for (let at = i; at < x.length; at += size) {
      const a = x[at], b = x[at + 1];
      x[at] = a * cos - b * sin;
      x[at + 1] = a * sin + b * cos;
    }
  }
}

// ---- A text as it is read.

/** A text of which nothing is read yet: ids, keys and values of each layer, and for the first `drawn` tokens the
 *  weights of all heads, a row for each token, (layers, heads, tokens up to it). */
function newText(model, changes = {}, drawn = 0) {
  const changed = { ...UNCHANGED, ...changes };
  return { model, drawn, ids: [], rows: [], room: 0, caches: model.blocks.map(() => ({})),
    changes: { ...changed, off: new Set(changed.off) } };
}

function makeRoom(text) {
  const { model: { groups, size }, ids, caches } = text;
  if (ids.length < text.room) return;
  text.room = Math.max(64, 2 * text.room);
  for (const cache of caches) for (const name of ["keys", "values"]) {
    const more = new Float32Array(text.room * groups * size);
    if (cache[name]) more.set(cache[name]);
    cache[name] = more;
  }
}

/** Whether the token at place i may look at the one at j. */
function maySee({ first, window, keep }, i, j) {
  if (j === 0 && i > 0 && (first === "never" || (first === "dropped" && i >= DROPPED_AT))) return false;
  return !window || i - j < window || (keep && j === 0);
}

/** Read one more token; returns the logits of the next one, if they are asked for. */
function readToken(text, id, logits = true) {
  const { model, changes, ids, rows, drawn } = text, place = ids.length;
  const { width, heads, groups, size, hidden, base, epsilon, words } = model;
  makeRoom(text);
  const row = place < drawn ? new Float32Array(model.layers * heads * (place + 1)) : null;
  const query = new Float64Array(heads * size), key = new Float64Array(groups * size), value = new Float64Array(groups * size);
  const mixed = new Float64Array(heads * size), out = new Float64Array(width), gate = new Float64Array(hidden), up = new Float64Array(hidden);
  const x = rowOf(model, model.embedding, id);
  model.blocks.forEach((block, layer) => {
    const { keys, values } = text.caches[layer];
    multiply(model, [block.query, block.key, block.value], normed(x, block.norm1, epsilon), [query, key, value]);
    turn(query, size, (place + changes.shift) * changes.scale, base);
    turn(key, size, (place + changes.shift) * changes.scale, base);
    keys.set(key, place * groups * size);
    values.set(value, place * groups * size);
    mixed.fill(0);
    for (let head = 0; head < heads; head++) {
      const weights = attend(text, layer, head, query, place);
      if (row) row.set(weights, (layer * heads + head) * (place + 1));
      if (!changes.off.has(`${layer}.${head}`)) mix(text, layer, head, weights, mixed);
    }
    multiply(model, [block.output], mixed, [out]);
    for (let i = 0; i < width; i++) x[i] += out[i];
    multiply(model, [block.gate, block.up], normed(x, block.norm2, epsilon), [gate, up]);
    for (let i = 0; i < hidden; i++) gate[i] *= up[i] / (1 + Math.exp(-gate[i]));
    multiply(model, [block.down], gate, [out]);
    for (let i = 0; i < width; i++) x[i] += out[i];
  });
  ids.push(id);
  if (row) rows.push(row);
  if (!logits) return null;
  const found = new Float64Array(words);
  multiply(model, [model.head], normed(x, model.norm, epsilon), [found]);
  return found;
}

/** The weights of one head for the token at `place`, of it and those before it. */
function attend({ model: { heads, groups, size }, caches, changes }, layer, head, query, place) {
  const { keys } = caches[layer], group = Math.floor(head / (heads / groups)), weights = new Float64Array(place + 1);
  let most = -Infinity, sum = 0;
  for (let j = 0; j <= place; j++) {
    weights[j] = -Infinity;
    if (!maySee(changes, place, j)) continue;
    let score = 0;
    for (let i = 0, p = (j * groups + group) * size, q = head * size; i < size; i++) score += query[q + i] * keys[p + i];
    weights[j] = score / Math.sqrt(size);
    most = Math.max(most, weights[j]);
  }
  for (let j = 0; j <= place; j++) sum += weights[j] = Math.exp(weights[j] - most);
  for (let j = 0; j <= place; j++) weights[j] /= sum;
  return weights;
}

function mix({ model: { heads, groups, size }, caches }, layer, head, weights, mixed) {
  const { values } = caches[layer], group = Math.floor(head / (heads / groups));
  for (let j = 0; j < weights.length; j++) {
    if (!weights[j]) continue;
    for (let i = 0, p = (j * groups + group) * size, q = head * size; i < size; i++) mixed[q + i] += weights[j] * values[p + i];
  }
}
