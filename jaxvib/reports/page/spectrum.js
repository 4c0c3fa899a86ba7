// Amplitude spectra of the displacements, from samples at equal steps of time.

const HARMONICS = 10; // of the load, up to which a spectrum goes
const RECORDED = 64; // load periods recorded of a motion that does not repeat
const RATE = 64; // samples of each

// `samples`: displacements of the bodies, step after step, over a number of load periods,
// `perPeriod` steps each. Row k of `amplitudes` has the bodies' amplitudes at k + 1 times
// the load's frequency over the number of periods. Samples of a motion that does not
// repeat are weighted by Hann's window: a line that falls between two frequencies is at
// most 15 % too low.
function spectrumOf(samples, bodies, perPeriod, repeats) {
  const length = samples.length / bodies, periods = length / perPeriod;
  const turn = Array.from({ length }, (_, m) => (2 * Math.PI * m) / length);
  const [cos, sin] = [turn.map(Math.cos), turn.map(Math.sin)];
  const weights = cos.map((c) => (repeats ? 2 / length : (2 * (1 - c)) / length));
  const lines = HARMONICS * periods, amplitudes = new Float64Array(lines * bodies);
  for (let body = 0; body < bodies; body++) {
    const course = weights.map((weight, m) => weight * samples[m * bodies + body]);
    for (let k = 1; k <= lines; k++) {
      let real = 0, imaginary = 0;
      for (let m = 0, place = 0; m < length; m++) {
        real += course[m] * cos[place];
        imaginary += course[m] * sin[place];
        place += k;
        if (place >= length) place -= length;
      }
      amplitudes[(k - 1) * bodies + body] = Math.hypot(real, imaginary);
    }
  }
  return { periods, repeats, amplitudes };
}
