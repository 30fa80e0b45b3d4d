// Addresses that lead to a widget and bring its settings: `#its-name=setting:value;setting:value`.

/** Whether the page is a built one: in a notebook the address is the front end's own. */
const inBook = (root) => Boolean(root.closest(".attnkit-view"));

const isJSON = (text) => {
  try { return [JSON.parse(text)]; } catch { return null; }
};

/** Settings as they stand in an address: as JSON, or as words where these are no JSON. */
function writeAddress(values) {
  const parts = Object.entries(values).map(([name, value]) => {
    const bare = typeof value === "string" && value && !isJSON(value);
    return `${name}:${(bare ? value : JSON.stringify(value)).replace(/[%;]/g, encodeURIComponent)}`;
  });
  return encodeURIComponent(parts.join(";")).replace(/%(?:3A|3B|2C)/g, decodeURIComponent);
}

/** The settings that an address names, whatever their values; null where it is none. */
function parseAddress(address) {
  const found = {};
  try {
    for (const part of decodeURIComponent(address).split(";")) {
      const [, name, given] = /^(\w+):(.*)$/s.exec(part);
      const text = given.replace(/%(?:25|3B)/g, decodeURIComponent), [value] = isJSON(text) ?? [text];
      found[name] = value;
    }
  } catch { return null; }
  return found;
}

/** The settings that are no longer as they were at the beginning. */
const changedOf = (now, initial) =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => !alike(value, initial[name])));

// Milliseconds after the last change.
const NOTED = 300;

/** Bring the page's address and its links to a widget. `visit` sets what stands behind its name and says
 *  whether it can; `goal()` then gets the focus, and `view()`, if given, comes to the top of the window in
 *  place of the whole; `behind()` is what leads to what is on show. Returns `note`, to call when the reader
 *  has changed something, and `link`, the address now. */
function keepAddress({ root, model, on, visit, goal, behind, view = () => root }) {
  const name = model.get("anchor");
  if (name && !document.getElementById(name)) root.id = name;
  let timer;

  function arrive(behavior) {
    const calm = behavior || matchMedia("(prefers-reduced-motion: reduce)").matches;
    view().scrollIntoView({ block: "start", behavior: calm ? "instant" : "smooth" });
    goal().focus({ preventScroll: true });
  }

  /** `stay`: do not move there; `pressed`: a link, and who comes back finds the place where it was. */
  function go(hash, stay, pressed) {
    const [, whose, rest] = /^#([^=]+)=(.+)$/s.exec(hash) || [];
    if (!name || whose !== name || !visit(rest)) return false;
    if (pressed && inBook(root)) {
      history.replaceState(1, "");
      history.pushState(null, "", hash);
    }
    if (!stay) arrive();
    return true;
  }

  function link() {
    const rest = behind();
    return `#${name}${rest && `=${rest}`}`;
  }

  const put = () => { if (name && inBook(root)) history.replaceState(history.state, "", link()); };

  /** After a while, since browsers let a page change its address only so often; not if the reader has gone
   *  elsewhere meanwhile. */
  function note(wait = NOTED) {
    const { hash } = location;
    clearTimeout(timer);
    if (wait) timer = setTimeout(() => location.hash === hash && put(), wait);
    else put();
  }

  const page = (href) => href.split("#")[0];
  on(document, "click", (event) => {
    const found = event.target.closest?.("a[href*='#']");
    if (!found || page(found.href) !== page(location.href) || !go(found.hash, false, true)) return;
    event.preventDefault();
    event.stopPropagation();
  }, { capture: true });
  on(window, "hashchange", ({ newURL }) => go(new URL(newURL).hash, history.state));
  // Who loads a page again, or comes back to it, stays where they were.
  const [{ type } = {}] = performance.getEntriesByType("navigation");
  requestAnimationFrame(() => root.isConnected && go(location.hash, /reload|back/.test(type)));
  return { note, link };
}
