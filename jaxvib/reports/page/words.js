// Numbers and samples in words.

// Plotly reads some HTML in its labels.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
}

function number(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(digits)));
}

function withUnit(value, unit) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (unit === "N" && size >= 1e6) return `${number(value / 1e6)} MN`;
  if (unit === "N" && size >= 1e3) return `${number(value / 1e3)} kN`;
  return `${number(value)} ${unit}`.trim();
}

function place(run, sample) {
  return run.paths.map(({ path, unit, values }) => `${path} ${withUnit(values[sample], unit)}`);
}

function regime(run, sample) {
  return run.classes.names[run.members[sample]];
}

function verdict(run, sample) {
  if (!run.periodic[sample]) return "";
  return { 1: "stable", 0: "unstable" }[run.stable[sample]] ?? "undecided";
}

function sampleText(run, sample) {
  return [...place(run, sample), ...findings(run, sample)].join("<br>");
}

function changeText(before, after, sample) {
  const told = [before, after].flatMap((run) => [`${plain(run.name)}:`, ...findings(run, sample)]);
  return [...place(after, sample), ...told].join("<br>");
}

function findings(run, sample) {
  const lines = [`<b>${plain(regime(run, sample))}</b>`];
  if (run.periodic[sample]) {
    lines.push(`|multiplier| ${number(run.largest_multiplier[sample])}, ${verdict(run, sample)}`);
  }
  if (Number.isFinite(run.max_contact_force[sample])) {
    lines.push(`peak contact force ${withUnit(run.max_contact_force[sample], "N")}`);
  }
  return lines;
}
