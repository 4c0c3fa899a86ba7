// Converts a chart's layers to Plotly traces and layout.

const CONFIG = { displayModeBar: false, displaylogo: false, scrollZoom: true, responsive: true };

function traces(chart, page, option, lit) {
  const seen = chart.layers.filter((layer) => layer.option == null || layer.option === option);
  return seen.flatMap((layer) => TRACES[layer.is](layer, page, lit));
}

const TRACES = { Cells: cells, Points: points, Line: line, Notes: notes, Followers: followers };

function cells(layer, page, lit) {
  const logarithmic = layer.paint.log;
  const values = logarithmic ? layer.values.map(Math.log10) : layer.values;
  values.shape = layer.values.shape;
  const trace = {
    type: "heatmap", x: layer.x, y: layer.y, z: rows(values), text: hoverRows(layer, page),
    hovertemplate: "%{text}<extra></extra>", hoverongaps: false, meta: layer,
    ...scaleOf(layer.paint, page, lit),
  };
  return [trace, ...crosses(layer), ...hatched(layer)];
}

const HATCHES = 36; // lines of one direction across a map
const LEVEL = (t, shift) => [t, shift - 0.5 / HATCHES], UPRIGHT = (t, shift) => [shift - 0.5 / HATCHES, t];
const DIRECTIONS = {
  "/": [(t, shift) => [t, t + shift]], "\\": [(t, shift) => [t, 1 - t + shift]],
  "-": [LEVEL], "|": [UPRIGHT], "+": [LEVEL, UPRIGHT],
};
const FINE = 400; // parts of such a line, which ends within one of them at a cell's edge

// Hatching of classes: lines across the map, clipped to the cells of the class.
function hatched(layer) {
  const { names, colours, hatches } = layer.paint;
  if (!hatches?.length) return [];
  const [height, width] = layer.values.shape;
  const ends = [edges(layer.x), edges(layer.y)];
  const at = (across, up) => [between(ends[0], across * width), between(ends[1], up * height)];
  const under = (across, up) => Math.min(across, up) > 0 && Math.max(across, up) < 1
    && layer.values[Math.floor(up * height) * width + Math.floor(across * width)];
  return names.flatMap((_, member) => {
    const x = [], y = [], steps = Math.max(FINE, 2 * (width + height));
    for (const place of DIRECTIONS[hatches[member]] ?? []) for (let line = 1; line < 2 * HATCHES; line++) {
      const shift = line / HATCHES - 1;
      let open = false;
      for (let step = 0; step <= steps; step++) {
        const inside = step < steps && under(...place((step + 0.5) / steps, shift)) === member;
        if (inside === open) continue;
        const [across, high] = at(...place(step / steps, shift).map((each) => Math.min(1, Math.max(0, each))));
        x.push(across);
        y.push(high);
        if (open) { x.push(null); y.push(null); }
        open = inside;
      }
    }
    return x.length ? [{
      type: "scatter", mode: "lines", x, y, hoverinfo: "skip", showlegend: false,
      line: { color: inkOn(colours[member]), width: 1 },
    }] : [];
  });
}

// Boundaries of the cells of a map: n + 1 for n cells.
function edges(middles) {
  const n = middles.length, half = (a, b) => (middles[a] + middles[b]) / 2;
  if (n < 2) return [middles[0] - 0.5, middles[0] + 0.5];
  const inner = Array.from({ length: n - 1 }, (_, i) => half(i, i + 1));
  return [2 * middles[0] - inner[0], ...inner, 2 * middles[n - 1] - inner[n - 2]];
}

function between(places, at) {
  const i = Math.min(places.length - 2, Math.floor(at));
  return places[i] + (at - i) * (places[i + 1] - places[i]);
}

function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return 0.3 * r + 0.59 * g + 0.11 * b < 90 ? "#ffffffaa" : "#00000077";
}

// Failed samples get a cross, not only a colour.
function crosses(layer) {
  const failed = layer.paint.hatches?.indexOf("x") ?? -1;
  if (failed < 0) return [];
  const [, width] = layer.values.shape;
  const places = [...layer.values.keys()].filter((i) => layer.values[i] === failed);
  if (!places.length || places.length > 500) return [];
  return [{
    type: "scatter", mode: "markers", hoverinfo: "skip", showlegend: false,
    x: places.map((i) => layer.x[i % width]), y: places.map((i) => layer.y[Math.floor(i / width)]),
    marker: { symbol: "x-thin", size: 5, line: { color: "#ffffff", width: 1.5 } },
  }];
}

function points(layer, page, lit) {
  const { colorscale, zmin, zmax, showscale, colorbar } = scaleOf(layer.paint, page, lit);
  const values = layer.paint.log ? layer.values.map(Math.log10) : layer.values;
  return [{
    type: "scatter", mode: "markers", x: layer.x, y: layer.y, meta: layer, showlegend: false,
    ...(layer.samples
      ? { text: hoverList(layer, page), hovertemplate: "%{text}<extra></extra>" }
      : { customdata: Array.from(layer.values), hovertemplate: `%{x:.5g}, %{y:.5g}<br>${plain(layer.paint.label ?? "")} %{customdata:.4g}<extra></extra>` }),
    marker: {
      symbol: layer.symbol, size: layer.x.length > 1500 ? 5 : 8, color: Array.from(values),
      colorscale, cmin: zmin, cmax: zmax, showscale, colorbar,
      line: { width: layer.x.length > 1500 ? 0.3 : 0.6, color: token("--muted") },
    },
  }];
}

function line(layer, page) {
  const colours = page.lines[scheme()];
  const rim = {
    type: "scatter", mode: "lines", x: layer.x, y: layer.y, connectgaps: false,
    line: { color: token("--paper"), width: 5 }, hoverinfo: "skip", showlegend: false,
  };
  return [...(layer.rim ? [rim] : []), {
    type: "scatter", mode: layer.samples || layer.marks ? "lines+markers" : "lines", x: layer.x, y: layer.y,
    name: plain(layer.name), showlegend: layer.legend, meta: layer, connectgaps: false,
    line: { color: colours[layer.colour % colours.length], width: 2, dash: layer.style },
    marker: { size: 4 },
    ...(layer.samples
      ? { text: hoverList(layer, page), hovertemplate: "%{y:.4g}<br>%{text}<extra>%{fullData.name}</extra>" }
      : { hovertemplate: "%{x:.5g}, %{y:.4g}<extra>%{fullData.name}</extra>" }),
  }];
}

function notes(layer) {
  return [{
    type: "scatter", mode: "markers", x: layer.x, y: layer.y, text: layer.texts.map(plain),
    name: plain(layer.name), meta: layer, hovertemplate: "%{text}<br>%{x:.5g}<extra></extra>",
    marker: { symbol: layer.symbol, size: 9, color: token("--ink") },
  }];
}

// Marks at one point of the branch, moved by `followTo`.
function followers(layer) {
  return [{
    type: "scatter", mode: "markers", ...followed(layer, layer.at ?? layer.first), meta: layer,
    name: plain(layer.name), showlegend: false, hovertemplate: "%{x:.5g} + %{y:.5g} i<extra></extra>",
    marker: { size: 9, color: token("--ink") },
  }];
}

function followed({ x, y }, point) {
  const width = x.shape[1];
  const own = (values) => Array.from(values.subarray(point * width, (point + 1) * width));
  return { x: own(x), y: own(y) };
}

function scaleOf(paint, page, lit) {
  if (paint.is === "Classes") {
    const number = paint.names.length;
    const colours = paint.colours.map((colour, i) =>
      lit === null || paint.names[i] === lit ? colour : faded(colour));
    const colorscale = colours.flatMap((c, i) => [[i / number, c], [(i + 1) / number, c]]);
    return { colorscale, zmin: -0.5, zmax: number - 0.5, showscale: false };
  }
  const stops = page.scales[paint.colours];
  const [low, high] = paint.log ? [Math.log10(paint.low), Math.log10(paint.high)] : [paint.low, paint.high];
  return {
    colorscale: stops.map((colour, i) => [i / (stops.length - 1), colour]),
    zmin: low, zmax: high > low ? high : low + 1, showscale: true,
    colorbar: {
      ...(narrow.matches ? { orientation: "h", y: -0.28, yanchor: "top", title: { text: plain(paint.label), side: "bottom", font: { size: 12 } } }
        : { title: { text: plain(paint.label), side: "right", font: { size: 13 * size() } } }),
      thickness: 12, outlinewidth: 0,
      ticks: "outside", ticklen: 4, ...(paint.log ? decades(paint) : {}),
    },
  };
}

function decades({ low, high, unit }) {
  const steps = high / low > 300 ? [1] : high / low > 20 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    values.push(...steps.map((step) => step * 10 ** power));
  }
  const seen = values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  return { tickvals: seen.map(Math.log10), ticktext: seen.map((value) => withUnit(value, unit)) };
}

function faded(colour) {
  return `${colour.slice(0, 7)}22`;
}

function hoverText({ run, versus }, page) {
  if (versus == null) return (sample) => sampleText(page.runs[run], sample);
  return (sample) => changeText(page.runs[versus], page.runs[run], sample);
}

function hoverList(layer, page) {
  return Array.from(layer.samples, hoverText(layer, page));
}

// Hover texts are built lazily: a fine map has 262144 of them.
function hoverRows(layer, page) {
  const [height, width] = layer.values.shape;
  const text = hoverText(layer, page);
  const cell = (row) => (target, key) =>
    typeof key === "string" && /^\d+$/.test(key)
      ? text(layer.samples[row * width + Number(key)]) : target[key];
  return Array.from({ length: height }, (_, row) => new Proxy([], { get: cell(row) }));
}

// Room beside every map for the widest scale, so that the columns of maps line up.
const BESIDE_MAPS = 104;

// What a layer has in a legend, and how it looks.
function entryOf({ name, colour, style, symbol }) {
  return JSON.stringify([name, colour, style, symbol]);
}

function entries({ layers }) {
  return layers.filter((layer) => layer.is === "Notes" || layer.legend).map(entryOf);
}

// Whether a chart has a legend: one of several entries.
function named(chart) {
  return chart.legend && new Set(entries(chart)).size > 1;
}

// The entries in the legends of some charts.
function told(charts) {
  return new Set(charts.filter(named).flatMap(entries));
}

// `beside`: the charts of the same picture, of which the frames line up; `known`: entries
// of legends that are not repeated.
function layout(chart, beside = [chart], known = new Set()) {
  const ink = token("--ink"), above = beside.some(named) ? 24 : 0;
  const maps = chart.layers.some((layer) => layer.is === "Cells");
  return {
    title: chart.title
      ? { text: plain(chart.title), font: { size: 14 * size() }, x: 0, xref: "paper", y: 1, yanchor: "top", pad: { t: 8 } }
      : undefined,
    margin: { l: 66 * size(), r: maps && !narrow.matches ? BESIDE_MAPS * size() : 14, t: 10 + (chart.title ? 24 * size() : 0) + above, b: 50 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: face(), size: 12.5 * size(), color: ink },
    xaxis: axis(chart.x),
    yaxis: { ...axis(chart.y), ...(chart.equal ? { scaleanchor: "x", scaleratio: 1 } : {}) },
    dragmode: "zoom", hovermode: "closest",
    showlegend: named(chart) && entries(chart).some((entry) => !known.has(entry)),
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: {
      bgcolor: token("--paper"), bordercolor: token("--muted"), font: { color: ink, size: 13 },
      align: "left", namelength: -1,
    },
    uirevision: `${chart.x.path} ${chart.y.path}`, // keep the zoom while the axes do not change
  };
}

function axis({ label, log, low, high, ticks }) {
  const end = (value) => (log && value !== null ? Math.log10(value) : value);
  const bounds = low === null && high === null ? {} : { range: [end(low), end(high)] };
  return {
    title: { text: plain(label), standoff: 8, font: { size: 13 * size() } }, type: log ? "log" : "linear", automargin: true,
    gridcolor: token("--hair"), linecolor: token("--muted"), tickcolor: token("--muted"),
    zeroline: false, ticks: "outside", ticklen: 4, exponentformat: log ? "e" : "SI", ...bounds,
    ...(ticks?.length ? { tickvals: ticks.map((_, i) => i), ticktext: ticks.map(plain) } : {}),
  };
}

// Mark the displayed orbit: a ring, or a hairline if only one axis is a swept path.
function crosshair(chart, run, sample) {
  const at = ({ path }) => {
    const found = run.paths.find((each) => each.path === path);
    return found && found.values[sample] * found.factor;
  };
  const x = at(chart.x), y = at(chart.y);
  if (x === undefined && y === undefined) return [];
  if (x === undefined || y === undefined) {
    const ends = y === undefined
      ? { x0: x, x1: x, y0: 0, y1: 1, yref: "paper" } : { y0: y, y1: y, x0: 0, x1: 1, xref: "paper" };
    return [{ type: "line", ...ends, line: { color: token("--muted"), width: 1, dash: "dot" } }];
  }
  const ring = (radius, colour, width) => ({
    type: "circle", xsizemode: "pixel", ysizemode: "pixel", xanchor: x, yanchor: y,
    x0: -radius, x1: radius, y0: -radius, y1: radius, line: { color: colour, width },
  });
  return [ring(8, "#000000", 4.5), ring(8, "#ffffff", 2)];
}
