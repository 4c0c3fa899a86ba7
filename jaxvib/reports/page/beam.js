// A beam with elastically attached bodies in one of its damped modes.

SOURCES.damped = (scene) => {
  const [, samples, modes, size] = scene.shapes.shape;
  const half = samples * modes;
  let real, imaginary, rate, frequency;
  return {
    seconds: CYCLE,
    pick(mode, sample) {
      const row = (sample || 0) * modes + mode;
      real = scene.shapes.subarray(row * size, (row + 1) * size);
      imaginary = scene.shapes.subarray((half + row) * size, (half + row + 1) * size);
      [rate, frequency] = [scene.frequencies[row], scene.frequencies[half + row]];
    },
    reach: () => 1,
    state(part) {
      if (frequency === 0) return Array.from(real, (value) => value * Math.exp(-4 * part));
      const [c, s] = [Math.cos(2 * Math.PI * part), Math.sin(2 * Math.PI * part)];
      return Array.from(real, (value, i) => value * c - imaginary[i] * s);
    },
    words(part) {
      if (frequency === 0) return rate === 0 ? "0 (rest)" : `${number(rate)} 1/s, t = ${number(4 * part / Math.abs(rate), 3)} s`;
      return `${number(rate)} + ${number(frequency)}i 1/s, ${(360 * part).toFixed(0)}° of its cycle`;
    },
  };
};

class Carrying {
  constructor(stage, layout, reach, page, sample) {
    stage.setAttribute("viewBox", `0 0 ${VIEW.width} ${VIEW.height}`);
    const colours = page.lines[scheme()], links = layout.links.length;
    Object.assign(this, { layout, up: 46 / reach, beam: 196, body: 84, left: 70, right: VIEW.width - 70 });
    this.at = Array.from({ length: links }, (_, i) => this.x(layout.at[(sample || 0) * links + i]));
    const muted = { stroke: token("--muted"), "stroke-width": 1.4, fill: "none" };
    part(stage, "path", { d: `M${this.left} ${this.beam}H${this.right}`, ...muted, "stroke-dasharray": "3 5", "stroke-width": 1 });
    this.ends = layout.ends.map((end, side) => this.end(stage, end, side, muted));
    this.springs = layout.links.map(() => part(stage, "path", muted));
    this.bars = layout.bars.map(() => part(stage, "path", { stroke: colours[1], "stroke-width": 9, "stroke-linecap": "round" }));
    this.path = part(stage, "path", { class: "beams", stroke: colours[0], "stroke-width": 4.5, fill: "none", "stroke-linejoin": "round" });
    this.bodies = layout.links.map((kind, i) => {
      const group = part(stage, "g", { class: "body" });
      if (kind === "ground") part(group, "path", { d: "M-11 0h22M-9 0l-5 6M-2 0l-5 6M5 0l-5 6M12 0l-5 6", ...muted });
      else if (!layout.bars.some((bar) => bar.includes(i))) {
        part(group, "rect", { x: -13, y: kind === "mass" ? -8 : -20, width: 26, height: kind === "mass" ? 16 : 20, rx: 3, fill: colours[1] });
      }
      return group;
    });
  }

  x(fraction) {
    return this.left + (this.right - this.left) * fraction;
  }

  // Draw a support; return a function that moves it with the end.
  end(stage, kind, side, muted) {
    const x = side ? this.right : this.left, out = side ? 1 : -1, y = this.beam;
    const group = part(stage, "g", {});
    const hatch = (n, step) => Array.from({ length: n }, (_, i) => `M${x} ${y - 30 + step * i}l${out * 8} 8`).join("");
    if (kind === "clamped") part(group, "path", { d: `M${x} ${y - 32}v64${hatch(7, 9)}`, ...muted, "stroke-width": 2 });
    if (kind === "hinged") part(group, "path", { d: `M${x} ${y}l-10 18h20z`, ...muted });
    if (kind === "sliding") part(group, "path", { d: `M${x + 5 * out} ${y - 56}v112M${x + 9 * out} ${y - 56}v112`, ...muted });
    if (kind === "elastic") {
      const spring = part(group, "path", muted);
      part(group, "path", { d: `M${x - 12} 276h24`, ...muted });
      return (height) => spring.setAttribute("d", coil(x, height, 276));
    }
    return () => {};
  }

  show(state) {
    const { points, links, bars } = this.layout;
    const height = (i) => this.beam - this.up * state[i];
    const line = Array.from({ length: points }, (_, i) => `${this.x(i / (points - 1)).toFixed(1)} ${height(i).toFixed(2)}`);
    this.path.setAttribute("d", `M${line.join("L")}`);
    this.ends.forEach((follow, side) => follow(height(side ? points - 1 : 0)));
    const tops = links.map((kind, i) => {
      const x = this.at[i];
      const spot = ((x - this.left) / (this.right - this.left)) * (points - 1);
      const low = Math.min(Math.floor(spot), points - 2);
      const foot = height(low) + (spot - low) * (height(low + 1) - height(low));
      const top = kind === "body" ? this.body - this.up * state[points + i] : kind === "mass" ? foot : 276;
      if (kind !== "mass") this.springs[i].setAttribute("d", coil(x, foot, top));
      this.bodies[i].setAttribute("transform", `translate(${x.toFixed(1)} ${top.toFixed(2)})`);
      return top;
    });
    bars.forEach(([i, j], k) => this.bars[k].setAttribute("d", `M${this.at[i]} ${tops[i]}L${this.at[j]} ${tops[j]}`));
  }
}

LAYOUTS.carrying = Carrying;

// A spring between two heights.
function coil(x, from, to) {
  const turns = 5, lead = 0.12 * (to - from), step = (to - from - 2 * lead) / turns;
  let path = `M${x.toFixed(1)} ${from.toFixed(2)}v${lead.toFixed(2)}`;
  for (let i = 0; i < turns; i++) path += `l6 ${(step / 4).toFixed(2)}l-12 ${(step / 2).toFixed(2)}l6 ${(step / 4).toFixed(2)}`;
  return `${path}v${lead.toFixed(2)}`;
}
