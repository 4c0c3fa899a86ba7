"""Checked against: JAX itself, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import jaxvib
from tests.users import newcomer

ROOT = Path(jaxvib.__file__).parents[1]
COMPILES = """
from jaxvib.foundation.environment import use_compilation_cache
use_compilation_cache()
import jax
print(jax.jit(lambda x: 3 * x + 1)(2.0))
"""


def compiled(folder):
    environment = newcomer(folder, JAX_COMPILATION_CACHE_DIR=str(folder))
    done = subprocess.run(
        [sys.executable, "-c", COMPILES], env=environment, cwd=ROOT, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "7.0\n"
    return done.stderr


def test_a_broken_program_in_the_cache_is_replaced_and_not_warned_of(tmp_path):
    assert compiled(tmp_path) == ""
    sizes = {entry: entry.stat().st_size for entry in tmp_path.glob("jit_*-cache")}
    assert sizes
    for entry in sizes:
        entry.write_bytes(entry.read_bytes()[:50])
    assert compiled(tmp_path) == ""
    assert {entry: entry.stat().st_size for entry in sizes} == sizes
