"""Compare two checkouts: bytes or values, and pages, of the same configs.

    python -m experiments.house.compare_checkouts OLD NEW [CONFIG...]

runs the given built-in studies (default: all) in two folders of checkouts, each study
in its own process, the larger ones with fewer samples, and compares

- `results.zarr`, file by file and byte by byte,
- `study.json`, except versions and the state of the code,
- `report.html`, except those and the times,
- the terminal output, except the times,
- `jaxvib schema`.

It prints a line for each and writes `compared.json` in this folder, which keeps earlier
comparisons with their commits. Runs of a checkout without changes are kept in
`results/compared/<commit>` and not repeated. Ends with 1 if anything differs.

After an intended change of numbers the size of the change matters. For results with
different bytes each field has the largest difference `of_size`, relative to the largest
finite value of the field, and, if the results contain its error, `of_error`, relative
to the sum of both errors; `known_once` is the number of values that are finite in only
one of them. Integers have the share that differs. A field is `within` if it differs by
at most those errors, or by 1e-6 of its size. Fields that were never compared are
listed.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "compared"
RESULT = Path(__file__).with_name("compared.json")
# What makes a study small enough to be run again and again, as `--set` takes it.
SMALLER = {
    "basins": ["analysis.points=6", "analysis.transient=32"],
    "beam_chain": ["analysis.chains=32", "analysis.points=33"],
    "beam_placement": ["analysis.steps=3"],
    "beam_with_bodies": [
        "sweep.link_stiffness.0={ logspace = [0.1, 1e4, 21] }", "analysis.shapes=4",
    ],
    "bifurcation_diagram": [
        "analysis.values=9", "analysis.transient=32", "analysis.points=16",
    ],
    "chain_mirror": ["analysis.steps=2", "analysis.starts=1"],
    "chain_with_stop": ["analysis.duration=40.0", "analysis.points=41"],
    "damper_front": ["analysis.points=4", "analysis.steps=20"],
    "damper_over_a_band": ["analysis.steps=2"],
    "damper_sensitivity": ["analysis.samples=16"],
    "damper_without_impacts": ["analysis.steps=2"],
    "first_design": ["analysis.steps=2"],
    "flip_out_of_range": ["analysis.steps=1"],
    "integrity_curves": ["analysis.points=6", "analysis.values=3", "analysis.transient=32"],
    "loading_curve": ["analysis.most_points=12"],
    "optimisers": ["analysis.steps=5"],
    "quick": [
        "sweep.load.amplitude={ linspace = [100.0, 1000.0, 3] }",
        "sweep.load.frequency={ linspace = [5.0, 8.0, 3] }",
        "analysis.max_periods=2",
    ],
    "regime_map": [
        "sweep.load.amplitude={ linspace = [100.0, 1000.0, 3] }",
        "sweep.load.frequency={ linspace = [5.0, 8.0, 4] }",
        "analysis.max_periods=2",
    ],
    "robust_absorber": ["analysis.steps=3"],
    "stability_chart": ["analysis.most_points=8"],
    "tower_with_stop": [
        "sweep.loads.push.law.frequency={ linspace = [20.0, 32.0, 4] }",
        "analysis.max_periods=2", "analysis.traces=4",
    ],
    "tuned_mass_damper": ["analysis.steps=5"],
    "vibro_impact_2011": [
        "sweep.load.frequency={ linspace = [5.0, 8.0, 2] }", "analysis.max_periods=2",
    ],
}  # fmt: skip
# What a difference may be of a field's size that says no error of its own.
TOLERANCE = 1e-6
# Errors that results say, under another name than that of the field.
_ERRORS = {
    "states": "state_error",
    "state": "state_error",
    "floquet_multipliers": "multiplier_error",
    "largest_multiplier": "multiplier_error",
    "monodromy": "monodromy_error",
}
_READ = """
import sys, numpy, jaxvib
found = jaxvib.open_study(sys.argv[1]).reset_coords()
numpy.savez(sys.argv[2], **{name: one.values for name, one in found.items()
                            if one.dtype.kind in "iufcb"})
"""
_OWN = ("versions", "git")  # keys of study.json that may differ
_TIMES = (
    (re.compile(r"in \d+ s, \d+ s of it compiling"), "in time"),
    (re.compile(r"<dt>(run time|compiling)</dt><dd>[^<]*</dd>"), ""),
    (re.compile(r"<table><tr><th scope='row'>jaxvib.*?</table>", re.DOTALL), ""),
    (re.compile(r"jaxvib \S+ \("), "jaxvib ("),
)


def main() -> int:
    """Compare the checkouts that the command line names."""
    old, new, *names = sys.argv[1:]
    checkouts = [Path(old).resolve(), Path(new).resolve()]
    every = sorted(file.stem for file in (checkouts[0] / "configs").glob("*.toml"))
    commits = [_commit(checkout) for checkout in checkouts]
    schemas = [_said(checkout, KEPT, "schema") for checkout in checkouts]
    table = json.loads(RESULT.read_bytes()) if RESULT.exists() else {"compared": {}}
    found = table["compared"]
    found["schema"] = {"commits": commits, "equal": {"schema": schemas[0] == schemas[1]}}
    _line("schema", found["schema"]["equal"])
    for name in names or every:
        found[name] = {"commits": commits, **_compared(checkouts, name)}
        table["never_compared"] = [each for each in every if each not in found]
        RESULT.write_text(json.dumps(table, indent=2) + "\n")
    equal = all(all(found[name].get("equal", {"": 0}).values()) for name in names or every)
    return 0 if equal else 1


def _compared(checkouts: list[Path], name: str) -> dict[str, Any]:
    """Return how a study's runs compare, or what the ones said that came to no end."""
    folders = [_run(checkout, name) for checkout in checkouts]
    failed = [_failure(folder, name) for folder in folders]
    if any(failed):
        print(f"{name:24} FAILED: {failed}", flush=True)
        return {"failed": failed}
    equal = _line(name, _equal(*folders, name))
    if equal["results.zarr"]:
        return {"equal": equal}
    pair = [_values(*each, name) for each in zip(checkouts, folders, strict=True)]
    return {"equal": equal, "values": _told(name, differences(*pair))}


def differences(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> dict[str, dict]:
    """Return how far the fields of two results are apart, as this file's head says."""
    found: dict[str, dict] = {name: {"only": "old"} for name in old.keys() - new.keys()}
    found |= {name: {"only": "new"} for name in new.keys() - old.keys()}
    for name in old.keys() & new.keys():
        one, other = old[name], new[name]
        if one.shape != other.shape:
            found[name] = {"shapes": [list(one.shape), list(other.shape)], "within": False}
        elif one.dtype.kind not in "fc":
            share = float(np.mean(one != other)) if one.size else 0.0
            found[name] = {"differs": share, "within": share == 0}
        else:
            bar = _ERRORS.get(name, f"{name}_error")
            bars = [each[bar] for each in (old, new) if bar in each]
            found[name] = _apart(one, other, bars if len(bars) == 2 else None)
    return dict(sorted(found.items()))


def _apart(one: np.ndarray, other: np.ndarray, bars: list[np.ndarray] | None) -> dict:
    known, also = np.isfinite(one), np.isfinite(other)
    apart = np.where(known & also, np.abs(one - other), 0.0)
    size = np.max(np.abs(one[known]), initial=0.0)
    largest = float(np.max(apart, initial=0.0))
    of_size = largest / float(size) if size > 0 else float(largest > 0)
    found = {"of_size": of_size, "known_once": int(np.sum(known != also))}
    within = of_size <= TOLERANCE
    if bars is not None and bars[0].shape == one.shape[: bars[0].ndim]:
        bar = sum(np.nan_to_num(each) for each in bars)
        bar = np.reshape(bar, bar.shape + (1,) * (one.ndim - bar.ndim))
        ratio = np.divide(apart, bar, out=np.zeros_like(apart), where=bar > 0)
        found["of_error"] = float(np.max(ratio, initial=0.0))
        within = within or bool(np.all((apart <= bar) | (apart <= TOLERANCE * size)))
    return found | {"within": within and not found["known_once"]}


def _values(checkout: Path, folder: Path, name: str) -> dict[str, np.ndarray]:
    """Return the numbers of a study, read by the checkout that wrote them."""
    target = folder / f"{name}.npz"
    command = [sys.executable, "-c", _READ, str(folder / name), str(target)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(command, env=environment, check=True)
    with np.load(target) as stored:
        return dict(stored)


def _told(name: str, found: dict[str, dict]) -> dict[str, dict]:
    for field, each in found.items():
        if not each.get("within", False):
            words = ", ".join(f"{key} {value}" for key, value in each.items())
            print(f"{name:24}   {field}: {words}", flush=True)
    return found


def _line(name: str, equal: dict[str, bool]) -> dict[str, bool]:
    other = [what for what, same in equal.items() if not same]
    print(f"{name:24} {'equal' if not other else 'DIFFERENT: ' + ', '.join(other)}",
          flush=True)  # fmt: skip
    return equal


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout)]
    commit = subprocess.check_output(
        [*command, "rev-parse", "--short=9", "HEAD"], text=True
    )
    code = ["status", "--porcelain", "--untracked-files=no", "jaxvib", "configs"]
    changed = subprocess.check_output([*command, *code], text=True)
    return commit.strip() + "+" * bool(changed)


def _said(checkout: Path, folder: Path, *words: str) -> str:
    """Return what the command of a checkout says in a folder, its exit code last."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", "jaxvib", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    return f"{done.stdout}{done.stderr}{done.returncode}"


def _run(checkout: Path, name: str) -> Path:
    """Return the folder in which a study was run; its output stands in `<name>.txt`."""
    commit = _commit(checkout)
    folder = KEPT / commit
    said = folder / f"{name}.txt"
    if commit.endswith("+") or not said.exists():
        subprocess.run(["rm", "-rf", str(folder / name)], check=True)
        sets = [word for each in SMALLER.get(name, ()) for word in ("--set", each)]
        words = _said(checkout, folder, "run", name, *sets, "--out", name)
        said.write_text(words)
    return folder


def _failure(folder: Path, name: str) -> str:
    """Return the last words of a run that did not come to its end, "" of one that did."""
    *_, words, code = ["", *(folder / f"{name}.txt").read_text("utf-8").splitlines()]
    return "" if code in ("0", "1") else f"{words[:200]} (exit code {code})"


def _equal(old: Path, new: Path, name: str) -> dict[str, bool]:
    """Return what of a study is equal in two folders."""
    results = [_files(folder / name / "results.zarr") for folder in (old, new)]
    studies = [json.loads((folder / name / "study.json").read_bytes())
               for folder in (old, new)]  # fmt: skip
    for study in studies:
        for key in _OWN:
            del study[key]
    texts = [[_timeless((folder / each).read_text("utf-8")) for folder in (old, new)]
             for each in (f"{name}/report.html", f"{name}.txt")]  # fmt: skip
    return {
        "results.zarr": bool(results[0]) and results[0] == results[1],
        "study.json": studies[0] == studies[1],
        "report.html": texts[0][0] == texts[0][1],
        "terminal": texts[1][0] == texts[1][1],
    }


def _files(folder: Path) -> dict[str, bytes]:
    every = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in every}


def _timeless(text: str) -> str:
    for pattern, instead in _TIMES:
        text = pattern.sub(instead, text)
    return text


if __name__ == "__main__":
    sys.exit(main())
