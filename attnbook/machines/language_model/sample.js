// From logits to the next token.

/** Probabilities of softmax(z / T), T above 0. */
function chancesOf(logits, temperature = 1) {
  let most = -Infinity, sum = 0;
  for (const z of logits) if (z > most) most = z;
  const chances = logits.map((z) => Math.exp((z - most) / temperature));
  for (const v of chances) sum += v;
  return chances.map((v) => v / sum);
}

/** The ids of the fewest most probable tokens whose probabilities reach `topP` together (Holtzman et al. 2020), the
 *  most probable first. */
function nucleus(chances, topP) {
  // What is below this is too little to be missed: all of it together does not make up 1 - topP.
  const least = (1 - topP) / chances.length, ids = [];
  chances.forEach((v, id) => { if (v > least || topP >= 1) ids.push(id); });
  ids.sort((a, b) => chances[b] - chances[a] || a - b);
  let sum = 0, count = 0;
  while (count < ids.length && (count === 0 || sum < topP)) sum += chances[ids[count++]];
  return ids.slice(0, count);
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function randomFrom(seed) {
  return () => {
    let t = (seed = (seed + 0x6d2b79f5) | 0);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The most probable token; of several the first. */
function likeliestOf(logits) {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
  return best;
}

/** The next token, and the chance with which each of the likeliest could be drawn. A temperature of 0 takes the most
 *  probable; the chances are then the model's own. */
function choose(logits, { temperature, topP }, random, shown = 8) {
  const own = chancesOf(logits), best = likeliestOf(logits);
  const chances = temperature > 0 ? chancesOf(logits, temperature) : own.map((_, id) => Number(id === best));
  const kept = temperature > 0 ? nucleus(chances, topP) : [best];
  const all = kept.reduce((sum, id) => sum + chances[id], 0), inside = new Set(kept);
  let rest = random() * all, id = kept.at(-1);
  for (const one of kept) if ((rest -= chances[one]) < 0) { id = one; break; }
  const order = nucleus(own, 0.999).slice(0, shown);
  const share = (one) => (inside.has(one) ? chances[one] / all : 0);
  const candidates = order.map((one) => ({ id: one, own: own[one], chance: temperature > 0 ? share(one) : own[one] }));
  return { id, candidates, kept: kept.length };
}
