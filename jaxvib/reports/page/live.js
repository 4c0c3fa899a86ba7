// The live panel: sliders on one side, the motion that a worker computes on the other.

const QUIET = 900; // ms without a change before it is told

class Live {
  // `content`: {system: {freedoms, units, rates, contacts, pair}, controls, regimes, modules}.
  constructor(element, content) {
    Object.assign(this, { element, content, ...content.system });
    this.find = (name) => element.querySelector(name);
    this.size = 2 * this.freedoms.length;
    this.mode = "follow";
    this.clock = 0;
    this.playing = false;
    this.controls = new Controls(this.find(".groups"), withScales(content.controls), () => this.ask(this.mode));
    this.listen();
    this.plots();
    this.diagram = new Diagram(this.find(".diagram"), this);
    this.map = new LiveMap(this.find(".map"), this);
  }

  async start() {
    this.worker = this.spawn((answer) => this.hear(answer));
    const begun = this.next();
    this.worker.onerror = () => this.fail("the browser starts no worker");
    await begun;
    const drawn = this.next();
    this.ask("rest");
    await drawn;
  }

  // A worker with the modules, which tells its answers.
  spawn(told) {
    const text = document.getElementById("worker").textContent;
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => told(data);
    worker.postMessage({ modules: this.content.modules });
    return worker;
  }

  // A promise kept when the worker answers.
  next() {
    return new Promise((kept, broken) => Object.assign(this, { kept, broken }));
  }

  listen() {
    const press = (name, action) => this.find(name).addEventListener("click", action);
    press(".settle", () => { this.setMode("follow"); this.ask("settle"); });
    press(".orbit", () => {
      this.setMode(this.mode === "orbit" ? "follow" : "orbit");
      this.ask(this.mode);
    });
    press(".rest", () => { this.setMode("follow"); this.ask("rest"); });
    press(".reset", () => { this.controls.reset(); this.ask(this.mode); });
    press(".play", () => this.play(!this.playing));
    press(".nearer", () => { this.near = !this.near; this.draw(); });
    this.find(".period").addEventListener("change", () => { if (this.mode === "orbit") this.ask("orbit"); });
    this.find(".body").addEventListener("change", () => { this.section.fit(); this.draw(); });
    this.find(".player input").addEventListener("input", (event) => {
      this.play(false);
      this.clock = Number(event.target.value) * this.duration;
      this.place();
    });
    darkScheme.addEventListener("change", () => { this.scene = null; this.draw(); });
  }

  plots() {
    const [plane, section, history, force, spectrum] = this.element.querySelectorAll(".live-charts .plot");
    const shown = ([unit]) => unit;
    const [metre, rate, newton] = [shown(this.units[0]), shown(this.rates[0]), shown(chosen("N"))];
    this.hard = this.contacts.length > 0 && this.contacts.every(({ hard }) => hard);
    const pressed = this.hard ? "impulse (N s)" : `contact force (${newton})`;
    const time = `time (${shown(chosen("s"))})`;
    this.plane = new Plot(plane, { x: `displacement (${metre})`, y: `velocity (${rate})` });
    this.section = new Plot(section, { x: `displacement (${metre})`, y: `velocity (${rate})` });
    this.history = new Plot(history, { x: time, y: `displacement (${metre})` });
    this.force = new Plot(force, { x: time, y: pressed });
    this.spectrum = new Plot(spectrum, { x: `frequency (${shown(chosen("rad/s"))})`, y: `amplitude (${metre})` });
    force.closest("figure").hidden = !this.contacts.length;
    spectrum.closest("figure").classList.toggle("wide", this.contacts.length > 0);
    this.find(".body").replaceChildren(...this.freedoms.map((name, value) => make("option", { value, textContent: name })));
    this.find(".body").closest("label").hidden = this.freedoms.length < 2;
    this.find(".force-title").textContent = this.hard ? "Impulses of contacts" : "Contact force";
    this.legend();
  }

  legend() {
    const item = (content, colour) => {
      content.prepend(make("i", { style: `background:${colour}` }));
      const entry = make("li", {});
      entry.append(content);
      return entry;
    };
    const entries = this.freedoms.map((name, i) => item(this.bodyButton(name, i), this.colour(i)));
    const words = (text, colour) => entries.push(item(make("span", { textContent: text }), colour));
    if (this.contacts.length && !this.hard) words("in contact", token("--alarm"));
    if (this.contacts.length > 1) {
      this.contacts.forEach(({ name }, j) => words(`contact ${/^\d+$/.test(name) ? Number(name) + 1 : name}`, this.contactColour(j)));
    }
    this.find(".bodies").replaceChildren(...entries);
  }

  // The name of a body, which shows this body alone in the charts, or all of them again.
  bodyButton(name, i) {
    if (this.freedoms.length < 2) return make("span", { textContent: name });
    const button = make("button", { type: "button", textContent: name });
    button.setAttribute("aria-label", `${name} alone`);
    button.setAttribute("aria-pressed", String(this.alone === i));
    button.classList.toggle("off", !this.shown().includes(i));
    button.addEventListener("click", () => {
      this.alone = this.alone === i ? undefined : i;
      for (const plot of [this.plane, this.history, this.spectrum]) plot.fit();
      this.legend();
      this.draw();
      this.find(".bodies").querySelectorAll("button")[i].focus();
    });
    return button;
  }

  // The bodies in the charts.
  shown() {
    return this.alone === undefined ? [...this.freedoms.keys()] : [this.alone];
  }

  colour(i) {
    const colours = page.lines[scheme()];
    return colours[i % colours.length];
  }

  contactColour(j) {
    return this.contacts.length > 1 ? this.colour(this.freedoms.length + j) : token("--alarm");
  }

  wallColour(contact) {
    return this.contacts.length > 1 ? this.contactColour(contact) : token("--muted");
  }

  setMode(mode) {
    this.mode = mode;
    this.find(".orbit").setAttribute("aria-pressed", String(mode === "orbit"));
    this.section.fit();
    this.find(".follows").textContent = mode === "orbit"
      ? "Sliders continue this orbit, stable or not."
      : "Sliders continue the motion from where it is, as on a test rig.";
  }

  // Open a sample: its values by path, and a state near its motion.
  open(values, from) {
    this.controls.reset();
    this.controls.set(values);
    this.continueFrom(from);
  }

  continueFrom(state) {
    this.setMode("follow");
    this.from = state;
    this.ask("follow");
  }

  // Ask the worker, or remember the newest request until it has answered.
  ask(kind) {
    this.wanted = { kind, since: this.wanted?.since ?? performance.now() };
    if (!this.busy) this.send();
  }

  send() {
    const { kind, since } = this.wanted;
    this.wanted = null;
    this.busy = true;
    this.since = since;
    this.id = (this.id ?? 0) + 1;
    const periods = Number(this.find(kind === "settle" ? ".many" : ".period").value);
    const { stored } = kind === "prove" ? this.content : {};
    this.worker.postMessage({ id: this.id, kind, periods, values: this.controls.values(), from: this.from, stored });
    this.from = null;
  }

  hear(answer) {
    if (answer.kind === "ready") return this.kept();
    if (answer.kind === "failed") return this.fail(answer.message);
    if (answer.id !== this.id) return;
    const first = this.busy;
    this.busy = false;
    if (answer.kind === "proof") this.proved?.(answer);
    else if (answer.kind === "picture") this.show(answer);
    else this.tell(answer);
    if (first) this.took = performance.now() - this.since; // ms from slider to picture
    this.kept();
    this.element.dataset.answered = this.id;
    if (this.wanted) this.send();
  }

  fail(message) {
    this.find(".regime").textContent = `The motion could not be computed: ${message}`;
    this.broken(new Error(message));
  }

  show(answer) {
    this.answer = answer;
    const { times } = answer.motion;
    this.duration = times.at(-1);
    this.clock %= this.duration;
    this.tell(answer);
    this.draw();
  }

  column(index) {
    const { states } = this.answer.motion;
    const factor = (index < this.size / 2 ? this.units[index] : this.rates[index - this.size / 2])[1];
    return Float64Array.from({ length: states.length / this.size }, (_, k) => factor * states[k * this.size + index]);
  }

  draw() {
    if (!this.answer) return;
    const { motion, points } = this.answer, half = this.size / 2, n = motion.times.length;
    const contacts = this.contacts.length;
    const touches = this.freedoms.map((_, i) => {
      const own = this.contacts.flatMap(({ direction, hard }, j) => (direction[i] && !hard ? [j] : []));
      return own.length ? Array.from({ length: n }, (_, k) => own.some((j) => motion.forces[k * contacts + j] > 0)) : [];
    });
    const columns = Array.from({ length: this.size }, (_, i) => this.column(i));
    const times = motion.times.map((t) => chosen("s")[1] * t);
    const sampled = (i) => {
      const factor = (i < half ? this.units[i] : this.rates[i - half])[1];
      return Float64Array.from({ length: points.length / this.size }, (_, k) => factor * points[k * this.size + i]);
    };
    const lines = [], marks = [], courses = [];
    const many = points.length / this.size > 40;
    for (const i of this.shown()) {
      const [x, y] = [columns[i], columns[half + i]], colour = this.colour(i);
      lines.push({ x, y, colour, width: many ? 0.8 : 1.8 });
      if (touches[i].includes(true)) lines.push({ x, y: y.map((v, k) => (touches[i][k] ? v : NaN)), colour: token("--alarm"), width: 3 });
      if (!many) marks.push({ x: sampled(i), y: sampled(half + i), colour, radius: 4, hollow: true });
      courses.push({ x: times, y: x, colour, width: 1.6 });
    }
    this.plane.draw({ lines, points: marks, walls: this.walls("x") });
    this.history.draw({ lines: courses, tight: true, walls: this.walls("y") });
    drawSpectrum(this.spectrum, this);
    this.drawForce(times);
    for (const chart of [this.diagram, this.map]) if (chart.element.open) chart.draw();
    this.drawSection(sampled, many);
    this.build(columns);
    this.place();
  }

  drawForce(times) {
    const { motion } = this.answer, contacts = this.contacts.length;
    if (!contacts) return;
    const colour = (j) => this.contactColour(j);
    if (this.hard) {
      const stems = this.contacts.map((_, j) => {
        const own = motion.impulses.filter(([, contact]) => contact === j);
        return { x: own.map(([t]) => chosen("s")[1] * t), y: own.map(([, , impulse]) => impulse), colour: colour(j) };
      });
      this.force.draw({ stems, lines: [{ x: [0, times.at(-1)], y: [0, 0], colour: token("--muted"), width: 1 }], tight: true, zero: true });
      return;
    }
    const [newton, factor] = forceUnit(Math.max(...motion.peaks));
    this.force.labels.y = `contact force (${newton})`;
    const window = this.near ? this.strongest() : [0, times.length];
    const lines = this.contacts.map((_, j) => ({
      x: times.slice(...window), colour: colour(j), fill: true, width: 1.6,
      y: Float64Array.from(times, (_, k) => factor * motion.forces[k * contacts + j]).slice(...window),
    }));
    this.find(".nearer").hidden = !(Math.max(...motion.peaks) > 0);
    this.find(".nearer").textContent = this.near ? "Show the whole time" : "Zoom to the strongest contact";
    this.force.draw({ lines, tight: true, zero: true });
  }

  // First and last sample around the strongest contact.
  strongest() {
    const { motion } = this.answer, contacts = this.contacts.length, n = motion.times.length;
    const total = Array.from({ length: n }, (_, k) => motion.forces.subarray(k * contacts, (k + 1) * contacts).reduce((a, b) => a + b, 0));
    let first = total.indexOf(Math.max(...total)), last = first;
    while (first > 0 && total[first] > 0) first--;
    while (last < n - 1 && total[last] > 0) last++;
    return [first, last + 1];
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

  tell(answer) {
    const words = { none: ["No orbit found", noOrbit(answer)], lost: ["The motion grows without bound", "It starts again from rest."] };
    const [title, rest] = words[answer.kind] ?? [regimeOf(answer), this.stabilityOf(answer)];
    this.find(".regime").textContent = title;
    this.find(".stability").textContent = rest;
    this.element.dataset.stable = answer.stable ?? "";
    if (answer.kind !== "picture") return;
    const { motion, drawn, period } = answer;
    const peak = Math.max(0, ...motion.peaks), facts = { "load period": withUnit(period, "s") };
    if (this.contacts.length) {
      facts["contacts per load period"] = number(motion.onsets / drawn, 3);
      if (!this.hard) facts["peak contact force"] = withUnit(peak, "N");
    }
    this.freedoms.forEach((name, i) => {
      const values = this.column(i), size = (Math.max(...values) - Math.min(...values)) / 2;
      facts[`amplitude of ${name}`] = `${number(size, 4)} ${this.units[i][0]}`.trim();
    });
    this.find(".facts").replaceChildren(...Object.entries(facts).map(([label, value]) => {
      const entry = document.createElement("div");
      entry.append(make("dt", { textContent: label }), make("dd", { textContent: value }));
      return entry;
    }));
    const about = `${title}. ${rest}`;
    // Screen readers hear of the motion only when the sliders have stopped.
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { this.find(".said").textContent = about; }, QUIET);
    this.element.querySelectorAll(".live-charts .plot").forEach((plot) => plot.setAttribute("aria-label", `${plot.dataset.name}. ${about}`));
    const multipliers = answer.multipliers && multiplierTexts(answer.multipliers).join(", ");
    this.find(".multipliers").textContent = multipliers ? `Multipliers ${multipliers}` : "";
    const changes = this.controls.changes().map(({ path, value }) => `--set ${quoted(`${path}=${value}`)}`);
    this.find(".assignments").textContent = changes.join(" \\\n  ") || "no value is changed";
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

  build(columns) {
    const half = this.freedoms.length, extremes = columns.slice(0, half).map((values, i) => {
      const factor = this.units[i][1];
      return Float32Array.of(Math.min(...values) / factor, Math.max(...values) / factor);
    });
    const low = Math.min(...extremes.map(([a]) => a)), high = Math.max(...extremes.map(([, b]) => b));
    const fits = this.scene && low >= this.reach[0] && high <= this.reach[1] && high - low > SHRINK * (this.reach[1] - this.reach[0]);
    if (fits) return;
    const room = 0.1 * (high - low);
    this.reach = [low - room, high + room];
    const motion = { freedoms: this.freedoms, size: this.size, states: null, page, stops: this.stops(), column: () => Float32Array.from(this.reach) };
    const stage = this.find(".stage");
    stage.replaceChildren();
    this.scene = this.pair ? new Pair(stage, motion) : new Tracks(stage, motion);
    this.legend();
  }

  // The fixed stops of single bodies, for the animation.
  stops() {
    return this.contacts.flatMap(({ direction, gap, gap_path: path }, contact) => {
      const bodies = direction.flatMap((each, i) => (each ? [i] : []));
      if (bodies.length !== 1 || gap === null) return []; // a formula's gap is known to the kernel only
      const [body] = bodies, now = () => this.controls.values()[path] ?? gap;
      return [{ body, side: Math.sign(direction[body]), place: () => now() / direction[body], colour: this.wallColour(contact) }];
    });
  }

  // The stops of the bodies shown, for an axis of displacements.
  walls(axis) {
    return this.stops().filter(({ body }) => this.shown().includes(body)).map(({ body, side, place, colour }) => (
      { axis, side, at: this.units[body][1] * place(), colour }));
  }

  // Show the bodies and the marks at the time of the clock.
  place() {
    const { motion } = this.answer, { times, states, forces } = motion;
    let low = 0, high = times.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= this.clock) low = middle; else high = middle; }
    const length = times[high] - times[low], part = length > 0 ? Math.min(1, (this.clock - times[low]) / length) : 0;
    const state = Array.from({ length: this.size }, (_, i) => (1 - part) * states[low * this.size + i] + part * states[high * this.size + i]);
    const contacts = this.contacts.length, peak = Math.max(1e-9, ...motion.peaks);
    let force = 0;
    for (let j = 0; j < contacts; j++) force += forces[low * contacts + j];
    this.scene.show(state, Math.max(force / peak, this.glow ?? 0));
    const half = this.freedoms.length;
    this.dots ??= this.freedoms.map(() => [this.plane, this.history].map((plot) => plot.element.appendChild(make("div", { className: "dot" }))));
    this.dots.forEach(([one, other], i) => {
      const x = this.units[i][1] * state[i], y = this.rates[i][1] * state[half + i];
      for (const dot of [one, other]) Object.assign(dot.style, { background: this.colour(i), display: this.shown().includes(i) ? "" : "none" });
      one.style.transform = `translate(${this.plane.x(x)}px, ${this.plane.y(y)}px)`;
      other.style.transform = `translate(${this.history.x(chosen("s")[1] * this.clock)}px, ${this.history.y(x)}px)`;
    });
    this.find(".player input").value = this.clock / this.duration;
    this.find(".player output").textContent = `${this.clock.toFixed(3)} s`;
  }

  // A rigid contact is shorter than a frame: its spark fades slowly to stay visible.
  keepSparks(before, seconds) {
    const { times, forces } = this.answer.motion, contacts = this.contacts.length;
    const peak = Math.max(1e-9, ...this.answer.motion.peaks);
    let strongest = 0;
    const inside = (t) => (before <= this.clock ? t > before && t <= this.clock : t > before || t <= this.clock);
    for (let k = 0; k < times.length; k++) {
      if (inside(times[k])) for (let j = 0; j < contacts; j++) strongest = Math.max(strongest, forces[k * contacts + j]);
    }
    if (this.hard && this.answer.motion.impulses.some(([t]) => inside(t))) strongest = peak;
    this.glow = Math.max(strongest / peak, (this.glow ?? 0) * Math.exp(-seconds / 0.12));
  }

  play(on) {
    play(this, on, (seconds) => {
      const before = this.clock;
      this.clock = (this.clock + seconds * Number(this.find(".player select").value)) % this.duration;
      this.keepSparks(before, seconds);
      this.place();
    });
  }
}

function chosen(unit) {
  return page.units[unit] ?? [unit, 1];
}

function forceUnit(largest) {
  const [unit, factor] = chosen("N");
  if (unit !== "N") return [unit, factor];
  if (largest >= 1e6) return ["MN", 1e-6];
  return largest >= 1e3 ? ["kN", 1e-3] : ["N", 1];
}

function regimeOf({ periods, motion, passed, going, drawn }) {
  if (!periods) return going && passed < 600 ? "Not settled yet" : `No period up to ${LONGEST_SHOWN}`;
  const contacts = motion.onsets;
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

// A parameter of value 0 gets the scale of others with its unit.
function withScales(controls) {
  return controls.map((control) => {
    const alike = controls.filter(({ unit }) => unit === control.unit).map(({ value }) => Math.abs(value));
    return { ...control, scale: Math.max(...alike) || 1 };
  });
}
