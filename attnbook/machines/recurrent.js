// attnlab.rnn's encoder, in one direction or both, and the decoder with Bahdanau's attention or one
// vector, small: recurrent.py has the same functions. layers.js stands before them, and a machine after.

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** One step of nn.GRU. */
function gru(net, name, part, x, state) {
  const [read, kept] = [["ih", x], ["hh", state]].map(([side, given]) =>
    plus(times(net[`${name}.weight_${side}_${part}`], given), net[`${name}.bias_${side}_${part}`]));
  const n = state.length;
  return state.map((old, i) => {
    const reset = sigmoid(read[i] + kept[i]), keep = sigmoid(read[n + i] + kept[n + i]);
    return (1 - keep) * Math.tanh(read[2 * n + i] + reset * kept[2 * n + i]) + keep * old;
  });
}

/** The states of the source, and the decoder's first state. */
function encode(net, ids) {
  const parts = ["l0", "l0_reverse"].filter((part) => net[`encoder.rnn.weight_hh_${part}`]), ends = [];
  const halves = parts.map((part) => {
    let state = Array(net[`encoder.rnn.weight_hh_${part}`][0].length).fill(0);
    const states = [], places = [...ids.keys()];
    for (const at of part === "l0" ? places : places.reverse()) {
      states[at] = state = gru(net, "encoder.rnn", part, net["encoder.embedding.weight"][ids[at]], state);
    }
    ends.push(...state);
    return states;
  });
  return { states: ids.map((_, at) => halves.flatMap((states) => states[at])),
    first: plus(times(net["decoder.bridge.weight"], ends), net["decoder.bridge.bias"]).map(Math.tanh) };
}

/** Score every state of the source, weigh those that the mask allows, and average. */
function look(net, state, states, mask, squash = Math.tanh) {
  const name = "decoder.attention";
  const asked = plus(times(net[`${name}.query_proj.weight`], state), net[`${name}.query_proj.bias`]);
  const keys = states.map((one) => times(net[`${name}.key_proj.weight`], one));
  const scores = keys.map((key) => dot(plus(asked, key).map(squash), net[`${name}.v`]));
  const weights = softmax(scores.map((score, j) => (mask[j] ? score : -Infinity)));
  return { asked, keys, scores, weights, context: averaged(weights, states) };
}

/** The decoder's step: the next state, and the chances of the next token; without a context by the state alone. */
function advance(net, token, state, context) {
  const x = net["decoder.embedding.weight"][token], next = gru(net, "decoder.rnn", "l0", [...x, ...context ?? []], state);
  const logits = plus(times(net["decoder.readout.weight"], context ? [...next, ...context, ...x] : next), net["decoder.readout.bias"]);
  return { state: next, chances: softmax(logits) };
}

/** A picture of a vector: a bar a feature, up or down from the middle; drawn again in place. */
function strip(node, vector, most = 1) {
  const wide = 240 / vector.length;
  node.replaceChildren(rule("strip-zero", 0, 12, 240, 12), ...vector.map((v, i) => {
    const tall = 12 * clamp(Math.abs(v) / most, 0, 1);
    return rect("strip-bar", i * wide, v > 0 ? 12 - tall : 12, wide * 0.8, Math.max(tall, 0.3));
  }));
}

const stripOf = (role) => svg("svg", { class: `strip strip-${role}`, viewBox: "0 0 240 24", preserveAspectRatio: "none", aria_hidden: "true" });
