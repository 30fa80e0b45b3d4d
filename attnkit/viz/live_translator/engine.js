// Text in, text out: what attnkit.Translator does, greedily, and with words hidden.

const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
const BEST = 5;
const SIGNS = /^[.,;:!?"“”«»()]$/;
const BEGIN = { additive: beginRecurrent, transformer: beginTransformer };

// ---- Text to tokens. A model names the way it reads; another way is one more entry here.

const WORD = "[\\p{L}\\p{N}_]";
const TOKEN = new RegExp(
  `(?<!${WORD})(?:qu|lorsqu|puisqu|jusqu|[cdjlmnst])'(?=${WORD})|'${WORD}+|` +
  `\\p{Nd}+(?:[.,]\\p{Nd}+)*(?!${WORD})|${WORD}+(?:-${WORD}+)*|[^\\p{L}\\p{N}_\\s]`, "gu");

const TOKENIZERS = {
  /** tasks.vocab.tokenize: lower-case words, numbers and signs. */
  words: (text) => text.toLowerCase().replaceAll("’", "'").match(TOKEN) ?? [],
};

/** tasks.vocab.detokenize */
const detokenize = (tokens) => tokens.join(" ")
  .replace(/([\p{L}\p{N}_]') (?=[\p{L}\p{N}_])/gu, "$1")
  .replace(/(?<=[\p{L}\p{N}_]) ('[\p{L}\p{N}_]+)/gu, "$1")
  .replace(/(?<=s) ' (?=[\p{L}\p{N}_])/gu, "' ")
  .replace(/ ([.,;:!?)%\]])/g, "$1")
  .replace(/([([]) /g, "$1");

/** Source tokens of a text, without the signs between words that the model never read. */
const readSource = (model, text) =>
  model.tokenize(text).filter((token) => model.ids.has(token) || !SIGNS.test(token));

// ---- A model out of a file, and its translations.

/** What a file of attnkit.viz.live_translator.weights holds, ready to translate. */
function loadModel(buffer) {
  const { tensors, state } = readTensors(buffer);
  const ids = new Map(state.source.map((token, id) => [token, id]));
  return { tensors, ...state, ids, tokenize: TOKENIZERS[state.tokenizer] };
}

/** Translate source tokens greedily; `hidden` is a set of places that the attention may not see.
 * Gives a step for each token written, the end symbol not among them, and whether it ended. */
function translate(model, source, hidden, longest) {
  const ids = source.map((token) => model.ids.get(token) ?? UNK);
  const mask = source.map((_, place) => !hidden.has(place));
  const step = BEGIN[model.kind](model, ids, mask), steps = [];
  for (let token = BOS; steps.length < longest;) {
    const { logits, weights } = step(token), chances = softmax(logits);
    const best = ranked(chances).slice(0, BEST);
    [token] = best;
    if (token === EOS) return { steps, ended: true };
    const mean = meanHeads(weights);
    // As attnkit.Translator does: in place of <unk>, the source token with the most attention.
    const written = token === UNK ? source[mean.indexOf(Math.max(...mean))] : model.target[token];
    steps.push({ token: written, weights, mean,
      candidates: best.map((id) => [model.target[id], chances[id]]) });
  }
  return { steps, ended: false };
}

/** Ids, the likeliest first; neither padding nor the first symbol is ever chosen. */
const ranked = (chances) => [...chances.keys()].filter((id) => id !== PAD && id !== BOS)
  .sort((a, b) => chances[b] - chances[a]);

/** The mean over layers and heads of weights (layers, heads, S). */
function meanHeads(weights) {
  const all = weights.flat();
  return all[0].map((_, j) => all.reduce((sum, one) => sum + one[j], 0) / all.length);
}
