// Two settings side by side: a picture that the reader kept, and what changed since.

const COMPARED = ["seq_len", "head", "mask", ...MASK_SETTINGS.map(({ setting }) => setting), "scaled", "temperature", "hidden"];

/** The settings of the kept picture: what it does not name is as it is now. */
const keptOf = (s) => ({ ...s, ...s.kept });

/** Weights now minus those kept, for the rows and columns that both have, by head on show; null
 *  where the words differ. */
function changeOf(data, s) {
  const old = keptOf(s), heads = shownHeads(data, s), a = sizeOf(data, s), b = sizeOf(data, old);
  const rows = Math.min(a.rows, b.rows), cols = Math.min(a.cols, b.cols);
  const now = tokensOf(data, s), then = tokensOf(data, old);
  const same = (side, count) => now[side].slice(0, count).every((text, at) => text === then[side][at]);
  if (!same("queries", rows) || !same("keys", cols)) return null;
  const cells = new Float64Array(heads.length * rows * cols), most = { change: 0 };
  heads.forEach((head, at) => {
    const before = s.head === "all" || old.head === "all" ? head : old.head;
    for (let i = 0; i < rows; i++) {
      const to = readRow(data, s, [head, i]).weights, from = readRow(data, old, [before, i]).weights;
      for (let j = 0; j < cols; j++) {
        const change = cells[(at * rows + i) * cols + j] = to[j] - from[j];
        if (Math.abs(change) <= Math.abs(most.change)) continue;
        Object.assign(most, { change, head, query: i, key: j, from: from[j], to: to[j] });
      }
    }
  });
  return { heads, rows, cols, cells, most };
}

const signedNumber = (v) => (v < 0 ? "" : "+") + fixed(v);

/** The largest change, in words. */
function describeChange(data, s, change) {
  if (!change) return "The two pictures have other words, so that there is no difference to show.";
  const { change: by, head, query, key, from, to } = change.most, { queries, keys } = labelsOf(data, s);
  if (Math.abs(by) < 5e-4) return "No weight has changed by 0.001 or more.";
  const which = s.head === "all" && data.heads > 1 ? ` in ${data.names[head]}` : "";
  return `Largest change: ${quoted(queries[query])} → ${quoted(keys[key])}${which}, from ${fixed(from)} to ` +
    `${fixed(to)} (${signedNumber(by)}).`;
}

/** In which settings the kept picture differs from the one on show. */
function describeKept(data, s) {
  const old = keptOf(s), words = { seq_len: (v) => `length ${v}`, mask: (v) => `mask ${maskName(v)}`,
    head: (v) => v === "all" ? "all heads" : data.names[v],
    scaled: (v) => v ? "scaled" : "not scaled", temperature: (v) => `temperature ${short(v)}`,
    hidden: (v) => v.length ? `${v.map((j) => quoted(data.labels.keys[j])).join(", ")} hidden` : "nothing hidden" };
  const maskOf = (name) => MASK_SETTINGS.find(({ setting }) => setting === name)?.mask;
  const other = COMPARED.filter((name) => !alike(old[name], s[name]) &&
    [undefined, old.mask, s.mask].includes(maskOf(name)));
  const list = (from) => other.map((name) => words[name]?.(from[name]) ?? `${maskOf(name)} ${from[name]}`).join(", ");
  return other.length ? [list(old), list(s)] : ["the same settings", ""];
}

function compare(view, on) {
  const { data, page, model } = view, box = page.differs.firstElementChild;
  let picture;
  page.keep.hidden = !model.get("controls").includes("compare");
  on(page.keep, "click", () => {
    const s = view.settings, held = kept(s);
    view.set(held ? { kept: {}, difference: false }
      : { kept: Object.fromEntries(COMPARED.map((name) => [name, s[name]])) },
    held ? "The kept picture is gone. " : "This picture is kept, to compare. ");
  });
  on(box, "input", () => {
    view.set({ difference: box.checked });
    say(page.live, page.change.textContent);
  });

  function kept({ kept: held }) {
    return Object.keys(held).length > 0;
  }

  /** Beside the map, or below it where the page is narrow. */
  function show() {
    const { settings: s } = view, there = kept(s);
    page.kept.hidden = !there;
    page.body.classList.toggle("explorer-two", there);
    say(page.keep, there ? "Let go of the kept picture" : "Keep this picture to compare");
    if (!there) return;
    const change = changeOf(data, s), [was, is] = describeKept(data, s);
    box.checked = s.difference;
    box.disabled = !change;
    say(page.change, asks(s) ? "" : describeChange(data, s, change));
    say(page.old, s.difference && change ? `Now minus kept (${was}): blue has more weight now, brown less`
      : `Kept: ${was}${is && `. Now: ${is}`}`);
    page.scale.hidden = !(s.difference && change);
  }

  function draw() {
    const { settings: s, hues, most } = view, em = view.em();
    if (!kept(s) || !hues) return;
    const width = page.before.clientWidth, pen = page.before.getContext("2d");
    if (!width) return;
    const change = s.difference && changeOf(data, s), scene = change ? changed(change) : held();
    picture ||= new Picture(data, most);
    Object.assign(scene, { data, picture, plan: layOut(pen, width, scene.heads.length, most, em) });
    picture.show(scene);
    const drawn = fit(page.before, scene.plan);
    drawMap(drawn, scene);
    scene.plan.panels.forEach((panel, at) => covers(s, [scene.heads[at], s.guess[1]]) &&
      coverRow(drawn, scene.plan, panel, scene.shape, s.guess[1], hues));

    function changed({ heads, rows, cols, cells }) {
      const end = s.stretch ? Math.abs(change.most.change) : 1, text = fixed(end, 2);
      say(page.less, `−${text}`);
      say(page.more, `+${text}`);
      page.hues.style.background = `linear-gradient(to right,${hues.scores})`;
      const read = (_, s, head) => (i, out) => {
        const at = (heads.indexOf(head) * rows + i) * cols;
        out.set(cells.subarray(at, at + cols));
      };
      return { heads, read, end, shape: { rows, cols }, labels: labelsOf(data, s),
        settings: { ...s, stage: "change", mask: "none", hidden: [] }, hues: { ...hues, map: hues.scores } };
    }

    function held() {
      const old = keptOf(s);
      return { heads: shownHeads(data, old), shape: sizeOf(data, old), labels: labelsOf(data, old), settings: old,
        hues, end: endOfColours(data, old) };
    }
  }

  return { show, draw };
}
