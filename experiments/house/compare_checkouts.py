"""Two checkouts side by side: the same bytes, and the same pages, of the same configs.

    python -m experiments.house.compare_checkouts OLD NEW [CONFIG...]

runs the ready studies that are named (else all of them) in two folders of checkouts, each
study in a process of its own, the larger ones with fewer samples, and compares

- `results.zarr`, file by file and byte by byte,
- `study.json`, but for versions and the state of the code,
- `report.html`, but for those and the times,
- what the terminal said, but for the times,
- `jaxvib schema`.

It prints a line for each and writes `compared.json` beside this file. Runs of a checkout
without changes are kept in `results/compared/<commit>` and not done again. Ends with 1
where anything differs.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

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
    names = names or sorted(file.stem for file in (checkouts[0] / "configs").glob("*.toml"))
    schemas = [_said(checkout, KEPT, "schema") for checkout in checkouts]
    found = {"schema": _line("schema", {"schema": schemas[0] == schemas[1]})}
    for name in names:
        folders = [_run(checkout, name) for checkout in checkouts]
        found[name] = _line(name, _equal(*folders, name))
    equal = all(all(each.values()) for each in found.values())
    table = {"commits": [_commit(each) for each in checkouts], "equal": found}
    RESULT.write_text(json.dumps(table, indent=2) + "\n")
    return 0 if equal else 1


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
