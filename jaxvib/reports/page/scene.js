// An animated system, with play, pause and a time slider: one of its modes, or a chain
// over time.

const VIEW = { width: 920, height: 300, margin: 44 };
const CYCLE = 2.4; // seconds per cycle of a mode or per tenth of a motion

class Scene {
  constructor(element, picture, page) {
    this.scene = picture.scene;
    this.page = page;
    this.find = (name) => element.querySelector(name);
    this.stage = this.find(".stage");
    this.part = 0; // of the cycle or the motion
    this.playing = false;
    this.find(".play").addEventListener("click", () => this.play(!this.playing));
    this.find(".player input").addEventListener("input", (event) => {
      this.play(false);
      this.part = Number(event.target.value);
      this.show();
    });
    this.selects = [...element.querySelectorAll("select.pick")];
    this.selects.forEach((select) => select.addEventListener("change", () => this.pick()));
    this.source = SOURCES[this.scene.kind](this.scene);
    this.pick();
  }

  pick() {
    const picked = this.selects.map((select) => Number(select.value));
    this.source.pick(...picked);
    this.stage.replaceChildren();
    this.drawing = new LAYOUTS[this.scene.layout.kind](this.stage, this.scene.layout, this.source.reach(), this.page, picked.at(-1));
    this.show();
  }

  show() {
    this.drawing.show(this.source.state(this.part));
    this.find(".player input").value = this.part;
    this.find(".player output").textContent = this.source.words(this.part);
  }

  play(on) {
    play(this, on, (seconds) => {
      const speed = Number(this.find("select.speed").value);
      this.part = (this.part + (seconds * speed) / this.source.seconds) % 1;
      this.show();
    });
  }
}

// The degrees of freedom at a fraction of the time.
const SOURCES = {
  modes: (scene) => {
    const [, modes, size] = scene.shapes.shape;
    let shape, frequency;
    return {
      seconds: CYCLE,
      pick(mode, sample) {
        const row = (sample || 0) * modes + mode;
        shape = scene.shapes.subarray(row * size, (row + 1) * size);
        frequency = scene.frequencies[row];
      },
      reach: () => 1,
      state: (part) => Array.from(shape, (value) => value * Math.cos(2 * Math.PI * part)),
      words: (part) => `${number(frequency)} rad/s, ${(360 * part).toFixed(0)}° of its cycle`,
    };
  },
  motion: (scene) => {
    const [, frames, size] = scene.places.shape;
    let places, rates;
    const step = scene.duration / (frames - 1);
    return {
      seconds: 10 * CYCLE,
      pick(sample) {
        const from = (sample || 0) * frames * size;
        [places, rates] = [scene.places, scene.rates].map((all) => all.subarray(from, from + frames * size));
      },
      reach() {
        const shown = scene.layout.bodies?.map(([i]) => i) ?? Array.from({ length: size }, (_, i) => i);
        let most = 1e-12;
        for (let from = 0; from < places.length; from += size) for (const i of shown) most = Math.max(most, Math.abs(places[from + i]));
        return most;
      },
      // cubic Hermite interpolation between two frames
      state(part) {
        const at = Math.min(part * (frames - 1), frames - 1.000001), k = Math.floor(at), s = at - k;
        return Array.from({ length: size }, (_, i) => {
          const [x0, x1] = [places[k * size + i], places[(k + 1) * size + i]];
          const [v0, v1] = [rates[k * size + i] * step, rates[(k + 1) * size + i] * step];
          const bend = 3 * (x1 - x0) - 2 * v0 - v1, twist = 2 * (x0 - x1) + v0 + v1;
          return x0 + s * (v0 + s * (bend + s * twist));
        });
      },
      words: (part) => `t = ${(part * scene.duration).toFixed(2)} s`,
    };
  },
};

// Translating bodies, one row each, the first lowest; rods hang on their carriers.
class Rows {
  constructor(stage, layout, reach, page) {
    const rows = layout.turns.length, colours = page.lines[scheme()];
    const levels = layout.level.reduce((a, b) => Math.max(a, b), 0) + 1;
    const hanging = layout.rods ? 70 : 0;
    this.height = levels * 58 + 40 + hanging;
    stage.setAttribute("viewBox", `0 0 ${VIEW.width} ${this.height}`);
    this.layout = layout;
    this.swing = 150 / reach;
    this.floor = this.height - 16 - hanging / 2;
    const muted = { stroke: token("--muted"), "stroke-width": 1.5, fill: "none" };
    part(stage, "path", { d: `M${VIEW.width / 2 - 260} ${this.floor}h520`, ...muted });
    this.links = layout.links.map(() => part(stage, "path", muted));
    this.bodies = Array.from({ length: rows }, (_, i) => {
      const group = part(stage, "g", { class: "body" });
      const fill = colours[i % colours.length];
      if (layout.turns[i]) {
        part(group, "line", { x1: 0, y1: 0, x2: 0, y2: 50 * layout.sense[i], stroke: fill, "stroke-width": 7, "stroke-linecap": "round" });
        part(group, "circle", { r: 4, fill: token("--paper"), stroke: fill, "stroke-width": 2 });
      } else {
        part(group, "rect", { x: -56, y: -15, width: 112, height: 30, rx: 4, fill: BODY[i % BODY.length] });
        part(group, "text", { class: "label", y: 4 }).textContent = layout.names[i];
      }
      return group;
    });
    this.words = layout.names.map((name, i) => {
      const text = part(stage, "text", { "text-anchor": "start", "font-size": 12 });
      if (layout.turns[i]) text.textContent = name;
      return text;
    });
  }

  level(i) {
    return this.floor - 40 - 58 * this.layout.level[i];
  }

  show(state) {
    const { turns, carrier, links, sense } = this.layout;
    const at = [];
    state.forEach((value, i) => {
      if (turns[i]) return;
      at[i] = [VIEW.width / 2 + this.swing * value, this.level(i)];
      this.bodies[i].setAttribute("transform", `translate(${at[i]})`);
    });
    state.forEach((value, i) => {
      if (!turns[i]) return;
      const held = at[carrier[i]] ?? [VIEW.width / 2, this.level(i)];
      // next to its carrier, without covering the label
      const x = held[0] + (carrier[i] >= 0 && !turns[carrier[i]] ? 64 : 0), y = held[1];
      const angle = 0.6 * value * this.swing / 150;
      at[i] = [x + 50 * Math.sin(angle), y + sense[i] * 50 * Math.cos(angle)];
      this.bodies[i].setAttribute("transform", `translate(${x} ${y}) rotate(${-sense[i] * angle * 180 / Math.PI})`);
      this.words[i].setAttribute("transform", `translate(${at[i][0] + 10} ${at[i][1] + 4})`);
    });
    links.forEach(([from, to], i) => {
      const [a, b] = [from, to].map((k) => at[k]);
      const other = a ?? b, [x, y] = a && b ? b : [VIEW.width / 2, this.floor];
      this.links[i].setAttribute("d", `M${other}L${x} ${y}`);
    });
  }
}

// Bodies on a line joined by beams, each drawn as its cubic (as a Bezier curve).
class Beams {
  constructor(stage, layout, reach, page) {
    const xs = layout.at, low = Math.min(...xs), high = Math.max(...xs);
    stage.setAttribute("viewBox", `0 0 ${VIEW.width} ${VIEW.height}`);
    Object.assign(this, { layout, low });
    this.across = (VIEW.width - 2 * VIEW.margin) / (high - low || 1);
    this.up = (VIEW.height / 2 - 30) / reach;
    const colours = page.lines[scheme()], middle = VIEW.height / 2;
    part(stage, "path", { d: `M12 ${middle}H${VIEW.width - 12}`, stroke: token("--hair"), fill: "none" });
    this.path = part(stage, "path", { class: "beams", stroke: colours[0], "stroke-width": 1.8, fill: "none" });
    const size = Math.max(2, Math.min(14, 0.4 * this.across * (high - low) / Math.max(1, layout.bodies.length)));
    this.bodies = layout.bodies.map(() => part(part(stage, "g", { class: "body" }), "rect", {
      x: -size / 4, y: -size, width: size / 2, height: 2 * size, rx: 1, fill: colours[1],
    }).parentNode);
    for (const k of layout.marked ?? []) {
      part(this.bodies[k], "rect", { x: -6, y: -14, width: 12, height: 28, rx: 3, fill: token("--alarm") });
      part(this.bodies[k], "title", {}).textContent = "a defect";
    }
  }

  x(place) {
    return VIEW.margin + this.across * (place - this.low);
  }

  show(state) {
    const middle = VIEW.height / 2;
    const y = (i) => middle - (i < 0 ? 0 : this.up * state[i]);
    const slope = (i) => (i < 0 ? 0 : -this.up * state[i]);
    this.path.setAttribute("d", this.layout.beams.map(([y1, p, y2, q, from, to]) => {
      const [x1, x2] = [this.layout.at[from], this.layout.at[to]], third = (x2 - x1) / 3;
      return `M${this.x(x1)} ${y(y1)}C${this.x(x1 + third)} ${y(y1) + third * slope(p)} ${this.x(x2 - third)} ${y(y2) - third * slope(q)} ${this.x(x2)} ${y(y2)}`;
    }).join(""));
    this.bodies.forEach((body, k) => {
      const [i, turn, place] = this.layout.bodies[k];
      const angle = (Math.atan(slope(turn) / this.across) * 180) / Math.PI;
      body.setAttribute("transform", `translate(${this.x(this.layout.at[place])} ${y(i)}) rotate(${angle})`);
    });
  }
}

const LAYOUTS = { rows: Rows, beams: Beams };
