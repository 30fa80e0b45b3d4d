// Sets formulas as SVG, in a JavaScript engine without a page: MathJax's parts stand before it.

const { liteAdaptor, RegisterHTMLHandler, mathjax, TeX, SVG, TeXFont, SerializedMmlVisitor } = {
  ...MathJax._.adaptors.liteAdaptor, ...MathJax._.handlers.html_ts, ...MathJax._.mathjax,
  ...MathJax._.input.tex_ts, ...MathJax._.output.svg_ts, ...MathJax._.output.svg.fonts.tex_ts,
  ...MathJax._.core.MmlTree.SerializedMmlVisitor,
};
const PACKAGES = ["base", "ams", "newcommand", "boldsymbol", "cancel", "color", "unicode"];

const adaptor = liteAdaptor();
RegisterHTMLHandler(adaptor);
const tex = new TeX({ packages: PACKAGES, formatError: (_, error) => { throw error; } });
// Without a cache each formula stands alone, and needs no ids, which a page must not repeat.
const svg = new SVG({ fontCache: "none", font: new TeXFont() });
const sheet = mathjax.document("", { InputJax: tex, OutputJax: svg });
const visitor = new SerializedMmlVisitor();

/** A formula: outlines to look at, MathML for who listens. */
function setFormula(source, display) {
  tex.reset();
  const item = new sheet.options.MathItem(source, tex, display);
  item.start = item.end = { node: adaptor.node("span"), n: 0, delim: "" };
  item.setMetrics(16, 16 * svg.font.params.x_height, 80 * 16, 1e6, 1);
  item.convert(sheet);
  const box = item.typesetRoot, [drawing] = adaptor.tags(box, "svg");
  for (const name of ["role", "focusable"]) adaptor.removeAttribute(drawing, name);
  adaptor.setAttribute(drawing, "aria-hidden", "true");
  const mathml = visitor.visitTree(item.root).replace(/\s*\n\s*/g, "");
  return adaptor.outerHTML(box).replace(/<\/mjx-container>$/,
    `<mjx-assistive-mml>${mathml}</mjx-assistive-mml></mjx-container>`);
}

/** The rules that formulas need. */
const rules = () => adaptor.textContent(svg.styleSheet(sheet));
