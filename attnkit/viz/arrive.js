/** Widgets grow after the browser has gone to the address, and one that the address names may have
 * been drawn too late for it: go there again, unless the reader has moved meanwhile. Who loads a page
 * again, or comes back to it, stays where they were. */
function arrive() {
  const [name, settings] = location.hash.slice(1).split("=");
  const goal = document.querySelector(":target") ?? document.getElementById(name);
  const [{ type } = {}] = performance.getEntriesByType("navigation");
  if (!goal || (settings && /reload|back/.test(type))) return;
  let held;
  for (const name of ["wheel", "touchstart", "keydown"]) {
    addEventListener(name, () => { held = true; });
  }
  const go = () => held || goal.scrollIntoView({ behavior: "instant" });
  for (const ms of [50, 400, 1200]) setTimeout(go, ms);
}
