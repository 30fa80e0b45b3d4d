// Measured costs against length, on logarithmic axes; common.js stands before it. Every number shown
// was measured.

const SETTINGS = ["length", "measure"];

// One mark and one dash for each form, so that nobody needs the colours.
const MARKS = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M-3.7-3.7h7.4v7.4h-7.4Z",
  "M0-5 4.6 3.2h-9.2Z", "M0-5.2 5.2 0 0 5.2-5.2 0Z", "M-4.6-3.2h9.2L0 5Z",
  "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3Z"];
const DASHES = ["none", "8 3", "2 3", "9 3 2 3", "5 2", "1 2"];
const MARGIN = { left: 52, right: 14, top: 12, bottom: 40 };

const whole = (n) => n.toLocaleString("en-US");
const short = (v) => v.toLocaleString("en-US", { maximumSignificantDigits: 3 });
const known = (v) => v !== null && v !== undefined;

/** The lengths at which a measure has any number: the only ones at which the slider stops. */
const measuredLengths = ({ lengths, values }, measure) =>
  lengths.filter((_, at) => values[measure].some((series) => known(series[at])));

/** Of these lengths the one nearest to another, by their ratio. */
const nearest = (lengths, length) => lengths.reduce((best, n) =>
  Math.abs(Math.log(n / length)) < Math.abs(Math.log(best / length)) ? n : best);

/** For each form its number at a length, how often that of half the length, and its exponent. */
function readRows({ lengths, forms, values, exponents }, measure, length) {
  const at = lengths.indexOf(length), half = lengths.indexOf(length / 2);
  return forms.map((form, place) => {
    const series = values[measure][place], value = series[at] ?? null;
    const before = half < 0 ? null : series[half];
    const growth = known(value) && known(before) ? value / before : null;
    return { form, value, growth, exponent: exponents[measure][place] ?? null };
  });
}

/** Powers of ten between two numbers, and 2 and 5 times them where there are few. */
function ticks(low, high) {
  const steps = high / low > 150 ? [1] : high / low > 12 ? [1, 3] : [1, 2, 5], found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const step of steps) {
      const value = Number((step * 10 ** power).toPrecision(3));
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}

/** Places on the page: `x` of a length, `y` of a value, and the ticks of y. */
function layOut({ values, ...data }, measure, width) {
  const lengths = measuredLengths({ values, ...data }, measure);
  const all = values[measure].flat().filter((v) => known(v) && v > 0);
  const low = Math.min(...all) / 1.4, high = Math.max(...all) * 1.4;
  const height = Math.max(230, Math.min(340, width * 0.6));
  const { left, top, bottom } = MARGIN, last = lengths.length - 1, right = rightOf(width);
  const share = (v, a, b) => b > a ? Math.log(v / a) / Math.log(b / a) : 0.5;
  return { width, height, lengths, ticks: ticks(low, high),
    x: (n) => left + 8 + share(n, lengths[0], lengths[last]) * (width - left - right - 16),
    y: (v) => height - bottom - share(v, low, high) * (height - top - bottom) };
}

// Room for the names at the ends of the lines, on pages that are wide enough.
const rightOf = (width) => width < 560 ? MARGIN.right : 132;

/** The forms' names where their lines end, moved apart where they would overlap. */
function nameLines(svg, { forms, values }, { x, y, lengths, width }, measure) {
  if (rightOf(width) === MARGIN.right) return;
  const ends = forms.map((form, place) => {
    const at = lengths.length - 1 - [...lengths].reverse().findIndex((n) =>
      known(values[measure][place][svg.lengths.indexOf(n)]));
    return { form, place, n: lengths[at], v: values[measure][place][svg.lengths.indexOf(lengths[at])] };
  }).filter(({ v }) => known(v)).map((end) => ({ ...end, down: y(end.v) })).sort((a, b) => a.down - b.down);
  let low = -Infinity;
  for (const { form, place, n, down } of ends) {
    const at = low = Math.max(down, low + 14), text = document.createElementNS(svg.plot.namespaceURI, "text");
    text.setAttribute("x", x(n) + 10);
    text.setAttribute("y", at + 4);
    text.setAttribute("class", `ac-name ac-form-${place}`);
    text.textContent = form;
    svg.plot.append(text);
  }
}

/** The plot as markup. Only numbers enter it; names are text of the table. */
function drawPlot(data, plan, { measure, length, hover }) {
  const { width, height, x, y, lengths } = plan, { left, top, bottom } = MARGIN, right = rightOf(width), f = (v) => v.toFixed(1);
  const rule = (x1, y1, x2, y2, name) =>
    `<line class="${name}" x1="${f(x1)}" y1="${f(y1)}" x2="${f(x2)}" y2="${f(y2)}"/>`;
  const text = (words, at, down, anchor) =>
    `<text x="${f(at)}" y="${f(down)}" text-anchor="${anchor}">${words}</text>`;
  const floor = height - bottom, crowded = (x(lengths[1] ?? length) - x(lengths[0])) < 44;
  const parts = plan.ticks.map((v) =>
    rule(left, y(v), width - right, y(v), "ac-grid") + text(short(v), left - 6, y(v) + 4, "end"));
  lengths.forEach((n, place) => {
    parts.push(rule(x(n), floor, x(n), floor + 5, "ac-axis"));
    if (!crowded || place % 2 === (lengths.length - 1) % 2) {
      parts.push(text(whole(n), x(n), floor + 18, "middle"));
    }
  });
  parts.push(text("length", (left + width - right) / 2, height - 4, "middle"),
    rule(left, floor, width - right, floor, "ac-axis"),
    rule(x(length), top, x(length), floor, "ac-here"));
  if (hover && hover !== length) parts.push(rule(x(hover), top, x(hover), floor, "ac-hover"));
  data.values[measure].forEach((series, place) => {
    const points = data.lengths.map((n, i) => [n, series[i]]).filter(([, v]) => known(v) && v > 0)
      .map(([n, v]) => [f(x(n)), f(y(v)), n]);
    parts.push(`<g class="ac-form-${place}"><polyline stroke-dasharray="${DASHES[place]}" points="` +
      `${points.map(([a, b]) => `${a},${b}`).join(" ")}"/>` + points.map(([a, b, n]) =>
        `<path d="${MARKS[place]}" transform="translate(${a} ${b})${n === length ? " scale(1.5)" : ""}"/>`
      ).join("") + "</g>");
  });
  return parts.join("");
}

const swatch = (place) => `<svg class="ac-form-${place}" viewBox="0 0 30 12" width="30" height="12" ` +
  `aria-hidden="true"><polyline stroke-dasharray="${DASHES[place]}" points="0,6 30,6"/>` +
  `<path d="${MARKS[place]}" transform="translate(15 6)"/></svg>`;

const PAGE = `<p class="ac-title"></p><div class="ac-controls"></div>
<p class="ac-axes" aria-hidden="true"></p><svg class="ac-plot" aria-hidden="true"></svg><table class="ac-table"><thead><tr><th scope="col">form</th>
<th scope="col" class="ac-unit"></th><th scope="col" class="ac-half"></th>
<th scope="col" class="ac-exponent">exponent</th></tr></thead><tbody></tbody></table>
<p class="ac-note"></p><p class="ac-live" role="status"></p>`;

class View {
  constructor(model, el) {
    this.model = model;
    this.page = buildPage(model, "attnkit-curves", PAGE, "Cost against length");
    this.data = traitsOf(model, ["lengths", "forms", "measures", "values", "exponents"]);
    this.addControls();
    this.addRows();
    this.page.root.snapshot = () => this.snapshot();
    this.listen();
    el.append(this.page.root);
    this.update();
  }

  addControls() {
    const { lengths, measures } = this.data;
    this.slider = make("input", { type: "range", min: 0, max: lengths.length - 1, step: 1,
      ariaLabel: "Length" });
    this.output = make("output");
    this.chooser = make("select", { ariaLabel: "Measure" },
      ...measures.map(({ name }) => make("option", { textContent: name })));
    this.reset = make("button", { type: "button", textContent: "Reset" });
    this.page.controls.append(make("label", { hidden: measures.length < 2 }, "Measure", this.chooser),
      make("label", {}, "Length", this.slider, this.output), this.reset);
    this.initial = this.settings();
  }

  addRows() {
    this.page.table.tBodies[0].append(...this.data.forms.map((form, place) => make("tr", {},
      make("th", { scope: "row", innerHTML: swatch(place) }, make("span", { textContent: form })),
      ...["value", "growth", "exponent"].map(() => make("td")))));
  }

  listen() {
    const { root, plot } = this.page, { slider, chooser } = this;
    const { on, end } = follow(this.model, SETTINGS, root, () => this.update());
    on(slider, "input", () => this.take({ length: this.lengths()[slider.value] }));
    on(chooser, "input", () => {
      const measure = chooser.selectedIndex;
      this.take({ measure, length: nearest(measuredLengths(this.data, measure), this.settings().length) });
    });
    on(this.reset, "click", () => this.take(this.initial));
    on(plot, "pointerdown", (event) => this.take({ length: this.under(event) }));
    on(plot, "pointermove", (event) => event.buttons ? this.take({ length: this.under(event) })
      : this.preview(this.under(event)));
    on(plot, "pointerleave", () => this.preview(null));
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(plot);
    this.close = () => {
      end();
      sizes.disconnect();
    };
  }

  lengths() {
    return measuredLengths(this.data, this.settings().measure);
  }

  /** The measured length nearest to a pointer. */
  under({ clientX }) {
    const at = clientX - this.page.plot.getBoundingClientRect().left;
    const far = (n) => Math.abs(this.plan.x(n) - at);
    return this.lengths().reduce((best, n) => far(n) < far(best) ? n : best);
  }

  /** The numbers at another length while the pointer is there. */
  preview(length) {
    if (length === this.hover) return;
    this.hover = length;
    this.update();
  }

  /** Set a trait, and say what is then on show. */
  take(values) {
    this.hover = null;
    write(this.model, values);
    const { length, measure, values: found } = this.snapshot(), { name, unit } = this.data.measures[measure];
    this.page.live.textContent = `${name}, length ${whole(length)}, ${unit}: ` +
      this.data.forms.map((form) => `${form} ${known(found[form]) ? short(found[form]) : "not measured"}`)
        .join("; ");
  }

  settings() {
    return traitsOf(this.model, SETTINGS);
  }

  update() {
    const { data } = this, { length: chosen, measure } = this.settings();
    const length = this.hover ?? chosen, rows = readRows(data, measure, length);
    this.slider.max = this.lengths().length - 1;
    this.slider.value = this.lengths().indexOf(chosen);
    this.slider.ariaValueText = this.output.textContent = whole(chosen);
    this.page.axes.textContent = `${data.measures[measure].unit} ↑`;
    this.chooser.selectedIndex = measure;
    this.page.unit.textContent = data.measures[measure].unit;
    const half = data.lengths.includes(length / 2);
    this.page.half.textContent = (this.hover ? `at ${whole(length)}, ` : "") +
      (half ? `since ${whole(length / 2)}` : "since half");
    this.page.exponent.hidden = !rows.some(({ exponent }) => known(exponent));
    rows.forEach(({ value, growth, exponent }, place) => {
      const [a, b, c] = this.page.table.tBodies[0].rows[place].querySelectorAll("td");
      a.textContent = known(value) ? short(value) : "not measured";
      b.textContent = known(growth) ? `×${growth.toFixed(1)}` : "–";
      c.textContent = known(exponent) ? exponent.toFixed(2) : "–";
      c.hidden = this.page.exponent.hidden;
    });
    this.draw();
  }

  draw() {
    const plot = this.page.plot, width = plot.clientWidth || plot.getBoundingClientRect().width;
    if (!width) return;
    const settings = this.settings();
    this.plan = layOut(this.data, settings.measure, width);
    plot.setAttribute("viewBox", `0 0 ${width} ${this.plan.height}`);
    plot.style.height = `${this.plan.height}px`;
    plot.innerHTML = drawPlot(this.data, this.plan, { ...settings, hover: this.hover });
    nameLines({ plot, lengths: this.data.lengths }, this.data, this.plan, settings.measure);
  }

  /** What is on show: the settings, and each form's number, null where it was not measured. */
  snapshot() {
    const { length, measure } = this.settings();
    const rows = readRows(this.data, measure, length);
    return { length, measure, values: Object.fromEntries(rows.map(({ form, value }) => [form, value])) };
  }
}

export default { render: ({ model, el }) => new View(model, el).close };
