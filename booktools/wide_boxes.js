// What is wider than the page, code, a formula or a plot, scrolls in its own box; this lets the keyboard
// scroll it too. The browser tells when it knows a box's size, so no layout is asked for out of turn;
// what lies in a closed fold has none until the fold opens.
addEventListener("load", () => {
  const code = "pre, .cell_output > .output, .jp-RenderedHTMLCommon";
  const scrolls = (box) => box.scrollWidth > box.clientWidth ||
    (box.matches(code) && box.scrollHeight > box.clientHeight);
  const sizes = new ResizeObserver((changes) => {
    const found = changes.map(({ target: box }) => [box, scrolls(box)]);  // all before the first write
    for (const [box, reached] of found) {
      if (reached) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  const others = 'mjx-container[display="true"], .cell_output:has(> img)';
  for (const box of document.querySelectorAll(`${code}, ${others}`)) sizes.observe(box);
});
