"""Checked against: the same maps without a memory, bit by bit."""

import jax
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import sobol_indices
from jaxvib.ensemble import checkpointed, checkpointing
from tests.ensemble.test_map_samples import digest, starts, wander


class StoppedError(Exception):
    pass


class Notes:
    """A memory that is stopped after so many notes, as a killed process is."""

    def __init__(self, kept=None, most=np.inf):
        self.kept, self.most, self.new = kept or {}, most, 0

    def get(self, key):
        return self.kept.get(key)

    def put(self, key, arrays):
        if self.new >= self.most:
            raise StoppedError
        self.new += 1
        self.kept[key] = [np.array(array) for array in arrays]


@jax.jit
def _sums(points):
    return {"sum": points.sum()}


def search(memory):
    """Go from map to map, each from what the one before has found."""
    with checkpointing(memory):
        points = starts
        for _ in range(5):
            _, points, totals = jv.map_samples(wander, points, chunk=32)
            found = checkpointed(_sums, points)
            points = points + 1e-3 * float(found["sum"]) + totals[:, None]
    return points


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_stopped_search_goes_on_to_the_same_bits_and_computes_the_rest(share):
    whole = Notes()
    expected = search(whole)
    stopped = Notes(most=int(share * whole.new))
    with pytest.raises(StoppedError):
        search(stopped)
    resumed = Notes(dict(stopped.kept))
    assert digest(search(resumed)) == digest(expected)
    assert resumed.new == whole.new - stopped.new


def test_other_samples_are_not_taken_for_those_that_were_kept():
    memory = Notes()

    def double(x):
        return 2 * x

    for values in (np.arange(3.0), np.arange(3.0) + 1):
        with checkpointing(memory):
            np.testing.assert_array_equal(jv.map_samples(double, values), 2 * values)
    assert memory.new == 2


def test_sobol_indices_reuse_computed_samples():
    system = jv.two_body_impact()
    bounds = {"main.mass": (900.0, 1100.0), "attached.mass": (90.0, 110.0)}

    def compiled(system):
        return system.main.mass * system.attached.mass**2

    def found(memory):
        with checkpointing(memory):
            return sobol_indices(compiled, system, bounds, samples=256)

    first = Notes()
    expected = found(first)
    again = Notes(dict(first.kept))
    assert digest(found(again)) == digest(expected)
    assert again.new == 0
