// The guide inside the explorer, and what addresses may say: `#anchor=3` leads to the third step,
// `#anchor=mask:none;seq_len:5` to these settings.

/** The control of each setting, and what stands for those without one. */
const partsOf = ({ controls, page }) => ({ stretch: page.stretch, pinned: page.chip, hidden: page.hide, guess: page.guess, kept: page.kept,
  ...Object.fromEntries(controls.map(({ name, element }) => [name, element])) });

class Tour {
  constructor(view, on) {
    this.view = view;
    this.steps = view.model.get("tour") || [];
    const { page, model } = view;
    page.tour.hidden = !this.steps.length;
    on(page.back, "click", () => this.go(this.said() - 1));
    on(page.next, "click", () => this.go((this.said() + 1) % this.steps.length));
    on(page.again, "click", () => {
      this.go(this.said());
      page.next.focus(); // since this button goes away
    });
    this.address = keepAddress({ root: page.root, model, on, visit: (rest) => this.visit(rest),
      goal: () => (page.tour.hidden ? page.cursor : page.tour), behind: () => this.behind() });
    addTools(page, this.address.link, on);
  }

  at() {
    return this.view.model.get("step") || 0;
  }

  /** Take a step: all settings are set, and what moved is marked. */
  go(at) {
    if (!this.steps[at]) return;
    this.move({ step: at, ...LATER, ...this.steps[at].set });
    this.address.note(0);
  }

  move(values) {
    const { view } = this, old = readSettings(view.model), parts = partsOf(view);
    write(view.model, values);
    view.sync();
    this.taken = view.settings;
    view.update();
    this.unmark();
    for (const [name, part] of Object.entries(parts)) {
      part.classList.toggle("explorer-moved", !alike(old[name], view.settings[name]));
    }
  }

  unmark() {
    for (const part of Object.values(partsOf(this.view))) part.classList.remove("explorer-moved");
  }

  /** The step whose sentence is on show: where each speaks of a head of its own, that of the head on show. */
  said() {
    const { steps, view: { settings } } = this, heads = steps.map(({ set }) => set.head);
    return new Set(heads).size < steps.length || !heads.includes(settings.head) ? this.at() : heads.indexOf(settings.head);
  }

  show() {
    const { view: { page, settings }, steps } = this, at = this.at(), said = this.said();
    if (!steps.length) return;
    if (at !== this.shown) [this.shown, this.taken] = [at, settings];
    // The step's sentence may be true no more; an answer to its question moves nothing.
    const moved = (name) => name !== "guess" && !alike(settings[name], this.taken[name]);
    page.again.classList.toggle("explorer-away", !Object.keys(settings).some(moved));
    // Where the guide goes from head to head, a sentence speaks of one of them.
    const one = steps.every(({ set }) => set.head === steps[0].set.head), head = said === at ? this.taken.head : settings.head;
    page.say.classList.toggle("explorer-away", !one && settings.head !== head && head !== "all");
    say(page.say, steps[said].say);
    say(page.count, `${said + 1} of ${steps.length}`);
    page.back.ariaDisabled = String(said === 0);
    say(page.next, said + 1 < steps.length ? "Next" : "Start over");
  }

  /** What an address says of what is on show: a step, or the settings that are not those of the beginning. */
  behind() {
    const now = readSettings(this.view.model), { taken, steps, view: { initial } } = this, at = this.at();
    return steps.length && at && alike(now, taken) ? String(at + 1) : writeAddress(changedOf(now, initial));
  }

  /** Set what an address says; false where it cannot be. */
  visit(rest) {
    const { view } = this, step = this.steps[Number(rest) - 1], values = step || readAddress(view.data, rest);
    if (!values) return false;
    if (step) this.move({ step: Number(rest) - 1, ...LATER, ...step.set });
    else this.move({ ...view.initial, ...values });
    return true;
  }
}

/** Settings from an address, null where any of them cannot be. */
function readAddress(data, text) {
  const number = (least) => (v) => Number.isFinite(v) && v >= least, flag = (v) => typeof v === "boolean";
  const counts = [data.heads, data.rows, data.cols], computed = !data.frames;
  const below = (most) => (v) => Number.isInteger(v) && v >= 0 && v < most;
  const cell = (...sizes) => (v) => Array.isArray(v) && sizes.includes(v.length) &&
    v.every((at, dim) => below(counts[dim])(at));
  const fits = { seq_len: (v) => data.lengths.includes(v),
    head: (v) => v === "all" || (Number.isInteger(v) && v in data.names),
    mask: (v) => computed && Object.hasOwn(MASKS, v) && fitsMask(data, v),
    stage: (v) => v === "weights" || (computed && STAGES.includes(v)),
    ...Object.fromEntries(MASK_SETTINGS.map(({ setting, least }) => [setting, number(least)])), scaled: flag, stretch: flag,
    temperature: number(1e-6), pinned: cell(0, 3), guess: cell(0, 2, 3), view: (v) => VIEWS.includes(v), difference: flag,
    hidden: (v) => computed && Array.isArray(v) && new Set(v).size === v.length && v.every(below(data.cols)),
    kept: (v) => Object(v) === v && Object.entries(v).every(([name, of]) => COMPARED.includes(name) && fits[name](of)) };
  const found = parseAddress(text);
  return found && Object.entries(found).every(([name, value]) => Object.hasOwn(fits, name) && fits[name](value)) ? found : null;
}
