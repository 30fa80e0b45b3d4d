// Words to press: a hidden one may be looked at by no query, and the weights of the others are
// computed anew.

function hideWords(view, on) {
  const { data, page: { hide }, model } = view;
  hide.hidden = data.kind === "frames" || !model.get("controls").includes("hide");
  if (hide.hidden) return { show() {} };
  const buttons = data.labels.keys.map((textContent) => make("button", { type: "button", textContent }));
  hide.append(make("span", { textContent: "Press a word to hide it:" }), ...buttons);
  keepKeys(hide);
  buttons.forEach((button, j) => on(button, "click", () => press(j)));

  function press(j) {
    const { hidden } = view.settings, gone = hidden.includes(j), name = quoted(data.labels.keys[j]);
    view.set({ hidden: gone ? hidden.filter((at) => at !== j) : [...hidden, j].sort((a, b) => a - b) },
      gone ? `${name} is back. ` : `${name} is hidden. `);
  }

  function show() {
    const { hidden, seq_len } = view.settings;
    buttons.forEach((button, j) => {
      button.hidden = j >= seq_len;
      button.ariaPressed = String(hidden.includes(j));
    });
  }

  return { show };
}
