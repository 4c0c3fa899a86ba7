"""What a ready study takes from a cold start and the second time: whole processes.

    python -m experiments.benchmarks.first_runs [STUDY...]

Each study is run by `jaxvib run` in a process and a cache folder of its own, and once more
with the cache that the first run left; the report is included. Seconds by the clock, and
of all cores. Writes `experiments/benchmarks/first_runs-<device>-<cores>.json`. What the
numbers of the map are worth is measured by `experiments.benchmarks.regime_map`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.benchmarks.regime_map import machine


def one_run(study: str, folder: Path, number: int) -> dict[str, float]:
    """Run a study in a process of its own; return what it took."""
    words = [
        sys.executable,
        "-m",
        "jaxvib",
        "run",
        study,
        "--out",
        str(folder / f"{number}"),
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds, after = (
        time.perf_counter() - began,
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 1), "core seconds": round(spent, 1)}


def main() -> None:
    """Run every study twice and write what it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("studies", nargs="*", default=["quick", "regime_map"])
    about, rows = machine(), {}
    for study in parser.parse_args().studies:
        with tempfile.TemporaryDirectory() as folder:
            names = ("cold", "second")
            rows[study] = {
                name: one_run(study, Path(folder), number)
                for number, name in enumerate(names)
            }
        print(study, rows[study], flush=True)
    name = f"first_runs-{about['device']}-{about['cores']}.json"
    file = Path(__file__).with_name(name)
    file.write_text(json.dumps({"machine": about, "studies": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
