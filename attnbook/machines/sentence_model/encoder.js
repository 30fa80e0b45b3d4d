// A BERT (Devlin et al. 2019) on the weights of a GGUF file as they lie there, one text at a time.

function openEncoder({ buffer, settings, tensors }) {
  const of = (name) => settings.get(`bert.${name}`), kind = settings.get("general.architecture");
  if (kind !== "bert") throw new Error(`The file holds a model of the kind ${kind}, and only bert is known here.`);
  const width = of("embedding_length"), heads = of("attention.head_count"), layers = of("block_count"), hidden = of("feed_forward_length");
  const sizes = { width, heads, layers, hidden, longest: of("context_length"), epsilon: of("attention.layer_norm_epsilon") };
  const tensor = (name, ...shape) => {
    const found = tensors.get(name);
    if (!found || found.shape.join() !== shape.join()) throw new Error(`The file has no ${name} of ${shape.join(" by ")}.`);
    return found;
  };
  const plain = (name, size) => new Float32Array(buffer, tensor(name, size).at, size);
  const norm = (name) => ({ weight: plain(`${name}.weight`, width), bias: plain(`${name}.bias`, width) });
  const linear = (name, from, to) => ({ weight: tensor(`${name}.weight`, from, to), bias: plain(`${name}.bias`, to) });
  return { ...sizes, buffer, bytes: new Int8Array(buffer), words: tensor("token_embd.weight", width, settings.get("tokenizer.ggml.tokens").length),
    places: tensor("position_embd.weight", width, of("position_count")), segment: plain("token_types.weight", width), norm: norm("token_embd_norm"),
    blocks: Array.from({ length: layers }, (_, n) => ({
      query: linear(`blk.${n}.attn_q`, width, width), key: linear(`blk.${n}.attn_k`, width, width), value: linear(`blk.${n}.attn_v`, width, width),
      output: linear(`blk.${n}.attn_output`, width, width), norm1: norm(`blk.${n}.attn_output_norm`),
      up: linear(`blk.${n}.ffn_up`, width, hidden), down: linear(`blk.${n}.ffn_down`, hidden, width), norm2: norm(`blk.${n}.layer_output_norm`) })) };
}

/** x (L, from) times a matrix, and its bias: (L, to). A row of the matrix is unpacked once for all L. */
function project(encoder, { weight, bias }, x) {
  const [from, to] = weight.shape, count = x.length / from, out = new Float64Array(count * to), row = new Float64Array(from);
  for (let r = 0; r < to; r++) {
    rowOf(encoder, weight, r, row);
    let t = 0;
    for (; t + 4 <= count; t += 4) { // four at a time: a number of the row is read once for them
      let a = bias[r], b = a, c = a, d = a;
      for (let i = 0, p = t * from, q = p + from, s = q + from, u = s + from; i < from; i++) {
        const w = row[i];
        a += w * x[p + i];
        b += w * x[q + i];
        c += w * x[s + i];
        d += w * x[u + i];
      }
      const place = t * to + r;
      out[place] = a;
      out[place + to] = b;
      out[place + 2 * to] = c;
      out[place + 3 * to] = d;
    }
    for (; t < count; t++) {
      let sum = bias[r];
      for (let i = 0, p = t * from; i < from; i++) sum += row[i] * x[p + i];
      out[t * to + r] = sum;
    }
  }
  return out;
}

/** Layer norm of each row, in place. */
function normRows(x, { weight, bias }, width, epsilon) {
  for (let at = 0; at < x.length; at += width) {
    let mean = 0, spread = 0;
    for (let i = 0; i < width; i++) mean += x[at + i] / width;
    for (let i = 0; i < width; i++) spread += (x[at + i] - mean) ** 2 / width;
    const by = 1 / Math.sqrt(spread + epsilon);
    for (let i = 0; i < width; i++) x[at + i] = (x[at + i] - mean) * by * weight[i] + bias[i];
  }
  return x;
}

/** The error function, to 1.2e-7 (Press et al., Numerical Recipes, 6.2). */
function erf(x) {
  const t = 1 / (1 + Math.abs(x) / 2);
  const part = t * Math.exp(-x * x - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807
    + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))))));
  return x < 0 ? part - 1 : 1 - part;
}

/** Weights of one head (L, L), from queries and keys (L, width), and what it brings, put into `mixed`. */
function attend({ width, heads }, head, [query, key, value], mixed, weights) {
  const count = query.length / width, size = width / heads, from = head * size;
  for (let i = 0; i < count; i++) {
    const row = weights.subarray(i * count, (i + 1) * count);
    let most = -Infinity, sum = 0;
    for (let j = 0; j < count; j++) {
      let score = 0;
      for (let f = from; f < from + size; f++) score += query[i * width + f] * key[j * width + f];
      row[j] = score / Math.sqrt(size);
      most = Math.max(most, row[j]);
    }
    for (let j = 0; j < count; j++) sum += row[j] = Math.exp(row[j] - most);
    for (let j = 0; j < count; j++) {
      row[j] /= sum;
      for (let f = from; f < from + size; f++) mixed[i * width + f] += row[j] * value[j * width + f];
    }
  }
}

/** Read ids: their vector of length 1, the mean of the states after the last layer; and with `maps` the weights of all
 *  heads, (layers, heads, L, L). */
function readIds(encoder, ids, maps = false) {
  const { width, heads, layers, epsilon } = encoder, count = ids.length, cells = count * count;
  let x = new Float64Array(count * width);
  const all = maps ? new Float32Array(layers * heads * cells) : null;
  ids.forEach((id, place) => {
    const word = rowOf(encoder, encoder.words, id), where = rowOf(encoder, encoder.places, place);
    for (let i = 0; i < width; i++) x[place * width + i] = word[i] + where[i] + encoder.segment[i];
  });
  normRows(x, encoder.norm, width, epsilon);
  encoder.blocks.forEach((block, layer) => {
    const parts = [block.query, block.key, block.value].map((one) => project(encoder, one, x)), mixed = new Float64Array(x.length);
    for (let head = 0; head < heads; head++) {
      const weights = new Float64Array(cells);
      attend(encoder, head, parts, mixed, weights);
      all?.set(weights, (layer * heads + head) * cells);
    }
    const told = project(encoder, block.output, mixed);
    x = normRows(x.map((v, i) => v + told[i]), block.norm1, width, epsilon);
    const wide = project(encoder, block.up, x).map((v) => v * (1 + erf(v / Math.SQRT2)) / 2), more = project(encoder, block.down, wide);
    x = normRows(x.map((v, i) => v + more[i]), block.norm2, width, epsilon);
  });
  const vector = Float64Array.from({ length: width }, (_, i) => { let sum = 0; for (let t = 0; t < count; t++) sum += x[t * width + i]; return sum; });
  const long = Math.hypot(...vector);
  return { vector: Float32Array.from(vector, (v) => v / long), weights: all };
}
