// A question that the page checks and remembers; the kit stands before it.

const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/;

const NONE = "Type a number, such as 0.5 or 1/2.";

/** What the page says of a reply. */
function compute({ right, tolerance, because, replies, options }, { reply, checked }) {
  if (!checked || !reply) return { verdict: "", said: checked && !options.length ? NONE : "" };
  const is = (answer) => Math.abs(Number(reply) - answer) <= tolerance;
  return is(right) ? { verdict: "Right", said: because }
    : { verdict: "Not yet", said: replies.find(([answer]) => is(answer))?.[1] ?? "" };
}

const fitting = (reply, _, { options }) => typeof reply === "string" && (reply === "" || (options.length
  ? options.some((_, place) => String(place) === reply) : reply.length <= 20 && NUMBER.test(reply)));

// ---- The page.

/** A control whose new value has not been checked. */
const unchecked = (one) => ({ ...one, read: (s) => ({ ...one.read(s), checked: false }) });

/** A number as its reader writes it: 0,59 is 0.59 and 1,000 a thousand; "" for what is none (yet). */
function decimal(typed) {
  const thousands = /^-?[1-9]\d{0,2}(,\d{3})+(?!\d|,)/.test(typed);
  const number = typed.replace("\u2212", "-").replace(thousands ? /,/g : ",", thousands ? "" : ".");
  return NUMBER.test(number) ? number : "";
}

/** The same of 3/4, and of 67%, which is 0.67 where a share is asked for and 67 where per cent are. */
function numberOf(typed, right) {
  const [text, percent] = typed.replace(/\s/g, "").split(/(%)$/), parts = text.split("/").map(decimal);
  const [over, under = "1"] = parts, value = over / under / (percent && Math.abs(right) <= 1 ? 100 : 1);
  if (parts.length > 2 || !over || !under || !Number.isFinite(value)) return "";
  return parts[1] || percent ? String(Number(value.toPrecision(12))) : over;
}

/** No field of type "number": where the page is in English it drops a comma, and 0,59 becomes 059. */
function numberField(right) {
  const input = make("input", { type: "text", inputMode: right < 0 ? "text" : "decimal", maxLength: 20, autocomplete: "off" });
  return control("Your answer", input, "reply", { show: (s) => { if (numberOf(input.value, right) !== s.reply) input.value = s.reply; },
    read: () => numberOf(input.value, right) });
}

const check = () => ({ checked: true });

const controls = ({ right, options, hints }) => [
  ...(options.length ? options.map((words, place) => button(words, () => ({ reply: String(place), ...check() }), ({ reply }) => reply === String(place)))
    : [unchecked(numberField(right)), button("Check", check)]),
  ...(hints.length ? [button("Hint", ({ hinted }) => ({ hinted: Math.min(hinted + 1, hints.length) }))] : []),
];

/** Where this browser keeps the reply; a browser that keeps nothing for a page is no error. */
const keptAt = (root) => `question ${location.pathname}#${root.id}`;

function remember(root, reply) {
  try {
    if (reply) localStorage.setItem(keptAt(root), reply);
  } catch { /* forgotten, then */ }
}

function remembered(root) {
  try {
    return localStorage.getItem(keptAt(root)) ?? "";
  } catch {
    return "";
  }
}

function build({ page, on, take, data, controls: [{ input }] }) {
  if (input) on(input, "keydown", ({ key }) => key === "Enter" && input.value && take(check()));
  // The page names the machine once it stands there.
  const recall = requestAnimationFrame(() => {
    const reply = remembered(page.root);
    if (reply && page.root.isConnected && !location.hash.startsWith(`#${page.root.id}=`) && fitting(reply, 0, data)) {
      take({ reply, checked: true });
    }
  });
  on(window, "pagehide", () => cancelAnimationFrame(recall));
}

function show({ verdict, said, hinted, reply, checked }, { page, data: { hints } }) {
  say(page.big, verdict || "Not answered yet");
  say(page.say, said || (verdict === "Not yet" && hinted < hints.length ? "Press Hint for a nudge." : ""));
  page.big.classList.toggle("question-right", verdict === "Right");
  page.big.classList.toggle("question-open", !verdict);
  fill(page.hints, hints.slice(0, hinted), () => make("li", {}, make("span")), ({ firstChild }, hint) => say(firstChild, hint));
  if (checked) remember(page.root, reply);
}

const words = ({ verdict, said, hinted }, { hints }) =>
  (verdict ? `${verdict}. ${said}` : said || (hinted ? `Hint: ${hints[hinted - 1]}` : "Not checked yet."));

export default machine({ name: "question", label: "A question", data: ["right", "options", "tolerance", "because", "replies", "hints"],
  settings: ["reply", "checked", "hinted"], fits: { reply: fitting, hinted: (n, _, { hints }) => Number.isInteger(n) && n >= 0 && n <= hints.length },
  stage: '<ol class="question-hints"></ol>', tools: false, controls, build, compute, show, words });
