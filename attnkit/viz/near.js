/** Start widgets when the reader comes within one and a half screens of them: their pictures stand
 * there meanwhile. All start for paper, and for who asks by an event "attnkit-start"; one when an
 * address leads to it, or the keyboard. Each is { place, anchor, title, start }. */
function startNear(widgets) {
  const waiting = new Map(widgets.map((one) => [one.place, one]));
  let queue = Promise.resolve(), arrived;

  // In a frame each, and the reader can act between them. A hidden page has no frames.
  const frame = () => new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 100);
  });

  function start(place) {
    const widget = waiting.get(place);
    if (!waiting.delete(place)) return;
    watcher?.unobserve(place);
    queue = queue.then(widget.start).then(() => handOver(place)).then(frame);
  }

  const settle = () => { arrived ??= queue.then(arrive); };

  function startAll() {
    [...waiting.keys()].forEach(start);
    settle(); // the watcher may have nothing left to see
  }

  function startNamed() {
    const [name] = location.hash.slice(1).split("=");
    for (const [place, { anchor }] of waiting) if (anchor && anchor === name) start(place);
  }

  /** What the keyboard reached before it was drawn passes it on to its first control. */
  function handOver(place) {
    const held = document.activeElement === place;
    for (const name of ["tabindex", "role", "aria-label"]) place.removeAttribute(name);
    for (const node of held ? place.querySelectorAll("button, input, select, [tabindex='0']") : []) {
      node.focus();
      if (document.activeElement === node) return;
    }
  }

  const watcher = window.IntersectionObserver && new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) start(target);
    settle();
  }, { rootMargin: "150% 0%" });
  for (const [place, { title }] of waiting) {
    Object.assign(place, { tabIndex: 0, role: "group", ariaLabel: title || "Interactive figure" });
    place.addEventListener("focus", () => start(place), { once: true });
    watcher?.observe(place);
  }
  addEventListener("hashchange", startNamed);
  startNamed();
  for (const name of ["beforeprint", "attnkit-start"]) addEventListener(name, startAll);
  const paper = matchMedia("print");
  paper.addEventListener("change", startAll);
  if (!watcher || paper.matches) startAll();
  if (!watcher || !waiting.size) settle();
}
