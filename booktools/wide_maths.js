// A formula wider than the page scrolls in its own box; this lets the keyboard scroll it too.
// The theme does the same for code.
addEventListener("load", () => {
  const mark = () => {
    for (const box of document.querySelectorAll('mjx-container[display="true"]')) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  mark();
  addEventListener("resize", mark);
});
