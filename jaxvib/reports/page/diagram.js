// A brute-force bifurcation diagram over one slider, filled in by workers, coarse to fine.

const COLUMNS = 256, TRANSIENT = 200, POINTS = 48; // values, and load periods of each

class Diagram {
  constructor(element, live) {
    Object.assign(this, { element, live, points: null, id: 0 });
    this.workers = new Pool(live, (answer) => this.hear(answer), (message) => {
      this.find("output").textContent = `Not all could be computed: ${message}`;
    });
    this.find = (name) => element.querySelector(name);
    this.find(".over").replaceChildren(...live.controls.options());
    const first = live.controls.all.findIndex(({ swept }) => swept);
    this.find(".over").value = first >= 0 ? first : Math.max(0, live.controls.all.findLastIndex(({ path }) => /frequency$/.test(path)));
    this.find(".of").replaceChildren(...live.freedoms.map((name, value) => make("option", { value, textContent: name })));
    this.plot = new Plot(this.find(".plot"), { x: "", y: "" });
    this.find(".compute").addEventListener("click", () => this.compute());
    this.find(".of").addEventListener("change", () => { this.plot.fit(); this.draw(); });
    this.find(".plot").addEventListener("click", ({ offsetX }) => this.pick(offsetX));
    element.addEventListener("toggle", () => { if (element.open && live.answer && !this.points) this.compute(); });
  }

  // Begin each value with the motion that is shown, as far as the slider reaches.
  compute() {
    const { live } = this;
    this.control = live.controls.all[Number(this.find(".over").value)];
    this.ends = { ...this.control.span };
    const { low, high, log } = this.ends;
    const share = (k) => (k + 0.5) / COLUMNS;
    const values = order(COLUMNS).map((k) => (log ? low * (high / low) ** share(k) : low + share(k) * (high - low)));
    const state = Array.from(live.answer.motion.states.subarray(0, live.size));
    this.points = { x: [], states: [], columns: 0 };
    this.id++;
    this.plot.fit();
    const about = { id: this.id, kind: "columns", values: live.controls.values(), path: this.control.path, from: state, transient: TRANSIENT, points: POINTS };
    this.workers.share(values, (columns) => ({ ...about, columns }));
    this.draw();
  }

  hear({ id, kind, value, states }) {
    if (kind !== "column" || id !== this.id) return;
    const { x, states: all } = this.points, { size } = this.live;
    for (let k = 0; k < states.length / size; k++) x.push(value);
    for (const number of states) all.push(number);
    this.points.columns++;
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  draw() {
    if (!this.points) return;
    const { live, control } = this, { size } = live, body = Number(this.find(".of").value);
    const [unit, factor] = live.units[body], { low, high } = this.ends;
    this.plot.labels = { x: `${control.group} ${control.name}${control.unit ? ` (${control.unit})` : ""}`.trim(), y: `displacement of ${live.freedoms[body]} (${unit})` };
    const x = this.points.x.map((value) => control.factor * value);
    const y = this.points.x.map((_, k) => factor * this.points.states[k * size + body]);
    const ends = [low, high].map((end) => end * control.factor), now = control.value * control.factor;
    this.plot.draw({ points: [{ x, y, colour: live.colour(body), radius: 0.8 }], at: now, ends });
    const words = this.points.columns < COLUMNS ? `${this.points.columns} of ${COLUMNS} values` : `${COLUMNS} values, ${POINTS} Poincaré points each after ${TRANSIENT} load periods`;
    this.find("output").textContent = words;
    this.find(".plot").setAttribute("aria-label", `Bifurcation diagram of ${live.freedoms[body]} over ${control.group} ${control.name}: ${words}`);
    this.element.dataset.columns = this.points.columns;
  }

  // Move the slider to the value that is clicked.
  pick(offset) {
    if (!this.points) return;
    const { left, right } = this.plot.frame, [low, high] = this.plot.ranges.x;
    const value = (low + ((offset - left) / (right - left)) * (high - low)) / this.control.factor;
    if (!this.control.allows(value)) return;
    this.control.put(Number(value.toPrecision(6)), value < this.control.span.low || value > this.control.span.high);
    this.live.controls.changed();
  }
}

// Numbers below a power of 2, every other one first, then those between.
function order(number) {
  const found = [0];
  for (let step = number / 2; step >= 1; step /= 2) found.push(...found.map((each) => each + step));
  return found;
}
