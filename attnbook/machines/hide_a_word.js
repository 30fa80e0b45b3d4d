// Hide a word, or leave it out, and see what is written then; kit and translator stand before it.

const FIRST = 900, STAY = 3200; // ms until the experiment begins by itself, and for each of its steps
const SPOKEN = 700; // ms without typing until a translation is spoken
const FEW = 5; // words that go and come, until all that is written says more
const NARROW = 540, BOX = 34, GAP = 96, PITCH = 40; // pixels

function compute({ words, runs }, { own, word, left }) {
  if (own) return { target: [], weights: [], before: [] };
  const [target, weights] = runs[word < 0 || word >= words.length ? 0 : 1 + word + (left ? words.length : 0)];
  return { target, weights, before: runs[0][0] };
}

const fits = { own: (v) => typeof v === "string", word: (v) => Number.isInteger(v) && v >= -1 && v < 24 };

/** What the next press of a word does: hide it, leave it out, put it back. */
const pressed = ({ word, left }, at) =>
  (word !== at ? { word: at, left: false } : { word: left ? -1 : at, left: !left });

// ---- The page.

const stage = `<svg class="word-picture"><g class="word-lines"></g><g class="word-source"></g><g class="word-target"></g></svg>
<div class="word-own"><label>Now a sentence of yours:<input class="word-input" type="text" lang="en" autocomplete="off"
autocapitalize="off" spellcheck="false" maxlength="200"></label><div class="word-tries"></div><p class="word-answer"></p><p class="word-state"></p></div>`;

const controls = ({ steps }) => steps.map(([name, word, left], at) =>
  button(`${at + 1} ${name}`, () => ({ own: "", word, left }), (s) => !s.own && s.word === word && s.left === left));

function build(machine) {
  const { page, data: { steps, plays }, on, sized, take, close } = machine;
  // What the page has shown until now; and a phone's first screen is for the words.
  document.querySelector(".attnkit-first")?.remove();
  page.picture.after(page.controls);
  machine.note = page.note.textContent;
  Object.assign(page.picture, { role: "group", ariaLabel: "English words, to hide or leave out, and the French that is written" });
  const press = ({ target }) => {
    const one = target.closest(".word-source > g");
    if (one) take(pressed(machine.now(), [...page.source.children].indexOf(one)));
  };
  on(page.source, "click", press);
  on(page.source, "keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press(event);
  });
  sized(page.picture, () => machine.drawn !== page.picture.clientWidth && machine.update());
  const player = playing(machine), own = ownSentence(machine);
  Object.assign(machine, { own, close() { player.end(); own.end(); close(); } });
  if (steps.length) machine.controls.at(-1).element.before(player.button);
  if (plays) player.wait();
}

/** The experiment that runs by itself: it is spoken once, when it has run. */
function playing({ page, data: { steps }, on, model, initial, settings, update }) {
  const button = make("button", { type: "button", className: "word-play", textContent: "▶ Play" });
  let timer, watcher, at = null;
  const stop = () => {
    clearTimeout(timer);
    watcher?.disconnect();
    at = null;
    button.textContent = "▶ Play";
  };
  const step = () => {
    if (at === steps.length) {
      page.live.textContent = steps.map(([name, , , because]) => `${name}: ${because}`).join(" ");
      return stop();
    }
    const [, word, left] = steps[at++];
    button.textContent = "■ Stop";
    write(model, { own: "", word, left });
    update();
    timer = setTimeout(step, STAY);
  };
  const play = () => {
    stop();
    at = 0;
    step();
  };
  on(button, "click", () => {
    page.live.textContent = at === null ? "One step after another." : "Stopped.";
    if (at === null) play();
    else stop();
  });
  // At the first touch of anything.
  for (const name of ["pointerdown", "keydown", "wheel", "focusin"]) {
    on(document, name, ({ target }) => button.contains(target) || stop(), { capture: true, passive: true });
  }
  return { button, end: stop, wait() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    watcher = new IntersectionObserver((seen) => {
      clearTimeout(timer);
      if (at === null && seen.at(-1).isIntersecting) timer = setTimeout(() => alike(settings(), initial) && play(), FIRST);
    }, { threshold: 0.4 });
    watcher.observe(page.picture);
  } };
}

/** The reader's sentence: `show(settings)` gives what there is of its translation, and starts what is missing. */
function ownSentence(machine) {
  const { page, data: { files: [file], sentences, size }, on, model, take, update } = machine;
  let engine, asked, failed, job, wanted, found, speaking;
  const book = bookScript(), saving = navigator.connection?.saveData === true;
  page.own.hidden = !file || !book;
  const bring = () => {
    if (asked || page.own.hidden) return;
    [asked, failed] = [true, false];
    update();
    readFile(file, book.src).then((buffer) => { engine = loadModel(buffer); }, () => { [asked, failed] = [false, true]; }).then(update);
  };
  const idle = () => (window.requestIdleCallback ?? setTimeout)(bring);
  if (!saving) {
    if (document.readyState === "complete") idle();
    else on(window, "load", idle);
  }
  on(page.input, "focus", bring);
  const put = (own) => {
    write(model, { own, word: -1, left: false });
    update();
    machine.address.note();
  };
  on(page.input, "input", () => put(page.input.value));
  fill(page.tries, sentences, () => make("button", { type: "button" }), (one, text) => {
    one.textContent = text;
    on(one, "click", () => { bring(); take({ own: text, word: -1, left: false }); });
  });

  const read = (text) => readSource(engine, text, 24);
  function* work({ own, word, left }) {
    const whole = read(withStop(own)), { words } = whole;
    const run = (what, hidden) => translating(engine, what, { hidden: new Set(hidden), longest: 40, patience: PATIENCE });
    const rowsOf = ({ steps, spans }, { spans: from }) => rowsOfWords(steps.map(({ mean }) => mean), spans, from);
    const plain = yield* run(whole, []), before = plain.words, at = words[word] === undefined ? -1 : word;
    if (at < 0) return { source: words, target: before, weights: rowsOf(plain, whole), before };
    if (!left) {
      const now = yield* run(whole, [at]);
      return { source: words, target: now.words, weights: rowsOf(now, whole), before };
    }
    const rest = read(words.filter((_, k) => k !== at).join(" "));
    if (!rest.words.length) return { source: words, target: [], weights: [], before };
    const now = yield* run(rest, []), weights = rowsOf(now, rest).map((row) => [...row.slice(0, at), 0, ...row.slice(at)]);
    return { source: words, target: now.words, weights, before };
  }

  function end() {
    clearTimeout(speaking);
    job?.stop();
  }

  return { show(now) {
    const { own } = now, key = JSON.stringify([own, now.word, now.left]);
    if (page.input.value !== own) page.input.value = own;
    if (engine && own.trim() && wanted !== key) {
      wanted = key;
      end();
      job = inSlices(work(now), (result) => {
        found = { ...result, key };
        update();
        speaking = setTimeout(() => { page.live.textContent = `${page.big.textContent} ${page.say.textContent}`; }, SPOKEN);
      });
      job.start();
    }
    say(page.state, failed ? "The translator could not be loaded. Press the box to try again."
      : !engine ? `A larger translator ${saving && !asked ? "comes when you press the box" : "is on its way"}: ${
        (size / 1e6).toFixed(1)} MB. Until then, press the words above.`
        : "The translator is here, in your browser: what you type stays with you. It knows short sentences with a verb best.");
    if (!own.trim()) return null;
    return { source: engine ? found?.source ?? [] : tokenize(own), target: [], weights: [], before: [],
      ...(found && engine ? found : {}), fresh: found?.key === key };
  }, end };
}

/** Words that went and words that came, in a few words; where they are many, what is written now. */
function changes({ marks, gone }, target) {
  const went = [...gone.flatMap(({ tokens }) => tokens), ...marks.flatMap((mark) => mark?.was ?? [])];
  const came = target.filter((_, at) => marks[at]), list = (tokens) => tokens.map(quoted).join(", ");
  if (went.length && came.length && went.length + came.length > FEW) return `it writes ${quoted(detokenize(target))}`;
  if (went.length && came.length) return `${list(came)} in place of ${list(went)}`;
  if (went.length) return `${list(went)} ${went.length > 1 ? "are" : "is"} gone`;
  return came.length ? `${list(came)} ${came.length > 1 ? "are" : "is"} new` : "nothing changes";
}

function show(now, machine) {
  const { page, data, own } = machine, yours = own.show(now), { left } = now;
  const shown = yours ?? { source: data.words, ...now }, { source, target, before } = shown;
  const at = source[now.word] === undefined ? -1 : now.word, compared = compare(before, target);
  const step = !yours && data.steps.find(([, word, out]) => word === at && out === left);
  const done = at < 0 ? "" : `${quoted(source[at])} ${left ? "left out" : "hidden"}`;
  if (yours && !yours.fresh) {
    say(page.big, "One moment …");
    say(page.say, now.own);
  } else if (at < 0) {
    say(page.big, yours ? detokenize(target) || "It wrote nothing" : "A line says where it looked");
    say(page.say, yours ? "Press a word of yours to hide it, and again to leave it out."
      : "Press an English word to hide it from the model’s attention, and again to leave it out of the sentence.");
  } else {
    say(page.big, `${done}: ${changes(compared, target)}`);
    say(page.say, step ? step[3] : left ? "Now it has not been read at all. Press it again to put it back."
      : "The model could not look at it, but it has read it. Press it again to leave it out.");
  }
  // On a telephone the large type may lie above the screen while a sentence is typed.
  say(page.answer, !yours ? "" : yours.fresh ? detokenize(target) || "It wrote nothing" : "One moment …");
  say(page.note, yours ? "Your sentence is translated in your browser, by a Transformer." : machine.note);
  draw(machine, shown, at, left, compared);
}

/** Two rows of words side by side, or two columns where they have no room, and lines between them. */
function draw(machine, { source, target, weights }, at, left, { marks, gone }) {
  const { page } = machine, wide = machine.drawn = page.picture.clientWidth || 640;
  const written = target.flatMap((token, k) => [
    ...gone.filter(({ at: place }) => place === k).flatMap(lost), ...(marks[k]?.was ?? []).map((word) => ({ word, gone: true })),
    { word: token, row: k, fresh: Boolean(marks[k]) }]);
  written.push(...gone.filter(({ at: place }) => place === target.length).flatMap(lost));
  const longest = Math.max(1, ...[...source, ...written.map(({ word }) => word)].map(({ length }) => length));
  const most = Math.max(source.length, written.length, 1), tall = wide < NARROW || wide / most < 18 + 8.5 * longest;
  const across = tall ? Math.min(wide * 0.36, 24 + 9 * longest) : 0;
  const boxes = (items, second) => items.map((_, k) => (tall
    ? { left: second ? wide - across : 0, top: k * PITCH, width: across, height: BOX }
    : { left: k * wide / items.length + 2, top: second ? BOX + GAP : 0, width: wide / items.length - 4, height: BOX }));
  const from = boxes(source, false), to = boxes(written, true), high = tall ? most * PITCH - 6 : 2 * BOX + GAP;
  const lines = written.flatMap(({ row }, k) => (row === undefined ? [] : weights[row].flatMap((weight, j) =>
    (weight < LEAST ? [] : [{ weight, a: from[j], b: to[k] }]))));
  put(page.picture, { viewBox: `-2 -2 ${wide + 4} ${high + 4}` });
  fill(page.lines, lines, () => svg("path"), (path, { weight, a, b }) => put(path, { d: curve(a, b, tall),
    "stroke-width": 1 + 7 * weight, opacity: clamp(weight + 0.1, 0.18, 1) }));
  const node = () => svg("g", {}, rect("word-box", 0, 0, 0, BOX, { rx: 8 }), text("", 0, BOX / 2 + 5, "", { text_anchor: "middle" }));
  const place = (one, { left, top, width }, word, className) => {
    put(one, { transform: `translate(${left.toFixed(1)} ${top})`, class: className });
    put(one.firstChild, { width });
    put(one.lastChild, { x: width / 2 });
    say(one.lastChild, word);
  };
  const hand = () => {
    const one = node();
    Object.assign(one, { tabIndex: 0, role: "button" });
    one.dataset.lmSuppressShortcuts = "true";
    return one;
  };
  fill(page.source, source, hand, (one, word, k) => {
    const off = k === at;
    place(one, from[k], word, off ? left ? "word-left" : "word-hidden" : "");
    one.ariaLabel = `${word}${off ? left ? ", left out, put it back" : ", hidden, leave it out" : ", hide"}`;
  });
  fill(page.target, written, node, (one, { word, gone: lost, fresh }, k) => {
    const name = lost ? "word-gone" : fresh ? "word-new" : "", had = one.getAttribute("class");
    place(one, to[k], word, name);
    if (name && had !== name) flash(one.lastChild);
  });
}

const lost = ({ tokens }) => tokens.map((word) => ({ word, gone: true }));

const words = ({ own }) => (own ? `Your sentence: ${own}` : undefined);

export default machine({ name: "word", label: "Hide a word", data: ["words", "runs", "steps", "plays", "sentences", "files", "size"],
  settings: ["own", "word", "left"], stage, controls, fits, build, compute, show, words });
