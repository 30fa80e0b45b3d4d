// What attnkit.Translator does, greedily, and with words hidden or put into its mouth.

const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
const BEST = 5;
const BEGIN = { additive: beginRecurrent, transformer: beginTransformer };

/** What a file of attnkit.viz.live_translator.weights holds, ready to translate. */
function loadModel(buffer) {
  const { tensors, state } = readTensors(buffer);
  const ids = new Map(state.source.map((token, id) => [token, id]));
  const mostLetters = state.source.reduce((most, token) => Math.max(most, token.length), 1);
  return { tensors, ...state, target: state.target ?? state.source, ids, mostLetters };
}

/** Translate what `readSource` has read. `hidden` is a set of places of words that the attention may
 * not see, `forced` the ids of the first tokens to write. A generator, which stops to take breath
 * many times and in the end returns a step for each token written, the end symbol not among them,
 * where words begin and end among them, and whether it ended. */
function* translating(model, { tokens, spans }, { hidden, forced = [], longest }) {
  const ids = tokens.map((token) => model.ids.get(token) ?? UNK);
  const mask = spans.flatMap(([from, to], place) => Array(to - from).fill(!hidden.has(place)));
  const step = yield* BEGIN[model.kind](model, ids, mask), steps = [];
  let ended = false;
  for (let id = BOS; steps.length < longest;) {
    yield;
    const { logits, weights } = step(id), chances = softmax(logits), best = likeliest(chances);
    id = forced[steps.length] ?? best[0];
    if ((ended = id === EOS)) break;
    const mean = meanHeads(weights);
    // As attnkit.Translator does: in place of <unk>, the source token with the most attention.
    const token = id === UNK ? tokens[mean.indexOf(Math.max(...mean))] : model.target[id];
    steps.push({ id, token, weights, mean,
      candidates: best.map((id) => ({ id, token: model.target[id], chance: chances[id] })) });
  }
  const written = steps.map(({ token }) => token);
  const targetSpans = spansOf(written, model.pieces[1]);
  return { steps, ended, spans: targetSpans, words: wordsOf(written, targetSpans, model.pieces[1]) };
}

/** The ids of the `BEST` largest chances, the largest first; neither padding nor the first symbol is
 * ever chosen. */
function likeliest(chances) {
  const best = [];
  for (let id = EOS; id < chances.length; id++) {
    if (best.length === BEST && !(chances[id] > chances[best.at(-1)])) continue;
    const at = best.findIndex((other) => chances[id] > chances[other]);
    best.splice(at < 0 ? best.length : at, 0, id);
    if (best.length > BEST) best.pop();
  }
  return best;
}

/** The mean over layers and heads of weights (layers, heads, S). */
function meanHeads(weights) {
  const all = weights.flat();
  return all[0].map((_, j) => total(all.map((one) => one[j])) / all.length);
}

/** Run a generator to its end. */
function finish(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
