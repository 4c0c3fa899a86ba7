"""The regime map refined where regimes change, beside all of its samples.

    python -m experiments.benchmarks.refined_map [--side 256] [--coarsest 8 16] [--in DIR]

Runs `configs/regime_map.toml` on a grid of side x side samples, once with every sample and
once for each `coarsest` with `method = "refine"`, each in a process of its own. A sample is
wrong if its reason code, verdict or numbers of periods and contacts are not those of the
whole map (of motions without a period the code alone). Writes
`experiments/benchmarks/refined_map-<device>-<cores>.json`: processor seconds, computed
samples, wrong ones among all, and what the refined run says of itself. With `--in` the
studies stay in a folder, and the same command, given again after Ctrl-C, goes on there.
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

import jaxvib as jv
from experiments.benchmarks.regime_map import machine

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


def compared(whole, refined) -> dict:
    """Return what a refined map computes and gets wrong."""
    same = (whole["result"] == refined["result"]).values
    periodic = (whole["result"] == 0).values
    for name in CLASSES:
        same &= ~periodic | (whole[name] == refined[name]).values
    how = refined["computed"].values
    checked = np.isin(how, [2, 3])
    filled = (how == 0) & same & periodic
    errors = {}
    for name in SMOOTH:
        exact, found = whole[name].values[filled], refined[name].values[filled]
        error = np.abs(found - exact) / np.maximum(np.abs(exact), 1e-300)
        error = np.where(found == exact, 0.0, error)
        errors[name] = {"median": np.median(error), "95 of 100": np.quantile(error, 0.95)}
    return {
        "samples": how.size,
        "computed": int(np.sum(how == 1)),
        "times fewer": how.size / np.sum(how == 1),
        "wrong among all": float(np.mean(~same)),
        "wrong among those computed": int(np.sum(~same & (how > 0))),
        "checked": int(checked.sum()),
        "wrong among those checked": float(np.mean(how[checked] == 3)),
        "relative errors of filled numbers": errors,
    }


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--coarsest", type=int, nargs="*", default=[8, 16])
    parser.add_argument("--in", dest="folder", type=Path, help="where the studies stay")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if arguments.folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = arguments.folder
            folder.mkdir(parents=True, exist_ok=True)
        found = {"core_seconds": run(folder / "whole", arguments.side)}
        whole = jv.open_study(folder / "whole")
        rows = {}
        for coarsest in arguments.coarsest:
            name = f"from every {coarsest}th line"
            seconds = run(
                folder / str(coarsest), arguments.side,
                'sweep.method="refine"', f"sweep.coarsest={coarsest}",
            )  # fmt: skip
            rows[name] = {
                "core_seconds": seconds,
                **compared(whole, jv.open_study(folder / str(coarsest))),
            }
            print(name, json.dumps(rows[name], indent=1), flush=True)
    about = machine()
    result = {"machine": about, "side": arguments.side, "every sample": found, **rows}
    file = Path(__file__).with_name(f"refined_map-{about['device']}-{about['cores']}.json")
    file.write_text(json.dumps(result, indent=2) + "\n")
    print(file)


if __name__ == "__main__":
    main()
