// The guide inside the explorer, and the addresses that lead to a setting of it: `#anchor=3` to the
// third step, `#anchor=mask:none;seq_len:5` to these settings.

/** The control of each setting, and what stands for those without one. */
const partsOf = ({ controls, page }) => ({ stretch: page.stretch, pinned: page.chip, hidden: page.hide, guess: page.guess, kept: page.kept,
  ...Object.fromEntries(controls.map(({ name, element }) => [name, element])) });

class Tour {
  constructor(view, on) {
    this.view = view;
    this.steps = view.model.get("tour") || [];
    this.anchor = view.model.get("anchor");
    const { page } = view;
    page.tour.hidden = !this.steps.length;
    on(page.back, "click", () => this.go(this.at() - 1));
    on(page.next, "click", () => this.go((this.at() + 1) % this.steps.length));
    on(page.again, "click", () => {
      this.go(this.at());
      page.next.focus(); // since this button goes away
    });
    if (this.anchor) this.listen(on);
  }

  at() {
    return this.view.model.get("step") || 0;
  }

  /** Take a step: all settings are set, and what moved is marked. */
  go(at) {
    if (!this.steps[at]) return;
    this.move({ step: at, ...LATER, ...this.steps[at].set });
    if (this.anchor && this.inBook()) history.replaceState(history.state, "", `#${this.anchor}=${at + 1}`);
  }

  move(values) {
    const { view } = this, old = readSettings(view.model), parts = partsOf(view);
    write(view.model, values);
    view.sync();
    this.taken = view.settings;
    view.update();
    this.unmark();
    for (const [name, part] of Object.entries(parts)) {
      part.classList.toggle("ak-moved", !alike(old[name], view.settings[name]));
    }
  }

  unmark() {
    for (const part of Object.values(partsOf(this.view))) part.classList.remove("ak-moved");
  }

  show() {
    const { view: { page, settings }, steps } = this, at = this.at();
    if (!steps.length) return;
    if (at !== this.shown) [this.shown, this.taken] = [at, settings];
    // The step's sentence may be true no more; an answer to its question moves nothing.
    const moved = (name) => name !== "guess" && !alike(settings[name], this.taken[name]);
    page.again.classList.toggle("ak-away", !Object.keys(settings).some(moved));
    say(page.say, steps[at].say);
    say(page.count, `${at + 1} of ${steps.length}`);
    page.back.ariaDisabled = String(at === 0);
    say(page.next, at + 1 < steps.length ? "Next" : "From the start");
  }

  // ---- Links and addresses.

  /** Whether the page is a built one: in a notebook the address is the front end's own. */
  inBook() {
    return Boolean(this.view.page.root.closest(".attnkit-view"));
  }

  listen(on) {
    on(document, "click", (event) => {
      const link = event.target.closest?.(`a[href*="#${this.anchor}="]`);
      if (!link || !this.visit(link.hash)) return;
      event.preventDefault();
      event.stopPropagation();
      if (this.inBook()) history.pushState(null, "", link.hash);
    }, { capture: true });
    on(window, "hashchange", () => this.visit(location.hash));
    requestAnimationFrame(() => {
      if (!this.visit(location.hash)) return;
      let moved = false;
      for (const name of ["wheel", "touchstart", "keydown"]) on(window, name, () => { moved = true; });
      for (const wait of [50, 300, 900]) setTimeout(() => moved || this.arrive("instant"), wait);
    });
  }

  /** Go where an address leads; false when it leads elsewhere. */
  visit(hash) {
    const [, name, rest] = /^#([^=]+)=(.+)$/s.exec(hash) || [];
    if (name !== this.anchor) return false;
    const { view } = this, step = this.steps[Number(rest) - 1], values = step || readAddress(view.data, rest);
    if (!values) return false;
    if (step) this.move({ step: Number(rest) - 1, ...LATER, ...step.set });
    else this.move({ ...view.initial, ...values });
    this.arrive();
    return true;
  }

  arrive(behavior) {
    const calm = behavior || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const { root, tour } = this.view.page;
    root.scrollIntoView({ block: "start", behavior: calm ? "instant" : "smooth" });
    (tour.hidden ? this.view.page.cursor : tour).focus({ preventScroll: true });
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
  const found = {};
  try { text = decodeURIComponent(text); } catch { return null; }
  for (const part of text.split(";")) {
    const [, name, given] = /^(\w+):(.+)$/.exec(part) || [];
    let value = given;
    try { value = JSON.parse(given); } catch { /* a word */ }
    if (!Object.hasOwn(fits, name) || !fits[name](value)) return null;
    found[name] = value;
  }
  return found;
}
