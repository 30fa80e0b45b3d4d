// What changed: the old and the new words, in step.

/** For each new token whether it is new and which old ones it took the place of; and the old ones
 * that nothing took the place of, with where they stood. By the longest common subsequence. */
function compare(before, now) {
  const [n, m] = [before.length, now.length];
  const same = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      same[i][j] = before[i] === now[j]
        ? same[i + 1][j + 1] + 1 : Math.max(same[i + 1][j], same[i][j + 1]);
    }
  }
  const marks = [], gone = [];
  let lost = [], fresh = [];
  const settle = (at) => {
    fresh.forEach((j, k) => { marks[j] = { was: lost[k] === undefined ? [] : [lost[k]] }; });
    const left = lost.slice(fresh.length);
    if (fresh.length) marks[fresh.at(-1)].was.push(...left);
    else if (left.length) gone.push({ at, tokens: left });
    [lost, fresh] = [[], []];
  };
  for (let i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && before[i] === now[j]) {
      settle(j);
      marks[j] = null;
      i++, j++;
    } else if (j === m || (i < n && same[i + 1][j] >= same[i][j + 1])) lost.push(before[i++]);
    else fresh.push(j++);
    if (i === n && j === m) settle(j);
  }
  return { marks, gone };
}

// In place of a sentence without words.
const EMPTY = "(ends at once)";

/** Text of tokens as nodes, those at `marked` places in an element `tag`. */
function sentence(tokens, marked, tag) {
  const nodes = [];
  tokens.forEach((token, at) => {
    const joined = at > 0 && detokenize([tokens[at - 1], token]) === tokens[at - 1] + token;
    if (at > 0 && !joined) nodes.push(" ");
    nodes.push(marked.has(at) ? make(tag, { textContent: token }) : token);
  });
  return nodes.length ? nodes : [EMPTY];
}

/** Places in `before` that are not in `now`. */
const lostPlaces = (before, now) => new Set(
  compare(now, before).marks.flatMap((mark, place) => (mark ? [place] : [])));

/** Words that were there and that nothing took the place of. */
const ghost = (tokens) =>
  (tokens ? [make("del", { className: "translator-gone", textContent: tokens.join(" ") })] : []);
