"""Print the processors that OpenBLAS can pretend here to run on, other than this one."""

import pathlib

import numpy  # noqa: F401 - brings its BLAS
import threadpoolctl

CORES = {"Haswell": "avx2", "Zen": "avx2", "Nehalem": "sse4_2", "SkylakeX": "avx512f"}


def main() -> None:
    """Print the names, one a line."""
    here = {one.get("architecture") for one in threadpoolctl.threadpool_info()}
    flags = pathlib.Path("/proc/cpuinfo")
    flags = flags.read_text() if flags.exists() else ""
    for core, needed in CORES.items():
        if core not in here and needed in flags:
            print(core)


if __name__ == "__main__":
    main()
