// Takes the kernel's place in a built page: gives each anywidget a model with its saved state. The build
// puts stand_in.js, arrive.js, names.js and near.js before it and adds the call. Of our widgets the page
// holds a script each, which carries its source, and one for each kit that it names; others bring theirs
// in the state.
function host() {
  const type = "application/vnd.jupyter.widget-";
  const carried = {};
  for (const { dataset } of document.querySelectorAll("script[data-widget]")) carried[dataset.widget] = dataset;
  const codeOf = (id) => carried[id]?.kits.split(" ").concat(id).map((name) => carried[name].source).join("");
  const saved = document.querySelector(`script[type="${type}state+json"]`);
  const state = saved ? JSON.parse(saved.textContent).state : {};
  const models = new Map();

  function modelOf(id) {
    if (!models.has(id)) models.set(id, makeModel(decode(state[id])));
    return models.get(id);
  }

  function decode({ state: values, buffers = [] }) {
    const traits = structuredClone(values);
    for (const { path: [...path], data } of buffers) {
      const raw = atob(data), key = path.pop();
      path.reduce((of, at) => of[at], traits)[key] = new DataView(new Uint8Array(raw.length).map((_, i) => raw.charCodeAt(i)).buffer);
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
        for (const end of ["", `:${name}`]) heard.dispatchEvent(new Event(`change${end}`));
      },
      on: (name, action) => heard.addEventListener(name, action),
      off: (name, action) => heard.removeEventListener(name, action),
      save_changes() {},
      send() {},
    };
  }

  // Of what needs a kernel: what was recorded.
  function pictures(id) {
    const traits = state[id] ? decode(state[id]) : {};
    if (traits._model_name === "ImageModel") return [traits];
    return (traits.children || []).flatMap((child) => pictures(child.replace("IPY_MODEL_", "")));
  }

  const modules = new Map();
  function load(code) {
    if (!modules.has(code)) {
      const file = new Blob([code], { type: "text/javascript" });
      modules.set(code, import(URL.createObjectURL(file)).then(({ default: given }) => given.call?.() ?? given));
    }
    return modules.get(code);
  }

  function dress({ _css: rules }) {
    if (!rules || modules.has(rules)) return;
    document.head.append(make("style", { textContent: rules }));
    modules.set(rules);
  }

  async function draw(id, code, el) {
    const { initialize, render } = await load(code), model = modelOf(id);
    if (!started.has(model)) started.set(model, initialize?.({ model }));
    await started.get(model);
    await render?.({ model, el });
  }

  const started = new Map(), waiting = [];
  // A view of another widget, which has its own manager, is in no such element.
  for (const tag of document.querySelectorAll(`.attnkit-view script[type="${type}view+json"]`)) {
    const { model_id: id, state: own } = JSON.parse(tag.textContent);
    // Of a view in no notebook.
    state[id] ??= own;
    const place = make("div"), traits = state[id]?.state ?? {}, ours = traits._anywidget_id in carried;
    tag.before(place);
    const code = codeOf(traits._anywidget_id) ?? traits._esm;
    if (!code) {
      place.append(standIn(pictures(id)));
      continue;
    }
    if (ours) traits.anchor ||= nameOf(traits._anywidget_id);
    waiting.push({ ...traits, place, start });
    async function start() {
      if (!ours) dress(traits);
      try {
        await draw(id, code, place);
        // For print, while the widget waits to be asked.
        place.parentNode.querySelector(".attnkit-fallback")?.setAttribute("class", "attnkit-paper");
      } catch (error) {
        // The picture stays.
        place.remove();
        console.error(error);
      }
    }
  }
  startNear(waiting);
}
