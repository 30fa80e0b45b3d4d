// One recurrent unit and its gate; the kit stands before it.

const BIASES = [-2, 7], FLOAT_DIGITS = 24, PLACES = 28, NOISE = 0.001;
const f32 = Math.fround;

// ---- What is computed, in float32 as torch does.

const gateOf = (bias) => f32(1 / (1 + Math.exp(-bias)));

/** The state after each word, with the first word's bit as it is, or flipped. */
function statesOf(bits, z, flipped) {
  let state = 0;
  return bits.map((bit, j) => state = f32(f32(z * state) + f32(f32(1 - z) * (flipped && j === 0 ? 1 - bit : bit))));
}

/** Both runs, the weight of each word read so far, and what they say of the first. */
function compute({ inputs }, { bias, step, flipped }) {
  const gate = gateOf(bias), [states, others] = [flipped, !flipped].map((over) => statesOf(inputs, gate, over));
  return { gate, states, others, weights: Array.from({ length: step }, (_, j) => (1 - gate) * gate ** (step - 1 - j)),
    left: gate ** (step - 1), half: Math.LN2 / -Math.log(gate), moved: Math.abs(states[step - 1] - others[step - 1]) };
}

/** A digit of a number from 0 to 1 after the binary point; and the first place at which two differ. */
const digitOf = (state, place) => Math.floor(state * 2 ** place) % 2;
const firstChange = (a, b, place = 1) => (digitOf(a, place) === digitOf(b, place) ? firstChange(a, b, place + 1) : place);

// ---- The page.

/** A share: in per cent, and when it is small as one part of many. */
const shareOf = (v) => (v >= 0.0995 ? `${(100 * v).toFixed(0)}%` : v >= 0.01
  ? `${(100 * v).toFixed(1)}%` : `1 part in ${whole(Math.round(1 / v))}`);

const stage = `<ol class="gate-words" aria-hidden="true"></ol>
<p class="gate-key" aria-hidden="true">bar: the word's weight in the state, from 1 (full) to what a float32 cannot hold, on a logarithmic scale</p>
<p class="gate-head" aria-hidden="true"></p><div class="gate-digits" aria-hidden="true"></div>
<div class="gate-reach" aria-hidden="true"><span>survives noise of ${NOISE}</span>
<span>only in an exact float32</span><span>gone</span></div>`;

const flip = ({ flipped }) => ({ flipped: !flipped });

const controls = ({ words }) => [
  slider("Gate", "bias", { min: BIASES[0], max: BIASES[1], step: 0.1, text: (b) => gateOf(b).toFixed(3),
    heard: (b) => `gate ${gateOf(b).toFixed(3)}` }),
  slider("Words read", "step", { min: 1, max: words.length, heard: (n) => `${plural(n, "word")}, to ${quoted(words[n - 1])}` }),
  button(`Flip ${quoted(words[0])}`, flip, ({ flipped }) => flipped),
];

function build({ page, data: { words }, on, take, settings }) {
  page.words.append(...words.map((word) => make("li", {}, make("span", { textContent: word }), make("i"))));
  page.digits.append(...Array.from({ length: PLACES }, () => make("span")));
  on(page.words.firstChild, "click", () => take(flip(settings())));
}

function show({ gate, left, half, moved, states, others, step, weights }, { page, data: { words } }) {
  const first = quoted(words[0]), [state, other] = [states[step - 1], others[step - 1]];
  const every = half.toLocaleString("en-US", { maximumFractionDigits: half < 10 ? 1 : 0 });
  say(page.big, `${first} moves the state by ${significant(moved, 3)}`);
  say(page.say, `${first} entered with weight ${significant(1 - gate)}, like every word, and ${shareOf(left)} of that is left. ` +
    `Half is lost ${every === "1" ? "with every word" : `every ${every} words`}. Flip its bit, and ` +
    `${moved ? `binary place ${firstChange(state, other)} is the first to change` : "nothing changes: the bit has fallen out"}.`);
  [...page.words.children].forEach((item, j) => {
    item.className = j >= step ? "gate-later" : j ? "" : "gate-first";
    item.style.setProperty("--machine-share", `${j < step ? Math.max(0, 100 + 100 * Math.log2(weights[j]) / FLOAT_DIGITS) : 0}%`);
  });
  const last = Math.ceil(-Math.log2(state)) - 1 + FLOAT_DIGITS, [, exact, gone] = page.reach.children;
  [...page.digits.children].forEach((cell, k) => {
    const digit = digitOf(state, k + 1);
    say(cell, k < last ? String(digit) : "");
    cell.className = k >= last ? "gate-gone" : digit !== digitOf(other, k + 1) ? "gate-moved" : "";
  });
  const edge = Math.min(last, PLACES) + 1;
  exact.style.gridColumn = `10/${edge}`;
  gone.hidden = edge > PLACES;
  gone.style.gridColumn = `${Math.min(edge, PLACES)}/29`;
  say(page.head, `the state: ${state.toFixed(7)}, and its binary places after “0.”`);
}

export default machine({ name: "gate", label: "A gate to drag", data: ["words", "inputs"],
  settings: ["bias", "step", "flipped"], stage, controls, build, compute, show });
