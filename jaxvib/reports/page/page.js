// The page: draws the pictures and links samples to their orbits.

const state = { option: new Map(), lit: null, run: 0, sample: null };
let page, motion, shownSample, liveStudy;

async function start() {
  page = await readData();
  const charts = [...document.querySelectorAll(".picture .chart")];
  const panel = document.querySelector(".motion"), one = document.querySelector(".sample");
  for (const element of charts) prepare(element);
  startSlices(page.pictures);
  if (charts.length) await draw(charts[0]);
  performance.mark("first picture");
  if (one) shownSample = new Sample(one, page);
  if (page.live) liveStudy = new LiveStudy(document.getElementById("live"), page.live);
  if (panel) {
    motion = new Motion(panel, page);
    const run = page.runs.findIndex((each) => each.motions);
    const { motions } = page.runs[run];
    await choose(run, motions.samples[motions.first]);
  }
  for (const element of charts.slice(1)) await draw(element);
  document.querySelectorAll(".scene").forEach(stage);
  document.querySelectorAll(".legend button").forEach(listenLegend);
  document.querySelectorAll(".slider input").forEach(listenSlider);
  document.querySelectorAll("a[download]").forEach(listenFile);
  darkScheme.addEventListener("change", redraw);
  // hide Plotly's text measuring element from screen readers
  document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
  document.documentElement.dataset.ready = "yes";
}

function stage(element) {
  element.shown = new Scene(element, page.pictures[element.dataset.picture], page);
}

function prepare(element) {
  const picture = page.pictures[element.closest(".picture").dataset.picture];
  element.picture = picture;
  element.whole = element.chart = picture.charts[element.dataset.chart];
  element.addEventListener("keydown", (event) => walk(event, element));
  guardWheel(element);
}

// The charts in the same row as one.
function beside({ picture, chart }) {
  return picture.stacked ? [chart] : picture.charts;
}

// The charts of the same picture before one.
function before({ picture, whole }) {
  return picture.charts.slice(0, picture.charts.indexOf(whole));
}

async function draw(element) {
  const option = optionOf(element.picture);
  element.chart = sliced(element.whole, element.picture);
  const drawn = traces(element.chart, page, option, state.lit);
  const known = told(before(element));
  for (const trace of drawn) if (trace.meta && known.has(entryOf(trace.meta))) trace.showlegend = false;
  const shown = { ...layout(element.chart, beside(element), known), shapes: shapes(element.chart) };
  const first = !element.drawn;
  element.drawn = Plotly.react(element, drawn, shown, CONFIG);
  await element.drawn;
  if (!first) return;
  element.on("plotly_click", ({ points: [point] }) => pickPoint(point, element));
  element.on("plotly_hover", ({ points: [point] }) => followTo(element, point));
}

async function redraw() {
  for (const element of document.querySelectorAll(".picture .chart")) await draw(element);
  document.querySelectorAll(".scene").forEach((element) => element.shown?.pick());
  if (motion) await choose(state.run, state.sample);
}

function optionOf(picture) {
  if (!picture.choice || picture.slices) return null;
  const known = state.option.get(picture.choice.label);
  return known ?? Math.floor((picture.choice.options.length - 1) / 2);
}

function shapes(chart) {
  if (state.sample === null) return [];
  return crosshair(chart, page.runs[state.run], state.sample);
}

function pickPoint(point, element) {
  const layer = point.data.meta;
  if (!page.runs[layer?.run ?? 0].paths.length) liveStudy?.openAt(element.chart, point);
  if (!layer?.samples) return;
  const [row, column] = [point.pointIndex].flat();
  const index = column === undefined ? row : row * layer.values.shape[1] + column;
  shownSample?.show(layer.run, layer.samples[index]);
  if (!motion) liveStudy?.openSample(page.runs[layer.run], layer.samples[index]);
  if (!motion) return;
  choose(layer.run, layer.samples[index]).then((stored) => {
    if (!stored) liveStudy?.start();
    else if (!matchMedia("(prefers-reduced-motion: reduce)").matches) motion.play(true);
  });
}

// Marks that follow the pointer move to the hovered point of their branch.
function followTo(element, point) {
  const line = point.data.meta;
  if (line?.is !== "Line" || !line.marks) return;
  for (const other of element.closest(".picture").querySelectorAll(".chart")) {
    other.data?.forEach(({ meta }, trace) => {
      if (meta?.is !== "Followers" || meta.run !== line.run) return;
      meta.at = point.pointIndex;
      const { x, y } = followed(meta, meta.at);
      Plotly.restyle(other, { x: [x], y: [y] }, [trace]);
    });
  }
}

// Show the motion of a sample; return whether it is stored.
async function choose(number, sample) {
  const run = page.runs[number];
  if (!run.motions) return false;
  const stored = run.motions.samples.includes(sample);
  state.run = number;
  state.sample = sample;
  await motion.pick(run, sample);
  shownSample?.show(number, sample);
  liveStudy?.openSample(run, sample, stored ? Array.from(motion.states.subarray(0, motion.size)) : null);
  follow(run);
  for (const element of document.querySelectorAll(".picture .chart")) {
    if (element.drawn) await Plotly.relayout(element, { shapes: shapes(element.chart) });
  }
  return stored;
}

function span(path) {
  const extreme = (pick) => path.values.reduce((one, other) => pick(one, other));
  path.span ??= extreme(Math.max) - extreme(Math.min) || 1;
  return path.span;
}

// Move the sliders to the chosen sample.
function follow(run) {
  const holds = ({ run: number, samples }) => page.runs[number] === run && samples?.includes(state.sample);
  if (cut.axes.length) {
    cutThrough(run, state.sample);
    drawSlices();
  }
  for (const { choice, charts, slices } of page.pictures) {
    const layer = choice && !slices && charts.flatMap((chart) => chart.layers).find(holds);
    if (layer) setOption(choice.label, layer.option);
  }
}

function setOption(label, option) {
  if (state.option.get(label) === option) return;
  state.option.set(label, option);
  for (const figure of document.querySelectorAll(".picture")) {
    const { choice, slices } = page.pictures[figure.dataset.picture];
    if (choice?.label !== label || slices) continue;
    figure.querySelector(".slider input").value = option;
    figure.querySelector(".slider output").textContent = choice.options[option];
    figure.querySelectorAll(".chart").forEach((element) => element.drawn && draw(element));
  }
}

function listenSlider(input) {
  const { choice } = page.pictures[input.closest(".picture").dataset.picture];
  setOption(choice.label, state.option.get(choice.label) ?? Number(input.value));
  input.addEventListener("input", () => setOption(choice.label, Number(input.value)));
}

// Highlight one class of a legend; the others fade until it is pressed again.
function listenLegend(button) {
  button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") !== "true";
    const figure = button.closest(".picture");
    figure.querySelectorAll(".legend button").forEach((each) => each.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", String(pressed));
    state.lit = pressed ? button.dataset.name : null;
    figure.querySelectorAll(".chart").forEach(draw);
    state.lit = null;
  });
}

// Arrow keys move between stored orbits.
const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function walk(event, element) {
  const direction = STEPS[event.key];
  const layer = element.chart.layers.find((each) => each.samples && page.runs[each.run].motions);
  if (!direction || !layer || !motion) return;
  event.preventDefault();
  const run = page.runs[layer.run];
  const from = state.run === layer.run ? state.sample : run.motions.samples[run.motions.first];
  const paths = [element.chart.x, element.chart.y].map((a) => run.paths.find((p) => p.path === a.path));
  let best = null, shortest = Infinity;
  for (const other of run.motions.samples) {
    const [x, y] = paths.map((path) => (path ? (path.values[other] - path.values[from]) / span(path) : 0));
    const ahead = x * direction[0] + y * direction[1];
    const aside = Math.abs(x * direction[1]) + Math.abs(y * direction[0]);
    if (ahead > 1e-9 && ahead + 3 * aside < shortest) [best, shortest] = [other, ahead + 3 * aside];
  }
  if (best !== null) choose(layer.run, best);
}

// In print, charts are as wide as the page: scale them as a whole.
addEventListener("beforeprint", () => {
  for (const element of document.querySelectorAll(".chart")) {
    const { width, height } = element._fullLayout ?? {};
    if (!width) continue;
    element.style.setProperty("--shape", `${width} / ${height}`);
    element.querySelectorAll(".main-svg").forEach((svg) => svg.setAttribute("viewBox", `0 0 ${width} ${height}`));
  }
});
addEventListener("afterprint", () => {
  document.querySelectorAll(".chart .main-svg").forEach((svg) => svg.removeAttribute("viewBox"));
});

// The wheel zooms only after the pointer has moved over the chart, so that scrolling past
// a chart does not zoom it.
let scrolled = true, pointer = "";
addEventListener("scroll", () => { scrolled = true; }, { passive: true });

function guardWheel(element) {
  element.addEventListener("pointermove", ({ screenX, screenY }) => {
    const place = `${screenX},${screenY}`;
    if (place !== pointer) scrolled = false;
    pointer = place;
  });
  element.addEventListener("wheel", (event) => { if (scrolled) event.stopPropagation(); }, { capture: true });
}

start().catch((error) => {
  const note = document.getElementById("trouble");
  note.textContent = `The pictures could not be drawn: ${error.message}`;
  note.hidden = false;
  console.error(error);
});
