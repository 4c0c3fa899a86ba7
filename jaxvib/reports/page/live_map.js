// A map of the motions from rest over two sliders, filled in by workers, coarse to fine.

const CELLS = 64; // along each axis, a power of 2
const NONE = "#aeaeae", LOST = "#c71889"; // no period found; a motion that grows without bound

class LiveMap {
  constructor(element, live) {
    Object.assign(this, { element, live, cells: [], number: CELLS, id: 0 });
    this.workers = new Pool(live, (answer) => this.hear(answer));
    this.find = (name) => element.querySelector(name);
    const { all } = live.controls, swept = all.flatMap(({ swept: ends }, i) => (ends ? [i] : []));
    const find = (name) => all.findLastIndex(({ path }) => path.endsWith(name));
    const others = [find("frequency"), find("amplitude"), ...all.keys()].filter((i) => i >= 0 && !swept.includes(i));
    const [across, up] = [...swept, ...new Set(others)];
    for (const [name, first] of [[".across", across], [".up", up]]) {
      this.find(name).replaceChildren(...live.controls.options());
      this.find(name).value = first;
    }
    this.plot = new Plot(this.find(".plot"), { x: "", y: "" });
    this.canvas = document.createElement("canvas");
    this.find(".compute").addEventListener("click", () => this.compute());
    this.find(".plot").addEventListener("click", ({ offsetX, offsetY }) => this.pick(offsetX, offsetY));
    element.addEventListener("toggle", () => { if (element.open && live.answer && !this.cells.length) this.compute(); });
  }

  compute() {
    const { live, number } = this;
    this.axes = [".across", ".up"].map((name) => live.controls.all[Number(this.find(name).value)]);
    if (this.axes[0] === this.axes[1]) { this.find("output").textContent = "Choose two different parameters."; return; }
    this.ends = this.axes.map((control) => around(control, Number(this.find(".reach").value)));
    this.cells = new Array(number * number);
    this.done = 0;
    this.id++;
    this.plot.fit();
    const centre = (axis, k) => this.ends[axis][0] + ((k + 0.5) / number) * (this.ends[axis][1] - this.ends[axis][0]);
    const cells = coarseToFine(number).map(([i, j]) => ({ place: j * number + i, at: [centre(0, i), centre(1, j)] }));
    const paths = this.axes.map(({ path }) => path);
    this.workers.share(cells, (own) => ({ id: this.id, kind: "cells", values: live.controls.values(), paths, cells: own }));
    this.draw();
  }

  hear({ id, kind, cells }) {
    if (kind !== "cells" || id !== this.id) return;
    for (const cell of cells) this.cells[cell.place] = cell;
    this.done += cells.length;
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  // The finest cell computed so far at a place.
  cell(i, j) {
    for (let step = 1; step <= this.number; step *= 2) {
      const found = this.cells[(j - (j % step)) * this.number + (i - (i % step))];
      if (found) return found;
    }
    return null;
  }

  draw() {
    if (!this.axes) return;
    const { number, axes, ends } = this, pixels = new ImageData(number, number), seen = new Map();
    for (let k = 0; k < number * number; k++) {
      const cell = this.cell(k % number, Math.floor(k / number));
      if (!cell) continue;
      const kind = this.kind(cell), known = seen.get(kind.colour) ?? { ...kind, count: 0 };
      if (known.name !== kind.name) known.name = kind.shared;
      seen.set(kind.colour, { ...known, count: known.count + 1 });
      const rgb = [1, 3, 5].map((at) => parseInt(kind.colour.slice(at, at + 2), 16));
      pixels.data.set([...rgb, 255], 4 * ((number - 1 - Math.floor(k / number)) * number + (k % number)));
    }
    Object.assign(this.canvas, { width: number, height: number });
    this.canvas.getContext("2d").putImageData(pixels, 0, 0);
    const label = ({ group, name, unit }) => `${group} ${name}${unit ? ` (${unit})` : ""}`.trim();
    this.plot.labels = { x: label(axes[0]), y: label(axes[1]) };
    const [x, y] = ends.map((pair, i) => pair.map((end) => end * axes[i].factor));
    const [now, other] = axes.map(({ value, factor }) => [value * factor]);
    const here = { x: now, y: other, colour: token("--ink"), radius: 5, hollow: true };
    this.plot.draw({ image: this.canvas, frame: { x, y }, points: [here], told: (i, j) => this.words(i, j) });
    this.legend([...seen.values()]);
    const total = number * number, about = `${total} motions from rest, each followed over 400 load periods at most`;
    this.find("output").textContent = this.done < total ? `${this.done} of ${total}` : about;
    this.find(".plot").setAttribute("aria-label", `Map over ${label(axes[0])} and ${label(axes[1])}: ${this.done} of ${total} motions. ${[...seen.values()].map(({ name, count }) => `${name}: ${count}`).join(", ")}`);
    this.element.dataset.cells = this.done;
  }

  // The regime of a cell: its name, its colour, and the name shared by all of this colour.
  kind({ periods, contacts }) {
    const same = (name, colour) => ({ name, shared: name, colour });
    if (Number.isNaN(periods)) return same("grows without bound", LOST);
    if (!periods) return same("no period up to 8 found", NONE);
    const own = this.live.content.regimes[periods - 1], [colour, shared] = own[Math.min(contacts, own.length - 1)];
    return { name: `period ${periods} with ${contacts} contact${contacts === 1 ? "" : "s"}`, shared, colour };
  }

  legend(kinds) {
    this.find(".kinds").replaceChildren(...kinds.sort((a, b) => b.count - a.count).map(({ name, colour }) => {
      const entry = make("li", { textContent: name });
      entry.prepend(make("i", { style: `background:${colour}` }));
      return entry;
    }));
  }

  // The place of a point of the chart, in shares of the axes.
  at(x, y) {
    const { left, right, top, bottom } = this.plot.frame;
    return [(x - left) / (right - left), (bottom - y) / (bottom - top)].map((share) => Math.floor(share * this.number));
  }

  words(x, y) {
    const cell = this.cell(...this.at(x, y));
    if (!cell) return "";
    const { contacts } = this.live;
    const force = contacts.length && !this.live.hard && cell.peak > 0 ? `, peak contact force ${withUnit(cell.peak, "N")}` : "";
    return `${this.kind(cell).name}${force}: ${this.axes.map(({ name, unit, factor }, i) => `${name} ${number(cell.at[i] * factor)} ${unit}`.trim()).join(", ")}`;
  }

  // Move both sliders to a cell, and show the motion that was found there.
  pick(x, y) {
    const cell = this.cells.length && this.cell(...this.at(x, y));
    if (!cell) return;
    this.axes.forEach((control, i) => control.put(cell.at[i], cell.at[i] < control.span.low || cell.at[i] > control.span.high));
    this.live.continueFrom(Array.from(cell.state));
  }
}

// The ends of an axis: those of the slider, or a part of them around its value.
function around({ span: { low, high }, value }, part) {
  const length = part * (high - low), start = Math.min(Math.max(value - length / 2, low), high - length);
  return [start, start + length];
}

// All cells of a square: one, then those at halves of the sides, quarters, ...
function coarseToFine(number) {
  const found = [];
  for (let step = number; step >= 1; step /= 2) {
    for (let j = 0; j < number; j += step) {
      for (let i = 0; i < number; i += step) {
        if (step === number || i % (2 * step) || j % (2 * step)) found.push([i, j]);
      }
    }
  }
  return found;
}
