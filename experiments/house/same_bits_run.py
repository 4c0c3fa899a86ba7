"""Some studies in one process, configured by its environment; see `same_bits`.

WIDTH=4 python -m experiments.house.same_bits_run OUT CONFIG...
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from .compare_checkouts import ROOT, SMALLER


def main() -> int:
    """Run the studies and write their hashes."""
    out, *names = sys.argv[1:]
    if why := _missing():
        print(why)
        return 77
    if "CORES" in os.environ:
        os.sched_setaffinity(0, range(int(os.environ["CORES"])))
    if "WIDTH" in os.environ:
        import jaxvib.kernels.calls.kernel_cache  # noqa: F401 - imports all that asks for the width

        for name in ("cpu.machine_code", "calls.kernel", "cache.code_digest"):
            module = sys.modules[f"jaxvib.kernels.{name}"]
            module.host_width = lambda: int(os.environ["WIDTH"])
    found = {name: _hashes(name) for name in names}
    Path(out).write_text(json.dumps(found))
    return 0


def _missing() -> str:
    """Return what the processor lacks for this way, "" if nothing."""
    wanted = os.environ.get("OPENBLAS_CORETYPE", "")
    flags = Path("/proc/cpuinfo")
    if wanted == "SkylakeX" and flags.exists() and "avx512f" not in flags.read_text():
        return "this processor has no AVX-512"
    return ""


def _hashes(name: str) -> dict:
    import click.testing

    import jaxvib
    from jaxvib.cli import main as command

    from .same_bits import hashes

    with tempfile.TemporaryDirectory() as folder:
        settings = list(SMALLER.get(name, []))
        if "CHUNK" in os.environ:
            settings.append(f"run.chunk={os.environ['CHUNK']}")
        options = [text for setting in settings for text in ("--set", setting)]
        if "WORKERS" in os.environ:
            options += ["--workers", os.environ["WORKERS"]]
        where = str(Path(folder, "out"))
        config = str(ROOT / "configs" / f"{name}.toml")
        runner = click.testing.CliRunner()
        result = runner.invoke(command, ["run", config, "--out", where, *options])
        if result.exit_code not in (0, 1):
            raise RuntimeError(f"{name}: {result.output} {result.exception!r}")
        opened = jaxvib.open_study(where).reset_coords()
        return hashes({
            key: one.values for key, one in opened.items() if one.dtype.kind in "iufcb"
        })  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
