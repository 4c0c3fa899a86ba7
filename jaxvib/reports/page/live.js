// A live panel: sliders on one side, the motion that a worker computes on the other. What
// is asked of the worker and told of its answers is in `LivePeriodic` and `LiveResponse`.

const SHOWN = 1; // s, the shortest period of an animation
const QUIET = 900; // ms without a change before it is told

class Live {
  // `content`: {system: {freedoms, units, rates, states, contacts, pair}, controls, modules}.
  constructor(element, content) {
    Object.assign(this, { element, content, ...content.system });
    this.find = (name) => element.querySelector(name);
    this.size = 2 * this.freedoms.length + this.states.length;
    this.clock = 0;
    this.playing = false;
    this.controls = new Controls(this.find(".groups"), withScales(content.controls), () => this.ask(this.mode));
    this.listen();
    this.plots();
  }

  async start() {
    this.worker = this.spawn((answer) => this.hear(answer));
    const begun = this.next();
    this.worker.onerror = () => this.fail("the browser starts no worker");
    await begun;
    const drawn = this.next();
    this.ask(this.first);
    await drawn;
  }

  // A worker with the modules, which tells its answers.
  spawn(told) {
    const text = document.getElementById("worker").textContent;
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => told(data);
    const { modules, records } = this.content;
    worker.postMessage({ modules, records, bodies: this.freedoms.length });
    return worker;
  }

  // A promise kept when the worker answers.
  next() {
    return new Promise((kept, broken) => Object.assign(this, { kept, broken }));
  }

  listen() {
    this.press(".reset", () => { this.controls.reset(); this.ask(this.mode); });
    this.press(".play", () => this.play(!this.playing));
    this.press(".nearer", () => { this.near = !this.near; this.draw(); });
    this.find(".player input").addEventListener("input", (event) => {
      this.play(false);
      this.clock = Number(event.target.value) * this.duration;
      this.place();
    });
    darkScheme.addEventListener("change", () => { this.scene = null; this.draw(); });
  }

  press(name, action) {
    this.find(name).addEventListener("click", action);
  }

  plots() {
    const figure = (name) => this.find(`.live-charts .${name}`);
    this.hard = this.contacts.length > 0 && this.contacts.every(({ hard }) => hard);
    this.time = `time (${chosen("s")[0]})`;
    this.history = this.chart(figure("history"), this.time, `displacement (${this.units[0][0]})`);
    this.force = this.chart(figure("force"), this.time, this.hard ? "impulse (N s)" : "");
    figure("force").hidden = !this.contacts.length;
    this.find(".force-title").textContent = this.hard ? "Impulses of contacts" : "Contact force";
    this.courses = this.states.map((each) => this.course(each));
    this.legend();
  }

  // A further chart over time, before that of the spectrum.
  course({ name, unit }) {
    const own = make("figure", { className: this.find(".live-charts .force").className }), plot = make("div", { className: "plot low" });
    own.hidden = false;
    plot.setAttribute("role", "img");
    plot.dataset.name = `${sentence(name)} over time`;
    own.append(make("figcaption", { textContent: sentence(name) }), plot);
    this.find(".live-charts").insertBefore(own, this.find(".live-charts .spectrum"));
    return this.chart(own, this.time, unit ? `${name} (${unit})` : name);
  }

  chart(figure, x, y) {
    return new Plot(figure.querySelector(".plot"), { x, y });
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
    if (this.plane && this.contacts.length && !this.hard) words("in contact", token("--alarm"));
    if (this.contacts.length > 1) {
      this.contacts.forEach((_, j) => words(this.contactName(j), this.contactColour(j)));
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
      for (const plot of this.ofBodies()) plot.fit();
      this.legend();
      this.draw();
      this.find(".bodies").querySelectorAll("button")[i].focus();
    });
    return button;
  }

  // Contacts without names are numbered from 1.
  contactName(j) {
    const { name } = this.contacts[j];
    return `contact ${/^\d+$/.test(name) ? Number(name) + 1 : name}`;
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
    const { stored } = kind === "prove" ? this.content : {};
    this.worker.postMessage({ id: this.id, kind, values: this.controls.values(), stored, ...this.settings(kind) });
  }

  hear(answer) {
    if (answer.kind === "ready") return this.kept();
    if (answer.kind === "failed") return this.fail(answer.message);
    if (answer.id !== this.id) return;
    const first = this.busy;
    this.busy = false;
    if (answer.kind === "proof") this.proved?.(answer);
    else if (answer.kind !== "picture") this.tell(answer);
    else if (first) this.show(answer);
    else this.showSoon(answer);
    if (first) this.took = performance.now() - this.since; // ms from slider to picture
    this.kept();
    this.element.dataset.answered = this.id;
    if (this.wanted) this.send();
  }

  fail(message) {
    this.find(".regime").textContent = `The motion could not be computed: ${message}`;
    this.broken(new Error(message));
  }

  // Show a later picture of a motion with the next refresh of the screen, unless it is of
  // an earlier request by then.
  showSoon(answer) {
    this.later = answer;
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.later.id === this.id) this.show(this.later);
    });
  }

  show(answer) {
    this.answer = answer;
    const { times } = answer.motion;
    this.duration = times.at(-1);
    this.pace();
    this.clock %= this.duration;
    this.tell(answer);
    this.draw();
  }

  // At first a player shows a period in a second or more, if it can.
  pace() {
    if (this.paced) return;
    this.paced = true;
    const speed = this.find(".player select"), offered = Array.from(speed.options, ({ value }) => Number(value));
    const slow = offered.filter((each) => each <= Number(speed.value));
    speed.value = slow.find((each) => (this.answer.period ?? this.duration) / each >= SHOWN) ?? slow.at(-1);
  }

  // The factor to the shown unit of a component of the state.
  factor(index) {
    const half = this.freedoms.length;
    if (index >= 2 * half) return this.states[index - 2 * half].factor;
    return (index < half ? this.units[index] : this.rates[index - half])[1];
  }

  column(index, states = this.answer.motion.states) {
    const factor = this.factor(index);
    return Float64Array.from({ length: states.length / this.size }, (_, k) => factor * states[k * this.size + index]);
  }

  draw() {
    if (!this.answer) return;
    const { motion } = this.answer, columns = Array.from({ length: this.size }, (_, i) => this.column(i));
    const times = motion.times.map((t) => chosen("s")[1] * t);
    const lines = this.shown().map((i) => ({ x: times, y: columns[i], colour: this.colour(i), width: 1.6 }));
    this.history.draw({ lines, tight: true, walls: this.walls("y") });
    this.drawForce(times);
    this.courses.forEach((plot, k) => {
      plot.draw({ lines: [{ x: times, y: columns[2 * this.freedoms.length + k], colour: token("--accent"), width: 1.6 }], tight: true });
    });
    this.drawMore(columns);
    this.build(columns);
    this.place();
  }


  drawForce(times) {
    const { motion } = this.answer, contacts = this.contacts.length;
    if (!contacts) return;
    const colour = (j) => this.contactColour(j);
    if (!(this.hard ? motion.impulses.length : Math.max(...motion.peaks) > 0)) {
      this.find(".nearer").hidden = true;
      this.near = false;
      this.force.draw({ lines: [{ x: [0, times.at(-1)], y: [0, 0], colour: token("--muted") }], tight: true, zero: true, note: "no contact in this motion" });
      return;
    }
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
    this.find(".nearer").hidden = false;
    this.find(".nearer").textContent = this.near ? "Show the whole time" : "Zoom to the strongest contact";
    this.force.draw({ lines, tight: true, zero: true });
  }

  // First and last sample around the strongest contact.
  strongest() {
    const { motion } = this.answer, contacts = this.contacts.length, n = motion.times.length;
    const total = Array.from({ length: n }, (_, k) => motion.forces.subarray(k * contacts, (k + 1) * contacts).reduce((a, b) => a + b, 0));
    let first = total.indexOf(extent(total)[1]), last = first;
    while (first > 0 && total[first] > 0) first--;
    while (last < n - 1 && total[last] > 0) last++;
    return [first, last + 1];
  }

  tell(answer) {
    const refused = answer.kind === "refused" && ["These values are refused", this.content.faults[answer.fault - 1]];
    const [title, rest] = refused || this.words(answer);
    this.element.classList.toggle("earlier", answer.kind !== "picture");
    this.find(".regime").textContent = title;
    this.find(".stability").textContent = rest;
    if (answer.kind !== "picture") return;
    this.find(".facts").replaceChildren(...Object.entries(this.facts(answer)).map(([label, value]) => {
      const entry = document.createElement("div");
      entry.append(make("dt", { textContent: label }), make("dd", { textContent: value, className: /^0( |$)/.test(value) ? "zero" : "" }));
      return entry;
    }));
    const about = `${title}. ${rest}`;
    // Screen readers hear of the motion only when the sliders have stopped.
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { this.find(".said").textContent = about; }, QUIET);
    this.element.querySelectorAll(".live-charts .plot").forEach((plot) => plot.setAttribute("aria-label", `${plot.dataset.name}. ${about}`));
    const changes = this.controls.changes().map(({ path, value, si = "" }) => `--set ${quoted(`${path}=${value}${si}`)}`);
    this.find(".assignments").textContent = changes.join(" \\\n  ") || "no value is changed";
  }

  build(columns) {
    const half = this.freedoms.length, extremes = columns.slice(0, half).map((values, i) => {
      return Float32Array.from(extent(values), (value) => value / this.units[i][1]);
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
    this.dot(state, chosen("s")[1] * this.clock);
    this.find(".player input").value = this.clock / this.duration;
    this.find(".player output").textContent = `${this.clock.toFixed(Math.max(3, 3 - Math.floor(Math.log10(this.duration))))} s`;
  }

  // Mark the state of each body in the charts.
  dot(state, time) {
    const half = this.freedoms.length;
    this.dots ??= this.freedoms.map(() => this.marked.map(({ element }) => element.appendChild(make("div", { className: "dot" }))));
    this.dots.forEach((dots, i) => {
      const x = this.factor(i) * state[i], y = this.factor(half + i) * state[half + i];
      dots.forEach((dot, k) => {
        // A chart without a frame is not laid out yet.
        const plot = this.marked[k], [across, up] = plot === this.history ? [time, x] : [x, y];
        Object.assign(dot.style, { background: this.colour(i), display: this.shown().includes(i) ? "" : "none" });
        if (plot.frame) dot.style.transform = `translate(${plot.x(across)}px, ${plot.y(up)}px)`;
      });
    });
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

function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
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

// A parameter of value 0 gets the scale of others with its unit.
function withScales(controls) {
  return controls.map((control) => {
    const alike = controls.filter(({ unit }) => unit === control.unit).map(({ value }) => Math.abs(value));
    return { ...control, scale: Math.max(...alike) || 1 };
  });
}
