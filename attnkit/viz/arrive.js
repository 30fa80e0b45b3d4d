/** Widgets grow after the browser has gone to the address, and one that the address names may have
 * been drawn too late for it: go there again, unless the reader has moved meanwhile. */
function arrive() {
  const goal = document.querySelector(":target") ?? document.getElementById(location.hash.slice(1));
  if (!goal) return;
  let held;
  for (const name of ["wheel", "touchstart", "keydown"]) {
    addEventListener(name, () => { held = true; });
  }
  const go = () => held || goal.scrollIntoView({ behavior: "instant" });
  for (const ms of [50, 400, 1200]) setTimeout(go, ms);
}
