// Any word, joined from letters into pieces; the kit stands before it.

const START = "▁", LONGEST = 32; // begins a word; letters that are read

const prepare = ({ tokens }) => ({ ids: new Map(tokens.map((token, id) => [token, id])) });

/** Join the two neighbours whose piece has the lowest number, the leftmost of equals, until none make one. */
function compute({ ids }, { word }) {
  const typed = [...word.toLowerCase().split(/\s+/).filter(Boolean).join(START)], letters = typed.slice(0, LONGEST), rows = [];
  let parts = [START, ...letters], made = -1, number = -1;
  for (;;) {
    rows.push({ parts, made, number });
    const ranks = parts.slice(1).map((part, at) => ids.get(parts[at] + part) ?? Infinity);
    number = Math.min(...ranks);
    if (!(number < Infinity)) break;
    made = ranks.indexOf(number);
    parts = [...parts.slice(0, made), parts[made] + parts[made + 1], ...parts.slice(made + 2)];
  }
  return { letters: letters.filter((letter) => letter !== START).length, cut: typed.length > LONGEST, rows, unknown: parts.filter((part) => !ids.has(part)) };
}

// ---- The page.

const stage = '<p class="machine-big"></p><p class="machine-say"></p><ol class="pieces-rows"></ol>';

function field() {
  const input = make("input", { type: "text", maxLength: 40, autocomplete: "off", autocapitalize: "none", spellcheck: false });
  return control("Any word", input, "word", { fits: (v) => typeof v === "string",
    show: (s) => { if (input.value !== s.word) input.value = s.word; }, read: () => input.value });
}

const controls = ({ words }) => [field(), ...words.map((word) => button(word, () => ({ word }), (s) => s.word === word))];

const row = () => make("li", {}, make("div"), make("span"));

function show({ letters, cut, rows, unknown }, { page }) {
  const { parts } = rows.at(-1), count = letters ? parts.length : 0;
  say(page.big, count ? `${count} ${count === 1 ? "piece" : "pieces"}: ${parts.join(" · ")}` : "Type a word");
  say(page.say, cut ? `Only the beginning is read, up to ${LONGEST} signs.` : unknown.length ? `Training never saw ${unknown.map(quoted).join(", ")}: no piece has that.`
    : `${letters} ${letters === 1 ? "character" : "characters"} and ▁, which begins a word. ${rows.length - 1} ${rows.length === 2 ? "join" : "joins"}, each the earliest learned that fits.`);
  fill(page.rows, rows, row, (item, { parts, made, number }) => {
    fill(item.firstChild, parts, () => make("em"), (box, part, at) => {
      say(box, part);
      box.className = at === made ? "pieces-new" : "";
    });
    say(item.lastChild, number < 0 ? "letters" : `piece ${number} of the list`);
  });
}

export default machine({ name: "pieces", label: "A word in pieces", data: ["tokens", "words"], settings: ["word"],
  prepare, stage, controls, compute, show });
