// A model at work, beside the page: it comes, and answers. `openFile(file)` and `work(given)` are the model's own.

let run = 0; // the number of the run that the page last asked for
const wanted = new Map(); // parts that the page is bringing, since a worker of a page from file: cannot

const tell = (message, ...given) => postMessage(message, given);
const breath = () => new Promise((resolve) => setTimeout(resolve));

async function load({ parts, hrefs }) {
  const bring = (number, told) => (hrefs ? fetchPart(hrefs[number], told)
    : new Promise((resolve, reject) => { wanted.set(number, { resolve, reject }); tell({ need: number }); }));
  let last = 0;
  const buffer = await gather(parts, bring, (come, all, kept) => {
    if (come < all && performance.now() - last < 100) return;
    last = performance.now();
    tell({ come, all, kept });
  });
  openFile(readGguf(buffer));
  tell({ ready: true });
}

/** A part as base64, which is how a script carries it. */
function receive({ number, base64, failed }) {
  const { resolve, reject } = wanted.get(number);
  if (failed) reject(new Error("A part of the model is missing beside the page."));
  else resolve(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer);
}

const ACTIONS = { load, part: receive, work: (given) => work(given), stop() {} };

onmessage = async ({ data: [name, given] }) => {
  if (name === "work" || name === "stop") run = given.number;
  try { await ACTIONS[name](given); } catch (error) { tell({ failed: error.message, during: name }); }
};
