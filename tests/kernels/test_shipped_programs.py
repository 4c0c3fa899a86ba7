"""Checked against: the programs as they were lowered, and the function traced anew."""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxvib.foundation.cache import entries, read_entry
from jaxvib.kernels.cache import shipped_programs
from jaxvib.kernels.cache.serialization import deserialize
from jaxvib.kernels.calls import kernel_cache
from jaxvib.kernels.calls.kernel_cache import cached_fact, cached_kernel

LANES = np.linspace(-2.0, 3.0, 37)
WIDTHS = (2, 4, 8)


@pytest.fixture
def new_cache(tmp_path, monkeypatch):
    numbers = iter(range(100))

    def use():
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / str(next(numbers))))

    use()
    return use


@pytest.fixture
def stage(turns):
    def stage(x):
        turns.append("traced")
        wave = jax.lax.fori_loop(0, 5, lambda _, y: jnp.sin(1e6 * y), x)
        return {"wave": wave, "rate": (x**3, x > 0)}

    return stage


@pytest.fixture
def turns():
    return []


@pytest.fixture
def ship(tmp_path, monkeypatch):
    """Make a package of what the cache holds."""

    def ship():
        names = [path.name for path, _ in entries() if path.suffix in (".text", ".fact")]
        kept = {f"kernels/{name}": read_entry(f"kernels/{name}") for name in names}
        file = tmp_path / "shipped.bin"
        file.write_bytes(shipped_programs.file_of(kept))
        monkeypatch.setattr(shipped_programs, "FILE", file)
        shipped_programs._index.cache_clear()
        return kept

    yield ship
    shipped_programs._index.cache_clear()


def with_width(monkeypatch, width):
    for name in ("cpu.machine_code", "calls.kernel"):
        module = sys.modules[f"jaxvib.kernels.{name}"]
        # No function of this module, with which nothing would be cached.
        monkeypatch.setattr(module, "host_width", functools.partial(int, width))
    monkeypatch.setattr(kernel_cache, "code_digest", functools.partial(bytes, [width]))


def test_shipped_programs_are_those_that_were_kept(stage, new_cache, ship, monkeypatch):
    for width in WIDTHS:
        with_width(monkeypatch, width)
        cached_kernel(stage).map(LANES)
    kept = ship()
    assert len(kept) == len(WIDTHS)
    for name, entry in kept.items():
        shipped, known = (
            deserialize(shipped_programs.shipped_entry(name)),
            deserialize(entry),
        )
        assert shipped.program.text == known.program.text
        assert shipped.program.key == known.program.key
        assert jax.tree.structure(shipped.results) == jax.tree.structure(known.results)
    assert shipped_programs.shipped_entry("kernels/other.text") is None


def test_a_first_process_traces_nothing_that_is_shipped(stage, turns, new_cache, ship):
    first = cached_kernel(stage, "one").map(LANES)
    ship()
    new_cache()
    again = cached_kernel(stage, "one").map(LANES)
    assert len(turns) == 1
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert any(path.suffix == ".text" for path, _ in entries())
    cached_kernel(stage, "two").map(LANES)
    assert len(turns) == 2


def test_other_code_is_traced(stage, turns, new_cache, ship, monkeypatch):
    cached_kernel(stage).map(LANES)
    ship()
    new_cache()
    monkeypatch.setattr(kernel_cache, "code_digest", functools.partial(bytes, b"changed"))
    cached_kernel(stage).map(LANES)
    assert len(turns) == 2


def test_reasons_and_facts_are_shipped_too(turns, new_cache, ship):
    def unsupported(matrix):
        turns.append("traced")
        return jnp.linalg.eigvalsh(matrix)

    def fact(number):
        turns.append("computed")
        return [number, "a fact"]

    def ask():
        why = cached_kernel(unsupported).unsupported_reason(np.eye(3))
        return why, cached_fact(fact, 1)

    first = ask()
    assert first[0]
    ship()
    new_cache()
    assert ask() == first
    assert turns == ["traced", "computed"]


def test_without_a_file_nothing_is_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped_programs, "FILE", tmp_path / "none.bin")
    shipped_programs._index.cache_clear()
    assert shipped_programs.shipped_entry("kernels/a.text") is None
    shipped_programs._index.cache_clear()
