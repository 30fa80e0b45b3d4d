// On paper the page is light: a dark theme's pale letters would stand on white.
{
  const { dataset } = document.documentElement, paper = matchMedia("print");
  let worn;
  paper.addEventListener("change", () => {
    if (paper.matches && dataset.theme === "dark") {
      worn = dataset.theme;
      dataset.theme = "light";
    } else if (!paper.matches && worn) {
      dataset.theme = worn;
      worn = undefined;
    }
  });
}
