// The chart of the spectrum of the live motion.

const APART = 5; // pixels between the lines of two bodies
const DECADES = 5; // below the largest amplitude; smaller ones are not drawn

// Lines of a motion that repeats; the curve of a record of another one.
function drawSpectrum(plot, live) {
  const { spectrum, period } = live.answer, { periods, repeats, amplitudes } = spectrum;
  const bodies = live.freedoms.length, count = amplitudes.length / bodies;
  const load = (2 * Math.PI * chosen("rad/s")[1]) / period;
  const x = Float64Array.from({ length: count }, (_, k) => ((k + 1) / periods) * load);
  const columns = live.shown().map((i) => ({
    colour: live.colour(i),
    y: Array.from({ length: count }, (_, k) => Math.log10(live.units[i][1] * amplitudes[k * bodies + i])),
  }));
  const highest = columns.flatMap(({ y }) => y).reduce((a, b) => Math.max(a, b), -Infinity);
  const floor = Math.max(highest - DECADES, -300);
  const kept = columns.map(({ colour, y }) => ({ colour, x, y: y.map((v) => (v >= floor ? v : NaN)) }));
  const content = { logs: true, ends: [0, x.at(-1) + load / 2], least: { y: DECADES } };
  const aside = (place) => APART * (place - (kept.length - 1) / 2);
  if (repeats) plot.draw({ ...content, stems: kept.map((each, place) => ({ ...each, from: floor - 1, aside: aside(place) })) });
  else plot.draw({ ...content, lines: kept.map((each) => ({ ...each, width: 1.2 })) });
}
