// What one token leaves in a cache, as tiles, and the price; the kit stands before it.

const BLOCK = 64, ENDS = 32, WIDE = 640, HIGH = 38, TOP = 22, ROW = HIGH + 26, SCALE = TOP + 2 * ROW + 14;

// ---- What is computed.

/** Role and numbers of each tile of a layer. */
function partsOf({ groups, dim }, form) {
  if (form.startsWith("latent")) return [["state", Number(form.split("-")[1])]];
  return ["key", "value"].flatMap((role) => Array.from({ length: form === "groups" ? groups : 1 }, () => [role, dim]));
}

/** Bytes of a token in all layers, and what was measured. */
function costOf({ own, measured }, form, bits) {
  const numbers = partsOf(own, form).reduce((sum, [, n]) => sum + n, 0), ends = bits < 16 ? Math.ceil(numbers / BLOCK) * ENDS : 0;
  return { numbers, bytes: own.layers * (numbers * bits + ends) / 8, found: measured.find((one) => one.form === form && one.bits === bits) };
}

function compute(data, { form, bits }) {
  const now = costOf(data, form, bits), trained = costOf(data, "groups", 16);
  return { ...now, parts: partsOf(data.own, form), share: now.bytes / trained.bytes, rise: Math.expm1(now.found.loss - trained.found.loss) };
}

// ---- The page.

const stage = `<svg class="tiles-picture" aria-hidden="true"></svg>`;

const nameOf = ({ groups }, form) => form === "groups" ? `its ${groups} groups` : form === "one" ? "the mean of its groups" : form.replace("latent-", "a latent of ");

const controls = ({ own, forms, widths }) => [
  chooser("Keeps", "form", forms.map((form) => [form, nameOf(own, form)])),
  slider("Bits", "bits", { values: [...widths].reverse(), text: String }),
];

const kib = (bytes) => `${fixed(bytes / 1024, bytes < 10240 ? 2 : 1)} KiB`;
const risen = (rise) => rise === 0 ? "as it was" : `${rise < 0 ? "−" : "+"}${Math.abs(rise) < 0.02 ? fixed(Math.abs(100 * rise), 1) : significant(Math.abs(100 * rise), Math.abs(rise) < 1 ? 2 : 3)}%`;

function show(now, { page, data }) {
  const { bytes, found, rise, share, numbers, form, bits } = now, { name, heads, groups, layers } = data.own;
  const trained = form === "groups" && bits === 16;
  say(page.big, `${kib(bytes)} a token, perplexity ${significant(Math.exp(found.loss), 3)}, ${risen(rise)}`);
  const serves = { groups: `A key and a value for every ${plural(Math.round(heads / groups), "head")}`, one: `One key and value for all ${heads} heads, the plain mean of ${groups}` };
  say(page.say, `${serves[form] ?? `One latent for all ${heads} heads`}: ${whole(numbers)} numbers of ${bits} bits in each of ${layers} layers. ${trained
    ? `This is how ${name} was trained.` : `That is ${Math.round(100 * share)}% of what ${name} kept. Keys are off by ${fixed(100 * found.keys, 1)}% of their length, values by ${fixed(100 * found.values, 1)}%.`}`);
  draw(page.picture, now, data.own);
}

/** Where a rise of the perplexity stands on the scale: straight below 0.2%, a logarithm above. */
const across = (rise) => 6 + (WIDE - 12) * Math.asinh(Math.max(rise, 0) / 0.002) / Math.asinh(1000 / 0.002);

/** A tile for each key, value or latent, as wide as its numbers and as high as their bits, in the outline of
 *  what the model was trained with; below them the price. */
function draw(picture, { parts, bits, rise }, { groups, dim }) {
  const scale = WIDE / (groups * dim), rows = [parts.filter(([role]) => role !== "value"), parts.filter(([role]) => role === "value")], nodes = [];
  rows.forEach((row, r) => {
    const top = TOP + r * ROW, high = HIGH * bits / 16;
    let x = 0;
    nodes.push(text("tiles-name", 0, top - 7, r ? "values" : parts[0][0] === "state" ? "the latent, for keys and values" : "keys"),
      text("tiles-none", WIDE, top - 7, r ? "width: numbers, height: bits" : "outlined: as trained", { text_anchor: "end" }));
    for (const [role, n] of row) {
      nodes.push(rect(`tiles-${role}`, x, top + HIGH - high, n * scale - 1.5, high));
      x += n * scale;
    }
    nodes.push(rect("tiles-whole", 0, top, WIDE, HIGH));
    if (!row.length) nodes.push(text("tiles-none", WIDE / 2, top + HIGH / 2 + 5, "not kept: the latent serves for them too", { text_anchor: "middle" }));
  });
  nodes.push(text("tiles-name", 0, SCALE - 16, "perplexity"), rule("tiles-scale", 0, SCALE, WIDE, SCALE));
  [["as it was", 0, "start"], ["+1%", 0.01], ["+10%", 0.1], ["+100%", 1], ["+1,000%", 10], ["+10,000%", 100]].forEach(([words, at, anchor], n) => {
    nodes.push(rule("tiles-scale", across(at), SCALE - 4, across(at), SCALE + 4), text(`tiles-none${n % 2 ? " tiles-some" : ""}`, anchor ? 0 : across(at), SCALE + 22, words, { text_anchor: anchor ?? "middle" }));
  });
  nodes.push(svg("circle", { class: "tiles-price", cx: across(rise), cy: SCALE, r: 8 }));
  picture.setAttribute("viewBox", `0 0 ${WIDE} ${SCALE + 28}`);
  picture.replaceChildren(...nodes);
}

export default machine({ name: "tiles", label: "The bytes of one token", data: ["own", "measured", "forms", "widths"],
  settings: ["form", "bits"], stage, controls, compute, show });
