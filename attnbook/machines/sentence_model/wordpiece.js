// WordPiece (Wu et al. 2016) as BERT cuts a text: small letters without accents, punctuation by itself, the longest pieces first.

const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const LONGEST_WORD = 100; // letters; a longer one is unknown
const SPACES = /[\t\n\r\p{White_Space}]/u;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\0\ufffd]/u;
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/u;
const IDEOGRAPH = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;

function openTokenizer(settings) {
  const of = (name) => settings.get(`tokenizer.ggml.${name}`), pieces = of("tokens");
  if (of("model") !== "bert") throw new Error(`The file's tokenizer, ${of("model")}, is not known here.`);
  return { pieces, ids: new Map(pieces.map((piece, id) => [piece, id])) };
}

/** The ids of a text between [CLS] and [SEP], at most `longest` of them. */
function encode({ ids }, text, longest) {
  const found = [], parts = text.split(/(\[(?:PAD|UNK|CLS|SEP|MASK)\])/);
  for (const part of parts) {
    if (SPECIAL.includes(part)) found.push(ids.get(part));
    else for (const word of wordsOf(part)) found.push(...piecesOf(ids, word));
  }
  return [ids.get("[CLS]"), ...found.slice(0, longest - 2), ids.get("[SEP]")];
}

function wordsOf(text) {
  let clean = "";
  for (const letter of text) {
    if (SPACES.test(letter)) clean += " ";
    else if (!UNSEEN.test(letter)) clean += IDEOGRAPH.test(letter) ? ` ${letter} ` : letter;
  }
  let small = "";
  // One letter at a time: a sigma at the end of a word stays what it is elsewhere.
  for (const letter of clean.normalize("NFD").replace(/\p{Mn}/gu, "")) small += letter.toLowerCase();
  const words = [];
  for (const run of small.split(" ")) {
    let word = "";
    const end = () => { if (word) words.push(word); word = ""; };
    for (const letter of run) {
      if (!PUNCTUATION.test(letter)) { word += letter; continue; }
      end();
      words.push(letter);
    }
    end();
  }
  return words;
}

function piecesOf(ids, word) {
  const letters = [...word], found = [], unknown = [ids.get("[UNK]")];
  if (letters.length > LONGEST_WORD) return unknown;
  for (let start = 0, end; start < letters.length; start = end) {
    let id;
    for (end = letters.length; end > start; end--) {
      id = ids.get((start ? "##" : "") + letters.slice(start, end).join(""));
      if (id !== undefined) break;
    }
    if (id === undefined) return unknown;
    found.push(id);
  }
  return found;
}
