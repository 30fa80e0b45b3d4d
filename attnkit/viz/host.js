// Takes the kernel's place in a built page: gives our widgets models with the saved state. The
// build adds the call, with {id: source}.
async function host(sources) {
  const type = "application/vnd.jupyter.widget-";
  const saved = document.querySelector(`script[type="${type}state+json"]`);
  const state = saved ? JSON.parse(saved.textContent).state : {};
  const models = new Map();
  const make = (tag, props) => Object.assign(document.createElement(tag), props);

  function modelOf(id) {
    if (!models.has(id)) models.set(id, makeModel(decode(state[id])));
    return models.get(id);
  }

  function decode({ state: values, buffers = [] }) {
    const traits = { ...values };
    for (const { path, data } of buffers) {
      const bytes = Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0));
      traits[path[0]] = new DataView(bytes.buffer);
    }
    return traits;
  }

  function makeModel(traits) {
    const heard = new EventTarget();
    return {
      get: (name) => traits[name],
      set(name, value) {
        if (Object.is(traits[name], value)) return;
        traits[name] = value;
        heard.dispatchEvent(new Event(`change:${name}`));
      },
      on: (name, action) => heard.addEventListener(name, action),
      off: (name, action) => heard.removeEventListener(name, action),
      save_changes() {},
      send() {},
    };
  }

  // What needs a kernel: its pictures, and words.
  function standIn(id) {
    const box = make("div", { className: "attnkit-no-kernel" });
    for (const { value, format, tooltip } of pictures(id)) {
      const src = URL.createObjectURL(new Blob([value], { type: `image/${format || "png"}` }));
      box.append(make("img", { src, alt: tooltip || "The recorded result of this control." }));
    }
    const line = make("p",
      { textContent: "This control needs a kernel: run the notebook to use it. " });
    const colab = document.querySelector('a[href*="colab.research.google.com"]');
    if (colab) line.append(make("a", { href: colab.href, textContent: "Open in Colab." }));
    box.append(line);
    return box;
  }

  function pictures(id) {
    const traits = state[id] ? decode(state[id]) : {};
    if (traits._model_name === "ImageModel") return [traits];
    return (traits.children || []).flatMap((child) => pictures(child.replace("IPY_MODEL_", "")));
  }

  // Widgets and formulas grow after the browser has gone to the address: go there again, unless
  // the reader has moved meanwhile.
  function arrive() {
    const goal = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!goal) return;
    let held;
    for (const name of ["wheel", "touchstart", "keydown"]) {
      addEventListener(name, () => { held = true; });
    }
    const go = () => held || goal.scrollIntoView({ behavior: "instant" });
    for (const ms of [50, 400, 1200]) setTimeout(go, ms);
    addEventListener("load", () => window.MathJax?.startup?.promise?.then(go));
  }

  const modules = {};
  for (const id in sources) {
    const code = new Blob([sources[id]], { type: "text/javascript" });
    modules[id] = await import(URL.createObjectURL(code));
  }
  for (const tag of document.querySelectorAll(`script[type="${type}view+json"]`)) {
    const { model_id: id, state: own } = JSON.parse(tag.textContent);
    state[id] ??= own; // of a view in no notebook
    const place = make("div");
    tag.before(place);
    const module = modules[state[id]?.state._anywidget_id];
    if (!module) {
      place.append(standIn(id));
      continue;
    }
    module.default.render({ model: modelOf(id), el: place });
    place.parentNode.querySelector(".attnkit-fallback")?.remove();
  }
  arrive();
}
