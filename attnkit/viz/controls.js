// Controls: native inputs, each in a label of its own.

const same = (v) => v;
const of = (v, ...given) => (typeof v === "function" ? v(...given) : v);

/** A labelled native input: `show` puts settings into it, `read` takes one from there, and `fits` says
 *  whether a value could come from it. */
function control(label, input, name, { show, read, fits }, ...rest) {
  const element = make("label", {}, label, input, ...rest);
  input.ariaLabel = label;
  return { element, input, name, show, fits, read: (s) => ({ [name]: read(s) }) };
}

/** A slider from `min` to `max`, or along `values`; both may depend on the settings. `text` stands beside
 *  it; `heard` is said where that should be more. `from` and `to` are for a scale of its own. */
function slider(label, name, { min = 0, max, step = 1, values, text = String, heard = text, from = same, to = same, shown }) {
  const input = make("input", { type: "range", min, step }), output = make("output");
  const list = (s) => of(values, s);
  return control(label, input, name, {
    show(s) {
      if (shown) input.parentNode.hidden = !shown(s);
      input.max = values ? list(s).length - 1 : of(max, s);
      input.value = values ? list(s).indexOf(s[name]) : from(s[name]);
      say(output, String(text(s[name], s)));
      const words = String(heard(s[name], s));
      if (input.ariaValueText !== words) input.ariaValueText = words;
    },
    read: (s) => (values ? list(s)[input.value] : to(Number(input.value))),
    fits: (v, s) => (values ? list(s).includes(v) : Number.isFinite(v) && v >= min && v <= of(max, s) &&
      (step % 1 !== 0 || Number.isInteger(v))),
  }, output);
}

/** A choice among [value, text, whether out of reach]. */
function chooser(label, name, options) {
  const input = make("select", {}, ...options.map(([value, textContent, disabled]) =>
    make("option", { value, textContent, disabled })));
  const place = (value) => options.findIndex(([v]) => v === value);
  return control(label, input, name, { show: (s) => { input.selectedIndex = place(s[name]); },
    read: () => options[input.selectedIndex][0], fits: (v) => place(v) >= 0 });
}

function toggle(label, name) {
  const input = make("input", { type: "checkbox" });
  return control(label, input, name, { show: (s) => { input.checked = s[name]; },
    read: () => input.checked, fits: (v) => typeof v === "boolean" });
}
