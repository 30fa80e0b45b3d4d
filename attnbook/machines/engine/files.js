// The model's file, which comes in parts: each is checked, and kept by the browser where it can be, so that what was
// cut short goes on where it stopped.

const KEPT = "attention-measured", STORE = "parts";

const ROOTS = (() => { // the first 32 bits of the fractions of cube and square roots of primes (FIPS 180-4)
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const bits = (root) => primes.map((p) => ((root(p) % 1) * 4294967296) | 0);
  return { cubes: Int32Array.from(bits(Math.cbrt)), squares: bits(Math.sqrt).slice(0, 8) };
})();

/** SHA-256 in hexadecimal digits. The browser's own is not there on a plain http: address. */
function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64), view = new DataView(padded.buffer);
  padded.set(bytes);
  padded[bytes.length] = 128;
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const state = Int32Array.from(ROOTS.squares), w = new Int32Array(64);
  const turned = (x, by) => (x >>> by) | (x << (32 - by));
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ (a >>> 3)) + (turned(b, 17) ^ turned(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROOTS.cubes[i] + w[i]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((v, i) => { state[i] += v; });
  }
  return Array.from(state, (v) => (v >>> 0).toString(16).padStart(8, "0")).join("");
}

const asked = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** What the browser keeps of the model: `get` and `put`, which do nothing where it keeps nothing. */
async function openShelf() {
  let open;
  try {
    const request = indexedDB.open(KEPT, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    open = await asked(request);
  } catch { open = null; }
  const act = async (mode, action) => {
    try { return open && await asked(action(open.transaction(STORE, mode).objectStore(STORE))); } catch { return null; }
  };
  return { get: (key) => act("readonly", (store) => store.get(key)), put: (key, value) => act("readwrite", (store) => store.put(value, key)) };
}

/** The whole file, from the shelf or by `bring(part, told)`, which says how many bytes have come. */
async function gather(parts, bring, told) {
  const sizes = parts.map(({ bytes }) => bytes), shelf = await openShelf();
  const whole = new Uint8Array(sizes.reduce((a, b) => a + b, 0));
  let at = 0, kept = 0;
  for (const [number, { bytes, sha }] of parts.entries()) {
    const had = await shelf.get(sha), usable = had?.byteLength === bytes && sha256(new Uint8Array(had)) === sha;
    const content = new Uint8Array(usable ? had : await bring(number, (come) => told(at + come, whole.length, kept)));
    if (!usable) {
      if (content.length !== bytes || sha256(content) !== sha) throw new Error(`Part ${number} of the model did not come as it was sent. Load it again.`);
      await shelf.put(sha, content.slice().buffer);
    }
    whole.set(content, at);
    at += bytes;
    if (usable) kept = at;
    told(at, whole.length, kept);
  }
  return whole.buffer;
}

/** Fetch a part, saying how far it has come. */
async function fetchPart(href, told) {
  const answer = await fetch(href);
  if (!answer.ok) throw new Error(`The server answered ${answer.status} for a part of the model.`);
  const pieces = [], reader = answer.body.getReader();
  let come = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(pieces).arrayBuffer();
    pieces.push(value);
    told(come += value.length);
  }
}
