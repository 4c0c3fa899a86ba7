// Texts for numbers and samples.

// Plotly interprets some HTML in its labels.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
}

function number(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(digits)));
}

// Formats an SI value in the unit chosen by the study's config.
function withUnit(si, of) {
  if (!Number.isFinite(si)) return "–";
  const [unit, factor] = page.units[of] ?? [of, 1], value = si * factor;
  if (unit !== of) return `${number(value)} ${unit}`;
  const size = Math.abs(value);
  if (unit === "N" && size >= 1e6) return `${number(value / 1e6)} MN`;
  if (unit === "N" && size >= 1e3) return `${number(value / 1e3)} kN`;
  return `${number(value)} ${unit}`.trim();
}

function place(run, sample) {
  return run.paths.map(({ name, unit, factor, values }) => `${name} ${withUnit(values[sample] * factor, unit)}`);
}

function regime(run, sample) {
  return run.regimes[run.exact[sample]];
}

function verdict(run, sample) {
  if (!run.periodic[sample]) return "";
  return { 1: "stable", 0: "unstable" }[run.stable[sample]] ?? "undecided";
}

function sampleText(run, sample) {
  return [...place(run, sample), ...findings(run, sample)].join("<br>");
}

function changeText(before, after, sample) {
  const both = [before, after].flatMap((run) => [`${plain(run.name)}:`, ...findings(run, sample)]);
  return [...place(after, sample), ...both].join("<br>");
}

function findings(run, sample) {
  if (!run.regimes) return [];
  const lines = [`<b>${plain(regime(run, sample))}</b>`];
  if (run.periodic[sample]) {
    lines.push(`|multiplier| ${number(run.largest_multiplier[sample])}, ${verdict(run, sample)}`);
  }
  if (Number.isFinite(run.max_contact_force[sample])) {
    lines.push(`peak contact force ${withUnit(run.max_contact_force[sample], "N")}`);
  }
  return lines;
}

// Quote a shell word like Python's shlex.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
