// The sliders of a system's parameters, each with exact entry of a number.

const NOTCHES = 1000; // of a slider
const SHORT = 30; // letters of a description that stands in place of a name
const AROUND = 3; // the ends of a slider are a value over and times this

class Controls {
  constructor(element, controls, changed) {
    Object.assign(this, { element, changed });
    this.all = controls.map((control) => new Control(control, this));
    const groups = Map.groupBy ? Map.groupBy(this.all, ({ group }) => group) : grouped(this.all);
    for (const [name, members] of groups) {
      const group = element.appendChild(document.createElement("fieldset"));
      if (name) group.appendChild(document.createElement("legend")).textContent = name;
      group.append(...members.map((each) => each.row));
    }
  }

  // An option of a choice for each parameter.
  options() {
    return this.all.map(({ group, name }, value) => make("option", { value, textContent: `${group} ${name}`.trim() }));
  }

  values() {
    return Object.fromEntries(this.all.map(({ path, value }) => [path, value]));
  }

  // Set some values, by path.
  set(values) {
    for (const control of this.all) if (control.path in values) control.put(values[control.path], true);
  }

  reset() {
    for (const control of this.all) control.put(control.first, true);
  }

  // Those that differ from the values at the start, or from those of the sample.
  changes() {
    return this.all.filter(({ value, first }) => value !== first);
  }
}

function grouped(controls) {
  const found = new Map();
  for (const each of controls) found.set(each.group, [...(found.get(each.group) ?? []), each]);
  return found;
}

class Control {
  constructor(given, owner) {
    Object.assign(this, given, { first: given.value, owner });
    const words = `${this.group} ${this.name}`.trim();
    const entry = make("input", { type: "number", step: "any", title: this.allowedText() });
    const slider = make("input", { type: "range", min: 0, max: NOTCHES, step: 1 });
    slider.setAttribute("aria-label", `${words}, slider`);
    entry.setAttribute("aria-label", `${words}${this.unit ? `, ${this.unit}` : ""}`);
    const told = this.description.includes(this.name) && this.description.length <= SHORT;
    const name = make("span", { className: "name", textContent: told ? this.description : this.name, title: this.path });
    const unit = make("span", { className: "unit", textContent: this.unit });
    this.note = make("span", { className: "outside", textContent: "outside the study", hidden: true });
    this.row = make("div", { className: "control" });
    this.row.append(name, entry, unit, slider, this.note);
    if (this.description && !told) entry.after(unit, make("span", { className: "meaning", textContent: this.description }));
    Object.assign(this, { slider, entry });
    slider.addEventListener("input", () => this.moved());
    slider.addEventListener("change", () => {
      if (["0", String(NOTCHES)].includes(slider.value)) this.put(this.value, true);
    });
    entry.addEventListener("change", () => this.typed());
    this.put(this.value, true);
  }

  allowedText() {
    const { low, high, open } = this.allowed, shown = (value) => number(value * this.factor, 6);
    const left = low === null ? "(-inf" : `${open[0] ? "(" : "["}${shown(low)}`;
    const right = high === null ? "inf)" : `${shown(high)}${open[1] ? ")" : "]"}`;
    return `allowed: ${left}, ${right} ${this.unit}`.trim();
  }

  allows(value) {
    const { low, high, open } = this.allowed;
    if (!Number.isFinite(value)) return false;
    if (low !== null && (open[0] ? value <= low : value < low)) return false;
    return high === null || (open[1] ? value < high : value <= high);
  }

  // Show a value; `around`: with a new range of the slider around it.
  put(value, around = false) {
    this.value = value;
    if (around) this.span = this.spanOf(value);
    const { low, high, log } = this.span;
    const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    this.slider.value = Math.round(NOTCHES * share);
    this.entry.value = entered(value * this.factor, 7);
    this.tell();
  }

  tell() {
    this.slider.setAttribute("aria-valuetext", `${number(this.value * this.factor, 5)} ${this.unit}`.trim());
    const out = this.swept && (this.value < this.swept[0] || this.value > this.swept[1]);
    this.note.hidden = !out;
    this.row.classList.toggle("changed", this.value !== this.first);
    if (!this.swept) return;
    const { low, high, log } = this.span;
    this.swept.forEach((end, i) => {
      const share = log ? Math.log(end / low) / Math.log(high / low) : (end - low) / (high - low);
      this.slider.style.setProperty(["--from", "--to"][i], `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`);
    });
  }

  moved() {
    const { low, high, log } = this.span, share = Number(this.slider.value) / NOTCHES;
    const value = log ? low * (high / low) ** share : low + share * (high - low);
    this.value = Number(value.toPrecision(6));
    this.entry.value = entered(this.value * this.factor, 6);
    this.entry.setCustomValidity("");
    this.tell();
    this.owner.changed();
  }

  typed() {
    const value = Number(this.entry.value) / this.factor;
    const good = this.entry.value !== "" && this.allows(value);
    this.entry.setCustomValidity(good ? "" : `${this.entry.value} is not in the range; ${this.allowedText()}`);
    if (!good) { this.entry.reportValidity(); return; }
    this.put(value, value < this.span.low || value > this.span.high);
    this.owner.changed();
  }

  spanOf(value) {
    const { allowed, swept } = this;
    let low, high, log = false;
    if (swept) {
      const room = 0.25 * (swept[1] - swept[0]) || 0.25 * Math.abs(value) || 1;
      [low, high] = [Math.min(swept[0], value) - room, Math.max(swept[1], value) + room];
    } else if (value === 0) [low, high] = this.unit === "rad" ? [-Math.PI, Math.PI] : [-this.scale, this.scale];
    else if (allowed.low === 0 && allowed.open[0]) {
      log = !/frequency$/.test(this.path);
      [low, high] = log ? [value / AROUND, value * AROUND] : [value / 2, 1.5 * value];
    } else [low, high] = value > 0 ? [0, AROUND * value] : [AROUND * value, 0];
    if (allowed.low !== null) low = Math.max(low, allowed.low + (allowed.open[0] ? 1e-3 * (value - allowed.low) : 0));
    if (allowed.high !== null) high = Math.min(high, allowed.high - (allowed.open[1] ? 1e-3 * (allowed.high - value) : 0));
    return { low, high: high > low ? high : low + 1, log };
  }
}

function make(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

function entered(value, digits) {
  const short = Number(value.toPrecision(digits));
  return Math.abs(short) >= 1e7 || (short && Math.abs(short) < 1e-4) ? short.toExponential().replace("+", "") : String(short);
}
