// The motion to which the system settles from rest, for a cell of a map.

const BETWEEN = 16; // load periods between two looks
const MOST_PERIODS = 400; // of a motion from rest

// {periods: 0 if none up to LONGEST repeats, NaN if the motion grows without bound,
// contacts in as many periods, peak force, state}. A motion that repeats is a stable orbit
// that Newton's method finds, as in a study of periodic orbits.
function regimeFromRest(motions) {
  let state = motions.rest;
  if (motions.fault) return { periods: NaN, contacts: 0, peak: NaN, state };
  for (let passed = 0; passed < MOST_PERIODS;) {
    const { states, periods } = motions.recurrence(motions.after(state, BETWEEN));
    state = states.at(-1);
    passed += BETWEEN + states.length - 1;
    if (!Number.isFinite(state[0])) return { periods: NaN, contacts: 0, peak: NaN, state: motions.rest };
    const orbit = periods && shoot(motions, state, periods);
    if (orbit && orbit.stable === 1 && distance(orbit.state, state, motions.units(state)) < NEAR) return { ...orbit, ...contactsOf(motions, orbit) };
  }
  return { periods: 0, ...contactsOf(motions, { state, periods: LONGEST }), state };
}

const NEAR = 0.1; // of the motion's size, from a motion that nearly repeats to its orbit

function contactsOf(motions, { state, periods }) {
  let contacts = 0, peak = 0, touching = false;
  for (let n = 0; n < periods; n++) {
    const out = motions.go(state, 0, motions.period);
    contacts += out.onsets.reduce((a, b) => a + b, 0);
    peak = Math.max(peak, ...out.peak);
    touching ||= out.duration.some((time) => time > 0);
    state = Array.from(out.state);
  }
  return { contacts, peak, touching };
}
