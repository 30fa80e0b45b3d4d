// Steppers: a drawing with states. Without this script all of its frames stand below each other.
(() => {
  const button = (label, onPress) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", onPress);
    return made;
  };

  const start = (figure) => {
    const frames = [...figure.querySelectorAll(".drawing-frames > li")];
    let shown = 0;
    const show = (wanted, spoken = true) => {
      shown = Math.min(Math.max(wanted, 0), frames.length - 1);
      frames.forEach((frame, place) => { frame.hidden = place !== shown; });
      // A disabled button would lose the focus, and with it the arrow keys.
      back.setAttribute("aria-disabled", String(shown === 0));
      next.setAttribute("aria-disabled", String(shown === frames.length - 1));
      count.textContent = `${shown + 1} of ${frames.length}`;
      if (spoken) voice.textContent = frames[shown].querySelector("p").textContent;
    };
    const back = button("Back", () => show(shown - 1));
    const next = button("Next", () => show(shown + 1));
    const count = document.createElement("span");
    const voice = document.createElement("div");
    voice.setAttribute("aria-live", "polite");
    voice.className = "visually-hidden";
    const steps = document.createElement("div");
    steps.className = "drawing-steps";
    steps.append(back, count, next);
    figure.append(steps, voice);
    figure.classList.add("d-stepping");
    figure.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      show(shown + way);
    });
    show(0, false);
  };

  document.querySelectorAll("[data-stepper]").forEach(start);
})();
