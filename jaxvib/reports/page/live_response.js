// The live panel of a motion from rest over a given time, such as under a record or a shock.

class LiveResponse extends Live {
  mode = "response";

  first = "response";

  plots() {
    this.element.querySelectorAll(".periodic").forEach((each) => each.remove());
    this.element.querySelectorAll(".live-charts figure").forEach((each) => each.classList.add("wide"));
    super.plots();
    this.acting = this.loads.map((load) => this.course(load));
    this.marked = [this.history];
  }

  ofBodies() {
    return [this.history];
  }

  // Open a sample: its values by path.
  open(values) {
    this.controls.reset();
    this.controls.set(values);
    this.ask("response");
  }

  settings() {
    return { duration: this.content.duration };
  }

  drawMore() {
    const { times, loads } = this.answer.motion, x = times.map((t) => chosen("s")[1] * t);
    this.acting.forEach((plot, j) => {
      const y = Float64Array.from(times, (_, k) => this.loads[j].factor * loads[k * this.loads.length + j]);
      plot.draw({ lines: [{ x, y, colour: token("--muted"), width: 1.2 }], tight: true });
    });
  }

  words(answer) {
    if (answer.kind === "lost") return ["The motion grows without bound", ""];
    const { motion } = answer, { onsets, impulses } = motion, count = Math.max(onsets, impulses.length);
    const contacts = count ? `${count} contact${count === 1 ? "" : "s"}` : motion.touching ? "In contact from the start" : "No contact";
    const title = this.contacts.length ? `${contacts} in ${withUnit(answer.duration, "s")}` : `${withUnit(answer.duration, "s")} from rest`;
    return [title, this.contacts.length ? "from rest" : ""];
  }

  facts({ motion }) {
    const facts = {};
    this.freedoms.forEach((name, i) => {
      const [value, time] = motion.extremes[i];
      facts[`peak of ${name}`] = `${number(this.factor(i) * value)} ${this.units[i][0]} at ${withUnit(time, "s")}`;
    });
    if (!this.hard) this.contacts.forEach((_, j) => { facts[`peak force of ${this.contactName(j)}`] = withUnit(motion.peaks[j], "N"); });
    this.states.forEach(({ name, unit }, k) => {
      const values = this.column(2 * this.freedoms.length + k);
      facts[`peak of ${name}`] = `${number(extent(values.map(Math.abs))[1])} ${unit}`.trim();
    });
    return facts;
  }

  proofWords({ done, number, worst }) {
    if (done < number) return `${done} of ${number} motions`;
    const told = (value) => (value ? value.toExponential(0) : "0");
    const force = this.contacts.length ? `, peak contact force ${told(worst.force)} of it` : "";
    return `${done} of ${number} motions recomputed; largest differences from the store: peak displacement ${told(worst.peak)} of it${force}`;
  }
}

function livePanel(element, content) {
  return new LiveResponse(element, content);
}
