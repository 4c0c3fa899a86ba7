// One sample: its results and how to recompute it.

class Sample {
  constructor(element, page) {
    this.page = page;
    this.find = (name) => element.querySelector(name);
    this.number = this.find(".number");
    this.number.addEventListener("change", () => this.typed());
    this.find(".of")?.addEventListener("change", () => this.typed());
    this.find(".orbit").addEventListener("click", () => {
      choose(this.run, this.sample).then(() => document.querySelector(".motion").scrollIntoView());
    });
    element.querySelectorAll(".copy").forEach((button) =>
      button.addEventListener("click", () => copy(button, this.find(`pre.${button.dataset.copy}`))));
    this.show(0, 0);
  }

  typed() {
    const run = Number(this.find(".of")?.value ?? 0), wanted = Number(this.number.value);
    const { numbers } = this.page.runs[run];
    let nearest = 0;
    numbers.forEach((each, i) => { if (Math.abs(each - wanted) < Math.abs(numbers[nearest] - wanted)) nearest = i; });
    this.show(run, nearest);
  }

  show(number, sample) {
    const run = this.page.runs[number];
    Object.assign(this, { run: number, sample });
    this.number.min = run.numbers[0];
    this.number.max = run.numbers.at(-1);
    this.number.value = run.numbers[sample];
    if (this.find(".of")) this.find(".of").value = number;
    const words = [...place(run, sample), ...findings(run, sample).map((line) => line.replace(/<.?b>/g, ""))];
    this.find(".findings").textContent = words.join(", ");
    this.find(".orbit").hidden = !run.motions;
    const sweep = run.paths.map(({ key, values }) => `${key} = [${values[sample]}]`);
    const config = `${run.config}\n[sweep]\n${sweep.join("\n")}\n`;
    this.find("pre.config").textContent = config;
    this.find("pre.command").textContent = `jaxvib sample ${quoted(run.place)} ${run.numbers[sample]}`;
    this.find("pre.python").textContent = pythonOf(config);
  }
}

function pythonOf(config) {
  const text = config.replace(/\\/g, "\\\\").replace(/"""/g, '\\"\\"\\"');
  return `import jaxvib as jv\n\nresults = jv.studies.results_of("""\n${text}""")\nprint(results)\n`;
}

async function copy(button, block) {
  const range = document.createRange();
  range.selectNodeContents(block);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  const done = navigator.clipboard
    ? await navigator.clipboard.writeText(block.textContent).then(() => true, () => document.execCommand("copy"))
    : document.execCommand("copy");
  button.textContent = done ? "Copied" : "Selected: copy with the keyboard";
}

// Embedded files are downloaded from the page itself.
function listenFile(link) {
  const name = link.getAttribute("download");
  const carried = [...document.querySelectorAll("script[data-file]")].find((each) => each.dataset.file === name);
  if (!carried) return;
  link.addEventListener("click", async (event) => {
    if (link.href.startsWith("blob:")) return;
    event.preventDefault();
    link.href = URL.createObjectURL(new Blob([await inflated(carried.textContent)], { type: TYPES[name.split(".").at(-1)] }));
    link.click();
  });
}

const TYPES = { svg: "image/svg+xml", pdf: "application/pdf", csv: "text/csv" };
