// A map of the motions from rest over two sliders, filled in by workers, coarse to fine.

const CELLS = 64; // along each axis, a power of 2
const NONE = "#aeaeae", LOST = "#c71889", REFUSED = "#5e5e5e", ALWAYS = "#7d8ca3"; // no period found; a motion that grows without bound; values

class LiveMap {
  constructor(element, live) {
    Object.assign(this, { element, live, cells: [], number: CELLS, id: 0 });
    this.workers = new Pool(live, (answer) => this.hear(answer), (message) => this.fail(message));
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
    const axes = [".across", ".up"].map((name) => live.controls.all[Number(this.find(name).value)]);
    if (axes[0] === axes[1]) { this.find("output").textContent = "Choose two different parameters."; return; }
    Object.assign(this, { axes, values: live.controls.values() });
    this.ends = this.axes.map((control) => around(control, Number(this.find(".reach").value)));
    this.cells = new Array(number * number);
    Object.assign(this, { done: 0, failure: "" });
    this.id++;
    this.plot.fit();
    const centre = (axis, k) => this.ends[axis][0] + ((k + 0.5) / number) * (this.ends[axis][1] - this.ends[axis][0]);
    this.order = coarseToFine(number);
    const cells = this.order.map(([i, j]) => ({ place: j * number + i, at: [centre(0, i), centre(1, j)] }));
    const paths = this.axes.map(({ path }) => path);
    this.paint();
    this.workers.share(cells, (own) => ({ id: this.id, kind: "cells", values: this.values, paths, cells: own }));
  }

  hear({ id, kind, cells }) {
    if (kind !== "cells" || id !== this.id) return;
    for (const cell of cells) this.cells[cell.place] = { ...cell, kind: this.kind(cell) };
    this.done += cells.length;
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.paint(); });
  }

  fail(message) {
    this.failure = message;
    this.draw();
  }

  // The finest cell computed so far at a place.
  cell(i, j) {
    if (Math.min(i, j) < 0 || Math.max(i, j) >= this.number) return null;
    for (let step = 1; step <= this.number; step *= 2) {
      const found = this.cells[(j - (j % step)) * this.number + (i - (i % step))];
      if (found) return found;
    }
    return null;
  }

  // Colour the cells that are known, each over the larger one that it is a part of, with the legend.
  paint() {
    const size = this.number, seen = new Map(), pen = this.canvas.getContext("2d");
    Object.assign(this.canvas, { width: size, height: size });
    for (const [i, j, step] of this.order) {
      const cell = this.cells[j * size + i];
      if (!cell) continue;
      const { kind } = cell, known = seen.get(kind.colour) ?? { ...kind, count: 0 };
      if (known.name !== kind.name) known.name = kind.shared;
      known.count++;
      seen.set(kind.colour, known);
      pen.fillStyle = kind.colour;
      pen.fillRect(i, size - j - step, step, step);
    }
    const kinds = [...seen.values()], total = size * size;
    this.legend(kinds);
    const listed = kinds.map(({ name, count }) => `${name}: ${count}`).join(", ");
    this.find(".plot").setAttribute("aria-label", `Map over ${this.axes.map(axisLabel).join(" and ")}: ${this.done} of ${total} motions. ${listed}`);
    this.element.dataset.cells = this.done;
    this.draw();
  }

  // The cells, and the values of the sliders among them.
  draw() {
    if (!this.axes) return;
    const total = this.number ** 2, about = this.done < total ? `${this.done} of ${total}` : `${total} motions from rest, each followed over 400 load periods at most`;
    const moved = this.moved().length ? "; at earlier values of other sliders" : "";
    this.find("output").textContent = this.failure ? `Not all could be computed: ${this.failure}` : `${about}${moved}`;
    const [x, y] = this.ends.map((pair, i) => pair.map((end) => end * this.axes[i].factor));
    const [now, other] = this.axes.map(({ value, factor }) => [value * factor]);
    const here = { x: now, y: other, colour: token("--ink"), radius: 5, hollow: true };
    const [across, up] = this.axes.map(axisLabel);
    this.plot.labels = { x: across, y: up };
    this.plot.draw({ image: this.canvas, frame: { x, y }, points: [here], told: (i, j) => this.words(i, j) });
  }

  // The controls that have other values than when the map was begun, beside its axes.
  moved() {
    return this.live.controls.all.filter((control) => !this.axes.includes(control) && control.value !== this.values[control.path]);
  }

  // The regime of a cell: its name, its colour, and the name shared by all of this colour.
  kind({ periods, contacts, touching, fault }) {
    const same = (name, colour) => ({ name, shared: name, colour });
    if (fault) return same("values that are refused", REFUSED);
    if (Number.isNaN(periods)) return same("grows without bound", LOST);
    if (!periods) return same("no period up to 8 found", NONE);
    if (touching && !contacts) return { name: `period ${periods}, always in contact`, shared: "always in contact", colour: ALWAYS };
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
    return `${cell.kind.name}${force}: ${this.axes.map(({ name, unit, factor }, i) => `${name} ${number(cell.at[i] * factor)} ${unit}`.trim()).join(", ")}`;
  }

  // Move the sliders to the values of a cell, and show the motion that was found there.
  pick(x, y) {
    const cell = this.cells.length && this.cell(...this.at(x, y));
    if (!cell) return;
    for (const control of this.moved()) control.put(this.values[control.path], true);
    this.axes.forEach((control, i) => control.put(cell.at[i], cell.at[i] < control.span.low || cell.at[i] > control.span.high));
    this.live.continueFrom(Array.from(cell.state));
  }
}

function axisLabel({ group, name, unit }) {
  return `${group} ${name}${unit ? ` (${unit})` : ""}`.trim();
}

// The ends of an axis: those of the slider, or a part of them around its value.
function around({ span: { low, high }, value }, part) {
  const length = part * (high - low), start = Math.min(Math.max(value - length / 2, low), high - length);
  return [start, start + length];
}

// All cells of a square as [column, row, size]: one, then those at halves of the sides, quarters, ...
function coarseToFine(number) {
  const found = [];
  for (let step = number; step >= 1; step /= 2) {
    for (let j = 0; j < number; j += step) {
      for (let i = 0; i < number; i += step) {
        if (step === number || i % (2 * step) || j % (2 * step)) found.push([i, j, step]);
      }
    }
  }
  return found;
}
