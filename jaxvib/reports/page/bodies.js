// The animated bodies, as an SVG drawn to scale.

const STAGE = { width: 460, height: 132, floor: 112 };
const SVG = "http://www.w3.org/2000/svg";
const BODY = ["#1a6fc4", "#b85300", "#00795c", "#8a3fa8", "#7a5c00", "#b0305c"]; // dark enough for white labels

// A main body with an attached body. The facing sides are to scale: they meet exactly
// at contact.
class Pair {
  constructor(stage, motion) {
    const [main, attached] = [0, 1].map((i) => motion.column(motion.states, motion.size, i));
    const low = Math.min(...main, ...attached), high = Math.max(...main, ...attached);
    this.widths = [92, 68];
    this.scale = (STAGE.width - 70 - this.widths[0] - this.widths[1] - 14) / Math.max(high - low, 1e-9);
    this.origin = 70 + this.widths[0] - low * this.scale;
    ground(stage);
    this.springs = ["", ""].map(() => part(stage, "path", { fill: "none", stroke: token("--muted"), "stroke-width": 1.5 }));
    this.bodies = motion.freedoms.map((name, i) => {
      const group = part(stage, "g", {});
      const height = [62, 44][i];
      part(group, "rect", { y: STAGE.floor - height, width: this.widths[i], height, rx: 4, fill: BODY[i] });
      const label = part(group, "text", { class: "label", x: this.widths[i] / 2, y: STAGE.floor - 10 });
      label.textContent = name;
      fit(label, this.widths[i] - 8);
      return group;
    });
    this.spark = part(stage, "circle", { cy: STAGE.floor - 22, r: 0, fill: token("--alarm"), opacity: 0.85 });
    ruler(stage, this.scale);
  }

  show([main, attached], pressure) {
    const face = this.origin + this.scale * main, other = this.origin + this.scale * attached;
    this.bodies[0].setAttribute("transform", `translate(${face - this.widths[0]} 0)`);
    this.bodies[1].setAttribute("transform", `translate(${other} 0)`);
    this.springs[0].setAttribute("d", spring(10, face - this.widths[0], STAGE.floor - 34));
    this.springs[1].setAttribute("d", spring(face - this.widths[0] / 2, other + this.widths[1] / 2, STAGE.floor - 74, 20));
    this.spark.setAttribute("cx", (face + other) / 2);
    this.spark.setAttribute("r", pressure > 0.02 ? 4 + 9 * Math.sqrt(pressure) : 0);
  }
}

const HALF = 18; // width of a body on its track
const LONGEST_NAME = 150; // units of the stage

// Any other system: one track per degree of freedom.
class Tracks {
  constructor(stage, motion) {
    const count = motion.freedoms.length;
    const columns = motion.freedoms.map((_, i) => motion.column(motion.states, motion.size, i));
    const reach = Math.max(...columns.map((column) => Math.max(...column.map(Math.abs))), 1e-9);
    const pitch = (STAGE.height - 24) / count, height = Math.min(0.7 * pitch, 46);
    const colours = motion.page.lines[scheme()];
    const names = motion.freedoms.map((name, i) => {
      const text = part(stage, "text", { x: 10, y: 12 + pitch * (i + 0.5) });
      text.textContent = name;
      fit(text, LONGEST_NAME);
      return text.getComputedTextLength();
    });
    const left = 18 + Math.min(LONGEST_NAME, Math.max(...names)), right = STAGE.width - 10;
    this.middle = (left + right) / 2;
    this.scale = ((right - left) / 2 - HALF) / reach;
    this.bodies = motion.freedoms.map((_, i) => {
      const y = 8 + pitch * (i + 0.5);
      part(stage, "line", { x1: left, x2: right, y1: y, y2: y, stroke: token("--hair") });
      const group = part(stage, "g", {});
      part(group, "rect", { x: -HALF, y: y - height / 2, width: 2 * HALF, height, rx: 3, fill: colours[i % colours.length] });
      return group;
    });
    // A fixed stop of one body is where the side that meets it is at contact.
    this.stops = (motion.stops ?? []).map(({ body, side, place, colour }) => {
      const y = 8 + pitch * (body + 0.5);
      const stop = part(stage, "rect", { x: side > 0 ? 0 : -5, y: y - 0.48 * pitch, width: 5, height: 0.96 * pitch, fill: colour ?? token("--muted") });
      return { stop, x: () => this.middle + this.scale * place() + side * HALF };
    });
    ruler(stage, this.scale);
  }

  show(state) {
    this.stops.forEach(({ stop, x }) => stop.setAttribute("transform", `translate(${x()} 0)`));
    this.bodies.forEach((body, i) => {
      body.setAttribute("transform", `translate(${this.middle + this.scale * state[i]} 0)`);
    });
  }
}

function part(parent, name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

// Make a text that is too wide narrower.
function fit(text, width) {
  if (text.getComputedTextLength() <= width) return;
  text.setAttribute("textLength", width);
  text.setAttribute("lengthAdjust", "spacingAndGlyphs");
}

function ground(stage) {
  part(stage, "rect", { x: 4, y: 26, width: 6, height: STAGE.floor - 26, fill: token("--muted") });
  part(stage, "line", { x1: 4, x2: STAGE.width - 4, y1: STAGE.floor, y2: STAGE.floor, stroke: token("--muted") });
}

function spring(from, to, y, lift = 0) {
  const turns = 7, lead = 8, step = (to - from - 2 * lead) / turns;
  let path = lift ? `M${from} ${y + lift - 8}V${y}h${lead}` : `M${from} ${y}h${lead}`;
  for (let i = 0; i < turns; i++) path += `l${step / 4} -6l${step / 2} 12l${step / 4} -6`;
  return `${path}h${lead}${lift ? `v${lift + 10}` : ""}`;
}

function ruler(stage, scale) {
  const length = [1, 2, 5].flatMap((m) => Array.from({ length: 10 }, (_, k) => k - 9).map((p) => m * 10 ** p))
    .sort((a, b) => a - b).findLast((m) => m * scale < 110) ?? 1e-9;
  const [unit, factor] = page.units.m ?? ["m", 1], y = STAGE.height - 8, right = STAGE.width - 12;
  part(stage, "path", { d: `M${right} ${y - 4}v4h${-length * scale}v-4`, stroke: token("--muted"), fill: "none" });
  part(stage, "text", { x: right - length * scale - 6, y, "text-anchor": "end" }).textContent = `${number(length * factor)} ${unit}`;
}
