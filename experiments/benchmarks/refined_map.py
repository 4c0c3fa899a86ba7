"""The regime map refined where regimes change, compared with the full grid.

    python -m experiments.benchmarks.refined_map [--side 256] [--coarsest 8 16]
                                                 [--alone] [--chunk LINES] [--in DIR]

Runs `configs/regime_map.toml` on a grid of side x side samples, once with every sample
and once for each `coarsest` with `method = "refine"`, each in its own process. A sample
is wrong if its reason code, verdict or numbers of periods and contacts differ from
those of the full map (for aperiodic motions the code only). With `--alone` there is no
full map; wrong samples are then estimated from the random samples that a refined study
computes to check itself. `--chunk` sets the number of lines refined together.

Writes `experiments/benchmarks/refined_map-<device>-<cores>.json`, keeping other sides:
CPU time, computed samples, wrong samples among all, and the estimate of the refined run
itself. With `--in` the studies stay in a folder, and the same command resumes them
after Ctrl-C.
"""

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.stats

import jaxvib as jv
from experiments.machine import machine

CONFIG = Path("configs/regime_map.toml")
CLASSES = ("stable", "periods", "contacts")
SMOOTH = ("largest_multiplier", "max_contact_force")


def run(folder: Path, side: int, *more: str) -> float:
    """Run the study in a process of its own, or go on; return its processor seconds."""
    text = CONFIG.read_text().replace(", 64]", f", {side}]").replace("chunk = 1024", "")
    config = folder.with_suffix(".toml")
    config.write_text(text)
    settings = [part for each in more for part in ("--set", each)]
    command = [sys.executable, "-m", "jaxvib", "run", str(config), "--out", str(folder)]
    options = [*settings, "--set", "output.report=false", "--set", "analysis.traces=0"]
    note = folder.with_suffix(".seconds")  # of all its sessions
    seconds = float(note.read_text()) if note.exists() else 0.0
    if (folder / "results.zarr" / "zarr.json").exists():
        return seconds
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run([*command, *options, "--resume"], check=True)
    finally:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        for name in ("ru_utime", "ru_stime"):
            seconds += getattr(after, name) - getattr(before, name)
        note.write_text(f"{seconds}\n")
    return seconds


def told(refined) -> dict:
    """Return what a refined map says of itself."""
    counts = np.bincount(refined["computed"].values.ravel(), minlength=4).tolist()
    checked, wrong = counts[2] + counts[3], counts[3]
    found = {
        "samples": sum(counts),
        "computed": counts[1],
        "times fewer": sum(counts) / counts[1],
        "times fewer, with those checked": sum(counts) / (counts[1] + checked),
        "checked": checked,
    }
    if checked:
        interval = scipy.stats.binomtest(wrong, checked).proportion_ci(method="wilson")
        found["wrong among those checked"] = wrong / checked
        found["95 % interval"] = list(interval)
    error = refined["filling_error"].values
    return found | quantiles("errors of those checked", error[np.isfinite(error)])


def quantiles(name: str, errors: np.ndarray) -> dict:
    """Return the median and the 95th percentile, nothing of none."""
    if not errors.size:
        return {}
    return {name: {"median": np.median(errors), "95 of 100": np.quantile(errors, 0.95)}}


def compared(whole, refined) -> dict:
    """Return what of a refined map is wrong."""
    same = (whole["result"] == refined["result"]).values
    periodic = (whole["result"] == 0).values
    for name in CLASSES:
        same &= ~periodic | (whole[name] == refined[name]).values
    how = refined["computed"].values
    filled = (how == 0) & same & periodic
    found = {
        "wrong among all": float(np.mean(~same)),
        "wrong among those computed": int(np.sum(~same & (how > 0))),
    }
    for name in SMOOTH:
        exact, filled_in = whole[name].values[filled], refined[name].values[filled]
        error = np.abs(filled_in - exact) / np.maximum(np.abs(exact), 1e-300)
        error = np.where(filled_in == exact, 0.0, error)
        found |= quantiles(f"relative error of filled {name}", error)
    return found


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--coarsest", type=int, nargs="*", default=[8, 16])
    parser.add_argument("--in", dest="folder", type=Path, help="where the studies stay")
    parser.add_argument("--alone", action="store_true", help="no map of all samples")
    parser.add_argument("--chunk", type=int, help="lines that are refined together")
    arguments = parser.parse_args()
    side = arguments.side
    refine = ['sweep.method="refine"']
    if arguments.chunk is not None:
        refine.append(f"run.chunk={arguments.chunk * side}")
    about, found = machine(), {}
    with contextlib.ExitStack() as stack:
        if arguments.folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = arguments.folder
            folder.mkdir(parents=True, exist_ok=True)
        if not arguments.alone:
            found["every sample"] = {"core_seconds": run(folder / "whole", side)}
            whole = jv.open_study(folder / "whole")
        for coarsest in arguments.coarsest:
            name = f"from every {coarsest}th line"
            place = folder / str(coarsest)
            seconds = run(place, side, *refine, f"sweep.coarsest={coarsest}")
            refined = jv.open_study(place)
            found[name] = {"core_seconds": seconds, **told(refined)}
            if not arguments.alone:
                found[name] |= compared(whole, refined)
            print(name, json.dumps(found[name], indent=1), flush=True)
    file = Path(__file__).with_name(f"refined_map-{about['device']}-{about['cores']}.json")
    result = json.loads(file.read_text()) if file.exists() else {}
    result[f"side {side}"] = {"machine": about, **found}
    file.write_text(json.dumps(result, indent=2) + "\n")
    print(file)


if __name__ == "__main__":
    main()
