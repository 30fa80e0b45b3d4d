// attnlab.transformer: encoder, decoder with a cache of keys and values, pre-norm or post-norm.

/** positions.sinusoidal: the waves of one place. */
const sinusoidal = (place, size) => Float32Array.from({ length: size }, (_, i) => {
  const angle = place / 10000 ** ((i - (i % 2)) / size);
  return i % 2 ? Math.cos(angle) : Math.sin(angle);
});

/** An embedding times sqrt(E), with its position. */
function placed({ tensors, config }, side, id, place) {
  const size = config.embed_dim, table = tensors[`${side}_positions.table.weight`];
  const x = row(tensors[`${side}_embedding.weight`], id).map((value) => value * Math.sqrt(size));
  if (config.positions === "none") return x;
  return add(x, table ? row(table, place) : sinusoidal(place, size));
}

/** nn.LayerNorm */
function layerNorm(tensors, name, x) {
  const mean = total(x) / x.length;
  const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(variance + 1e-5);
  const [weight, bias] = [tensors[`${name}.weight`], tensors[`${name}.bias`]];
  return x.map((value, i) => (value - mean) * scale * weight[i] + bias[i]);
}

const linearOf = (tensors, name, x) => linear(tensors[`${name}.weight`], x, tensors[`${name}.bias`]);

/** Layer.feed_forward: W_2 relu(W_1 x + b_1) + b_2 */
function feedForward(tensors, name, x) {
  const hidden = linearOf(tensors, `${name}.linear1`, x).map((value) => Math.max(0, value));
  return linearOf(tensors, `${name}.linear2`, hidden);
}

/** One of the three blocks of rows of `in_proj`, split into heads: query, key or value. */
function project({ tensors, config }, name, which, x) {
  const width = config.embed_dim / config.num_heads;
  const sizes = [config.num_heads, config.num_kv_heads, config.num_kv_heads];
  const from = sizes.slice(0, which).reduce((a, b) => a + b, 0) * width;
  const to = from + sizes[which] * width;
  const all = linear(rows(tensors[`${name}.in_proj.weight`], from, to), x,
    tensors[`${name}.in_proj.bias`].subarray(from, to));
  return Array.from({ length: sizes[which] }, (_, h) => all.subarray(h * width, (h + 1) * width));
}

const keysAndValues = (model, name, x) =>
  ({ key: project(model, name, 1, x), value: project(model, name, 2, x) });

/** MultiHeadAttention of one query over a memory of projected keys and values, a place each. */
function multiHeadAttention(model, name, x, memory, mask) {
  const { tensors, config } = model, group = config.num_heads / config.num_kv_heads;
  const weights = [], outputs = [];
  project(model, name, 0, x).forEach((query, head) => {
    const of = Math.floor(head / group), scale = 1 / Math.sqrt(query.length);
    const scores = memory.map(({ key }) => dot(query, key[of]) * scale);
    // One that is switched off looks at nothing, and so gives nothing.
    const row = maskedSoftmax(scores, model.off?.includes(`${name} ${head}`) ? [] : mask);
    weights.push(row);
    outputs.push(average(row, memory.map(({ value }) => value[of])));
  });
  // A query that may see nothing gets nothing, not even the bias of the last projection.
  const output = mask.includes(true)
    ? linearOf(tensors, `${name}.out_proj`, concat(...outputs)) : new Float32Array(x.length);
  return { output, weights };
}

/** A sublayer with its residual and norm: pre-norm or post-norm. */
function sublayer({ tensors, config }, norm, x, act) {
  return config.norm_first
    ? add(x, act(layerNorm(tensors, norm, x))) : layerNorm(tensors, norm, add(x, act(x)));
}

/** The norm that a stack of pre-norm layers ends in. */
const lastNorm = ({ tensors }, name, x) =>
  (tensors[`${name}.norm.weight`] ? layerNorm(tensors, `${name}.norm`, x) : x);

const everyone = (memory) => memory.map(() => true);

/** transformer.Encoder: what the last layer gives at every place. */
function* encodeTransformer(model, source) {
  const { tensors, config } = model;
  let xs = source.map((id, place) => placed(model, "source", id, place));
  for (let layer = 0; layer < config.num_layers; layer++) {
    const name = `encoder.layers.${layer}`, attention = `${name}.attention`;
    const before = config.norm_first ? xs.map((x) => layerNorm(tensors, `${name}.norm1`, x)) : xs;
    const memory = before.map((x) => keysAndValues(model, attention, x)), next = [];
    const mask = everyone(memory);
    for (const x of xs) {
      const attended = sublayer(model, `${name}.norm1`, x, (x) =>
        multiHeadAttention(model, attention, x, memory, mask).output);
      next.push(sublayer(model, `${name}.norm2`, attended, (x) => feedForward(tensors, name, x)));
      yield;
    }
    xs = next;
  }
  return xs.map((x) => lastNorm(model, "encoder", x));
}

/** One token through transformer.DecoderLayer, and the cache with its key and value. */
function decoderLayer(model, name, x, { memory, mask }, before) {
  const { tensors, config } = model, weights = [];
  let cache;
  const written = sublayer(model, `${name}.norm1`, x, (x) => {
    cache = [...before, keysAndValues(model, `${name}.self_attention`, x)];
    if (cache.length > (config.window ?? Infinity)) cache.shift();
    return multiHeadAttention(model, `${name}.self_attention`, x, cache, everyone(cache)).output;
  });
  const looked = sublayer(model, `${name}.norm2`, written, (x) => {
    const attended = multiHeadAttention(model, `${name}.cross_attention`, x, memory, mask);
    weights.push(...attended.weights);
    return attended.output;
  });
  return { x: sublayer(model, `${name}.norm3`, looked, (x) => feedForward(tensors, name, x)),
    weights, cache };
}

/** Transformer.begin: read the source, return the first state, and `step`, from a token and a state
 * to logits, the weights of every layer and head, and the next state. `mask` says which source
 * tokens the cross-attention may look at. */
function* beginTransformer(model, source, mask) {
  const { tensors, config } = model, outputs = yield* encodeTransformer(model, source);
  const names = Array.from({ length: config.num_layers }, (_, layer) => `decoder.layers.${layer}`);
  const held = names.map((name) => ({ mask,
    memory: outputs.map((output) => keysAndValues(model, `${name}.cross_attention`, output)) }));
  function step(token, { place, caches }) {
    let x = placed(model, "target", token, place);
    const layers = names.map((name, layer) => {
      const decoded = decoderLayer(model, name, x, held[layer], caches[layer]);
      x = decoded.x;
      return decoded;
    });
    return { logits: linearOf(tensors, "output", lastNorm(model, "decoder", x)),
      weights: layers.map(({ weights }) => weights),
      state: { place: place + 1, caches: layers.map(({ cache }) => cache) } };
  }
  return { step, state: { place: 0, caches: names.map(() => []) } };
}
