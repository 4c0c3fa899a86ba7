"""The same bits on every machine: hashes of built-in studies in many configurations.

    python -m experiments.house.same_bits [--ways NAME[+NAME...],...] [--write] [CONFIG...]

runs the built-in studies listed in `hashes.json` (or the given ones), the larger ones
with fewer samples, once as they are and once in each configuration: with other OpenBLAS
kernels, other instructions for XLA, numpy and the C library, kernels of other vector
widths, one core, two workers, other chunks; `NAME+NAME` is a run in several of these at
once. The hash of each study's numbers is
compared with that in `hashes.json`. Prints the differing arrays, and ends with 1 if
anything differs. `--write` stores the hashes of the plain configuration in
`hashes.json`.

Configurations that the processor does not support are skipped with a message.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .compare_checkouts import ROOT

TABLE = Path(__file__).with_name("hashes.json")
WAYS: dict[str, dict[str, str]] = {
    "plain": {},
    **{f"blas-{core}": {"OPENBLAS_CORETYPE": core}
       for core in ("Haswell", "Zen", "Nehalem", "SkylakeX")},
    "xla-avx2": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
    "xla-sse4": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
    "numpy-x86-v2": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    "libc-without-fma": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4,-AVX512F"},
    **{f"width-{width}": {"WIDTH": str(width)} for width in (2, 4, 8)},
    "old-processor": {
        "OPENBLAS_CORETYPE": "Nehalem", "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4,-AVX512F", "WIDTH": "2",
    },
    "one-core": {"CORES": "1"},
    "two-workers": {"WORKERS": "2"},
    "chunks": {"CHUNK": "5"},
}  # fmt: skip


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("configs", nargs="*")
    asked = parser.parse_args()
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    names = asked.configs or list(table)
    equal, first = True, None
    for way in asked.ways.split(","):
        found = run(way, names)
        if "left out" in found:
            print(f"{way:18} left out: {found['left out']}", flush=True)
            continue
        first = first or found
        reference = found if asked.write and way == "plain" else table
        if asked.write and way == "plain":
            table.update({name: one["hash"] for name, one in found.items()})
            TABLE.write_text(json.dumps(dict(sorted(table.items())), indent=2) + "\n")
            reference = table
        for name, one in found.items():
            same = one["hash"] == reference.get(name)
            equal &= same
            line = "same" if same else _difference(one["arrays"], first[name]["arrays"])
            print(f"{way:18} {name:22} {line}", flush=True)
    return 0 if equal else 1


def settings(way: str) -> dict[str, str]:
    """Return the environment of a configuration, or of several joined by `+`."""
    return {key: value for one in way.split("+") for key, value in WAYS[one].items()}


def run(way: str, names: list[str]) -> dict:
    """Return the hashes of studies, run in a process of its own in one way."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "found.json")
        command = [
            sys.executable,
            "-m",
            "experiments.house.same_bits_run",
            str(out),
            *names,
        ]
        environment = os.environ | settings(way)
        result = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode == 77:
            return {"left out": result.stdout.strip()}
        if result.returncode:
            raise RuntimeError(f"{way}: {result.stdout}{result.stderr}")
        return json.loads(out.read_text())


def _difference(arrays: dict[str, str], others: dict[str, str]) -> str:
    names = sorted(set(arrays) | set(others))
    return "differs: " + ", ".join(n for n in names if arrays.get(n) != others.get(n))


def hashes(found: dict[str, np.ndarray]) -> dict:
    """Return a hash of each array of a study, and one of all. All NaN count as one."""
    arrays = {}
    for name, values in sorted(found.items()):
        parts = values.view(values.real.dtype) if values.dtype.kind == "c" else values
        if parts.dtype.kind == "f":
            parts = np.where(np.isnan(parts), np.asarray(np.nan, parts.dtype), parts)
        digest = hashlib.sha256(f"{values.dtype.str}{values.shape}".encode())
        digest.update(np.ascontiguousarray(parts).tobytes())
        arrays[name] = digest.hexdigest()[:16]
    whole = hashlib.sha256(json.dumps(arrays).encode()).hexdigest()[:16]
    return {"hash": whole, "arrays": arrays}


if __name__ == "__main__":
    sys.exit(main())
