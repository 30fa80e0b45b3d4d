// Guess first: a row is covered until the reader has pressed the key that they expect. The setting
// `guess` is [head, query] while it is, [head, query, key] afterwards, and [] where nothing is asked.

const asks = ({ guess }) => guess.length === 2;
const covers = (s, [head, query]) => asks(s) && s.guess[0] === head && s.guess[1] === query;

/** The row that is asked about, and of which head where there are several. */
const rowAsked = (data, labels, [head, query]) => quoted(labels.queries[query]) + (data.heads > 1 ? ` in ${data.names[head]}` : "");

/** Guess and truth, compared. */
function tellGuess(data, labels, { weights, sees }, [head, query, key]) {
  const order = bestKeys({ weights, sees }), [best] = order, row = rowAsked(data, labels, [head, query]);
  const pressed = `You pressed ${quoted(labels.keys[key])}`;
  if (weights[key] === weights[best]) return `${pressed}, and there is most of the weight of ${row}: ${fixed(weights[key])}.`;
  return `${pressed}: it has ${fixed(weights[key])}, place ${order.indexOf(key) + 1} of ${order.length}. ` +
    `Most of the weight of ${row}, ${fixed(weights[best])}, lies on ${quoted(labels.keys[best])}.`;
}

/** A question mark in each cell of the covered row. */
function coverRow(pen, { cell, em }, { x, y }, { cols }, query, { soft, muted, line }) {
  pen.fillStyle = soft;
  pen.strokeStyle = line;
  pen.fillRect(x, y + query * cell, cols * cell, cell);
  pen.strokeRect(x + 0.5, y + query * cell + 0.5, cols * cell - 1, cell - 1);
  if (cell < 9) return;
  pen.fillStyle = muted;
  pen.textAlign = "center";
  pen.font = fontOf(Math.min(12, cell), em);
  for (let j = 0; j < cols; j++) pen.fillText("?", x + (j + 0.5) * cell, y + (query + 0.5) * cell);
}

function guessFirst(view, on) {
  const { data, page } = view;
  let made = "";
  on(page.answers, "click", ({ target }) => target.dataset.key && press(Number(target.dataset.key)));
  on(page.skip, "click", () => {
    const { guess } = view.settings, again = guess.length === 3;
    view.set(again ? { guess: guess.slice(0, 2), pinned: [] } : { guess: [] });
    if (again) page.answers.querySelector("button").focus();
    else page.cursor.focus({ preventScroll: true });
  });

  function press(key) {
    const s = view.settings, cell = [...s.guess.slice(0, 2), key], row = readRow(data, s, cell);
    const labels = labelsOf(data, s);
    if (!row.sees(key)) return tell(`${quoted(labels.keys[key])} is masked for this query. Press another word.`);
    const inside = page.guess.contains(document.activeElement);
    write(view.model, { guess: cell, pinned: cell });
    view.sync();
    view.update();
    show();
    tell(tellGuess(data, labels, row, cell));
    if (inside) page.skip.focus();
  }

  function tell(text) {
    say(page.told, text);
    say(page.live, text);
  }

  function show() {
    const { settings: s } = view, [head, query, key] = s.guess, { rows } = sizeOf(data, s);
    // While another head is on show, neither its row nor its number is there to speak of.
    page.guess.hidden = !s.guess.length || query >= rows || !shownHeads(data, s).includes(head);
    page.root.classList.toggle("explorer-asks", asks(s) && !page.guess.hidden);
    if (page.guess.hidden) return;
    const row = readRow(data, s, [head, query]), labels = labelsOf(data, s), open = asks(s);
    say(page.ask, `Guess first: where do you expect most of the weight of ${rowAsked(data, labels, s.guess)}?`);
    page.answers.hidden = !open;
    say(page.skip, open ? "Just show me" : "Cover it again");
    const keys = [...row.weights.keys()].filter(row.sees), now = JSON.stringify([keys, labels.keys]);
    if (open && made !== now) {
      page.answers.replaceChildren(...keys.map((j) => {
        const button = make("button", { type: "button", textContent: labels.keys[j] });
        button.dataset.key = j;
        return button;
      }));
      keepKeys(page.answers);
      made = now;
    }
    if (!open) say(page.told, tellGuess(data, labels, row, [head, query, key]));
    else if (!page.told.textContent.includes("masked")) say(page.told, "");
  }

  return { show, press };
}
