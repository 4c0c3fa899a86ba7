// The live panel of a system under loads with a common period: regimes, orbits, diagrams.

const HELD = 250; // ms after a change until charts are computed further

class LivePeriodic extends Live {
  constructor(element, content) {
    super(element, content);
    this.diagram = new Diagram(this.find(".diagram"), this);
    this.map = new LiveMap(this.find(".map"), this);
  }

  mode = "follow";

  // While sliders move, the cores are for their motion.
  ask(kind) {
    const hold = (on) => { for (const { workers } of [this.diagram, this.map]) workers.hold(on); };
    if (!this.holding) hold(true);
    clearTimeout(this.holding);
    this.holding = setTimeout(() => { this.holding = 0; hold(false); }, HELD);
    super.ask(kind);
  }

  first = "rest";

  listen() {
    super.listen();
    this.press(".settle", () => { this.setMode("follow"); this.ask("settle"); });
    this.press(".orbit", () => {
      this.setMode(this.mode === "orbit" ? "follow" : "orbit");
      this.ask(this.mode);
    });
    this.press(".rest", () => { this.setMode("follow"); this.ask("rest"); });
    this.find(".period").addEventListener("change", () => { if (this.mode === "orbit") this.ask("orbit"); });
    this.find(".body").addEventListener("change", () => { this.section.fit(); this.draw(); });
  }

  plots() {
    super.plots();
    const figure = (name) => this.find(`.live-charts .${name}`);
    const [metre, rate] = [this.units[0][0], this.rates[0][0]];
    this.plane = this.chart(figure("plane"), `displacement (${metre})`, `velocity (${rate})`);
    this.section = this.chart(figure("section"), `displacement (${metre})`, `velocity (${rate})`);
    this.spectrum = this.chart(figure("spectrum"), `frequency (${chosen("rad/s")[0]})`, `amplitude (${metre})`);
    this.marked = [this.plane, this.history];
    this.legend(); // now with a phase plane
    const others = 3 + Number(this.contacts.length > 0) + this.states.length;
    figure("spectrum").classList.toggle("wide", others % 2 === 0);
    this.find(".body").replaceChildren(...this.freedoms.map((name, value) => make("option", { value, textContent: name })));
    this.find(".body").closest("label").hidden = this.freedoms.length < 2;
  }

  ofBodies() {
    return [this.plane, this.history, this.spectrum];
  }

  setMode(mode) {
    this.mode = mode;
    this.find(".orbit").setAttribute("aria-pressed", String(mode === "orbit"));
    this.section.fit();
    this.find(".follows").textContent = mode === "orbit"
      ? "Sliders continue this orbit, stable or not."
      : "Sliders continue the motion from where it is, as on a test rig.";
  }

  // Open a sample: its values by path, and a state of its motion, or from rest.
  open(values, from) {
    this.controls.reset();
    this.controls.set(values);
    this.continueFrom(from);
  }

  continueFrom(state) {
    this.setMode("follow");
    this.from = state;
    this.ask(state ? "follow" : "rest");
  }

  settings(kind) {
    const periods = Number(this.find(kind === "settle" ? ".many" : ".period").value), { from } = this;
    this.from = null;
    return { periods, from };
  }

  drawMore(columns) {
    const { motion, points } = this.answer, half = this.freedoms.length, n = motion.times.length;
    const contacts = this.contacts.length;
    const touches = this.freedoms.map((_, i) => {
      const own = this.contacts.flatMap(({ direction, hard }, j) => (direction[i] && !hard ? [j] : []));
      return own.length ? Array.from({ length: n }, (_, k) => own.some((j) => motion.forces[k * contacts + j] > 0)) : [];
    });
    const sampled = (i) => this.column(i, points);
    const lines = [], marks = [], many = points.length / this.size > 40;
    for (const i of this.shown()) {
      const [x, y] = [columns[i], columns[half + i]], colour = this.colour(i);
      lines.push({ x, y, colour, width: many ? 0.8 : 1.8 });
      if (touches[i].includes(true)) lines.push({ x, y: y.map((v, k) => (touches[i][k] ? v : NaN)), colour: token("--alarm"), width: 3 });
      if (!many) marks.push({ x: sampled(i), y: sampled(half + i), colour, radius: 4, hollow: true });
    }
    this.plane.draw({ lines, points: marks, walls: this.walls("x") });
    drawSpectrum(this.spectrum, this);
    for (const chart of [this.diagram, this.map]) if (chart.element.open) chart.draw();
    this.drawSection(sampled, many);
  }

  drawSection(sampled, many) {
    const { answer } = this, half = this.freedoms.length, orbit = answer.multipliers !== undefined;
    this.find(".section-title").textContent = orbit ? "Floquet multipliers" : "Poincaré points";
    this.find(".body").closest("label").hidden = orbit || half < 2;
    const body = Number(this.find(".body").value);
    const labels = orbit ? ["real part", "imaginary part"] : [`displacement (${this.units[body][0]})`, `velocity (${this.rates[body][0]})`];
    Object.assign(this.section.labels, { x: labels[0], y: labels[1] });
    if (!orbit) {
      const least = Object.fromEntries(["x", "y"].map((axis) => [axis, 0.05 * (this.plane.ranges[axis][1] - this.plane.ranges[axis][0])]));
      this.section.draw({ least, points: [{ x: sampled(body), y: sampled(half + body), colour: this.colour(body), radius: many ? 1.2 : 4.5 }] });
      return;
    }
    const colour = { 1: token("--good"), 0: token("--alarm") }[answer.stable] ?? token("--muted");
    const points = [{ x: answer.multipliers.map(([a]) => a), y: answer.multipliers.map(([, b]) => b), colour, radius: 5 }];
    this.section.draw({ points, circle: true, equal: true });
  }

  words(answer) {
    if (answer.kind === "none") return ["No orbit found", noOrbit(answer)];
    if (answer.kind === "lost") return ["The motion grows without bound", "It starts again from rest."];
    return [regimeOf(answer), this.stabilityOf(answer)];
  }

  tell(answer) {
    super.tell(answer);
    this.element.dataset.stable = answer.stable ?? "";
    if (answer.kind !== "picture") return;
    const multipliers = answer.multipliers && multiplierTexts(answer.multipliers).join(", ");
    this.find(".multipliers").textContent = multipliers ? `Multipliers ${multipliers}` : "";
  }

  facts({ motion, drawn, period }) {
    const facts = { "load period": withUnit(period, "s") };
    if (this.contacts.length) {
      facts["contacts per load period"] = motion.touching && !motion.onsets ? "always in contact" : number(motion.onsets / drawn, 3);
      if (!this.hard && motion.onsets) facts["peak contact force"] = withUnit(Math.max(0, ...motion.peaks), "N");
    }
    const half = this.freedoms.length, states = this.states.map(({ name, unit }, k) => [name, unit, 2 * half + k]);
    for (const [name, unit, i] of [...this.freedoms.map((name, k) => [name, this.units[k][0], k]), ...states]) {
      const [low, high] = extent(this.column(i));
      facts[`amplitude of ${name}`] = `${number((high - low) / 2, 4)} ${unit}`.trim();
    }
    return facts;
  }

  stabilityOf({ multipliers, stable, residual, passed, settled, going }) {
    if (!multipliers) {
      if (settled) return `settled within ${passed} load periods, so it is stable`;
      return going ? "still moving towards its steady state" : `followed over ${passed} load periods`;
    }
    const largest = Math.hypot(...multipliers[0]);
    const verdict = { 1: "stable", 0: "unstable" }[stable] ?? "undecided, as it is too close to 1";
    return `${verdict}: largest |multiplier| ${number(largest, 5)}; closed to ${residual.toExponential(0)} of its size`;
  }

  // What a proof of stored orbits has found so far.
  proofWords({ done, number, missed, verdicts, compared, worst }) {
    if (done < number) return `${done} of ${number} orbits`;
    const told = (value) => (value ? value.toExponential(0) : "0");
    const differences = [`state ${told(worst.state)} of the motion's size`, `|multiplier| ${told(worst.multiplier)}`];
    if (worst.force) differences.push(`peak force ${told(worst.force)} of it`);
    const others = missed ? `; ${missed} not met by Newton's method` : "";
    return `${done - missed} of ${number} orbits recomputed${others}; largest differences from the store: ${differences.join(", ")}; `
      + `${verdicts} of ${compared} decided verdicts the same`;
  }
}

function regimeOf({ periods, motion, passed, going, drawn }) {
  if (!periods) return going && passed < 600 ? "Not settled yet" : `No period up to ${LONGEST_SHOWN}`;
  const contacts = motion.onsets;
  if (motion.touching && !contacts) return `Period ${periods}, always in contact`;
  const many = contacts ? ` with ${contacts} contact${contacts === 1 ? "" : "s"}` : "";
  return `Period ${periods}${drawn === periods ? many : ""}`;
}

const LONGEST_SHOWN = 8; // load periods, as in the worker

function noOrbit({ periods }) {
  return `Newton's method finds no orbit of ${periods} load period${periods === 1 ? "" : "s"} from here.`;
}

// Conjugate pairs are written once.
function multiplierTexts(multipliers) {
  return multipliers.filter(([, b]) => b >= 0)
    .map(([a, b]) => `${number(a, 5)}${b ? ` ± ${number(b, 5)}i` : ""}`.replaceAll("-", "−"));
}

function livePanel(element, content) {
  return new LivePeriodic(element, content);
}
