// Motions of the system by its WebAssembly modules. Runs in a worker, without a page.

const STEPS = 160; // samples of a period, without those added in contacts
const INSIDE = 16; // samples added in the part of a step with contact
const DIFFERENCE = 1e-5; // of the motion's size, where derivatives are differences
const LONGEST = 8; // longest period recognised, in load periods

// A module with its arrays, which are all float64.
class Kernel {
  constructor({ instance }, layout) {
    const { memory, run } = instance.exports;
    const views = (entries) => Object.fromEntries(entries.map(({ name, offset, shape }) =>
      [name, new Float64Array(memory.buffer, offset, shape.reduce((a, b) => a * b, 1) * layout.lanes)]));
    Object.assign(this, { run, lanes: layout.lanes, inputs: views(layout.inputs), outputs: views(layout.outputs) });
  }

  static async of({ code, layout }) {
    return new Kernel(await WebAssembly.instantiate(code), layout);
  }

  set(name, lane, values) {
    const view = this.inputs[name];
    for (let k = 0; k < values.length; k++) view[k * this.lanes + lane] = values[k];
  }

  get(name, lane = 0) {
    const view = this.outputs[name];
    return Array.from({ length: view.length / this.lanes }, (_, k) => view[k * this.lanes + lane]);
  }
}

class Motions {
  constructor(segment, slope) {
    Object.assign(this, { segment, slope });
    this.size = segment.inputs[1].length;
  }

  static async of({ segment, slope }) {
    return new Motions(await Kernel.of(segment), slope && await Kernel.of(slope));
  }

  // Change parameters, by path; afterwards `period` and `rest` are those of the system.
  setValues(values) {
    for (const [path, value] of Object.entries(values)) {
      for (const kernel of [this.segment, this.slope]) kernel?.inputs[`0.${path}`].fill(value);
    }
    const { period, rest } = this.go(new Array(this.size).fill(0), 0, 0);
    Object.assign(this, { period: period[0], rest: Array.from(rest) });
  }

  // Integrate from `state` at t0 to t1; the results are in `outputs` until the next call.
  go(state, t0, t1) {
    const { inputs, outputs, run } = this.segment;
    inputs[1].set(state);
    inputs[2][0] = t0;
    inputs[3][0] = t1;
    run(1);
    return outputs;
  }

  after(state, periods = 1) {
    let end = state;
    for (let i = 0; i < periods && Number.isFinite(end[0]); i++) end = this.go(end, 0, this.period).state;
    return Array.from(end);
  }

  // The state after one period, and the changes of it due to changes of the state.
  afterWithSlopes(state, changes) {
    const { slope } = this;
    if (!slope) return this.byDifferences(state, changes);
    changes.forEach((change, lane) => {
      slope.set(1, lane, state);
      slope.set(2, lane, change);
    });
    slope.run(changes.length);
    return { state: slope.get("state"), changes: changes.map((_, lane) => slope.get("tangent", lane)) };
  }

  byDifferences(state, changes) {
    const units = this.units(state);
    const ends = changes.map((change) => {
      const size = DIFFERENCE / Math.max(...change.map((value, i) => Math.abs(value) / units[i]));
      const [more, less] = [size, -size].map((h) => this.after(state.map((value, i) => value + h * change[i])));
      return more.map((value, i) => (value - less[i]) / (2 * size));
    });
    return { state: this.after(state), changes: ends };
  }

  // States at the starts of the next periods, up to LONGEST, until one is met again:
  // {states, periods: 0 if none is, apart: the distance, relative to the motion's size}.
  recurrence(state, close = 1e-3) {
    const states = [state], units = this.units(state);
    let best = { periods: 0, apart: Infinity };
    for (let n = 1; n <= LONGEST; n++) {
      states.push(this.after(states[n - 1]));
      const apart = distance(states[n], state, units);
      if (apart < close) return { states, periods: n, apart };
      if (apart < best.apart) best = { periods: 0, apart };
    }
    return { states, ...best };
  }

  // Scales of displacements and velocities: the largest velocity gives the size.
  units(state) {
    const half = this.size / 2, rate = (2 * Math.PI) / this.period;
    const most = Math.max(...state.map((value, i) => Math.abs(value) * (i < half ? rate : 1)), 1e-300);
    return state.map((_, i) => (i < half ? most / rate : most));
  }

  // The motion over some periods, dense enough to draw.
  trace(state, periods) {
    const record = new Recording(this.go(state, 0, 0));
    for (let i = 0; i < periods; i++) {
      record.passed = i * this.period;
      for (let k = 0; k < STEPS; k++) {
        record.sample(state);
        state = this.recorded(record, state, (k / STEPS) * this.period, ((k + 1) / STEPS) * this.period);
      }
    }
    return record.finished();
  }

  // Displacements at equal steps over some periods, and the states after each.
  record(state, periods, rate) {
    const half = this.size / 2, samples = [], states = [];
    for (let i = 0; i < periods; i++) {
      for (let k = 0; k < rate; k++) {
        for (let j = 0; j < half; j++) samples.push(state[j]);
        state = Array.from(this.go(state, (k / rate) * this.period, ((k + 1) / rate) * this.period).state);
      }
      states.push(state);
    }
    return { samples, states };
  }

  recorded(record, state, t0, t1) {
    const out = this.go(state, t0, t1);
    record.observe(out, t0);
    const times = insideContacts(out, t0, t1);
    if (!times.length) {
      record.add(t1, out);
      return Array.from(out.state);
    }
    [...times, t1].forEach((time, k) => {
      state = Array.from(this.go(state, k ? times[k - 1] : t0, time).state);
      record.add(time, out);
    });
    return state;
  }
}

// Times at which the contacts of a step are drawn: many from an onset or to a release, as
// a contact may be much shorter than the step, and the strongest moment.
function insideContacts({ first_touch, duration, peak_time, impulse }, t0, t1) {
  const times = [];
  for (let j = 0; j < first_touch.length; j++) {
    const from = first_touch[j], length = Math.min(duration[j], t1 - from);
    if (!(from < t1) || !(length > 0) || impulse[j]) continue;
    const whole = length > 0.999 * (t1 - t0);
    for (let k = 0; k <= INSIDE && !whole; k++) times.push(from + (length * k) / INSIDE);
    times.push(peak_time[j]);
  }
  return times.filter((time) => time > t0 && time < t1).sort((a, b) => a - b);
}

class Recording {
  constructor(start) {
    this.passed = 0; // s, of periods before
    Object.assign(this, { times: [], states: [], forces: [], impulses: [], samples: [], onsets: 0 }); // impulses: [time, contact, N s]
    this.peaks = Array.from(start.force, Math.abs);
    this.add(0, start);
  }

  add(time, { state, force }) {
    this.times.push(this.passed + time);
    for (const value of state) this.states.push(value);
    for (const value of force) this.forces.push(value);
  }

  // Keep the displacements at the start of a step.
  sample(state) {
    for (let j = 0; j < state.length / 2; j++) this.samples.push(state[j]);
  }

  observe({ peak, onsets, impulse, first_touch }, t0) {
    for (let j = 0; j < peak.length; j++) {
      this.onsets += onsets[j];
      this.peaks[j] = Math.max(this.peaks[j], peak[j]);
      const time = Number.isFinite(first_touch[j]) ? first_touch[j] : t0; // of a later impact of a series
      if (impulse[j]) this.impulses.push([this.passed + time, j, impulse[j]]);
    }
  }

  finished() {
    const { times, states, forces, peaks, onsets, impulses, samples } = this;
    const [all, every, each] = [times, states, forces].map((values) => Float64Array.from(values));
    return { times: all, states: every, forces: each, peaks, onsets, impulses, samples };
  }
}

function distance(one, other, units) {
  return Math.max(...one.map((value, i) => Math.abs(value - other[i]) / units[i]));
}
