// What all widgets share.

function make(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
}

/** An element of SVG: numbers are rounded, and text enters as text. */
function svg(tag, values = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    node.setAttribute(name.replace("_", "-"), typeof value === "number" ? +value.toFixed(2) : value);
  }
  node.append(...children);
  return node;
}

/** A widget's parts by name: the first class of each, from its first dash on. The markup is constant:
 *  title and note enter as text. */
function buildPage(model, className, innerHTML, name) {
  const title = model.get("title"), page = {};
  page.root = make("div", { className, innerHTML, role: "group", ariaLabel: title || name });
  for (const part of page.root.querySelectorAll("[class]")) page[part.classList[0].replace(/^\w+-/, "")] = part;
  page.title.textContent = title;
  page.note.textContent = model.get("note");
  return page;
}

// Notebook front ends take the keys of every element that does not say that it has a use for them:
// arrows would go to the next cell, and "d d" would delete this one.
const KEYED = "a, button, canvas, input, select, summary, textarea, [tabindex]";

function keepKeys(root) {
  for (const node of root.querySelectorAll(KEYED)) node.dataset.lmSuppressShortcuts = "true";
}

/** Set text only where it differs: the same text again would cost a layout of the page. */
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** As many children as there are items, each filled in place, so that the focus stays. */
function fill(list, items, makeOne, fillOne) {
  while (list.children.length > items.length) list.lastChild.remove();
  while (list.children.length < items.length) list.append(makeOne(list.children.length));
  items.forEach((item, at) => fillOne(list.children[at], item, at));
}

/** Call `update` when a trait or the theme changes; returns how to listen to more, and to end. */
function follow(model, traits, root, update) {
  const ending = new AbortController(), watchers = [new MutationObserver(update)];
  const on = (target, name, action, options) =>
    target.addEventListener(name, action, { signal: ending.signal, ...options });
  keepKeys(root);
  for (const name of traits) model.on(`change:${name}`, update);
  watchers[0].observe(document.documentElement, { attributes: true });
  // The background's transition of 1 ms ends when the theme has changed.
  on(root, "transitionend", ({ target }) => target === root && update());
  return { on, sized(node, action) {
    const watcher = new ResizeObserver(action);
    watcher.observe(node);
    watchers.push(watcher);
  }, end() {
    ending.abort();
    for (const watcher of watchers) watcher.disconnect();
    for (const name of traits) model.off(`change:${name}`, update);
    root.remove();
  } };
}

const traitsOf = (model, names) => Object.fromEntries(names.map((name) => [name, model.get(name)]));
const alike = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const beginnings = new WeakMap();

/** The settings that a model had at its first view, to which a reset returns: a later view may open when
 *  the reader has moved them. */
function beginningOf(model, settings) {
  if (!beginnings.has(model)) beginnings.set(model, settings);
  return beginnings.get(model);
}

function write(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}

// ---- Files of a built page, which lie beside the script of its host.

const bookScript = () => document.querySelector('script[src*="attnkit-host.js"]');

/** What a script carries: a page opened from `file:` may not fetch, but may run one. */
async function runScript(src) {
  const script = make("script", { src });
  await new Promise((onload, onerror) => document.head.append(Object.assign(script, { onload, onerror })));
  script.remove();
  return script.dataset;
}
