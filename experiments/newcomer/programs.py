"""Write the programs that a wheel contains, so that a first process need not trace them.

    python -m experiments.newcomer.programs

runs the Python programs and studies of `experiments.benchmarks.first_runs` for each
vector width, in a new cache, and writes what they keep to
`jaxvib/kernels/cache/shipped_programs.bin`. To be run before a wheel is built, with the
versions of the packages that it is to be used with.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.benchmarks.first_runs import PROGRAMS
from experiments.house.compare_checkouts import SMALLER
from jaxvib.foundation.cache import entries, read_entry
from jaxvib.kernels.cache.shipped_programs import FILE, file_of

ROOT = Path(__file__).parents[2]
WIDTHS = (
    2,
    4,
    8,
)  # doubles in a vector of a processor, see `kernels.cpu.machine_code.host_width`
NAMES = ("orbit", "gradient", "multiplier", "motion", "stop", "branch", "bifurcation")
STUDIES = ("quick", "regime_map", "stability_chart", "basins", "bifurcation_diagram")
# Replaces the width of this processor in all modules that ask for it; `partial`, as
# nothing is cached while functions are replaced by those of other modules.
_WIDTH = """
import functools, sys, jaxvib.kernels.calls.kernel_cache
for name in ("cpu.machine_code", "calls.kernel", "cache.code_digest"):
    sys.modules[f"jaxvib.kernels.{name}"].host_width = functools.partial(int, WIDTH)
"""
_STUDY = """
from jaxvib.__main__ import main
sys.argv[1:] = {}
main()
"""


def main() -> None:
    """Run everything and write the file."""
    FILE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for width in WIDTHS:
            _run(width, "\n".join(PROGRAMS[name] for name in NAMES))
            for name in STUDIES:
                words = ["run", name, "--out", f"{folder}/{name}-{width}"]
                for change in SMALLER.get(name, ()):
                    words += ["--set", change]
                _run(width, _STUDY.format(words), EQX_ON_ERROR="nan")
        names = [f"kernels/{path.name}" for path, _ in entries()]
        found = {
            name: read_entry(name) for name in names if name.endswith((".text", ".fact"))
        }
    FILE.write_bytes(file_of({name: entry for name, entry in found.items() if entry}))
    print(f"{FILE.relative_to(ROOT)}: {len(found)} entries, {FILE.stat().st_size} bytes")


def _run(width: int, code: str, **settings: str) -> None:
    code = f"{_WIDTH.replace('WIDTH', str(width))}\n{code}"
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment | settings, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    main()
