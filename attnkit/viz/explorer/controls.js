// The explorer's controls.

const VIEWS = ["map", "lines"];
const STAGES = ["scores", "masked scores", "weights"];

function maskControls(data) {
  const cols = (s) => sizeOf(data, s).cols, fits = (mask) => fitsMask(data, mask);
  return [
    chooser("Mask", "mask", (data.masks || Object.keys(MASKS)).map((mask) =>
      [mask, maskName(mask) + (fits(mask) ? "" : ": needs queries and keys to be the same tokens"),
        !fits(mask)])),
    ...MASK_SETTINGS.map(({ mask, label, setting, least, most = same, text = keys }) => ({ mask, ...slider(label, setting,
      { shown: (s) => s.mask === mask, min: least, max: (s) => most(cols(s)), text: (n, s) => text(n, cols(s)) }) })),
  ];
}

/** Temperatures in equal steps of the logarithm; those that a text speaks of are among them. */
function temperatures({ features }) {
  const named = [0.5, 1, 2, 4, ...features ? [Math.sqrt(features)] : []];
  const near = (v) => named.find((t) => Math.abs(Math.log10(t) - v) < 0.0251);
  return (v) => near(v) ?? short(10 ** v);
}

const heat = (t) => `${short(t)}${t > 1 ? ", flatter" : t < 1 ? ", sharper" : ""}`;

function buildControls(data, shown) {
  const { lengths, names } = data;
  const all = {
    length: () => slider(data.self || data.frames ? "Length" : "Keys", "seq_len",
      { values: lengths }),
    head: () => chooser(data.headLabel || "Head", "head",
      [...names.entries(), ["all", `all ${(data.headLabel || "Head").toLowerCase()}s`]]),
    mask: () => maskControls(data),
    view: () => chooser("View", "view", [["map", "map"], ["lines", "lines between words"]]),
    stage: () => chooser("Show", "stage", STAGES.map((stage) => [stage, stage])),
    temperature: () => slider("Temperature", "temperature", { min: -1, max: 1, step: 0.05,
      from: Math.log10, to: temperatures(data), text: heat }),
    scale: () => toggle(data.scaleLabel, "scaled"),
  };
  return Object.entries(all).flatMap(([name, made]) => shown.includes(name) ? made() : []);
}

/** The controls in a row; those that belong to one mask share a place that is always kept. */
function placeControls(controls) {
  const slot = make("div", { className: "explorer-slot" }), placed = [];
  for (const { element, mask } of controls) {
    if (!mask) placed.push(element);
    else if (!slot.childElementCount) placed.push(slot);
    if (mask) slot.append(element);
  }
  return placed;
}
