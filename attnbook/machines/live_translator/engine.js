// What attnlab.Translator does, greedily or with a beam, with words hidden or put into its mouth.

const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
const BEST = 5;
// Times the same in a row, which no sentence has.
const PATIENCE = 4;
const BEGIN = { additive: beginRecurrent, transformer: beginTransformer };

/** What a file of attnbook.machines.live_translator.weights holds, ready to translate. */
function loadModel(buffer) {
  const { tensors, state } = readTensors(buffer);
  const ids = new Map(state.source.map((token, id) => [token, id]));
  const mostLetters = Math.max(1, ...state.source.map(({ length }) => length));
  return { tensors, ...state, target: state.target ?? state.source, ids, mostLetters };
}

/** Translate what `readSource` has read. `hidden` is a set of places of words that the attention may
 * not see, `forced` the ids of the first tokens to write, `size` the hypotheses of a beam for what
 * follows, 1 for none, `off` the places of heads that are switched off, `patience` how often it may
 * write the same in a row, 0 for without end. A generator, which stops to take breath many times and in the end returns a
 * step for each token written, the end symbol not among them; where words begin and end among them;
 * whether it ended; the logarithm of the probability of all that was not forced; the hypotheses
 * that the beam kept; and the state before the first step. */
function* translating(model, { tokens, spans }, { hidden, forced = [], longest, size = 1, off = [], patience = 0 }) {
  const ids = tokens.map((token) => model.ids.get(token) ?? UNK);
  const mask = spans.flatMap(([from, to], place) => Array(to - from).fill(!hidden.has(place)));
  const begun = yield* BEGIN[model.kind]({ ...model, off: off.map((place) => model.heads[place]) }, ids, mask), steps = [];
  const kept = size > 1 ? yield* searching(begun, { forced, longest, size }) : [];
  const path = kept.length ? kept[0].ids : forced;
  let { state } = begun, sum = 0, ended = false, stuck;
  for (let id = BOS; steps.length < longest && !stuck;) {
    yield;
    const { logits, weights, state: next } = begun.step(id, state), chances = shares(logits);
    const best = likeliest(chances, BEST), at = steps.length;
    [id, state] = [path[at] ?? best[0], next];
    if (at >= forced.length) sum += Math.log(chances[id]);
    if ((ended = id === EOS)) break;
    const mean = meanHeads(weights);
    // As attnlab.Translator does: in place of <unk>, the source token with the most attention.
    const token = id === UNK && mean.length ? tokens[mean.indexOf(Math.max(...mean))] : model.target[id];
    const chosenBy = id === best[0] ? "model" : at < forced.length ? "reader" : "beam";
    steps.push({ id, token, weights, mean, chosenBy,
      candidates: best.map((id) => ({ id, token: model.target[id], chance: chances[id] })) });
    stuck = at >= forced.length && repeats(steps, patience);
  }
  const written = steps.map(({ token }) => token), [, inPieces] = model.pieces,
    places = spansOf(written, inPieces);
  return { steps, ended, stuck, sum, first: begun.state, kept: kept.map((one) => ({ ...one, words: wordsOfIds(model, one.ids) })),
    spans: places, words: wordsOf(written, places, inPieces) };
}

/** Whether the last steps wrote the same so often in a row: a token, or several. */
const repeats = (steps, times) => steps.some((_, n) => {
  const tail = steps.slice(-n * times);
  return tail.length === n * times && tail.every(({ id }, k) => id === tail[k % n].id);
});

/** decoding.beam_search of one sentence: the hypotheses that are left, the best first, each with its
 * ids, the end among them, the sum of their log-probabilities, and whether it ended. */
function* searching({ step, state }, { forced, longest, size }) {
  let kept = [{ ids: [], sum: 0, ended: false, state }];
  for (let at = 0; at < longest && !isSettled(kept, longest); at++) {
    const longer = [];
    for (const one of kept.filter(({ ended }) => !ended)) {
      yield;
      const { logits, state } = step(one.ids.at(-1) ?? BOS, one.state), chances = shares(logits);
      const ids = at < forced.length ? [forced[at]] : likeliest(chances, size);
      longer.push(...ids.map((id) => ({ ids: [...one.ids, id], state, ended: id === EOS,
        sum: one.sum + (at < forced.length ? 0 : Math.log(chances[id])) })));
    }
    longer.sort((a, b) => b.sum - a.sum);
    kept = [...kept.filter(({ ended }) => ended), ...longer].slice(0, size);
  }
  return kept.sort((a, b) => b.ended - a.ended || worth(b) - worth(a));
}

/** Wu et al. 2016, equation 14: how much length is forgiven. */
const penalty = (length) => ((5 + length) / 6) ** 0.6;
const worth = ({ sum, ids }) => sum / penalty(ids.length);

/** Whether no open hypothesis can still become the best: a sum can only fall. */
function isSettled(kept, longest) {
  const ended = kept.filter(({ ended }) => ended), open = kept.filter(({ ended }) => !ended);
  const hope = Math.max(...open.map(({ sum }) => sum / penalty(longest)));
  return ended.length > 0 && Math.max(...ended.map(worth)) >= hope;
}

/** The words that ids make, the end symbol left out. */
function wordsOfIds({ target, pieces: [, inPieces] }, ids) {
  const tokens = ids.filter((id) => id !== EOS).map((id) => target[id]);
  return wordsOf(tokens, spansOf(tokens, inPieces), inPieces);
}

/** The ids of the `count` largest chances, the largest first; neither padding nor the first symbol is
 * ever chosen. */
function likeliest(chances, count) {
  const best = [];
  for (let id = EOS; id < chances.length; id++) {
    if (best.length === count && !(chances[id] > chances[best.at(-1)])) continue;
    const at = best.findIndex((other) => chances[id] > chances[other]);
    best.splice(at < 0 ? best.length : at, 0, id);
    if (best.length > count) best.pop();
  }
  return best;
}

/** The mean of weights (layers, heads, S) over all heads that look at something; of none, nothing. */
function meanHeads(weights) {
  const all = weights.flat(), count = all.filter((one) => one.some(Boolean)).length || 1;
  return (all[0] ?? []).map((_, j) => total(all.map((one) => one[j])) / count);
}

/** Run a generator to its end. */
function finish(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
