// A grid of three or more swept paths is sliced: two paths are the axes, the others are
// fixed by sliders. The choice applies to all pictures.

const cut = { axes: [], at: new Map() }; // the paths of x and y; the position of each path, in SI units

function startSlices(pictures) {
  const first = pictures.find((picture) => picture.slices);
  if (!first) return;
  cut.axes = [first.charts[0].x.path, first.charts[0].y.path];
  first.slices.axes.forEach(({ path }, i) => {
    const places = first.slices.places[i];
    cut.at.set(path, places[Math.floor((places.length - 1) / 2)]);
  });
  document.querySelectorAll(".slices").forEach(listenSlices);
  showSlices();
}

// A chart with the chosen axes and the layers of this slice.
function sliced(chart, { slices }) {
  if (!slices) return chart;
  const [x, y] = [chart.x, chart.y].map((axis, i) =>
    axis.path ? slices.axes.find(({ path }) => path === cut.axes[i]) : axis);
  return { ...chart, x, y, layers: families(chart.layers).map((family) => cutOf(family, slices, x, y)) };
}

// Groups layers that differ only in the values of the fixed paths.
function families(layers) {
  const found = new Map(), seen = new Map();
  for (const layer of layers) {
    const [run, option] = [layer.run, `${layer.run} ${layer.option}`], place = seen.get(option) ?? 0;
    seen.set(option, place + 1);
    const key = `${run} ${place}`;
    found.set(key, [...(found.get(key) ?? []), layer]);
  }
  return [...found.values()];
}

function cutOf(family, slices, x, y) {
  const [first] = family, { paths } = page.runs[first.run];
  const of = (path) => paths.find((each) => each.path === path);
  const every = (path) => distinct(family.flatMap(({ samples }) => Array.from(samples, (sample) => of(path).values[sample])));
  const standing = slices.axes.map(({ path }) => path).filter((path) => path !== x.path && path !== y.path)
    .map((path) => [of(path).values, nearestOf(every(path), cut.at.get(path))]);
  const kept = family.flatMap(({ samples, values, y: heights }) =>
    Array.from(samples, (sample, i) => [sample, (values ?? heights)[i]]))
    .filter(([sample]) => standing.every(([values, wanted]) => values[sample] === wanted));
  const along = ({ path }) => {
    const { values, factor } = of(path), known = distinct(kept.map(([sample]) => values[sample]));
    const numbers = new Map(known.map((value, i) => [value, i]));
    return { shown: known.map((value) => value * factor), place: (sample) => numbers.get(values[sample]) };
  };
  const across = along(x), up = y.path ? along(y) : null, width = across.shown.length;
  const size = width * (up ? up.shown.length : 1);
  const values = new Float32Array(size).fill(NaN), samples = new Int32Array(size);
  for (const [sample, value] of kept) {
    const cell = (up ? up.place(sample) * width : 0) + across.place(sample);
    [values[cell], samples[cell]] = [value, sample];
  }
  if (!up) return { ...first, option: null, x: across.shown, y: values, samples };
  values.shape = [up.shown.length, width];
  return { ...first, option: null, x: across.shown, y: up.shown, values, samples };
}

function distinct(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}

function nearestOf(values, wanted) {
  return values.reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));
}

function showSlices() {
  for (const element of document.querySelectorAll(".slices")) {
    const { slices, charts } = page.pictures[element.closest(".picture").dataset.picture];
    const selects = [...element.querySelectorAll("select")];
    selects.forEach((select, i) => { select.value = cut.axes[i]; });
    element.querySelectorAll(".standing").forEach((label, i) => {
      const { path } = slices.axes[i], places = [...slices.places[i]];
      const option = places.indexOf(nearestOf(places, cut.at.get(path)));
      label.hidden = cut.axes.slice(0, selects.length).includes(path);
      label.querySelector("input").value = option;
      label.querySelector("output").textContent = slices.options[i][option];
    });
  }
}

// Move the slices to a sample.
function cutThrough(run, sample) {
  for (const path of cut.at.keys()) cut.at.set(path, run.paths.find((each) => each.path === path).values[sample]);
}

function listenSlices(element) {
  const picture = page.pictures[element.closest(".picture").dataset.picture];
  element.querySelectorAll("select").forEach((select, i) => select.addEventListener("change", () => {
    const other = cut.axes.indexOf(select.value);
    if (other >= 0) cut.axes[other] = cut.axes[i];
    cut.axes[i] = select.value;
    drawSlices();
  }));
  element.querySelectorAll(".standing input").forEach((input, i) => input.addEventListener("input", () => {
    cut.at.set(picture.slices.axes[i].path, picture.slices.places[i][Number(input.value)]);
    drawSlices();
  }));
}

function drawSlices() {
  showSlices();
  for (const element of document.querySelectorAll(".picture:has(.slices) .chart")) if (element.drawn) draw(element);
}
