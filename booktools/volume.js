// A built page as a chapter of the whole book in one file: run in the page, after its widgets have drawn.
// `told` = { name, names, site, shots }: the chapter's file, the file of each page by its address, where the
// book is published, if it is, and the picture of each widget, in their order.
({ name, names, site, shots }) => {
  const make = (tag, props, ...children) => {
    const made = Object.assign(document.createElement(tag), props);
    made.append(...children);
    return made;
  };
  const here = location.href.split("#")[0], short = (file) => file.split(".")[0];
  const article = document.querySelector("article").cloneNode(true);
  const all = (selector) => [...article.querySelectorAll(selector)];

  // A question becomes text, and its answer a fold, as that of an exercise is.
  const ask = ({ title, options, right, because }) => {
    const answer = options.length ? `${"ABCDEFGH"[right]}. ${options[right]}` : `${right}.`;
    const choices = options.length ? [make("ol", { type: "A" }, ...options.map((words) => make("li", { textContent: words })))] : [];
    return make("section", {}, make("p", { className: "question", textContent: title }), ...choices,
      make("details", {}, make("summary", { textContent: "Answer" }), make("p", { textContent: `${answer} ${because}` })));
  };

  // Other widgets become pictures.
  all(".attnkit-view").forEach((view, place) => {
    const shot = shots[place];
    if (!shot) return view.remove();
    if (shot.question) return view.replaceWith(ask(shot.question));
    const still = view.querySelector("img"), image = make("img", { alt: shot.alt });
    image.setAttribute("src", shot.source);
    if (still && shot.waits) image.setAttribute("src", still.src);
    const link = site && make("p", { className: "live" }, make("a", { href: site + shot.place, textContent: "Live in the book" }));
    view.replaceWith(make("div", { className: "machine-picture" }, image, ...link ? [link] : []));
  });

  // What only a screen needs; the code of figures, which is on the page.
  const gone = "script, style, noscript, template, button, input, .headerlink, .drawing-steps, details.hide, "
    + ".d-wide-layout + .d-narrow-layout, .sd-hide-link-text";
  all(gone).forEach((node) => node.remove());
  all("[hidden]").forEach((node) => node.removeAttribute("hidden"));
  all(".cell, .cell_output, .cell_input").reverse().forEach((cell) => {
    if (!cell.textContent.trim() && !cell.querySelector("img, svg") && !cell.id) cell.remove();
  });

  // MathJax's elements are no HTML.
  for (const maths of all("mjx-container")) {
    const shown = maths.hasAttribute("display");
    maths.replaceWith(make("span", { className: shown ? "formula displayed" : "formula" }, ...maths.childNodes));
  }
  for (const listen of all("mjx-assistive-mml")) listen.replaceWith(make("span", { className: "listen" }, ...listen.childNodes));
  for (const maths of all("math, math *")) for (const key of maths.getAttributeNames()) if (/^data-/.test(key)) maths.removeAttribute(key);

  // Names are of their own chapter.
  const local = (id) => `${short(name)}-${decodeURIComponent(id)}`;
  for (const node of all("*")) {
    if (node.id) node.id = local(node.id);
    for (const { name: key, value } of [...node.attributes]) {
      if (/^(for|aria-labelledby|aria-describedby)$/.test(key)) node.setAttribute(key, value.split(" ").map(local).join(" "));
      else if (value.includes("url(#")) node.setAttribute(key, value.replace(/url\(#/g, `url(#${short(name)}-`));
      else if (/^(data-|on|role$|tabindex$|translate$|loading$|decoding$|target$|open$)/.test(key) && key !== "data-c") node.removeAttribute(key);
    }
  }
  for (const use of all("use")) use.setAttribute("href", `#${local((use.getAttribute("href") ?? use.getAttribute("xlink:href")).slice(1))}`);

  // Links lead into the file, out of it, or nowhere: then they are words.
  for (const link of all("a[href]")) {
    if (!link.isConnected && link.closest(".live")) continue;
    const [page, place = ""] = new URL(link.getAttribute("href"), here).href.split("#");
    const file = names[page];
    if (file && !/=/.test(place)) link.setAttribute("href", place ? `${file}#${short(file)}-${decodeURIComponent(place)}` : file);
    else if (/^https?:|^mailto:/.test(page)) link.setAttribute("href", page + (place && `#${place}`));
    else if (site && page.startsWith(names.root)) link.setAttribute("href", site + page.slice(names.root.length) + (place && `#${place}`));
    else link.replaceWith(make("span", {}, ...link.childNodes));
  }

  // Pictures lie beside the chapters.
  const images = {};
  for (const image of all("img")) {
    const from = new URL(image.getAttribute("src"), here);
    const inside = from.protocol === "data:", order = Object.keys(images).length;
    const file = `images/${inside ? `${short(name)}-inside-${order}.png` : from.pathname.split("/").pop()}`;
    if (inside) images[file] = from.href;
    else if (!image.getAttribute("src").startsWith("images/")) images[file] = decodeURIComponent(from.pathname);
    image.setAttribute("src", file);
    if (!image.hasAttribute("alt")) image.alt = "";
    for (const key of ["width", "height", "srcset", "style"]) image.removeAttribute(key);
    // As large as on the page, where that has its place.
    const wide = !inside && /--natural-width: (\d+)px/.exec(document.querySelector(`img[src$="${from.pathname.split("/").pop()}"]`)?.getAttribute("style"));
    if (wide) image.setAttribute("style", `width: ${wide[1]}px`);
  }

  // An answer goes to the end of the book; another fold is text.
  const answers = make("section", {});
  for (const [place, fold] of all("details").entries()) {
    const title = fold.querySelector("summary")?.textContent.trim() ?? "";
    fold.querySelector("summary")?.remove();
    if (/^(Hint|Solution|Answer)/.test(title)) {
      const heading = fold.parentElement.closest("section")?.querySelector("h1, h2, h3, .question")?.textContent.trim();
      const id = `answers-${short(name)}-${place}`, from = `${short(name)}-answer-${place}`;
      answers.append(make("section", { id, className: "answer" },
        make("p", { className: "fold-title" }, make("a", { href: `${name}#${from}`, textContent: heading }), ` · ${title}`), ...fold.childNodes));
      fold.replaceWith(make("p", { id: from, className: "to-answer" }, make("a", { href: `answers.xhtml#${id}`, textContent: `${title}: at the end of the book` })));
    } else {
      // Its code stays on the page, and the places that claims link to stay here.
      if (title === "How this was made") for (const cell of fold.querySelectorAll(".cell")) {
        cell.replaceWith(...[cell, ...cell.querySelectorAll("[id]")].flatMap(({ id }) => (id ? [make("span", { id })] : [])));
      }
      fold.replaceWith(make("div", { className: "fold" }, make("p", { className: "fold-title", textContent: title }), ...fold.childNodes));
    }
  }

  const body = make("section", { id: short(name), className: "chapter" }, ...article.childNodes);
  const text = (node) => new XMLSerializer().serializeToString(node);
  return { title: body.querySelector("h1")?.textContent ?? document.title, body: text(body),
    answers: answers.childElementCount ? text(answers) : "", images };
}
