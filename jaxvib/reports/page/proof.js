// Compares stored orbits with those that Newton's method finds beside their states.

const ASIDE = 1e-6; // where the search begins, beside a stored state, in units of its size

class Proof {
  // `stored`: {paths, values: by path, and for each orbit state, periods,
  // max_contact_force, largest_multiplier and stable}.
  constructor(motions, stored) {
    Object.assign(this, { motions, stored, done: 0, missed: 0, verdicts: 0, compared: 0 });
    this.worst = { state: 0, multiplier: 0, force: 0 };
  }

  finished() {
    return this.done === this.stored.periods.length;
  }

  result() {
    const { done, missed, verdicts, compared, worst } = this;
    return { done, missed, verdicts, compared, worst, number: this.stored.periods.length };
  }

  next() {
    const { motions, stored, worst } = this, i = this.done++;
    motions.setValues(Object.fromEntries(stored.paths.map((path, k) => [path, stored.values[k][i]])));
    const state = Array.from(stored.state.subarray(i * motions.size, (i + 1) * motions.size));
    const units = motions.units(state);
    const found = shoot(motions, state.map((value, k) => value + ASIDE * units[k]), stored.periods[i]);
    if (!found || found.periods !== stored.periods[i]) { this.missed++; return; }
    const { largest_multiplier: modulus, max_contact_force: force } = stored;
    worst.state = Math.max(worst.state, distance(found.state, state, units));
    worst.multiplier = Math.max(worst.multiplier, Math.abs(Math.hypot(...found.multipliers[0]) - modulus[i]));
    if (force[i] > 0) worst.force = Math.max(worst.force, Math.abs(this.peak(found) / force[i] - 1));
    if (stored.stable[i] < 0 || found.stable < 0) return;
    this.compared++;
    this.verdicts += stored.stable[i] === found.stable;
  }

  peak({ state, periods }) {
    let largest = 0;
    for (let n = 0; n < periods; n++) {
      const out = this.motions.go(state, 0, this.motions.period);
      largest = Math.max(largest, ...out.peak);
      state = Array.from(out.state);
    }
    return largest;
  }
}

// Compares the peaks of stored responses with those of the motions from rest.
class ResponseProof {
  // `stored`: {number, paths, values: by path, and for each sample peak and, if there
  // are contacts, max_contact_force}.
  constructor(motions, stored, duration) {
    Object.assign(this, { motions, stored, duration, done: 0, worst: { peak: 0, force: 0 } });
  }

  finished() {
    return this.done === this.stored.number;
  }

  result() {
    return { done: this.done, number: this.stored.number, worst: this.worst };
  }

  next() {
    const { motions, stored, worst } = this, i = this.done++;
    motions.setValues(Object.fromEntries(stored.paths.map((path, k) => [path, stored.values[k][i]])));
    const { extremes, peaks } = motions.response(this.duration);
    for (const [name, found, known] of [["peak", extremes.map(([x]) => x), stored.peak], ["force", peaks, stored.max_contact_force]]) {
      if (!known) continue;
      const own = known.subarray(i * found.length, (i + 1) * found.length), size = Math.max(...own);
      if (size > 0) own.forEach((value, k) => { worst[name] = Math.max(worst[name], Math.abs(found[k] - value) / size); });
    }
  }
}
