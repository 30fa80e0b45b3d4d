// The row of buttons below a widget: copy the link to what is on show, save its picture.

/** What draws pictures: the module of a notebook has it, a page brings it when it is asked for. */
async function bringPictures() {
  if (typeof pictureOf !== "undefined") return { pictureOf, rasterOf };
  const carried = (name) => document.querySelector(`script[data-widget="${name}"]`)?.dataset;
  const { source } = carried("picture") ?? await runScript(new URL("attnkit-picture.js", bookScript().src).href);
  const parts = [carried("kit").source, source, "export { pictureOf, rasterOf };"];
  return import(URL.createObjectURL(new Blob(parts, { type: "text/javascript" })));
}

let pictures;

/** A text in lines of at most so many letters. */
const inLines = (text, most) => text.match(new RegExp(`.{1,${Math.max(Math.floor(most), 8)}}`, "gsu")) ?? [];

/** `link()` is what stands behind the page's own address. */
function addTools({ root, note, live }, link, on) {
  const told = make("span", { className: "machine-status" }), address = () => `${location.href.split("#")[0]}${link()}`;
  const tell = (text) => { told.textContent = live.textContent = text; };
  const tool = (textContent, action) => {
    const button = make("button", { type: "button", textContent });
    button.dataset.lmSuppressShortcuts = "true";
    on(button, "click", () => action().then(tell, () => tell("That cannot be done here.")));
    return button;
  };

  const copy = tool("Copy link", async () => {
    history.replaceState(history.state, "", link());
    try { await navigator.clipboard.writeText(address()); } catch { return "The link is in the address bar."; }
    return "Link copied.";
  });

  const save = (kind) => tool(`Save ${kind}`, async () => {
    const { pictureOf, rasterOf } = await (pictures ??= bringPictures());
    const source = [document.title, ...location.protocol.startsWith("http") && inBook(root) ? [address()] : []];
    root.classList.add("machine-still");
    const picture = pictureOf(root, source.flatMap((line) => inLines(line, (root.clientWidth - 32) / 7)));
    root.classList.remove("machine-still");
    const content = kind === "PNG" ? await rasterOf(picture) : new Blob([picture], { type: "image/svg+xml" });
    const href = URL.createObjectURL(content);
    make("a", { href, download: `${root.id || "picture"}.${kind.toLowerCase()}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
    return `${kind} saved.`;
  });

  note.after(make("p", { className: "machine-tools" }, told, copy, save("PNG"), save("SVG")));
  requestAnimationFrame(() => { copy.hidden = !inBook(root); });
}
