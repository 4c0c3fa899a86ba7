// The live panel of a report: opens the samples that are clicked, and proves stored ones.

class LiveStudy {
  constructor(element, content) {
    this.find = (name) => element.querySelector(name);
    this.live = livePanel(this.find(".live"), content);
    this.live.proved = (answer) => { this.find(".proof output").textContent = this.live.proofWords(answer); };
    this.find(".live").live = this.live;
    this.find(".begin").addEventListener("click", () => this.start());
    const link = document.querySelector(".to-live");
    if (link) link.hidden = false;
    link?.addEventListener("click", () => { this.start(); element.scrollIntoView(); });
    this.find(".prove")?.addEventListener("click", () => this.live.ask("prove"));
  }

  // Start the worker at the first call, and open what was last clicked.
  async start() {
    if (this.started) return;
    this.started = true;
    this.find(".begin").hidden = true;
    this.find(".opened").hidden = false;
    try {
      await this.live.start();
    } catch (error) {
      this.find(".opened").hidden = true;
      this.find(".about").textContent = `Motions cannot be computed here: ${error.message}.`;
      return;
    }
    this.running = true;
    if (this.last) this.open(...this.last);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.live.play(true);
  }

  openSample(run, sample, from) {
    this.open(Object.fromEntries(run.paths.map(({ path, values }) => [path, values[sample]])), from);
  }

  // Open the values of a point in a chart whose axes are parameters.
  openAt(chart, point) {
    const controls = this.live.controls.all, values = {};
    for (const axis of ["x", "y"]) {
      const control = controls.find(({ path }) => path === chart[axis].path);
      if (control) values[control.path] = point[axis] / control.factor;
    }
    if (Object.keys(values).length) this.open(values);
  }

  open(values, from) {
    this.last = [values, from];
    if (this.running) this.live.open(values, from);
  }
}
