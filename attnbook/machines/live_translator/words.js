// Text to words, words to the tokens that a model reads, and back: tasks.vocab and tasks.subwords.

// Of a word, in a vocabulary of pieces.
const START = "▁";
const SIGNS = /^[.,;:!?"“”«»()]$/;
// A point after one ends no sentence.
const TITLES = new Set(["mr", "mrs", "ms", "dr", "st"]);

const LETTER = "\\p{L}\\p{M}\\p{N}_\\u200c\\u200d", WORD = `[${LETTER}]`;
// What Python calls a space is not quite what JavaScript does.
const SIGN = `[^${LETTER}\\s\\x1c-\\x1f\\x85]`;
const WIDTHLESS = /[\ufeff\u200b\u00ad]/g;
const TOKEN = new RegExp(
  `(?<!${WORD})(?:qu|lorsqu|puisqu|jusqu|[cdjlmnst])'(?=${WORD})|'${WORD}+|` +
  `\\p{Nd}+(?:[.,]\\p{Nd}+)*(?!${WORD})|${WORD}+(?:-${WORD}+)*|${SIGN}`, "gu");

/** tasks.vocab.tokenize: lower-case words, numbers and signs. */
const tokenize = (text) =>
  text.toLowerCase().normalize("NFC").replaceAll("’", "'").replace(WIDTHLESS, "").match(TOKEN) ?? [];

const ELIDED = new RegExp(`(${WORD}') (?=${WORD})`, "gu"), OWNED = new RegExp(`(?<=${WORD}) ('${WORD}+)`, "gu");
const OWNERS = new RegExp(`(?<=s) ' (?=${WORD})`, "gu");

/** tasks.vocab.detokenize */
const detokenize = (tokens) => tokens.join(" ")
  .replace(ELIDED, "$1")
  .replace(OWNED, "$1")
  .replace(OWNERS, "' ")
  .replace(/ ([.,;:!?)%\]])/g, "$1")
  .replace(/([([]) /g, "$1");

/** Subwords.pieces of one word: join the two neighbours that make the token of the lowest id, the
 * leftmost of equals, until none do. */
function split(ids, word) {
  const parts = [START, ...word.replaceAll(START, "_")];
  const rank = (at) => ids.get(parts[at] + parts[at + 1]) ?? Infinity;
  const ranks = parts.slice(1).map((_, at) => rank(at));
  for (;;) {
    let best = 0;
    for (let at = 1; at < ranks.length; at++) if (ranks[at] < ranks[best]) best = at;
    if (!(ranks[best] < Infinity)) return parts;
    parts.splice(best, 2, parts[best] + parts[best + 1]);
    ranks.splice(best, 1);
    if (best > 0) ranks[best - 1] = rank(best - 1);
    if (best < ranks.length) ranks[best] = rank(best);
  }
}

/** Vocab.spans: where each word begins and ends among the tokens. */
function spansOf(tokens, inPieces) {
  const starts = [...tokens.keys()].filter(
    (at) => !inPieces || !at || tokens[at].startsWith(START));
  return starts.map((start, at) => [start, starts[at + 1] ?? tokens.length]);
}

const wholeWord = (tokens) => {
  const word = tokens.join("");
  return word.startsWith(START) ? word.slice(START.length) : word;
};

/** The whole words that pieces make, or the words that they are. */
const wordsOf = (tokens, spans, inPieces) =>
  spans.map(([from, to]) => (inPieces ? wholeWord(tokens.slice(from, to)) : tokens[from]));

/** Rows of weights over tokens as rows over words: the sum over the tokens of a source word, the
 * mean over those of a target word. See decoding.predictions.word_weights. */
function rowsOfWords(rows, to, from) {
  const sums = rows.map((row) => from.map(([start, end]) => total(row.slice(start, end))));
  return to.map(([start, end]) => from.map(
    (_, at) => total(sums.slice(start, end).map((row) => row[at])) / (end - start)));
}

const total = (numbers) => numbers.reduce((sum, one) => sum + one, 0);

/** A text with an end: a full stop where it has none. `with_stop` of shown.py. */
const withStop = (text) => (/[.!?…]["”»')\]]*\s*$|^\s*$/.test(text) ? text : `${text.trimEnd()}.`);

/** How many sentences words make, by their marks: `familiar.count_sentences`. */
function sentencesIn(words) {
  let count = 0, last = "", ended = true;
  for (const word of words) {
    if (/[\p{L}\p{N}]/u.test(word)) {
      count += ended;
      [last, ended] = [word, false];
    } else if (/^[?!]$/.test(word) || (word === "." && last.length > 1 && !TITLES.has(last))) ended = true;
  }
  return count;
}

/** What is read of a text: its words, as many as have at most `longest` tokens together, their
 * tokens, and how many words there were. See shown.read_source. */
function readSource(model, text, longest = Infinity) {
  const { ids, pieces: [inPieces], mostLetters } = model, words = [], tokens = [];
  const all = tokenize(text).filter((word) => inPieces || ids.has(word) || !SIGNS.test(word));
  const cut = (word) => [...word].slice(0, longest - 1).join("");
  for (const word of all) {
    // A word of more letters than so many pieces can have need not be split to know that.
    const far = inPieces && word.length > 2 * mostLetters * longest;
    const parts = !inPieces ? [word] : far ? null : split(ids, word);
    if (parts && tokens.length + parts.length <= longest) {
      words.push(word);
      tokens.push(...parts);
      continue;
    }
    if (!words.length) {
      words.push(cut(word));
      tokens.push(...split(ids, words[0]));
    }
    break;
  }
  return { words, tokens, spans: spansOf(tokens, inPieces), count: all.length };
}
