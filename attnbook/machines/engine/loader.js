// A model that comes when the reader presses a button, and works in a worker; the kit and files.js stand before it.

const megabytes = (bytes) => Math.round(bytes / 1e6);
const sizeOf = (parts) => parts.reduce((sum, { bytes }) => sum + bytes, 0);

const FETCH = `<div class="machine-fetch"><button class="machine-load" type="button"></button><span class="machine-promise"></span>
<progress class="machine-progress" max="1" value="0" aria-label="The model is coming"></progress></div>`;

/** What a browser lacks to run a model for which a device needs so many GB, or nothing. */
function lacking(gigabytes) {
  if (typeof Worker === "undefined" || typeof BigInt === "undefined") return "This browser has no workers, in which the model would run, so only what was recorded is here.";
  if (navigator.deviceMemory < gigabytes) return `This device says that it has less than ${gigabytes} GB of memory, which is too little for the model, so only what was recorded is here.`;
  return "";
}

/** Why a book has no model, whose package has this name. */
const unbuilt = (name) => `This copy of the book was built without the model (its package, ${name}, was not installed), so only what was recorded is here.`;

/** `state` is "", "coming" or "ready". `hear(message)` gets what the model answers; `failed(why)` is told why it did not
 *  load; `changed()` is called when the state is another. */
class Loader {
  constructor(page, { folder, parts, memory, hear, failed, changed }) {
    Object.assign(this, { page, folder, parts, memory, hear, failed, changed, state: "" });
    page.load.textContent = `Load the model (${megabytes(sizeOf(parts))} MB)`;
  }

  async load() {
    this.state = "coming";
    this.changed();
    try {
      const book = bookScript().src, at = (name) => new URL(`${this.folder}/${name}`, book).href;
      const script = await readFile(`${this.folder}/worker.js`, book), local = location.protocol === "file:";
      this.worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
      this.worker.onmessage = ({ data }) => this.receive(data);
      this.worker.onerror = (event) => { event.preventDefault?.(); this.fail(event.message || "The worker stopped."); };
      this.names = this.parts.map(({ sha }) => at(`${sha}.bin`));
      this.send("load", { parts: this.parts, hrefs: local ? null : this.names });
    } catch { this.fail("The model's files do not lie beside this page."); }
  }

  send(name, given) { this.worker?.postMessage([name, given]); }

  fail(why) {
    this.worker?.terminate();
    Object.assign(this, { state: "", worker: null });
    const memory = /memory|allocation/i.test(why) ? ` This browser has not got the memory for it: about ${this.memory} MB are needed.` : "";
    this.failed(`The model did not load: ${why}${memory} What has come is kept; press the button to go on.`);
    this.changed();
  }

  /** Bring a part to a worker that may not fetch it. */
  async bring(number) {
    try { this.send("part", { number, base64: (await runScript(`${this.names[number]}.js`)).base64 }); }
    catch { this.send("part", { number, failed: true }); }
  }

  receive(message) {
    const { page } = this, { need, come, all, kept, ready, failed, during } = message;
    if (need !== undefined) this.bring(need);
    else if (come !== undefined) {
      page.progress.value = come / all;
      page.promise.textContent = `${megabytes(come)} of ${megabytes(all)} MB${kept ? `, ${megabytes(kept)} of them kept from before` : ""}`;
    } else if (ready) {
      this.state = "ready";
      page.live.textContent = "The model is here.";
      this.changed();
    } else if (failed && during !== "work") this.fail(failed);
    else this.hear(message);
  }

  /** Put button, bar and promise as the state has them. `obstacle` is why the model cannot come. */
  show(obstacle) {
    const { page, state, memory } = this;
    page.load.hidden = Boolean(obstacle) || Boolean(state);
    page.progress.hidden = state !== "coming";
    if (state !== "coming") say(page.promise, obstacle || (state === "ready" ? "The model runs here, in your browser: what you write stays here." :
      `It then runs here, in your browser, and is kept by it: what you write stays here. It needs about ${memory} MB of memory.`));
  }
}
