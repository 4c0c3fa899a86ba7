// Motions of the system by its WebAssembly modules. Runs in a worker, without a page.

const STEPS = 160; // samples of a period, without those added in contacts
const INSIDE = 16, FEW_INSIDE = 2; // samples added in the part of a step with contact; while sliders move
const DIFFERENCE = 1e-5; // of the motion's size, where derivatives are differences
const LOOKS = 8; // parts of a period, at whose ends states of elements are compared
const PARTS = 1600, FEW_PARTS = 400; // samples of a response, without those added; while sliders move
const LONGEST = 8; // longest period recognised, in load periods

// A module of one lane with its arrays, which are all float64.
class Kernel {
  constructor({ instance }, layout) {
    const { memory, run } = instance.exports;
    const views = (entries) => Object.fromEntries(entries.map(({ name, offset, shape }) =>
      [name, new Float64Array(memory.buffer, offset, shape.reduce((a, b) => a * b, 1))]));
    Object.assign(this, { run, inputs: views(layout.inputs), outputs: views(layout.outputs) });
  }

  static async of({ code, layout }) {
    return new Kernel(await WebAssembly.instantiate(code), layout);
  }
}

// A state has the displacements of the `bodies`, their velocities, and states of elements.
// `records`: of loads, by name: {times, rows: polynomials about the middles, orders, periodic}.
class Motions {
  constructor({ bodies, records }, segment, slope) {
    Object.assign(this, { bodies, records: Object.entries(records ?? {}), segment, slope });
    this.size = segment.inputs[1].length;
  }

  static async of({ modules: { segment, slope }, ...about }) {
    return new Motions(about, await Kernel.of(segment), slope && await Kernel.of(slope));
  }

  // Change parameters, by path; afterwards `period`, if there is one, and `rest` are those
  // of the system, and `fault` is the number of the check that the values fail, or 0.
  setValues(values) {
    for (const [path, value] of Object.entries(values)) {
      for (const kernel of [this.segment, this.slope]) kernel?.inputs[`0.${path}`].fill(value);
    }
    const { period, rest, fault } = this.go(new Array(this.size).fill(0), 0, 0);
    Object.assign(this, { period: period?.[0], rest: Array.from(rest), fault: fault?.[0] ?? 0 });
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

  // The state after one period, and the rows of its derivative by the state at the start.
  afterWithMatrix(state) {
    if (!this.slope) return this.byDifferences(state);
    const { inputs, outputs, run } = this.slope, { size } = this;
    inputs[1].set(state);
    run(1);
    return {
      state: Array.from(outputs.state),
      matrix: Array.from({ length: size }, (_, i) => Array.from(outputs.matrix.subarray(i * size, (i + 1) * size))),
    };
  }

  byDifferences(state) {
    const columns = this.units(state).map((unit, j) => {
      const size = DIFFERENCE * unit;
      const [more, less] = [size, -size].map((h) => this.after(state.map((value, i) => value + (i === j ? h : 0))));
      return more.map((value, i) => (value - less[i]) / (2 * size));
    });
    return { state: this.after(state), matrix: state.map((_, i) => columns.map((column) => column[i])) };
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

  // Scales of displacements and velocities: the largest velocity gives the size. That of
  // an element's state is its largest value in a period.
  units(state) {
    const { bodies } = this, rate = (2 * Math.PI) / this.period;
    const most = Math.max(...state.slice(0, 2 * bodies).map((value, i) => Math.abs(value) * (i < bodies ? rate : 1)), 1e-300);
    const further = this.size > 2 * bodies ? this.largest(state) : [];
    return state.map((_, i) => (i < bodies ? most / rate : further[i] ?? most));
  }

  // The largest magnitudes of the states of elements in the next period, by component.
  largest(state) {
    const largest = [];
    for (let k = 0; k <= LOOKS; k++) {
      for (let i = 2 * this.bodies; i < this.size; i++) largest[i] = Math.max(largest[i] ?? 1e-300, Math.abs(state[i]));
      if (k < LOOKS) state = Array.from(this.go(state, (k / LOOKS) * this.period, ((k + 1) / LOOKS) * this.period).state);
    }
    return largest;
  }

  // The motion over some periods, dense enough to draw.
  trace(state, periods) {
    const record = new Recording(this.go(state, 0, 0), this.bodies);
    for (let i = 0; i < periods; i++) {
      record.passed = i * this.period;
      for (let k = 0; k < STEPS; k++) {
        record.sample(state);
        state = this.recorded(record, state, (k / STEPS) * this.period, ((k + 1) / STEPS) * this.period);
      }
    }
    return record.finished();
  }

  // The motion from rest over a duration. A `coarse` one has fewer samples and the same peaks.
  response(duration, coarse = false) {
    const times = this.ends(duration, coarse ? FEW_PARTS : PARTS);
    this.choosePieces(times[1] / 2);
    const record = new Recording(this.go(this.rest, 0, 0), this.bodies, coarse ? FEW_INSIDE : INSIDE);
    let state = this.rest;
    for (let k = 1; k < times.length; k++) {
      this.choosePieces((times[k - 1] + times[k]) / 2);
      state = this.recorded(record, state, times[k - 1], times[k]);
    }
    return record.finished();
  }

  // The ends of the steps of a response: samples, and all times of its records.
  ends(duration, parts) {
    const found = Array.from({ length: parts + 1 }, (_, k) => (k / parts) * duration);
    for (const [, { times, periodic }] of this.records) {
      const length = times.at(-1) - times[0];
      for (let shift = periodic ? -length * Math.ceil(times[0] / length) : 0; shift + times[0] < duration; shift += length) {
        for (const time of times) if (time + shift > 0 && time + shift < duration) found.push(time + shift);
        if (!periodic) break;
      }
    }
    return found.sort((a, b) => a - b).filter((time, k, all) => !k || time - all[k - 1] > 1e-12 * duration);
  }

  // Give the kernel the pieces of the records at a time.
  choosePieces(time) {
    for (const [name, { times, rows, orders, periodic }] of this.records) {
      const { [`4.${name}.centre`]: centre, [`4.${name}.row`]: row } = this.segment.inputs;
      const length = times.at(-1) - times[0], shift = periodic ? length * Math.floor((time - times[0]) / length) : 0;
      const inside = time - shift;
      if (inside < times[0] || inside >= times.at(-1)) { row.fill(0); continue; }
      let low = 0, high = times.length - 1;
      while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= inside) low = middle; else high = middle; }
      centre[0] = shift + (times[low] + times[high]) / 2;
      row.set(rows.subarray(low * orders, high * orders));
    }
  }

  // Displacements at equal steps over some periods, and the states after each.
  record(state, periods, rate) {
    const samples = [], states = [];
    for (let i = 0; i < periods; i++) {
      for (let k = 0; k < rate; k++) {
        for (let j = 0; j < this.bodies; j++) samples.push(state[j]);
        state = Array.from(this.go(state, (k / rate) * this.period, ((k + 1) / rate) * this.period).state);
      }
      states.push(state);
    }
    return { samples, states };
  }

  recorded(record, state, t0, t1) {
    const out = this.go(state, t0, t1);
    record.observe(out, t0);
    const times = insideContacts(out, t0, t1, record.inside);
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

// Times at which the contacts of a step are drawn: some from an onset or to a release, as
// a contact may be much shorter than the step, and the strongest moment.
function insideContacts({ first_touch, duration, peak_time, impulse }, t0, t1, number) {
  const times = [];
  for (let j = 0; j < first_touch.length; j++) {
    const from = first_touch[j], length = Math.min(duration[j], t1 - from);
    if (!(from < t1) || !(length > 0) || impulse[j]) continue;
    const whole = length > 0.999 * (t1 - t0);
    for (let k = 0; k <= number && !whole; k++) times.push(from + (length * k) / number);
    times.push(peak_time[j]);
  }
  return times.filter((time) => time > t0 && time < t1).sort((a, b) => a - b);
}

class Recording {
  // `inside`: the number of samples to add in a contact.
  constructor(start, bodies, inside = INSIDE) {
    Object.assign(this, { bodies, inside, passed: 0 }); // passed: s, of periods before
    this.extremes = Array.from({ length: bodies }, () => [0, 0]); // largest displacement, its time
    Object.assign(this, { times: [], states: [], forces: [], loads: [], impulses: [], samples: [], onsets: 0, touching: false }); // impulses: [time, contact, N s]
    this.peaks = Array.from(start.force, Math.abs);
    this.add(0, start);
  }

  add(time, { state, force, loads }) {
    this.times.push(this.passed + time);
    if (loads) for (const value of loads) this.loads.push(value);
    for (const value of state) this.states.push(value);
    for (const value of force) this.forces.push(value);
  }

  // Keep the displacements at the start of a step.
  sample(state) {
    for (let j = 0; j < this.bodies; j++) this.samples.push(state[j]);
  }

  observe({ peak, onsets, impulse, first_touch, duration, largest, largest_time }, t0) {
    this.touching ||= duration.some((time) => time > 0);
    this.extremes = this.extremes.map((known, i) => (largest?.[i] > known[0] ? [largest[i], largest_time[i]] : known));
    for (let j = 0; j < peak.length; j++) {
      this.onsets += onsets[j];
      this.peaks[j] = Math.max(this.peaks[j], peak[j]);
      const time = Number.isFinite(first_touch[j]) ? first_touch[j] : t0; // of a later impact of a series
      if (impulse[j]) this.impulses.push([this.passed + time, j, impulse[j]]);
    }
  }

  finished() {
    const { times, states, forces, loads, peaks, onsets, touching, impulses, samples, extremes } = this;
    const [all, every, each, own] = [times, states, forces, loads].map((values) => Float64Array.from(values));
    return { times: all, states: every, forces: each, loads: own, peaks, onsets, touching, impulses, samples, extremes };
  }
}

function distance(one, other, units) {
  return Math.max(...one.map((value, i) => Math.abs(value - other[i]) / units[i]));
}
