// Files of a built book, which lie beside its script; and work that leaves the page awake.

/** A page opened from `file:` may not fetch, but may run a script, so there the same bytes come in
 * one that carries them as base64. */
async function readFile(name, beside) {
  if (!name) throw new Error("no file");
  const { href } = new URL(name, beside);
  if (location.protocol !== "file:") {
    const answer = await fetch(href);
    if (!answer.ok) throw new Error(`${href}: ${answer.status}`);
    return answer.arrayBuffer();
  }
  const letters = atob((await runScript(`${href}.js`)).base64), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes.buffer;
}

/** Where a page of the book is, from any of its pages. */
const pageOfBook = (path) => bookScript() && new URL(`../${path}`, bookScript().src).href;

// Milliseconds of work before the page may take a key or draw.
const SLICE = 10;

/** Run a generator in slices, the first of them at once, and give what it returns to `done`. */
function inSlices(work, done) {
  const { port1, port2 } = new MessageChannel();
  let over = false;
  const stop = () => {
    over = true;
    port1.close();
  };
  const run = (until) => {
    while (!over) {
      const step = work.next();
      if (step.done) {
        stop();
        done(step.value);
      } else if (performance.now() > until) {
        port2.postMessage(null);
        return;
      }
    }
  };
  port1.onmessage = () => run(performance.now() + SLICE);
  const job = { stop, finish: () => run(Infinity), start: () => run(performance.now() + SLICE) };
  return job;
}
