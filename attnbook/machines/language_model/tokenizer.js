// Byte-level byte-pair encoding (Radford et al. 2019), from the pieces and merges of a GGUF file.

/** How a byte is written in the pieces: those that can be seen as they are, the others as letters from 256 on. */
const BYTE_LETTERS = (() => {
  const seen = (b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(seen(b) ? b : next++));
})();
const LETTER_BYTES = new Map(BYTE_LETTERS.map((letter, b) => [letter, b]));
const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const KEPT_WORDS = 20000; // whose pieces are remembered
const SPECIAL = 3; // of the types of pieces

/** What a chat begins with where nobody says otherwise; the template itself is a program, and is never run. */
const SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

function openTokenizer(settings) {
  const of = (name) => settings.get(`tokenizer.ggml.${name}`), pieces = of("tokens"), types = of("token_type");
  const pre = of("pre");
  if (of("model") !== "gpt2" || !["smollm", "gpt-2", "gpt2"].includes(pre) || of("add_space_prefix") || of("add_bos_token"))
    throw new Error(`The file's tokenizer, ${of("model")} with ${pre}, is not known here.`);
  const ids = new Map(pieces.map((piece, id) => [piece, id]));
  const special = new Map(pieces.flatMap((piece, id) => (types[id] === SPECIAL ? [[piece, id]] : [])));
  return { pieces, ids, special, ranks: new Map(of("merges").map((pair, rank) => [pair, rank])), words: new Map(),
    digitsAlone: pre === "smollm", end: of("eos_token_id"), chats: (settings.get("tokenizer.chat_template") ?? "").includes(SYSTEM) };
}

/** The ids of a text. The names of special tokens in it are text like all else. */
function encode(tokenizer, text) {
  const found = [];
  for (const part of tokenizer.digitsAlone ? text.split(/(\p{N})/u) : [text])
    for (const [word] of part.matchAll(WORDS)) {
      let ids = tokenizer.words.get(word);
      if (!ids) {
        ids = mergeWord(tokenizer, word);
        if (tokenizer.words.size >= KEPT_WORDS) tokenizer.words.clear();
        tokenizer.words.set(word, ids);
      }
      for (const id of ids) found.push(id);
    }
  return found;
}

/** The ids of one word: of all pairs of neighbours that the file merges, the first in its list, again and again.
 *  A byte that has no piece is left out. */
function mergeWord({ ids, ranks }, word) {
  let parts = Array.from(new TextEncoder().encode(word), (b) => BYTE_LETTERS[b]).filter((letter) => ids.has(letter));
  while (parts.length > 1) {
    let least = Infinity;
    for (let i = 1; i < parts.length; i++) least = Math.min(least, ranks.get(`${parts[i - 1]} ${parts[i]}`) ?? Infinity);
    if (least === Infinity) break;
    const merged = [];
    for (let i = 0; i < parts.length; i++) {
      if (i + 1 < parts.length && ranks.get(`${parts[i]} ${parts[i + 1]}`) === least) merged.push(parts[i] + parts[++i]);
      else merged.push(parts[i]);
    }
    parts = merged;
  }
  return parts.map((part) => ids.get(part));
}

/** The ids of a question in the form in which the model was trained to answer, up to where the answer begins. */
function encodeChat(tokenizer, question) {
  const begin = tokenizer.ids.get("<|im_start|>"), end = tokenizer.ids.get("<|im_end|>"), line = encode(tokenizer, "\n");
  const say = (text) => [begin, ...encode(tokenizer, text), end, ...line];
  return [...say(`system\n${SYSTEM}`), ...say(`user\n${question}`), begin, ...encode(tokenizer, "assistant\n")];
}

/** The bytes of a piece; a special token's are those of its name. */
function bytesOfPiece({ pieces, special }, id) {
  const piece = pieces[id];
  return special.has(piece) ? new TextEncoder().encode(piece) : Uint8Array.from(piece, (letter) => LETTER_BYTES.get(letter));
}

/** What a token stands for; of a part of a character the replacement sign. */
const decodeOne = (tokenizer, id) => new TextDecoder().decode(bytesOfPiece(tokenizer, id));

/** The text of ids, special tokens left out. */
function decode(tokenizer, ids) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true }), stream = { stream: true };
  const plain = ids.filter((id) => !tokenizer.special.has(tokenizer.pieces[id]));
  return plain.map((id) => decoder.decode(bytesOfPiece(tokenizer, id), stream)).join("") + decoder.decode();
}
