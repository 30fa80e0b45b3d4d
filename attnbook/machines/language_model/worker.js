// The language model's work: it reads what the reader wrote, and writes on.

const LONGEST = 1024; // tokens of a text, the answer included: the caches then take 47 MB
const DRAWN = 192; // tokens whose weights are handed over
const SHOWN = 8; // next words

let model, tokenizer, text;
const scores = [], nexts = []; // of each token of the text: its log-probability there, and what may come next

function openFile(file) {
  [tokenizer, model] = [openTokenizer(file.settings), openModel(file)];
}

/** Read a prompt and write on from it, unless another run begins. */
async function work({ number, prompt, chat, changes, sampling, most }) {
  const ids = chat ? encodeChat(tokenizer, prompt) : encode(tokenizer, prompt);
  const room = LONGEST - most;
  if (!ids.length) return tell({ number, wrong: "There is nothing to read yet: write a sentence." });
  if (ids.length > room) return tell({ number, wrong: `That is ${ids.length.toLocaleString("en-US")} tokens. At most ${room} are read here, so that a browser has the memory for it: shorten the text.` });
  let logits = begin(ids, changes, sampling);
  const from = text.ids.length;
  for (let i = 0; i < from; i++) hand(number, i, ids.length);
  for (let i = from; i < ids.length; i++) {
    scores.push(logits ? Math.log(chancesOf(logits)[ids[i]]) : null);
    logits = readToken(text, ids[i]);
    nexts.push(named(choose(logits, sampling, () => 0, SHOWN)));
    hand(number, i, ids.length);
    await breath();
    if (number !== run) return;
  }
  const random = randomFrom(sampling.seed);
  let why = "most";
  while (text.ids.length < ids.length + most) {
    const { id } = choose(logits, sampling, random, SHOWN);
    if (id === tokenizer.end) { why = "end"; break; }
    scores.push(Math.log(chancesOf(logits)[id]));
    logits = readToken(text, id);
    nexts.push(named(choose(logits, sampling, () => 0, SHOWN)));
    hand(number, text.ids.length - 1, ids.length);
    await breath();
    if (number !== run) return;
  }
  tell({ number, done: why, perplexity: perplexityOf(scores.slice(0, ids.length)), written: decode(tokenizer, text.ids.slice(ids.length)) });
}

/** Keep what was read of the same beginning with the same settings; all but the last token of it, whose logits are
 *  asked for. */
function begin(ids, changes, { temperature, topP }) {
  const key = JSON.stringify([changes, temperature, topP]);
  let same = 0;
  if (text?.key === key) while (same < ids.length - 1 && text.ids[same] === ids[same]) same++;
  else text = Object.assign(newText(model, changes, DRAWN), { key });
  scores.length = nexts.length = same;
  text.ids.length = Math.max(0, same - 1);
  text.rows.length = Math.min(text.rows.length, text.ids.length);
  return same ? readToken(text, ids[same - 1]) : null;
}

/** e to the mean surprise of the tokens that have one before them. */
function perplexityOf(scores) {
  const known = scores.filter((v) => v !== null);
  return known.length ? Math.exp(-known.reduce((a, b) => a + b, 0) / known.length) : null;
}

function hand(number, place, prompt) {
  const row = text.rows[place]?.slice(), id = text.ids[place];
  const message = { number, place, prompt, token: decodeOne(tokenizer, id), id, chance: scores[place] === null ? null : Math.exp(scores[place]),
    next: nexts[place], row };
  if (row) tell(message, row.buffer);
  else tell(message);
}

const named = ({ candidates }) => candidates.map((one) => ({ ...one, token: decodeOne(tokenizer, one.id) }));
