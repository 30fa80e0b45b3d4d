// A porter with a choice of memories; the kit and layers.js stand before it.

const FEATURES = 8, ROOMS = 10, PAIR = 2 * (FEATURES + ROOMS), NEAR = 4, MOST = 48, LONGEST = 600, SHARP = 60, AGE = 0.15, SILENCE = 45;
const isState = (memory) => /sum|delta|gated/.test(memory);
const zeros = (n) => Array(n).fill(0);

// ---- What is computed.

function mixed(x) {
  for (const [shift, factor] of [[16, 0x21f0aaad], [15, 0x735a2d97]]) x = Math.imul(x ^ (x >>> shift), factor);
  return (x ^ (x >>> 15)) >>> 0;
}

/** The key of a name, of length 1: numbers of a hash of its letters. */
function keyOf(name) {
  const hash = [...name.toLowerCase()].reduce((found, letter) => mixed(found ^ letter.codePointAt()), 0);
  const key = zeros(FEATURES).map((_, at) => mixed(hash + at + 1) / 2 ** 31 - 1), long = Math.hypot(...key);
  return key.map((v) => v / long);
}

const HEARD = /([\p{L}\p{Nl}\p{No}]+) ?([0-9])(?![0-9])|\//gu;

/** Pairs [name, room] as they were told; null where a new day begins. */
function heard(said) {
  const found = [];
  for (const [, name, room] of said.matchAll(HEARD)) {
    if (name && found.filter(Boolean).length === MOST) break;
    found.push(name ? [name, Number(room)] : null);
  }
  return found;
}

/** What is said without being a guest and a room. */
const unheard = (said) => said.replace(HEARD, ",").split(/[\s,;.]*[,;.]+[\s,;.]*/).map((part) => part.trim()).filter(Boolean);

function written(told, rule) {
  let state = zeros(ROOMS).map(() => zeros(FEATURES));
  for (const one of told) {
    const key = one && keyOf(one[0]);
    state = state.map((row, room) => {
      if (!one) return rule === "gated" ? zeros(FEATURES) : row;
      const more = (room === one[1]) - (rule === "sum" ? 0 : dot(row, key));
      return row.map((v, f) => v + more * key[f]);
    });
  }
  return state;
}

const small = ([name]) => name.toLowerCase();

/** How much of each guest's last pair is in the answer, by name in small letters. */
function left(told, rule) {
  const traces = new Map();
  for (const one of told) {
    const key = one && keyOf(one[0]);
    for (const [name, trace] of traces) {
      const less = key && rule !== "sum" ? dot(trace, key) : 0;
      traces.set(name, trace.map((v, f) => (key ? v - less * key[f] : rule === "gated" ? 0 : v)));
    }
    if (one) traces.set(small(one), key);
  }
  return new Map([...traces].map(([name, trace]) => [name, dot(trace, keyOf(name))]));
}

/** By name in small letters, the name as it was told first and the room told last. */
function guestsOf(pairs) {
  const found = new Map();
  for (const one of pairs) found.set(small(one), [found.get(small(one))?.[0] ?? one[0], one[1]]);
  return found;
}

/** The shares of all pairs for a query. */
function looked(query, keys, memory) {
  const raised = keys.map((key, j) => Math.exp(SHARP * dot(query, key) - AGE * (keys.length - 1 - j) - SILENCE));
  const attend = (kept) => {
    const own = raised.map((v, j) => (kept(j) ? v : 0)), sum = own.reduce((a, b) => a + b, 1);
    return own.map((v) => v / sum);
  };
  if (memory !== "best") return attend((j) => memory === "all" || j >= keys.length - NEAR);
  const agreed = keys.map((key) => dot(query.map(Math.sign), key.map(Math.sign)));
  const best = [...keys.keys()].sort((a, b) => agreed[b] - agreed[a] || b - a).slice(0, NEAR);
  return attend((j) => best.includes(j));
}

function loudest(bars) {
  const most = Math.max(...bars);
  return most < 0.2 ? -1 : bars.findIndex((v) => v > most - 1e-9);
}

function bytes(memory, n) {
  const near = Math.min(n, NEAR);
  const kept = { all: PAIR * n, window: PAIR * near, best: (PAIR + 1) * n }[memory] ?? 2 * FEATURES * ROOMS;
  return { kept, read: memory === "best" ? n + PAIR * near : kept };
}

function compute(_, { said, memory, ask }) {
  const told = heard(said), pairs = told.filter(Boolean), today = guestsOf(told.slice(told.lastIndexOf(null) + 1));
  const here = today.size, gone = [...guestsOf(pairs)].filter(([name]) => !today.has(name)).map(([, one]) => one), who = [...today.values(), ...gone];
  const asked = Math.min(ask, here - 1), is = isState(memory);
  const state = is ? written(told, memory) : [], keys = pairs.map(([name]) => keyOf(name)), queries = who.map(([name]) => keyOf(name));
  const shares = is ? [] : queries.map((query) => looked(query, keys, memory)), last = new Map(pairs.map((one, j) => [small(one), j])), traces = is && left(told, memory);
  const bars = queries.map((query, g) => (is ? state.map((row) => dot(row, query))
    : zeros(ROOMS).map((_, room) => shares[g].reduce((sum, v, j) => sum + v * (pairs[j][1] === room), 0))));
  const answers = bars.map(loudest), same = answers.map((v, g) => v === who[g][1]), count = (list) => list.filter(Boolean).length;
  const names = who.map(([name]) => name), rooms = who.map(([, room]) => room);
  return { guests: names.slice(0, here), rooms: rooms.slice(0, here), pairs: pairs.length, asked, answers: answers.slice(0, here), right: count(same.slice(0, here)),
    own: who.map((one, g) => (is ? traces.get(small(one)) : shares[g][last.get(small(one))])),
    gone: gone.length, left: names.slice(here), old: rooms.slice(here), sent: answers.slice(here), stale: count(same.slice(here)),
    bars: here ? bars[asked] : zeros(ROOMS), shares: here && !is ? shares[asked] : [], state, ...bytes(memory, pairs.length) };
}

// ---- The page.

const CELL = 19, LINE = 20, LEFT = 46, TOP = 30, TALL = ROOMS * LINE, GRID = FEATURES * CELL, ZERO = LEFT + GRID + 90, UNIT = 72, RIGHT = 108, WIDE = ZERO + RIGHT;

const stage = `<div class="porter-whole"><div><p class="machine-head">his answer for each guest</p><ol class="porter-guests"></ol>
<p class="porter-key">The line: how much of a guest’s own room is in the answer. Grey: who has left.</p></div>
<svg class="porter-memory" viewBox="0 0 ${WIDE} ${TOP + TALL + 4}" aria-hidden="true"></svg></div>`;

function saidField() {
  const input = make("input", { type: "text", maxLength: LONGEST, autocomplete: "off", spellcheck: false });
  return control("He hears", input, "said", {
    show: (s) => {
      if (input.value === s.said) return;
      const longer = input.value && s.said.startsWith(input.value);
      input.value = s.said;
      input.scrollLeft = longer ? input.scrollWidth : 0; // what was added by a button lies at the right
    },
    read: () => input.value, fits: (v) => typeof v === "string" && v.length <= LONGEST });
}

const controls = ({ names, labels }) => {
  const draw = (s, i) => mixed(s.pairs + i) >>> 3;
  const add = (s, more) => {
    const said = `${s.said.trim()}${/\d\s*$/.test(s.said) ? "," : ""} ${more.join(", ")}`;
    return s.pairs + more.length > MOST || said.length > LONGEST ? {} : { said };
  };
  const adding = (name, more) => {
    const one = button(name, (s) => add(s, more(s)));
    return { ...one, show: (s) => { one.element.ariaDisabled = String(!add(s, more(s)).said); } };
  };
  return [saidField(), slider("Ask for", "ask", { max: (s) => Math.max(s.guests.length - 1, 1), text: (_, s) => s.guests[s.asked] ?? "nobody" }),
    ...labels.map(([memory, name]) => button(name, () => ({ memory }), (s) => s.memory === memory)),
    adding("New rooms for all", (s) => s.guests.map((name, i) => `${name} ${(s.rooms[i] + 1 + draw(s, i) % 9) % ROOMS}`)),
    button("Everybody leaves", (s) => ({ said: `${s.said.trim()} /`.slice(0, LONGEST) })),
    adding("Four new guests", (s) => names.filter((name) => !s.said.includes(name)).slice(0, 4).map((name, i) => `${name} ${draw(s, i) % ROOMS}`))];
};

const fits = { memory: (v, _, { labels }) => labels.some(([one]) => one === v), ask: (v) => Number.isInteger(v) && v >= 0 && v < MOST };

/** The buttons in two rows, each with its name: what he keeps, and what happens to the guests. */
function grouped(page, { labels }) {
  const first = page.controls.querySelector(".machine-buttons"), buttons = [...first.children];
  const rows = [["memory", buttons.slice(0, labels.length)], ["events", buttons.slice(labels.length)]];
  first.replaceWith(...rows.map(([name, own]) => {
    const row = make("div", { className: "machine-buttons", role: "group", ariaLabel: name });
    row.append(make("span", { className: "porter-group", textContent: name }), ...own);
    return row;
  }));
}

function build({ page, data, on, take, now }) {
  grouped(page, data);
  on(page.guests, "click", ({ target }) => {
    const at = [...page.guests.children].indexOf(target.closest("li"));
    if (at >= 0 && at < now().guests.length) take({ ask: at });
  });
}

const cell = (x, y, wide, tall, v) => rect(v < 0 ? "porter-less" : "porter-more", x, y, wide - 1, tall - (tall > 4), { fill_opacity: Math.min(Math.abs(v), 1) });
const cells = (row, x, y, tall) => row.map((v, f) => cell(x + f * CELL, y, CELL, tall, v));

const short = (name) => (name.length > 4 ? `${name.slice(0, 3)}…` : name);

/** The names of the rows [y of its middle, text], apart enough to be read; a line leads to a row where its name had to move. */
function rowNames(rows, apart) {
  let last = -Infinity;
  const low = rows.map(([y]) => (last = Math.max(y, last + apart)));
  let next = TOP + TALL + apart - 5;
  const at = low.reverse().map((y) => (next = Math.min(y, next - apart))).reverse();
  return rows.flatMap(([y, name], n) => [text("porter-room", LEFT - 7, at[n] + 4, name, { text_anchor: "end" }),
    ...Math.abs(at[n] - y) > 1 ? [rule("porter-axis", LEFT - 6, at[n], LEFT - 1, y)] : []]);
}

/** What is kept: a state of ten rows, or a row for each pair, with its weight at the right; a frame where four are chosen.
    Where rows are too low for a name each, those with the most weight have one. */
function memory({ said, memory: kind, state, shares }) {
  if (isState(kind)) return state.flatMap((row, room) => cells(row, LEFT, TOP + room * LINE, LINE));
  const pairs = heard(said).filter(Boolean), from = kind === "window" ? Math.max(0, pairs.length - NEAR) : 0;
  const tall = Math.min(LINE, TALL / Math.max(pairs.length - from, 1)), after = LEFT + GRID + 4, kept = pairs.slice(from), own = shares.slice(from);
  const named = [...kept.keys()].filter((j) => tall > 10 || (kind === "best" ? own[j] > 0 : own[j] > 0.02));
  const most = tall > 10 ? named : named.sort((a, b) => own[b] - own[a]).slice(0, NEAR).sort((a, b) => a - b);
  return [text("porter-name", after, 10, "weight"), ...rowNames(most.map((j) => [TOP + (j + 0.5) * tall, `${short(kept[j][0])} ${kept[j][1]}`]), tall > 10 ? tall : 13),
    ...kept.flatMap(([name], j) => {
      const y = TOP + j * tall, share = own[j] ?? 0;
      return [...cells(keyOf(name), LEFT, y, tall), ...share > 0.02 ? [rect("porter-share", after, y, 36 * share, Math.max(tall - 1, 1))] : [],
        ...kind === "best" && share > 0 ? [rect("porter-chosen", LEFT - 1, y, GRID + 1, tall - 1)] : []];
    })];
}

/** The answer's ten bars, as long as they have room for, with a line where a whole room would end. */
function answer({ memory: kind, bars, rooms, asked }) {
  const is = isState(kind), room = ZERO - LEFT - GRID - 4, own = rooms[asked], end = { text_anchor: "end" };
  const unit = Math.min(UNIT, (RIGHT - 2) / Math.max(...bars, 0.1), room / Math.max(...bars.map((v) => -v), 0.1));
  return [text("porter-name", ZERO, 10, "answer"), text("porter-name", ZERO + unit, 24, "1", { text_anchor: "middle" }),
    rule("porter-one", ZERO + unit, TOP, ZERO + unit, TOP + TALL), rule("porter-axis", ZERO, TOP, ZERO, TOP + TALL),
    ...is ? [] : [text("porter-name", ZERO - 7, 10, "room", end)], ...bars.flatMap((v, at) => {
      const long = v * unit, y = TOP + at * LINE;
      return [is ? text("porter-room", LEFT - 4, y + 14, `room ${at}`, end) : text("porter-room", ZERO - 7, y + 14, String(at), end),
        rect(at === own ? "porter-bar porter-good" : "porter-bar", Math.min(ZERO, ZERO + long), y + 2, Math.abs(long), LINE - 5)];
    })];
}

function show(now, { page }) {
  const { guests, rooms, answers, asked, right, own, gone, left: away, old, sent, stale, kept, read, pairs } = now, lost = unheard(now.said).slice(0, 2), name = guests[asked], answered = answers[asked];
  say(page.big, name ? `Right for ${right} of ${plural(guests.length, "guest")}, with ${whole(kept)} bytes` : "Nobody is here today");
  say(page.say, `${name ? `${name}? ${answered < 0 ? "He says nothing" : `He says ${answered}`}${answered === rooms[asked] ? ", and that is right" : `; it is ${rooms[asked]}`}. ` : ""}` +
    `${plural(pairs, "pair")} told; keeping all takes ${whole(PAIR * pairs)} bytes.${read < kept ? ` An answer reads ${whole(read)} of the ${whole(kept)}.` : ""}` +
    `${gone ? ` Of ${plural(gone, "guest")} who left, he still sends ${stale} to their old room${stale === 1 ? "" : "s"}.` : ""}` +
    `${pairs + Math.max(guests.length, NEAR) > MOST ? ` He takes at most ${MOST} pairs.` : ""}` +
    `${lost.length ? ` Not understood: ${lost.map((one) => `“${one}”`).join(", ")}. A guest is a name and one digit.` : ""}`);
  const all = [...guests.map((guest, g) => [guest, rooms[g], answers[g]]), ...away.map((guest, g) => [guest, old[g], sent[g]])];
  fill(page.guests, all, () => make("li", {}, make("span"), make("span"), make("i")), ({ classList, children: [who, what, line] }, [guest, room, said], g) => {
    const left = g >= guests.length, same = said === room;
    classList.toggle("porter-asked", g === asked && !left);
    classList.toggle("porter-wrong", left === same);
    classList.toggle("porter-gone", left);
    line.style.width = `${100 * clamp(own[g], 0, 1)}%`;
    say(who, `${guest} ${room}`);
    say(what, left ? (said < 0 ? "–" : `→ ${said}`) : same ? "✓" : said < 0 ? "✗ –" : `✗ ${said}`);
  });
  page.memory.replaceChildren(text("porter-name", LEFT, 10, name ? `the key of ${name}` : ""), ...name ? cells(keyOf(name), LEFT, 14, 12) : [], ...memory(now),
    cell(LEFT + GRID + 6, 15, 11, 11, 1), text("porter-name", LEFT + GRID + 19, 24, "+"), cell(LEFT + GRID + 34, 15, 11, 11, -1), text("porter-name", LEFT + GRID + 47, 24, "−"),
    ...answer(now));
}

export default machine({ name: "porter", label: "A porter and his memory", data: ["names", "labels"], settings: ["said", "memory", "ask"],
  stage, controls, fits, build, compute, show });
