"""Text of the page: study, outcome, failed samples, config, versions, citation."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..citation import citation
from ..ensemble import Reason, reason, undecided
from ..foundation.text import duration_text
from ..studies.analyses.kinds import ANALYSES
from ..studies.config.tables import flattened
from ..studies.pictures.regimes import periodic
from ..studies.run.study import load_text
from ..studies.store.finished_study import Run, readable
from .parts import escaped

# By `run.evidence`: whether numbers are computed a second time.
_ERROR_BARS = {"quick": "no", "checked": "yes", "strict": "yes, strict"}
_MOST_LISTED = 50  # failed and undecided samples listed
# Before this version branches of motions with hard stops could hold points that are no
# orbits, and miss grazings. What follows branches: a kind of analysis, and measures.
_RIGHT_SINCE = (0, 2, 0)
_FOLLOWED = ("continuation", "bifurcation", "stable_range", "branch_maximum")


def head(runs: Sequence[Run]) -> str:
    """Return the page's head: title, study, outcome."""
    title = ", ".join(dict.fromkeys(escaped(run.study["title"]) for run in runs))
    lead = "".join(f"<p class='lead'>{_lead(run, len(runs) > 1)}</p>" for run in runs)
    facts = _strip(runs[0]) if len(runs) == 1 else _table(runs)
    found = "".join(_found(run, len(runs) > 1) for run in runs)
    return f"<h1>{title}</h1>{lead}{facts}{found}{_shortfalls(runs)}"


def foot(runs: Sequence[Run]) -> str:
    """Return the page's foot: config, versions, citation."""
    details = "".join(
        _details(run, f" of {escaped(run.name)}" * (len(runs) > 1)) for run in runs
    )
    cite = f"<pre tabindex='0'>{escaped(citation())}</pre>"
    return f"{details}<details><summary>How to cite jaxvib</summary>{cite}</details>"


def _lead(run: Run, named: bool) -> str:
    moved = run.paths or run.tuned
    over = ", ".join(
        f"{escaped(readable(path))} (<code>{escaped(path)}</code>"
        + (f", {run.grid[path]} values)" if path in run.grid else ")")
        for path in moved
    )
    counted = ANALYSES[run.analysis].counted.removesuffix("s" if run.size == 1 else "")
    words = f"{run.size} {counted}: <code>{escaped(run.analysis)}</code> of "
    words += f"<code>{escaped(run.study['system'])}</code>" + f" over {over}" * bool(over)
    if run.chosen is not None:
        words += (
            f". These are an even subsample of {run.study['samples']} samples; all "
            "charts and counts use these only"
        )
    return f"<b>{escaped(run.name)}</b>: {words}" if named else words


def _facts(run: Run) -> dict[str, str]:
    """Return the facts of a run shown in the head, by label."""
    facts = {ANALYSES[run.analysis].counted: f"{run.size}"}
    if run.has("periods"):
        facts["periodic"] = _share(periodic(run).sum(), run.size)
    if run.has("stable"):
        verdicts = run.field("stable")[periodic(run)]
        facts |= {
            "stable": _share((verdicts == 1).sum(), run.size),
            "unstable": f"{(verdicts == 0).sum()}",
            "undecided": f"{_undecided(run).sum()}",
        }
    if run.has("certified"):
        facts["certified"] = _share(run.field("certified").sum(), run.size)
    facts["failed"] = f"{int(run.failed.sum())}"
    facts["error bars"] = _ERROR_BARS.get(run.study.get("evidence"), "–")
    facts["computed by"] = f"jaxvib {_version(run)}"
    return facts | {name: duration_text(value) for name, value in times(run).items()}


def _version(run: Run) -> str:
    return run.study.get("versions", {}).get("jaxvib", "of unknown version")


def _outdated(run: Run) -> bool:
    """Return whether these are branches of hard stops by a version that had them wrong."""
    config = json.dumps(run.study.get("config") or {})
    followed = any(f'"{key}": "{name}"' in config for name in _FOLLOWED
                   for key in ("kind", "measure"))  # fmt: skip
    numbers = tuple(int(number) for number in re.findall(r"\d+", _version(run))[:3])
    return followed and '"contact": "hard"' in config and numbers < _RIGHT_SINCE


def _found(run: Run, named: bool) -> str:
    """Return the results in words, as the terminal tells them, as a table.

    Nothing for studies of other versions whose config or fields are not known here.
    """
    try:
        study = load_text(run.config, run.name)
        lines = ANALYSES[run.analysis].summary(run.field, study)
    except (KeyError, ValueError):
        return ""
    rows = []
    for line in lines:
        label, _, words = line.partition("  ")
        both = f"<th scope='row'>{escaped(label)}</th><td>{escaped(words.strip())}</td>"
        rows.append(both if words else f"<td colspan='2'>{escaped(line)}</td>")
    title = f"<caption>{escaped(run.name)}</caption>" * named
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table class='found'>{title}<tbody>{body}</tbody></table>"


def _strip(run: Run) -> str:
    rows = "".join(
        f"<div><dt>{label}</dt>"
        f"<dd{' class=zero' * (value == '0')}>{escaped(value)}</dd></div>"
        for label, value in _facts(run).items()
    )
    return f"<dl class='facts'>{rows}</dl>"


def _table(runs: Sequence[Run]) -> str:
    """Return a table of the config keys that differ and the facts of all runs."""
    facts = [_facts(run) for run in runs]
    flat = [flattened(run.study.get("config") or {}) for run in runs]
    keys = [
        k
        for k in dict.fromkeys(k for each in flat for k in each)
        if any(each.get(k) != flat[0].get(k) for each in flat)
    ]
    rows = [
        (f"<code>{escaped(key)}</code>", [_value(each.get(key)) for each in flat])
        for key in keys
    ]
    rows += [(label, [each.get(label, "–") for each in facts]) for label in facts[0]]
    body = "".join(
        f"<tr><th scope='row'>{label}</th>"
        + "".join(f"<td>{escaped(value)}</td>" for value in values)
        + "</tr>"
        for label, values in rows
    )
    heads = "".join(f"<th scope='col'>{escaped(run.name)}</th>" for run in runs)
    same = "" if keys else "<p class='lead'>The configs are the same.</p>"
    return (
        f"{same}<div class='scrolled' tabindex='0' role='region' aria-label='The studies "
        f"side by side'><table class='compared'><thead><tr><td></td>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def times(run: Run) -> dict[str, float]:
    """Return the total run time and compile time in seconds, by label."""
    sessions = run.times.get("sessions", [])
    keys = {"run time": "seconds", "compiling": "compile_seconds"}
    return {
        label: sum(each[key] for each in sessions)
        for label, key in keys.items()
        if sessions
    }


def _undecided(run: Run) -> np.ndarray:
    """Return a mask of the samples without a regime or a stability verdict."""
    return undecided(run.field("result"), run.field("stable"))


def _shortfalls(runs: Sequence[Run]) -> str:
    """Return a list of what is wrong: an old version, failed and undecided samples."""
    items = []
    for run in runs:
        tag = f"{escaped(run.name)}: " if len(runs) > 1 else ""
        if _outdated(run):
            items.append(
                f"<li>{tag}compute it again: before jaxvib 0.2.0 branches of motions with "
                "hard stops could hold points that are no motions, and miss grazings</li>"
            )
        counts = Counter(np.atleast_1d(run.field("result")).tolist())
        for code, number in sorted(counts.items()):
            if Reason(code).failed or Reason(code).undecided:
                word = "failed" if Reason(code).failed else "undecided"
                why = reason(code).removeprefix("undecided: ")
                items.append(f"<li>{tag}{number} {word}: {escaped(why)}</li>")
        if run.has("stable") and (verdictless := (_undecided(run) & periodic(run)).sum()):
            items.append(
                f"<li>{tag}{verdictless} undecided: the largest multiplier is nearer to 1 "
                "than its error</li>"
            )
    listed = f"<ul class='shortfalls'>{''.join(items)}</ul>" if items else ""
    return listed + "".join(map(_short_samples, runs))


def _short_samples(run: Run) -> str:
    """Return a table of failed and undecided samples, with commands to rerun them."""
    codes = np.atleast_1d(run.field("result"))
    if not run.sampled or len(codes) != len(run.field(run.paths[0])):
        return ""
    short = run.failed | undecided(codes, None)
    if run.has("stable"):
        short = run.failed | _undecided(run)
    found = np.flatnonzero(short)
    if not found.size:
        return ""
    numbers = np.arange(len(codes)) if run.chosen is None else run.chosen
    heads = "".join(
        f"<th scope='col'>{escaped(word)}</th>"
        for word in ("sample", *map(readable, run.paths), "reason", "command to rerun it")
    )
    rows = []
    for i in found[:_MOST_LISTED].tolist():
        at = "".join(f"<td>{escaped(_at(run, path, i))}</td>" for path in run.paths)
        why = reason(codes[i]) if codes[i] else "|multiplier| within its error of 1"
        command = shlex.join(["jaxvib", "sample", run.place, str(numbers[i])])
        rows.append(
            f"<tr><th scope='row'>{numbers[i]}</th>{at}<td>{escaped(why)}</td>"
            f"<td><code>{escaped(command)}</code></td></tr>"
        )
    left = found.size - len(rows)
    more = f"<p>{left} more are not listed.</p>" if left else ""
    return (
        f"<details class='wide'><summary>Failed and undecided samples of "
        f"{escaped(run.name)}: {found.size}</summary><div class='scrolled' tabindex='0' "
        f"role='region' aria-label='Failed and undecided samples of {escaped(run.name)}'>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{more}</details>"
    )


def _at(run: Run, path: str, sample: int) -> str:
    return run.quantity_text(run.unit(path), run.field(path)[sample])


def _details(run: Run, tag: str) -> str:
    study = run.study
    rows = {**study.get("versions", {}), **study.get("fingerprint", {})}
    for session in run.times.get("sessions", [])[-1:]:
        if isinstance(session.get("kernels"), str):
            rows["kernels ran on"] = session["kernels"]
    if study.get("git"):
        rows["git"] = (
            study["git"] if isinstance(study["git"], str) else json.dumps(study["git"])
        )
    lines = "".join(
        f"<tr><th scope='row'>{escaped(name)}</th><td>{escaped(value)}</td></tr>"
        for name, value in rows.items()
    )
    return (
        f"<details><summary>Config{tag}</summary><pre tabindex='0'>"
        f"{escaped(run.config)}</pre></details>"
        f"<details><summary>Versions and machine{tag}</summary>"
        f"<table>{lines}</table></details>"
    )


def _value(value) -> str:
    return value if isinstance(value, str) else "–" if value is None else json.dumps(value)


def _share(number, total: int) -> str:
    percent = 100 * number / max(total, 1)
    if number not in (0, total):  # 4095 of 4096 are not all
        percent = float(np.clip(percent, 0.1, 99.9))
    return f"{percent:.3g} %"
