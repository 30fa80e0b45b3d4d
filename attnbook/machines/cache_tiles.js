// What one token leaves in a cache, as tiles; the kit stands before it.

const BLOCK = 64, ENDS = 32, WIDE = 640, HIGH = 44, TOP = 22, ROW = HIGH + 32;

// ---- What is computed.

const ownOf = ({ own, latents }) => [own, own === "latent" ? latents[0] : 0];

/** Role and numbers of each tile of a layer. */
function partsOf({ heads, groups, dim, rotary }, form, latent) {
  const count = { heads, groups, one: 1 }[form];
  return form === "latent" ? [["state", latent], ...rotary ? [["query", rotary]] : []]
    : ["key", "value"].flatMap((role) => Array.from({ length: count }, () => [role, dim]));
}

/** Bytes of a token in all layers, what was measured with such a cache, and how much the perplexity rose. */
function costOf({ models, measured }, [at, form, latent, bits]) {
  const model = models[at], numbers = partsOf(model, form, latent).reduce((sum, [, n]) => sum + n, 0);
  const find = (form, latent, bits) => measured.filter((one) => one.model === model.name && one.form === form && one.latent === latent && one.bits === bits).slice(0, 1);
  const found = find(form, latent, bits), own = find(...ownOf(model), 16), ends = bits < 16 ? Math.ceil(numbers / BLOCK) * ENDS : 0;
  return { numbers, bytes: model.layers * (numbers * bits + ends) / 8, found, rise: found.length && own.length ? [Math.expm1(found[0].loss - own[0].loss)] : [] };
}

const chosen = ({ model, form, latent, bits }) => [model, form, form === "latent" ? latent : 0, bits];

function compute(data, settings) {
  const { tokens, held } = settings, now = costOf(data, chosen(settings)), [at, form, latent] = chosen(settings), model = data.models[at];
  return { ...now, parts: partsOf(model, form, latent), text: now.bytes * tokens,
    less: model.layers * 2 * model.heads * model.dim * 2 / now.bytes, beside: costOf(data, held) };
}

// ---- The page.

const stage = `<svg class="tiles-picture" aria-hidden="true"></svg><p class="tiles-asks machine-say"></p><p class="tiles-loss machine-say"></p>
<table class="tiles-beside"><thead><tr><td></td><th scope="col">a token</th><th scope="col" class="tiles-long"></th><th scope="col">perplexity</th></tr></thead><tbody></tbody></table>`;

const controls = ({ models, forms, widths, lengths }) => {
  const model = chooser("Model", "model", models.map(({ name }, n) => [n, name]));
  const sizes = ({ model: at }) => [...models[at].latents].sort((a, b) => a - b);
  // A latent is one of the model's own sizes.
  const read = model.read;
  model.read = (s) => { const next = read(s), list = models[next.model].latents; return { ...next, latent: list.includes(s.latent) ? s.latent : list[0] }; };
  return [
    model,
    chooser("Keeps", "form", forms),
    chooser("Bits", "bits", widths.map((n) => [n, String(n)])),
    slider("Text", "tokens", { values: lengths, text: (n) => plural(n, "token") }),
    slider("Latent", "latent", { values: sizes, text: (n) => `${n} numbers`, shown: ({ form }) => form === "latent" }),
    button("Hold this to compare", (s) => ({ held: chosen(s) }), (s) => alike(chosen(s), s.held)),
  ];
};

/** Whether a setting can be held. */
const fits = { held: (v, s, { models, forms, widths }) => Array.isArray(v) && v.length === 4 && Boolean(models[v[0]]) && forms.some(([name]) => name === v[1])
  && (v[1] === "latent" ? models[v[0]].latents.includes(v[2]) : v[2] === 0) && widths.includes(v[3]) };

const size = (bytes) => {
  const [unit, by] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["bytes", 1]].find(([, least]) => bytes >= least);
  return `${bytes / by < 10 && by > 1 ? fixed(bytes / by, 2) : whole(Math.round(bytes / by * (by > 1 ? 10 : 1)) / (by > 1 ? 10 : 1))} ${unit}`;
};

/** How a perplexity has risen, in words. */
const risen = (rise) => rise === 0 ? "as it is" : rise > 1 ? `× ${significant(1 + rise, 2)}` : `${rise < 0 ? "−" : "+"}${fixed(Math.abs(100 * rise), Math.abs(rise) < 0.02 ? 1 : 0)}%`;

function named({ models, forms }, [at, form, latent, bits]) {
  const { name, groups } = models[at], kept = { groups: `${groups} groups`, latent: `a latent of ${latent}` }[form] ?? forms.find(([one]) => one === form)[1];
  return `${name}, ${kept}, ${bits} bits`;
}

function show(now, { page, data }) {
  const { model: at, form, bytes, less, found, rise, numbers, tokens, latent, bits, held, beside } = now, model = data.models[at], { name, heads, groups, layers, own } = model;
  say(page.big, `${size(bytes)} a token${rise.length ? `, perplexity ${risen(rise[0])}` : ""}`);
  const rest = less === 1 ? "all of the dashed frame" : `a key and a value of 16 bits for every head would take ${significant(less, 3)} times as much`;
  say(page.say, `${size(now.text)} for ${plural(tokens, "token")}. ${whole(numbers)} numbers in each of ${layers} layers: ${rest}.`);
  const shared = { heads: ", each with a key and a value of its own", groups: `; each key and value serves ${Math.round(heads / groups)} of them`, one: ", and one key and value for all of them" };
  const made = form === "one" && found.length ? " (The plain mean of its groups, untrained.)" : form === "groups" && own === "latent" ? ` (${name} has no groups: these are made up.)` : form !== "latent" ? ""
    : own !== "latent" ? found.length ? "" : ` (${name} has no latent: this one is made up.)` : latent === model.latents[0] ? "" : ` (${name}’s own has ${model.latents[0]} numbers.)`;
  say(page.asks, (form === "latent" && !model.rotary ? `${name} never trained for this: its keys must be rebuilt at every step.` : form === "latent"
    ? `Each of ${heads} queries is brought to the latent, and compares itself with the same ${whole(numbers)} numbers: one key for all heads.` : `${heads} queries${shared[form]}.`) + made);
  const [one] = found, trained = alike(chosen(now).slice(1), [...ownOf(model), 16]);
  say(page.loss, one ? trained ? `This is how ${name} was trained: ${fixed(one.loss, 2)} nats a token.` : `Keys are off by ${fixed(100 * one.keys, 1)}%, values by ${fixed(100 * one.values, 1)}%; the next token costs ${fixed(one.loss, 2)} nats.`
    : trained ? `This is how ${name} was trained; what it cost, only a twin trained otherwise could say. SmolLM2 has measured prices.` : `${name} was not run like this, so there is no price to show.`);
  say(page.root.querySelector(".tiles-long"), plural(tokens, "token"));
  const row = (label, settings, cost) => make("tr", {}, make("th", { scope: "row", textContent: `${label}: ${named(data, settings)}` }), ...[size(cost.bytes), size(cost.bytes * tokens),
    cost.rise.length ? risen(cost.rise[0]) : "not measured"].map((textContent) => make("td", { textContent })));
  page.beside.tBodies[0].replaceChildren(row("now", chosen(now), now), row("held", held, beside));
  draw(page.picture, now, model, held[0] === at ? partsOf(model, held[1], held[2]) : []);
}

/** A tile for each key, value or latent, as wide as its numbers and as high as their bits; behind them what
 *  a key and a value for every head would take, and around them what is held of the same model. */
function draw(picture, { parts, bits, held }, { heads, dim }, outlined) {
  const scale = WIDE / (heads * dim), halves = (all) => [all.filter(([role]) => role !== "value"), all.filter(([role]) => role === "value")];
  const rows = halves(parts), around = halves(outlined), nodes = [];
  rows.forEach((row, r) => {
    const top = TOP + r * ROW, high = HIGH * bits / 16, wide = scale * around[r].reduce((sum, [, n]) => sum + n, 0), tall = HIGH * held[3] / 16;
    const beside = r ? outlined.length ? "outline: held" : "" : "dashed: every head, 16 bits";
    let x = 0;
    nodes.push(text(`tiles-name`, 0, top - 7, r ? "values" : parts[0][0] === "state" ? rows[0].length > 1 ? "latent and rotary key" : "latent" : "keys"),
      text("tiles-none", WIDE, top - 7, beside, { text_anchor: "end" }), rect("tiles-whole", 0, top, WIDE, HIGH));
    for (const [role, n] of row) {
      nodes.push(rect(`tiles-${role}`, x, top + HIGH - high, Math.max(n * scale - (row.length > 40 ? 0.4 : 1.5), 0.8), high));
      x += n * scale;
    }
    if (wide) nodes.push(rect("tiles-held", 0, top + HIGH - tall, wide, tall));
    if (!row.length) nodes.push(text("tiles-none", WIDE - 10, top + HIGH / 2 + 4, "not kept: latents are averaged first", { text_anchor: "end" }));
  });
  picture.setAttribute("viewBox", `0 0 ${WIDE} ${TOP + 2 * ROW - 30}`);
  picture.replaceChildren(...nodes);
}

export default machine({ name: "tiles", label: "The bytes of one token", data: ["models", "measured", "forms", "widths", "lengths"],
  settings: ["model", "form", "latent", "bits", "tokens", "held"], fits, stage, controls, compute, show });
