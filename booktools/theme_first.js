// The theme follows the reader's system only when the page is whole: all of it would be styled
// twice, and be light for a moment. Here it follows before the first line.
{
  const { dataset } = document.documentElement;
  if (dataset.mode === "auto") {
    dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
}
