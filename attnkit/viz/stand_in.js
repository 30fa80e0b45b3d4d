const make = (tag, props) => Object.assign(document.createElement(tag), props);

/** What stands in for a control that needs a kernel: its pictures, and words. */
function standIn(pictures) {
  const box = make("div", { className: "attnkit-no-kernel" });
  for (const { value, format, tooltip } of pictures) {
    const src = URL.createObjectURL(new Blob([value], { type: `image/${format || "png"}` }));
    box.append(make("img", { src, alt: tooltip || "The recorded result of this control." }));
  }
  const line = make("p",
    { textContent: "This control needs a kernel: run the notebook to use it. " });
  const colab = document.querySelector('a[href*="colab.research.google.com"]');
  if (colab) line.append(make("a", { href: colab.href, textContent: "Open in Colab." }));
  box.append(line);
  return box;
}
