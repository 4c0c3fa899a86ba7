// A chart on a canvas, redrawn within a millisecond while sliders move.

const MARGIN = { left: 62, right: 14, top: 12, bottom: 44 }; // left: unless numbers need more or less
const TICKS = 64; // pixels between ticks, half as many up
const CLEAR = 12; // pixels between the numbers of two ticks
const HATCH = 7; // pixels between the hatches of a stop
const UNSEEN = 300; // ms after the last change until a chart out of sight is painted
const NEAR_SIGHT = "200px"; // from the window's edge
const SHRINK = 0.6; // share of an axis below which its range becomes smaller

class Plot {
  // `labels`: {x, y} with units.
  constructor(element, labels) {
    Object.assign(this, { element, labels, ranges: {}, content: null });
    this.canvas = element.appendChild(document.createElement("canvas"));
    this.readout = element.appendChild(Object.assign(document.createElement("div"), { className: "readout", hidden: true }));
    new ResizeObserver(() => { this.measure(); this.render(); }).observe(element);
    // What is out of sight is painted when it comes near, or when there is time.
    this.seen = true;
    new IntersectionObserver((entries) => {
      this.seen = entries.at(-1).isIntersecting;
      if (this.seen) this.catchUp();
    }, { rootMargin: NEAR_SIGHT }).observe(element);
    this.catchUp = () => { if (this.stale) this.paint(); };
    addEventListener("beforeprint", this.catchUp);
    element.addEventListener("pointermove", (event) => this.read(event));
    element.addEventListener("pointerleave", () => { this.readout.hidden = true; });
  }

  // Forget the ranges of the axes, which else change only if the content needs it.
  fit() {
    this.ranges = {};
  }

  // `content`: {lines: [{x, y, colour, width, fill}], points: [{x, y, colour, radius}],
  // stems: [{x, y, colour, from, aside: in pixels}]}, and whether the axes are `equal`, y begins at `zero`,
  // x is `tight`, with the unit `circle`; `walls`: stops [{axis, at, side, colour}]; `logs`: y has logarithms
  // to base 10; `note`: words in place of values; `least`: the shortest axes {x, y}; `ends`: of x; `at`: a line at a value of x; an
  // `image` in a `frame` {x, y} of which `told` says what is at a pixel.
  draw(content) {
    this.content = content;
    this.render();
  }

  // Read the size of the element, which lays the page out.
  measure() {
    [this.width, this.height] = [this.element.clientWidth, this.element.clientHeight];
  }

  render() {
    if (this.width === undefined) this.measure();
    if (!this.content || !this.width) return;
    this.fitFrame();
    if (this.seen) this.paint();
    else {
      this.stale = true;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(this.catchUp, UNSEEN);
    }
  }

  // The ranges of the axes, and the place of the frame inside of the numbers.
  fitFrame() {
    const { content, width, height } = this, letters = size(), pen = this.canvas.getContext("2d");
    this.frame = {
      left: MARGIN.left * letters, top: MARGIN.top,
      right: width - MARGIN.right, bottom: height - MARGIN.bottom * letters,
    };
    this.hold(content);
    pen.font = `${12 * letters}px ${face()}`;
    const widest = Math.max(0, ...this.ticks("y", letters).map((value) => pen.measureText(this.yText(value)).width));
    this.frame.left = widest + 32 * letters;
    if (content.equal) this.equalise();
  }

  paint() {
    const { content, canvas, width, height } = this, sharp = devicePixelRatio || 1, letters = size();
    this.stale = false;
    if (canvas.width !== Math.round(width * sharp) || canvas.height !== Math.round(height * sharp)) {
      Object.assign(canvas, { width: Math.round(width * sharp), height: Math.round(height * sharp) });
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.axes(pen, letters);
    pen.save();
    pen.beginPath();
    pen.rect(this.frame.left, this.frame.top - 2, this.frame.right - this.frame.left, this.frame.bottom - this.frame.top + 4);
    pen.clip();
    if (content.image) this.image(pen);
    if (content.circle) this.unitCircle(pen);
    if (content.at !== undefined) stroke(pen, token("--muted"), this.x(content.at), this.frame.top, this.x(content.at), this.frame.bottom);
    content.walls?.forEach((wall) => this.wall(pen, wall));
    content.lines?.forEach((line) => this.line(pen, line));
    content.stems?.forEach((stem) => this.stems(pen, stem));
    content.points?.forEach((points) => this.points(pen, points));
    const { left, right, top, bottom } = this.frame;
    if (content.note) word(pen, token("--muted"), content.note, (left + right) / 2, (top + bottom) / 2, "center");
    pen.restore();
  }

  hold(content) {
    const parts = [...(content.lines ?? []), ...(content.stems ?? []), ...(content.points ?? [])];
    if (content.frame) { this.ranges = { ...content.frame }; return; }
    for (const axis of ["x", "y"]) {
      let low = Infinity, high = -Infinity;
      for (const { [axis]: values } of parts) [low, high] = extent(values, low, high);
      const middle = (low + high) / 2, least = content.least?.[axis] ?? 0;
      if (high - low < least) [low, high] = [middle - least / 2, middle + least / 2];
      if (content.circle) [low, high] = [Math.min(low, -1), Math.max(high, 1)];
      if (axis === "y" && content.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
      if (!(high >= low)) [low, high] = [0, 1];
      if (axis === "x" && content.ends) this.ranges.x = content.ends;
      else if (axis === "x" && content.tight) this.ranges.x = [low, high > low ? high : low + 1];
      else this.ranges[axis] = held(this.ranges[axis], low, high, axis === "y" && content.zero);
    }
  }

  equalise() {
    const { left, right, top, bottom } = this.frame;
    const scales = [(this.ranges.x[1] - this.ranges.x[0]) / (right - left), (this.ranges.y[1] - this.ranges.y[0]) / (bottom - top)];
    const scale = Math.max(...scales);
    const wider = ([low, high], pixels) => [(low + high - scale * pixels) / 2, (low + high + scale * pixels) / 2];
    this.ranges = { x: wider(this.ranges.x, right - left), y: wider(this.ranges.y, bottom - top) };
  }

  x(value) {
    const { left, right } = this.frame, [low, high] = this.ranges.x;
    return left + ((value - low) / (high - low)) * (right - left);
  }

  y(value) {
    const { top, bottom } = this.frame, [low, high] = this.ranges.y;
    return bottom - ((value - low) / (high - low)) * (bottom - top);
  }

  ticks(axis, letters) {
    const { left, right, top, bottom } = this.frame;
    const spaced = (pixels, apart) => ticks(...this.ranges[axis], Math.max(2, Math.floor(pixels / apart)));
    if (axis === "x") {
      const found = spaced(right - left, TICKS * letters), pen = this.canvas.getContext("2d");
      const needed = CLEAR + Math.max(0, ...found.map((value) => pen.measureText(tidy(value)).width));
      // There may be a quarter more than asked for.
      return needed * (found.length - 1) > right - left ? spaced(right - left, 1.3 * needed) : found;
    }
    if (this.content.note) return [];
    const found = spaced(2 * (bottom - top), TICKS * letters);
    return this.content.logs ? found.filter(Number.isInteger) : found;
  }

  yText(value) {
    return tidy(this.content.logs ? 10 ** value : value);
  }

  axes(pen, letters) {
    const { left, right, top, bottom } = this.frame, ink = token("--muted");
    pen.font = `${12 * letters}px ${face()}`;
    pen.lineWidth = 1;
    for (const value of this.ticks("x", letters)) {
      const x = Math.round(this.x(value)) + 0.5;
      stroke(pen, token("--hair"), x, top, x, bottom);
      word(pen, ink, tidy(value), x, bottom + 15 * letters, "center");
    }
    for (const value of this.ticks("y", letters)) {
      const y = Math.round(this.y(value)) + 0.5;
      stroke(pen, token("--hair"), left, y, right, y);
      word(pen, ink, this.yText(value), left - 7, y + 4, "right");
    }
    stroke(pen, ink, left, bottom, right, bottom);
    pen.font = `${12.5 * letters}px ${face()}`;
    word(pen, token("--ink"), this.labels.x, (left + right) / 2, bottom + 35 * letters, "center");
    pen.save();
    pen.translate(13 * letters, (top + bottom) / 2);
    pen.rotate(-Math.PI / 2);
    word(pen, token("--ink"), this.labels.y, 0, 0, "center");
    pen.restore();
  }

  line(pen, { x, y, colour, width = 1.6, fill }) {
    const path = new Path2D();
    let open = false;
    for (let i = 0; i < x.length; i++) {
      if (!Number.isFinite(y[i])) { open = false; continue; }
      path[open ? "lineTo" : "moveTo"](this.x(x[i]), this.y(y[i]));
      open = true;
    }
    Object.assign(pen, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
    pen.stroke(path);
    if (!fill || !x.length) return;
    path.lineTo(this.x(x.at(-1)), this.y(0));
    path.lineTo(this.x(x[0]), this.y(0));
    Object.assign(pen, { fillStyle: colour, globalAlpha: 0.16 });
    pen.fill(path);
    pen.globalAlpha = 1;
  }

  stems(pen, { x, y, colour, from = 0, aside = 0 }) {
    pen.save();
    pen.translate(aside, 0);
    pen.lineWidth = 2;
    for (let i = 0; i < x.length; i++) stroke(pen, colour, this.x(x[i]), this.y(from), this.x(x[i]), this.y(y[i]));
    this.points(pen, { x, y, colour, radius: 3.5 });
    pen.restore();
  }

  points(pen, { x, y, colour, radius = 3, hollow = false }) {
    Object.assign(pen, { fillStyle: hollow ? token("--paper") : colour, strokeStyle: hollow ? colour : token("--paper"), lineWidth: 2 });
    for (let i = 0; i < x.length; i++) {
      if (radius < 2) { // thousands of them
        pen.fillRect(this.x(x[i]) - radius, this.y(y[i]) - radius, 2 * radius, 2 * radius);
        continue;
      }
      pen.beginPath();
      pen.arc(this.x(x[i]), this.y(y[i]), radius, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
  }

  // A line across the chart, hatched on the side of the stop.
  wall(pen, { axis, at, side, colour }) {
    const { left, right, top, bottom } = this.frame, up = axis === "x";
    const place = up ? this.x(at) : this.y(at), off = up ? HATCH * side : -HATCH * side;
    const [from, to] = up ? [top, bottom] : [left, right];
    const point = (along, across) => (up ? [across, along] : [along, across]);
    const path = new Path2D();
    for (let along = from; along < to; along += HATCH) {
      path.moveTo(...point(along, place));
      path.lineTo(...point(along + HATCH, place + off));
    }
    path.moveTo(...point(from, place));
    path.lineTo(...point(to, place));
    Object.assign(pen, { strokeStyle: colour, lineWidth: 1 });
    pen.stroke(path);
  }

  image(pen) {
    const { image, frame } = this.content, [left, top] = [this.x(frame.x[0]), this.y(frame.y[1])];
    pen.imageSmoothingEnabled = false;
    pen.drawImage(image, left, top, this.x(frame.x[1]) - left, this.y(frame.y[0]) - top);
  }

  unitCircle(pen) {
    pen.strokeStyle = token("--muted");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.ellipse(this.x(0), this.y(0), this.x(1) - this.x(0), this.y(0) - this.y(1), 0, 0, 2 * Math.PI);
    pen.stroke();
  }

  // Show the values under the pointer.
  read({ offsetX, offsetY }) {
    const { left, right, top, bottom } = this.frame ?? {};
    const inside = offsetX >= left && offsetX <= right && offsetY >= top && offsetY <= bottom;
    this.readout.hidden = !inside;
    if (!inside) return;
    const at = (axis, share) => this.ranges[axis][0] + share * (this.ranges[axis][1] - this.ranges[axis][0]);
    const x = at("x", (offsetX - left) / (right - left)), y = at("y", (bottom - offsetY) / (bottom - top));
    this.readout.textContent = this.content.told?.(offsetX, offsetY) ?? `${number(x)}, ${number(this.content.logs ? 10 ** y : y)}`;
  }
}

// The smallest and the largest value. A long array would be too many arguments of Math.min.
function extent(values, low = Infinity, high = -Infinity) {
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return [low, high];
}

// The range of an axis that shows low to high: the one before, unless that is too small or
// much too large.
function held(before, low, high, fromZero) {
  const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1e-3;
  const wanted = [fromZero && low >= 0 ? 0 : low - room, high + room];
  if (!before || low < before[0] || high > before[1]) return wanted;
  return high - low < SHRINK * (before[1] - before[0]) ? wanted : before;
}

function ticks(low, high, most) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((each) => each >= 0.8 * raw);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

function tidy(value) {
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

function stroke(pen, colour, x0, y0, x1, y1) {
  pen.strokeStyle = colour;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function word(pen, colour, text, x, y, align) {
  Object.assign(pen, { fillStyle: colour, textAlign: align });
  pen.fillText(text, x, y);
}
