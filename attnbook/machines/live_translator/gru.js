// attnlab.rnn: a GRU that reads in one direction or both, additive attention, and Bahdanau's
// decoder. Vectors, not batches: one sentence is translated at a time.

/** One step of nn.GRU; `part` ends the names of its weights: "l0" or "l0_reverse". */
function gruCell(tensors, name, part, x, hidden) {
  const [input, state] = [["ih", x], ["hh", hidden]].map(([side, vector]) => linear(
    tensors[`${name}.weight_${side}_${part}`], vector, tensors[`${name}.bias_${side}_${part}`]));
  const n = hidden.length;
  return hidden.map((old, i) => {
    const reset = sigmoid(input[i] + state[i]), keep = sigmoid(input[n + i] + state[n + i]);
    return (1 - keep) * Math.tanh(input[2 * n + i] + reset * state[2 * n + i]) + keep * old;
  });
}

/** One direction of one layer: the state at every place. */
function* gruLayer(tensors, name, part, xs) {
  const states = [], order = [...xs.keys()];
  let hidden = new Float32Array(tensors[`${name}.weight_hh_${part}`].shape[1]);
  for (const at of part.endsWith("_reverse") ? order.reverse() : order) {
    states[at] = hidden = gruCell(tensors, name, part, xs[at], hidden);
    yield;
  }
  return states;
}

/** rnn.Encoder: the outputs of the last layer, and the last state of each layer. */
function* encodeRecurrent({ tensors, config }, source) {
  let xs = source.map((id) => row(tensors["encoder.embedding.weight"], id));
  const last = [];
  for (let layer = 0; layer < config.num_layers; layer++) {
    const forward = yield* gruLayer(tensors, "encoder.rnn", `l${layer}`, xs);
    const backward = config.bidirectional
      ? yield* gruLayer(tensors, "encoder.rnn", `l${layer}_reverse`, xs)
      : forward.map(() => new Float32Array(0));
    last.push(concat(forward.at(-1), backward[0]));
    xs = forward.map((state, at) => concat(state, backward[at]));
  }
  return { outputs: xs, last };
}

/** AdditiveAttention of one query: v tanh(W_q q + W_k k + b), softmax, average. */
function additiveAttention(tensors, query, keys, values, mask) {
  const name = "decoder.attention", v = tensors[`${name}.v`];
  const asked = linear(
    tensors[`${name}.query_proj.weight`], query, tensors[`${name}.query_proj.bias`]);
  const scores = keys.map((key) => {
    let sum = 0;
    for (let i = 0; i < v.length; i++) sum += v[i] * Math.tanh(asked[i] + key[i]);
    return sum;
  });
  const weights = maskedSoftmax(scores, mask);
  return { output: average(weights, values), weights };
}

/** The decoder's first state, of the encoder's last. */
const bridged = (tensors, last) => last.map((state) =>
  linear(tensors["decoder.bridge.weight"], state, tensors["decoder.bridge.bias"]).map(Math.tanh));

/** The logits: of one matrix, or of Decoder.share's two with a tanh between them. */
function readout(tensors, x) {
  const part = (name) => [tensors[`decoder.readout${name}.weight`], tensors[`decoder.readout${name}.bias`]];
  const [weight, bias] = part("");
  if (weight) return linear(weight, x, bias);
  const [[narrow, shift], [words]] = [part(".0"), part(".2")];
  return linear(words, linear(narrow, x, shift).map(Math.tanh));
}

/** Seq2Seq.begin with a BahdanauDecoder: read the source, return the first state, and `step`, from a
 * token and a state to logits, weights and the next state. `mask` says which source tokens the
 * attention may look at. */
function* beginRecurrent(model, source, mask) {
  const { tensors } = model, { outputs, last } = yield* encodeRecurrent(model, source);
  const keys = outputs.map((output) => linear(tensors["decoder.attention.key_proj.weight"], output));
  function step(token, state) {
    const x = row(tensors["decoder.embedding.weight"], token);
    const { output: context, weights } =
      additiveAttention(tensors, state.at(-1), keys, outputs, mask);
    let input = concat(x, context);
    const next = state.map((hidden, layer) =>
      (input = gruCell(tensors, "decoder.rnn", `l${layer}`, input, hidden)));
    return { logits: readout(tensors, concat(input, context, x)), weights: [[weights]], state: next };
  }
  return { step, state: bridged(tensors, last) };
}
