// The sentence model's work: the vectors of texts, one after another; of one text also all maps.

let tokenizer, encoder;

function openFile(file) {
  [tokenizer, encoder] = [openTokenizer(file.settings), openEncoder(file)];
}

async function work({ number, texts, maps }) {
  for (const text of texts) {
    const ids = encode(tokenizer, text, encoder.longest), { vector, weights } = readIds(encoder, ids, maps);
    tell({ number, text, tokens: ids.map((id) => tokenizer.pieces[id]), vector, weights });
    await breath();
    if (number !== run) return;
  }
  tell({ number, done: true });
}
