// What one token leaves in a cache, as tiles; the kit stands before it.

const BLOCK = 64, ENDS = 32, WIDE = 640, HIGH = 56, TOP = 22, ROW = HIGH + 34;

// ---- What is computed.

function compute({ models, measured }, { model: at, form, latent, bits, tokens }) {
  const model = models[at], { layers, heads, groups, dim, rotary } = model, count = { heads, groups, one: 1 }[form];
  const parts = form === "latent" ? [["state", latent], ...rotary ? [["query", rotary]] : []]
    : ["key", "value"].flatMap((role) => Array.from({ length: count }, () => [role, dim]));
  const numbers = parts.reduce((sum, [, n]) => sum + n, 0), ends = bits < 16 ? Math.ceil(numbers / BLOCK) * ENDS : 0;
  const kept = layers * (numbers * bits + ends) / 8, size = form === "latent" ? latent : 0;
  const found = measured.filter((one) => one.model === model.name && one.form === form && one.latent === size && one.bits === bits).slice(0, 1);
  return { parts, numbers, bytes: kept, text: kept * tokens, less: layers * 2 * heads * dim * 2 / kept, found };
}

// ---- The page.

const stage = '<svg class="tiles-picture" aria-hidden="true"></svg><p class="tiles-asks machine-say"></p><p class="tiles-loss machine-say"></p>';

const controls = ({ models, forms, widths, lengths }) => {
  const sizes = ({ model }) => models[model].latents, model = chooser("Model", "model", models.map(({ name }, n) => [n, name]));
  // A latent is one of the model's own sizes.
  const read = model.read;
  model.read = (s) => { const chosen = read(s), list = models[chosen.model].latents; return { ...chosen, latent: list.includes(s.latent) ? s.latent : list[0] }; };
  return [
    model,
    chooser("Keeps", "form", forms),
    slider("Latent", "latent", { values: sizes, text: (n) => `${n} numbers` }),
    chooser("Bits a number", "bits", widths.map((n) => [n, String(n)])),
    slider("Text", "tokens", { values: lengths, text: (n) => plural(n, "token") }),
  ];
};

const size = (bytes) => {
  const [unit, by] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["bytes", 1]].find(([, least]) => bytes >= least);
  return `${bytes / by < 10 && by > 1 ? fixed(bytes / by, 2) : whole(Math.round(bytes / by * (by > 1 ? 10 : 1)) / (by > 1 ? 10 : 1))} ${unit}`;
};

function show(now, { page, data }) {
  const { model: at, form, bytes, less, found, numbers, tokens } = now, model = data.models[at], { name, heads, groups, layers } = model;
  say(page.big, `${size(bytes)} a token, ${size(now.text)} for ${plural(tokens, "token")}`);
  const rest = less === 1 ? "all of the dashed frame" : `a key and a value of 16 bits for every head would be ${significant(less, 3)} times as much`;
  say(page.say, `${whole(numbers)} numbers in each of ${layers} layers: ${rest}.`);
  const shared = { heads: "a key and a value of its own", groups: `a key and a value that ${plural(Math.round(heads / groups), "head")} share`, one: "the one key and value of all" };
  say(page.asks, form === "latent" && !model.rotary ? "From the latent all keys are made again, and turned: a smaller cache, not a faster one." : form === "latent" ? `Each of ${heads} queries is brought to the latent, and compares itself with the same ${whole(numbers)} numbers: one key for all heads.`
    : `Each of ${heads} queries has ${shared[form]}.`);
  const [one] = found;
  say(page.loss, one ? `Measured, nothing trained again: keys off by ${fixed(100 * one.keys, 1)}%, values by ${fixed(100 * one.values, 1)}%; loss of the next token ${fixed(one.loss, 2)} nats.`
    : `${name} was not run in this form: no loss to show.`);
  draw(page.picture, now, model);
}

/** A tile for each key, value or latent, as wide as its numbers and as high as their bits; behind them what
 *  a key and a value for every head would take. */
function draw(picture, { parts, bits }, { heads, dim }) {
  const scale = WIDE / (heads * dim), rows = [parts.filter(([role]) => role !== "value"), parts.filter(([role]) => role === "value")];
  const nodes = [];
  rows.forEach((row, r) => {
    const top = TOP + r * ROW, high = HIGH * bits / 16;
    let x = 0;
    nodes.push(text(`tiles-name`, 0, top - 7, r ? "values" : parts[0][0] === "state" ? rows[0].length > 1 ? "latent and rotary key" : "latent" : "keys"), rect("tiles-whole", 0, top, WIDE, HIGH));
    for (const [role, n] of row) {
      nodes.push(rect(`tiles-${role}`, x, top + HIGH - high, Math.max(n * scale - (row.length > 40 ? 0.4 : 1.5), 0.8), high));
      x += n * scale;
    }
    if (!row.length) nodes.push(text("tiles-none", WIDE / 2, top + HIGH / 2 + 4, "made from the latent, or never made", { text_anchor: "middle" }));
  });
  picture.setAttribute("viewBox", `0 0 ${WIDE} ${TOP + 2 * ROW - 30}`);
  picture.replaceChildren(...nodes);
}

export default machine({ name: "tiles", label: "The bytes of one token", data: ["models", "measured", "forms", "widths", "lengths"],
  settings: ["model", "form", "latent", "bits", "tokens"], stage, controls, compute, show });
