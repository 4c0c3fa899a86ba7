// Motions of the system by its WebAssembly modules. Runs in a worker, without a page.

const STEPS = 160; // samples of a period, without those added in contacts
const INSIDE = 16; // samples added in a contact that is shorter than a step
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
    Object.assign(this, { period: period[0], rest });
  }

  // Integrate from `state` at t0 to t1.
  go(state, t0, t1) {
    const { segment } = this;
    segment.set(1, 0, state);
    segment.inputs[2][0] = t0;
    segment.inputs[3][0] = t1;
    segment.run(1);
    return Object.fromEntries(Object.keys(segment.outputs).map((name) => [name, segment.get(name)]));
  }

  after(state, periods = 1) {
    for (let i = 0; i < periods && Number.isFinite(state[0]); i++) state = this.go(state, 0, this.period).state;
    return state;
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
    const record = new Recording(state, this.go(state, 0, 0).force);
    for (let i = 0; i < periods; i++) {
      for (let k = 0; k < STEPS; k++) {
        record.passed = i * this.period;
        state = this.recorded(record, state, (k / STEPS) * this.period, ((k + 1) / STEPS) * this.period);
      }
    }
    return record.finished();
  }

  recorded(record, state, t0, t1) {
    const end = this.go(state, t0, t1);
    record.observe(end, t0);
    const inner = insideContacts(end, t0, t1);
    for (let k = 0; k < inner.length; k++) {
      const part = this.go(state, k ? inner[k - 1] : t0, inner[k]);
      state = part.state;
      record.add(inner[k], part);
    }
    record.add(t1, end);
    return end.state;
  }
}

// Times inside contacts that are too short to be seen otherwise.
function insideContacts({ first_touch, duration, peak_time, impulse }, t0, t1) {
  const times = [];
  first_touch.forEach((from, j) => {
    const length = Math.min(duration[j], t1 - from);
    if (!(from < t1) || !(length > 0) || impulse[j] || length > 0.9 * (t1 - t0)) return;
    for (let k = 0; k <= INSIDE; k++) times.push(from + (length * k) / INSIDE);
    times.push(peak_time[j]);
  });
  return times.filter((time) => time > t0 && time < t1).sort((a, b) => a - b);
}

class Recording {
  constructor(state, force) {
    this.passed = 0; // s, of periods before
    this.times = [0];
    this.states = [state];
    this.forces = [force];
    this.peaks = force.map(Math.abs);
    this.onsets = 0;
    this.impulses = []; // [time, contact, N s]
  }

  add(time, { state, force }) {
    this.times.push(this.passed + time);
    this.states.push(state);
    this.forces.push(force);
  }

  observe({ peak, onsets, impulse, first_touch }, t0) {
    this.onsets += onsets.reduce((a, b) => a + b, 0);
    peak.forEach((force, j) => { this.peaks[j] = Math.max(this.peaks[j], force); });
    impulse.forEach((each, j) => {
      const time = Number.isFinite(first_touch[j]) ? first_touch[j] : t0; // of a later impact of a series
      if (each) this.impulses.push([this.passed + time, j, each]);
    });
  }

  finished() {
    const flat = (rows) => Float64Array.from(rows.flat());
    const { times, states, forces, peaks, onsets, impulses } = this;
    return { times: Float64Array.from(times), states: flat(states), forces: flat(forces), peaks, onsets, impulses };
  }
}

function distance(one, other, units) {
  return Math.max(...one.map((value, i) => Math.abs(value - other[i]) / units[i]));
}
