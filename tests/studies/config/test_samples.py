"""Checked against: itertools, numpy's spacings, and the uniformity of Sobol points."""

import itertools

import numpy as np
import pytest

from jaxvib.studies.config import samples
from jaxvib.studies.config.samples import Sampling, draw
from jaxvib.studies.config.values import Values
from jaxvib.studies.store.subsample import evenly_chosen

masses = Values(linspace=[1.0, 3.0, 3])
stiffnesses = Values(logspace=[1e2, 1e4, 2])
gaps = Values(values=[0.5, 0.25])


def test_a_grid_crosses_its_lists_the_first_path_slowest():
    drawn = draw(Sampling(), {"m": masses, "k": stiffnesses, "g": gaps}, 0)
    expected = itertools.product([1.0, 2.0, 3.0], [1e2, 1e4], [0.5, 0.25])
    np.testing.assert_array_equal(np.stack(list(drawn.values()), 1), list(expected))
    assert list(drawn) == ["m", "k", "g"]


def test_paired_lists_are_taken_together():
    drawn = draw(Sampling(method="paired"), {"k": stiffnesses, "g": gaps}, 0)
    np.testing.assert_array_equal(drawn["k"], [1e2, 1e4])
    np.testing.assert_array_equal(drawn["g"], [0.5, 0.25])


@pytest.mark.parametrize("method", samples.DRAWN)
@pytest.mark.parametrize("count", [1, 2, 100, 128])
def test_drawn_samples_lie_between_their_bounds_and_come_again(method, count):
    sampling = Sampling(method=method, count=count)
    paths = {"m": Values(bounds=[2.0, 3.0]), "k": Values(log_bounds=[1.0, 1e6])}
    first, second, other = (draw(sampling, paths, seed) for seed in (7, 7, 8))
    for path, (low, high) in {"m": (2.0, 3.0), "k": (1.0, 1e6)}.items():
        assert first[path].shape == (count,)
        assert np.all((low <= first[path]) & (first[path] <= high))
        np.testing.assert_array_equal(first[path], second[path])
        assert np.all(first[path] != other[path])


def test_sobol_points_put_one_into_each_of_equal_intervals():
    sampling = Sampling(method="sobol", count=64)
    paths = {"m": Values(bounds=[0.0, 64.0]), "k": Values(log_bounds=[1.0, 2.0**64])}
    drawn = draw(sampling, paths, 3)
    np.testing.assert_array_equal(np.sort(np.floor(drawn["m"])), np.arange(64))
    np.testing.assert_array_equal(np.sort(np.floor(np.log2(drawn["k"]))), np.arange(64))


def test_fewer_sobol_points_are_the_first_of_more():
    paths = {"m": Values(bounds=[0.0, 1.0])}
    few, many = (draw(Sampling(method="sobol", count=n), paths, 1)["m"] for n in (100, 128))
    np.testing.assert_array_equal(few, many[:100])


def test_a_method_that_is_not_in_the_table_draws_nothing():
    unknown = Sampling.model_construct(method="lattice", count=4)
    with pytest.raises(KeyError, match="lattice"):
        draw(unknown, {"m": Values(bounds=[0.0, 1.0])}, 0)


@pytest.mark.parametrize("method", samples.METHODS)
def test_all_that_is_known_of_a_method_is_read_from_the_table(method):
    """A part of the samples has the bytes that it has among all, by every method."""
    drawn, grid = samples.METHODS[method].drawn, samples.METHODS[method].grid
    kept = {"bounds": [0.0, 1.0]} if drawn else {"values": [1.0, 2.0, 3.0]}
    paths = {"a": Values(**kept), "b": Values(**kept)}
    sampling = Sampling(method=method, **({"count": 5} if drawn else {}))
    number = samples.number_of(sampling, paths)
    assert number == (5 if drawn else 9 if grid else 3)
    assert (samples.grid_of(sampling, paths) is not None) == grid
    whole, part = draw(sampling, paths, 1), draw(sampling, paths, 1, slice(1, 3))
    for path, column in whole.items():
        np.testing.assert_array_equal(part[path], column[1:3])


@pytest.mark.parametrize(
    ("sampling", "paths", "message"),
    [
        (Sampling(method="sobol"), {}, "count is missing"),
        (Sampling(count=3), {"m": masses}, "count is given"),
        (Sampling(method="paired"), {"m": masses, "g": gaps}, "m: 3, g: 2; allowed: one"),
    ],
)
def test_keys_that_do_not_go_together_are_named(sampling, paths, message):
    with pytest.raises(ValueError, match=message):
        samples.number_of(sampling, paths)


@pytest.mark.parametrize(("number", "most"), [(1000, 256), (5, 256), (1000, 1), (7, 0)])
def test_motions_are_chosen_from_one_end_to_the_other(number, most):
    chosen = evenly_chosen(number, None, most)
    assert len(chosen) == min(number, most)
    assert len(set(chosen.tolist())) == len(chosen)
    if most > 1:
        assert {chosen[0], chosen[-1]} == {0, number - 1}


def test_of_a_grid_whole_lines_are_chosen():
    chosen = evenly_chosen(64 * 48, {"a": 64, "b": 48}, 256)
    rows, columns = np.unravel_index(chosen, (64, 48))
    assert len(chosen) == 256
    assert len(set(rows.tolist())) * len(set(columns.tolist())) == 256
    assert {0, 63} <= set(rows.tolist())
    assert {0, 47} <= set(columns.tolist())
