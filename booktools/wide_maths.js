// A formula wider than the page scrolls in its own box; this lets the keyboard scroll it too.
// The theme does the same for code. A formula in a closed fold has no width until the fold opens.
addEventListener("load", () => {
  const widths = new ResizeObserver((changes) => {
    for (const { target: box } of changes) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll('mjx-container[display="true"]')) widths.observe(box);
});
