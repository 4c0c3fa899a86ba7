// The worker of a live page: computes what the page asks for, the newest request first.

const SPARED = 3; // ms per request for the transient
const FEW = 3; // load periods drawn at first of a motion that does not repeat
const MOST_SETTLING = 40; // periods of a transient after a change
const SLICE = 4; // ms of work between two looks for requests
const BATCH = 12; // ms of work of which a chart is told at once
const RESTING = 120; // ms after the last request until a response is computed finely
const STILL = 33; // ms between two pictures of a transient
const LONG_ENOUGH = 4000; // periods after which a motion is not followed further
const WAITED = 500; // periods between two records of a motion that does not repeat
const SETTLED = 1e-8; // of a motion that is not followed further

class Answers {
  constructor(motions, post) {
    Object.assign(this, { motions, post, state: null, orbit: null, waiting: null, shown: 0 });
    // A timer of 0 ms may wait for 4 ms, a message does not.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { if (!this.held) this.waiting?.(); };
    this.turn = port2;
  }

  // Answer a request: {id, kind, values, periods or duration}; `from`: a state to begin with; `stored`:
  // the orbits to prove; `columns`: values of a parameter for the points of a diagram;
  // `cells`: {at: values of two parameters} of a map.
  answer(request) {
    const { id, kind, values, periods, from, stored } = request;
    const { motions } = this;
    const begun = performance.now();
    this.waiting = null;
    clearTimeout(this.resting);
    this.id = id;
    motions.setValues(values);
    if (kind === "columns") return this.column(request, 0);
    if (kind === "cells") return this.cells(request, 0);
    if (kind === "prove") return this.prove(request.duration ? new ResponseProof(motions, stored, request.duration) : new Proof(motions, stored));
    if (motions.fault) return this.post({ id, kind: "refused", fault: motions.fault });
    if (kind === "response") return this.respond(request.duration);
    if (!this.state || kind === "rest") this.begin(motions.rest);
    if (from) this.begin(from);
    if (kind === "orbit") return this.findOrbit(periods);
    this.orbit = null;
    Object.assign(this, { points: [], passed: 0, spectrum: null, next: WAITED });
    if (kind === "settle") return this.advance(periods);
    for (let i = 0; i < MOST_SETTLING && performance.now() < begun + SPARED; i++) this.step();
    this.look(true);
  }

  // A coarse response at once, and a fine one when no slider has moved for a while.
  respond(duration) {
    this.showResponse(duration, true);
    this.resting = setTimeout(() => this.showResponse(duration, false), RESTING);
  }

  showResponse(duration, coarse) {
    const motion = this.motions.response(duration, coarse);
    if (motion.states.every(Number.isFinite)) this.post({ id: this.id, kind: "picture", motion, duration });
    else this.post({ id: this.id, kind: "lost" });
  }

  // Do something after the requests that came meanwhile, of which a newer one cancels it.
  soon(action) {
    this.waiting = () => { this.waiting = null; action(); };
    this.turn.postMessage(null);
  }

  // Hold what is left of a request, or go on with it.
  hold(on) {
    this.held = on;
    if (!on) this.turn.postMessage(null);
  }

  begin(state) {
    this.state = [...state];
  }

  step() {
    this.state = this.motions.after(this.state);
    this.passed++;
  }

  // A given number of periods, without blocking other requests.
  advance(periods) {
    const until = performance.now() + SLICE;
    while (this.passed < periods && performance.now() < until) this.step();
    if (this.passed >= periods) return this.look();
    this.soon(() => this.advance(periods));
  }

  // Tell whether the motion repeats, draw it, and follow it further if it has not settled.
  look(fresh = false) {
    if (!Number.isFinite(this.state[0])) return this.lost();
    const { states, periods, apart } = this.motions.recurrence(this.state);
    this.state = states.at(-1);
    this.passed += states.length - 1;
    const settled = apart < SETTLED;
    this.points = settled ? states.slice(1) : [...this.points, ...states.slice(1)];
    const going = !settled && this.passed < LONG_ENOUGH;
    if (!periods && this.passed >= this.next) this.spectrum = this.recordedSpectrum();
    // Until it has settled, a picture is wanted soon.
    this.show(periods || (fresh ? FEW : LONGEST), { periods, passed: this.passed, settled, going }, periods ? null : this.spectrum);
    if (going) this.soon(() => this.goOn());
  }

  recordedSpectrum() {
    const { samples, states } = this.motions.record(this.state, RECORDED, RATE);
    this.state = states.at(-1);
    this.passed += states.length;
    this.points.push(...states);
    this.next = this.passed + WAITED;
    return spectrumOf(samples, this.motions.bodies, RATE, false);
  }

  goOn() {
    const until = performance.now() + SLICE;
    while (performance.now() < until && this.passed < LONG_ENOUGH) {
      this.step();
      this.points.push(this.state);
    }
    if (this.passed >= LONG_ENOUGH || performance.now() > this.shown + STILL) this.look();
    else this.soon(() => this.goOn());
  }

  findOrbit(periods) {
    const { motions } = this;
    const guess = this.orbit?.state ?? this.state;
    const tried = periods || this.orbit?.periods || motions.recurrence(guess, 1e-2).periods || 1;
    const found = shoot(motions, guess, tried, this.orbit);
    if (!found) {
      this.post({ id: this.id, kind: "none", periods: tried });
      return;
    }
    this.orbit = found;
    this.state = found.state;
    this.points = Array.from({ length: found.periods }, (_, n) => motions.after(found.state, n));
    this.show(found.periods, { ...found, settled: true, going: false });
  }

  // Poincaré points at each value of a parameter, after a transient.
  column(request, k) {
    const { path, columns, from, transient, points } = request;
    if (k === columns.length) return;
    this.motions.setValues({ [path]: columns[k] });
    const { fault } = this.motions;
    let state = fault ? from : this.motions.after(from, transient);
    const states = Array.from({ length: fault ? 0 : points }, () => (state = this.motions.after(state))).flat();
    this.post({ id: this.id, kind: "column", value: columns[k], states: Float64Array.from(states) });
    this.soon(() => this.column(request, k + 1));
  }

  // The motion from rest at each pair of values, some of them at a time.
  cells(request, k) {
    const { id, paths, cells } = request, found = [], until = performance.now() + BATCH;
    for (; k < cells.length && performance.now() < until; k++) {
      const { place, at } = cells[k];
      this.motions.setValues({ [paths[0]]: at[0], [paths[1]]: at[1] });
      const { fault } = this.motions, { periods, contacts, touching, peak, state } = regimeFromRest(this.motions);
      found.push({ place, at, periods, contacts, touching, peak, state, fault });
    }
    this.post({ id, kind: "cells", cells: found });
    if (k < cells.length) this.soon(() => this.cells(request, k));
  }

  // Recompute stored orbits, without blocking other requests.
  prove(proof) {
    const until = performance.now() + BATCH;
    while (!proof.finished() && performance.now() < until) proof.next();
    this.post({ id: this.id, kind: "proof", ...proof.result() });
    if (!proof.finished()) this.soon(() => this.prove(proof));
  }

  lost() {
    this.begin(this.motions.rest);
    this.post({ id: this.id, kind: "lost" });
  }

  // `spectrum`: that of the motion drawn if there is none of a longer record.
  show(periods, told, spectrum) {
    const { samples, ...motion } = this.motions.trace(this.state, periods);
    spectrum ??= spectrumOf(samples, this.motions.bodies, STEPS, Boolean(told.periods));
    const points = Float64Array.from(this.points.flat());
    const { period, rest } = this.motions;
    this.post({ id: this.id, kind: "picture", ...told, drawn: periods, period, rest, motion, points, spectrum });
    this.shown = performance.now();
  }
}

if (typeof onmessage !== "undefined") {
  let answers; // a promise, as requests may come while the modules are compiled
  const begin = async (content) => new Answers(await Motions.of(content), (answer) => postMessage(answer));
  onmessage = async ({ data }) => {
    try {
      if (data.kind === "hold") return (await answers).hold(data.on);
      if (!data.modules) return (await answers).answer(data);
      answers = begin(data);
      await answers;
      postMessage({ kind: "ready" });
    } catch (error) {
      postMessage({ kind: "failed", message: error.message });
    }
  };
}
