// The selected orbit: phase plane, contact force, animation.

class Motion {
  constructor(element, page) {
    this.element = element;
    this.page = page;
    this.find = (name) => element.querySelector(name);
    this.clock = 0;
    this.playing = false;
    this.find(".play").addEventListener("click", () => this.play(!this.playing));
    this.find(".player input").addEventListener("input", (event) => {
      this.play(false);
      this.glow = 0;
      this.clock = Number(event.target.value) * this.duration;
      this.show();
    });
    this.find(".nearer").addEventListener("click", () => this.zoom(!this.zoomed));
    this.find(".alone").addEventListener("change", async () => { await this.draw(); this.show(); });
    [this.plane, this.force] = element.querySelectorAll(".chart");
  }

  // Show the motion of a sample, or that it is not stored.
  async pick(run, sample) {
    const trace = run.motions.samples.indexOf(sample);
    this.element.classList.toggle("unstored", trace < 0);
    if (trace < 0) {
      this.play(false);
      Object.assign(this, { run, sample });
      this.tell(trace);
      return;
    }
    const { times, states, force, freedoms, contacts: names, stops } = run.motions;
    const [, steps, size] = states.shape;
    const slice = (values, width) => values.subarray(trace * steps * width, (trace + 1) * steps * width);
    const contacts = force.shape[2];
    Object.assign(this, {
      run, steps, size, contacts, freedoms, names, sample,
      stops: stops.map((stop) => ({ ...stop, place: () => stop.places[trace] })),
      times: slice(times, 1), states: slice(states, size), forces: slice(force, contacts),
    });
    // from SI units to those of the charts
    this.units = Object.fromEntries(Object.entries(page.units).map(([unit, [, factor]]) => [unit, factor]));
    this.peak = Math.max(...this.forces, 1e-9);
    this.duration = this.times[steps - 1] - this.times[0];
    this.clock = this.glow = 0;
    this.zoomed = false;
    this.offer();
    this.tell(trace);
    this.colourStops();
    this.build();
    await this.draw();
    this.show();
  }

  // The bodies to choose from, if another run has others than the one before.
  offer() {
    const pick = this.find(".alone"), names = ["all bodies", ...this.freedoms];
    pick.closest("label").hidden = this.freedoms.length < 2;
    if (String(names) === String(Array.from(pick.options, ({ text }) => text))) return;
    pick.replaceChildren(...names.map((text, i) => Object.assign(document.createElement("option"), { text, value: i - 1 })));
  }

  // Whether a body is in the phase plane.
  shows(i) {
    return [-1, i].includes(Number(this.find(".alone").value));
  }

  colourStops() {
    for (const stop of this.stops) stop.colour = this.wallColour(stop.contact);
  }

  wallColour(contact) {
    return this.contacts > 1 ? this.contactColour(contact) : token("--muted");
  }

  contactColour(i) {
    const colours = this.page.lines[scheme()];
    return this.contacts > 1 ? colours[(this.freedoms.length + i) % colours.length] : token("--alarm");
  }

  tell(trace) {
    const { run, sample } = this;
    const where = this.find(".where");
    const name = this.page.runs.length > 1 ? `${run.name}: ` : "";
    where.textContent = `${name}${place(run, sample).join(", ")} (sample ${run.numbers[sample]})`;
    if (trace < 0) {
      const note = document.createElement("small");
      note.textContent = `Its motion is not stored${this.page.live ? "; the live panel computes it" : ""}.`;
      where.append(note);
    }
    const measures = {
      regime: regime(run, sample),
      "largest |multiplier|": `${number(run.largest_multiplier[sample])} ${verdict(run, sample)}`,
      "peak contact force": withUnit(run.max_contact_force[sample], "N"),
    };
    if (trace >= 0) {
      const { freedoms, amplitude } = run.motions;
      measures.duration = `${number(this.duration)} s`;
      freedoms.forEach((freedom, i) => {
        measures[`amplitude of ${freedom}`] = withUnit(Number(amplitude[trace * freedoms.length + i].toPrecision(3)), "m");
      });
    }
    this.find(".measures").replaceChildren(...Object.entries(measures).map(([label, value]) => {
      const entry = document.createElement("div");
      entry.append(Object.assign(document.createElement("dt"), { textContent: label }));
      entry.append(Object.assign(document.createElement("dd"), { textContent: value }));
      return entry;
    }));
  }

  column(values, width, index) {
    return Float32Array.from({ length: this.steps }, (_, i) => values[i * width + index]);
  }

  async draw() {
    const half = this.freedoms.length;
    const colours = this.page.lines[scheme()];
    this.colourStops();
    const touching = Array.from({ length: this.steps }, (_, i) => this.pressed(i) > 0);
    const path = this.smooth();
    const [metre, rate, second, newton] = ["m", "m/s", "s", "N"].map((unit) => page.units[unit][0]);
    const { m, s, N, "m/s": mps } = this.units, times = (factor) => (value) => value * factor;
    const base = { type: "scatter", hovertemplate: `%{x:.4g} ${metre}, %{y:.4g} ${rate}<extra>%{fullData.name}</extra>` };
    const orbit = this.freedoms.flatMap((name, i) => (this.shows(i) ? [
      {
        ...base, x: path.map((state) => m * state[i]), y: path.map((state) => mps * state[half + i]), mode: "lines",
        name: plain(name), line: { color: colours[i % colours.length], width: 1.8 },
      },
      {
        ...base, x: this.column(this.states, this.size, i).map(times(m)),
        y: this.column(this.states, this.size, half + i).map((v, k) => (touching[k] ? mps * v : NaN)),
        mode: "lines+markers", name: "in contact", showlegend: i === 0 || !this.shows(0),
        line: { color: token("--alarm"), width: 3 }, marker: { size: 4, color: token("--alarm") },
      },
    ] : []));
    const start = this.times[0];
    const forces = Array.from({ length: this.contacts }, (_, i) => ({
      type: "scatter", mode: "lines", fill: "tozeroy", x: this.times.map((t) => s * (t - start)),
      y: this.column(this.forces, this.contacts, i).map(times(N)), name: plain(this.names[i]),
      line: { color: this.contactColour(i), width: 1.6 }, fillcolor: `${this.contactColour(i)}2e`,
      hovertemplate: `%{x:.4g} ${second}<br>%{y:.4s} ${newton}<extra></extra>`,
    }));
    const blank = { log: false, low: null, high: null };
    const chart = (x, y) => ({ title: "", legend: true, layers: [], x: { label: x, ...blank }, y: { label: y, ...blank } });
    const plane = { ...layout(chart(`displacement (${metre})`, `velocity (${rate})`)), showlegend: true, uirevision: this.sample };
    plane.margin.t = 30;
    const seen = this.stops.filter(({ body }) => this.shows(body));
    plane.shapes = seen.map(({ place, contact }) => ({
      type: "line", xref: "x", yref: "paper", x0: m * place(), x1: m * place(), y0: 0, y1: 1,
      line: { color: this.wallColour(contact), width: 1.5, dash: "dot" },
    }));
    // The legend of the forces names several contacts.
    plane.annotations = this.contacts > 1 ? [] : seen.map(({ place, contact, side }) => ({
      x: m * place(), y: 0, yref: "paper", yanchor: "bottom", xanchor: side > 0 ? "right" : "left", showarrow: false,
      text: plain(this.names[contact]), font: { size: 11, color: token("--muted") }, bgcolor: token("--paper"),
    }));
    const pulse = { ...layout(chart(`time (${second})`, `contact force (${newton})`)), showlegend: this.contacts > 1, uirevision: this.sample };
    Object.assign(pulse.yaxis, { rangemode: "tozero", exponentformat: "SI" });
    await Plotly.react(this.plane, orbit, plane, CONFIG);
    await Plotly.react(this.force, forces, pulse, CONFIG);
    this.find(".nearer").hidden = !touching.includes(true);
    this.zoom(false);
    this.dots = this.freedoms.map((_, i) => this.dot(this.plane, colours[i % colours.length], `body${i}`));
    this.dots.forEach((dot, i) => { dot.hidden = !this.shows(i); });
    this.tick = this.dot(this.force, token("--alarm"), "pulse");
  }

  dot(chart, colour, name) {
    const dot = chart.querySelector(`.dot.${name}`) ?? chart.appendChild(document.createElement("div"));
    dot.className = `dot ${name}`;
    dot.hidden = false;
    dot.style.background = colour;
    return dot;
  }

  // Show the whole time range or only the strongest contact, which may be 1000 times shorter.
  async zoom(near) {
    this.zoomed = near;
    this.find(".nearer").textContent = near ? "Show the whole time" : "Zoom to the strongest contact";
    await Plotly.relayout(this.force, near ? { "xaxis.range": this.strongest() } : { "xaxis.autorange": true });
    this.show();
  }

  strongest() {
    const force = Array.from({ length: this.steps }, (_, i) => this.pressed(i));
    let first = force.indexOf(Math.max(...force)), last = first;
    while (first > 0 && force[first] > 0) first--;
    while (last < this.steps - 1 && force[last] > 0) last++;
    const [from, to] = [first, last].map((i) => this.units.s * (this.times[i] - this.times[0]));
    return [from - 0.15 * (to - from), to + 0.15 * (to - from)];
  }

  build() {
    const stage = this.find(".stage");
    stage.replaceChildren();
    this.scene = this.run.pair ? new Pair(stage, this) : new Tracks(stage, this);
  }

  pressed(step) {
    let sum = 0;
    for (let i = 0; i < this.contacts; i++) sum += this.forces[step * this.contacts + i];
    return sum;
  }

  // The step before the current time, and the fraction of the interval passed.
  position() {
    const time = this.times[0] + this.clock;
    let low = 0, high = this.steps - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle;
      else high = middle;
    }
    const span = this.times[high] - this.times[low];
    return [low, span > 0 ? Math.min(1, Math.max(0, (time - this.times[low]) / span)) : 0];
  }

  // Cubic Hermite interpolation between two stored times.
  between(step, part) {
    const half = this.freedoms.length, length = this.times[step + 1] - this.times[step];
    const state = new Array(this.size);
    for (let i = 0; i < half; i++) {
      const [x0, x1] = [step, step + 1].map((k) => this.states[k * this.size + i]);
      const [v0, v1] = [step, step + 1].map((k) => this.states[k * this.size + half + i] * length);
      const bend = 3 * (x1 - x0) - 2 * v0 - v1, twist = 2 * (x0 - x1) + v0 + v1;
      state[i] = x0 + part * (v0 + part * (bend + part * twist));
      state[half + i] = (v0 + part * (2 * bend + 3 * part * twist)) / length;
    }
    return state;
  }

  // The whole motion, refined where stored points are far apart.
  smooth() {
    const path = [], longest = this.duration / 400;
    for (let step = 0; step < this.steps - 1; step++) {
      const length = this.times[step + 1] - this.times[step];
      const parts = length > 0 ? Math.min(20, Math.ceil(length / longest)) : 0;
      for (let i = 0; i < parts; i++) path.push(this.between(step, i / parts));
    }
    path.push(Array.from(this.states.subarray((this.steps - 1) * this.size)));
    return path;
  }

  show() {
    const [step, part] = this.position();
    const state = this.between(step, part);
    const force = (1 - part) * this.pressed(step) + part * this.pressed(step + 1);
    this.scene.show(state, Math.max(force / this.peak, this.glow));
    this.dots.forEach((dot, i) => put(dot, this.plane, this.units.m * state[i], this.units["m/s"] * state[this.freedoms.length + i]));
    put(this.tick, this.force, this.units.s * this.clock, this.units.N * force);
    this.find(".player input").value = this.clock / this.duration;
    this.find(".player output").textContent = `${this.clock.toFixed(3)} s`;
  }

  // A rigid contact is shorter than a frame: its spark fades slowly to stay visible.
  keepSparks(before, seconds) {
    const passed = (i) => {
      const time = this.times[i] - this.times[0];
      return before <= this.clock ? time > before && time <= this.clock : time > before || time <= this.clock;
    };
    let strongest = 0;
    for (let i = 0; i < this.steps; i++) if (passed(i)) strongest = Math.max(strongest, this.pressed(i));
    this.glow = Math.max(strongest / this.peak, this.glow * Math.exp(-seconds / 0.12));
  }

  play(on) {
    play(this, on, (seconds) => {
      const before = this.clock;
      this.clock += seconds * Number(this.find(".player select").value);
      this.clock %= this.duration;
      this.keepSparks(before, seconds);
      this.show();
    });
  }
}

function put(dot, chart, x, y) {
  const { xaxis, yaxis } = chart._fullLayout;
  const left = xaxis._offset + xaxis.l2p(x), top = yaxis._offset + yaxis.l2p(y);
  dot.style.transform = `translate(${left}px, ${top}px)`;
}
