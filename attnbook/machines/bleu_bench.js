// BLEU of a pair that the reader edits; the kit stands before it.

const WIDEST = 4, LONGEST = 24; // words of a run, words that are read
const ENTITIES = [["&quot;", '"'], ["&amp;", "&"], ["&lt;", "<"], ["&gt;", ">"]];
/** sacreBLEU's tokenizer 13a, in its order; 3.5 stays whole. */
const SIGNS = [[/([{-~[-` -&(-+:-@/])/g, " $1 "], [/([^0-9])([.,])/g, "$1 $2 "], [/([.,])([^0-9])/g, " $1 $2"], [/([0-9])(-)/g, "$1 $2 "]];

const wordsOf = (text) => SIGNS.reduce((line, [sign, apart]) => line.replace(sign, apart),
  ENTITIES.reduce((line, [entity, sign]) => line.replaceAll(entity, sign), ` ${text.toLowerCase()} `)).split(/\s+/).filter(Boolean);
const sequencesOf = (words, n) => Array.from({ length: Math.max(words.length - n + 1, 0) }, (_, at) => words.slice(at, at + n).join(" "));

/** Where runs of n words of the one stand in the other too, each at most as often as there. */
function hitsOf(said, meant, n) {
  const left = new Map();
  for (const run of sequencesOf(meant, n)) left.set(run, (left.get(run) ?? 0) + 1);
  return sequencesOf(said, n).flatMap((run, at) => {
    const count = left.get(run) ?? 0;
    left.set(run, count - 1);
    return count > 0 ? [at] : [];
  });
}

/** A half, a quarter, ... of one run in place of each share of 0, unless all are 0. */
function smooth(shares, runs) {
  let zeros = 0;
  return shares.map((share, k) => {
    zeros += share === 0;
    return share || (runs[k] && shares.some(Boolean) ? 1 / (2 ** zeros * runs[k]) : 0);
  });
}

function compute(_, { said, meant }) {
  const read = [wordsOf(said), wordsOf(meant)], [ours, theirs] = read.map((words) => words.slice(0, LONGEST)), sizes = [1, 2, 3, 4];
  const hits = sizes.map((n) => hitsOf(ours, theirs, n)), runs = sizes.map((n) => Math.max(ours.length - n + 1, 0));
  const shares = sizes.map((_, k) => (runs[k] ? hits[k].length / runs[k] : 0));
  const brevity = ours.length ? Math.min(1, Math.exp(1 - theirs.length / ours.length)) : 0;
  const [bleu, smoothed] = [shares, smooth(shares, runs)].map((all) => 100 * brevity * all.reduce((a, b) => a * b, 1) ** (1 / WIDEST));
  return { ours, theirs, cut: read.some((words) => words.length > LONGEST), hits, runs, shares, brevity, bleu, smoothed };
}

// ---- The page.

const stage = `<p class="machine-big"></p><p class="machine-say"></p>
<p class="machine-head">The translation: a line under each shared run of 1, 2, 3 and 4 words</p><div class="bleu-ours"></div>
<ol class="bleu-shares machine-side"></ol>`;

function field(label, name) {
  const input = make("input", { type: "text", maxLength: 200, lang: "fr", autocomplete: "off", autocapitalize: "off", spellcheck: false });
  return control(label, input, name, { fits: (v) => typeof v === "string",
    show: (s) => { if (input.value !== s[name]) input.value = s[name]; }, read: () => input.value });
}

const controls = ({ examples }) => [field("Translation", "said"), field("Reference", "meant"),
  ...examples.map(([name, said, meant]) => button(name, () => ({ said, meant }), (s) => s.said === said && s.meant === meant))];

/** Runs of n words that overlap lie in n lines, so that each is a line of its own. */
const LANES = [1, 2, 3, 4].flatMap((n) => Array.from({ length: n }, (_, lane) => ({ n, lane })));

const word = () => make("span", { className: "bleu-word" }, make("em"), ...LANES.map(() => make("i")));

function show({ ours, theirs, cut, hits, runs, shares, brevity, bleu, smoothed }, { page }) {
  const missing = shares.findIndex((v) => !v);
  say(page.big, ours.length ? `BLEU ${fixed(bleu, 1)}` : "Type a translation");
  say(page.say, !ours.length ? "There is nothing to count."
    : cut ? `Only the first ${LONGEST} words of each are read, so this is not the score of the whole.`
    : !runs[WIDEST - 1] ? `Too short: ${ours.length} ${ours.length === 1 ? "word has" : "words have"} no run of ${WIDEST}. BLEU is made for whole tests.`
    : missing < 0 ? `The fourth root of the shares’ product, times the length factor ${fixed(brevity, 2)}, times 100.`
    : `No run of ${missing + 1} ${missing ? "words" : "word"} is shared, and one share of 0 makes the product 0.${smoothed ? ` sacreBLEU puts a small share in place of a 0 and gives ${fixed(smoothed, 1)}.` : ""}`);
  fill(page.ours, ours, word, (one, token, at) => {
    say(one.firstChild, token);
    LANES.forEach(({ n, lane }, k) => {
      const from = hits[n - 1].find((start) => start % n === lane && start <= at && at < start + n);
      one.children[k + 1].className = `${lane ? "" : "bleu-first"}${from === undefined ? "" : " bleu-on"}${at + 1 < from + n ? " bleu-joined" : ""}`;
    });
  });
  const names = shares.map((_, k) => `runs of ${k + 1}: ${hits[k].length} of ${runs[k]}`);
  fill(page.shares, [...shares.map((v, k) => [names[k], v]), [`length: ${ours.length} of ${theirs.length} words`, brevity]], bar,
    (item, [name, share], k) => {
      showBar(item, name, share, 2);
      if (runs[k] === 0) say(item.lastChild, "–");
    });
}

const tell = ({ hits, runs }) => ` ${hits.map((found, k) => `Runs of ${k + 1}: ${found.length} of ${runs[k]}.`).join(" ")}`;

export default machine({ name: "bleu", label: "BLEU of a pair", data: ["examples"], settings: ["said", "meant"],
  stage, controls, compute, show, tell });
