"""Checked against: branches of known folds and grazings, and the same ones corrupted."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from tests import zoo

ONE = jnp.array([1.0])
LOAD = "loads.0.law.amplitude"


smooth = zoo.duffing()
impacting = jv.ImpactSystem(
    jv.LinearSystem(jnp.eye(1), 0.1 * jnp.eye(1), jnp.eye(1)),
    (jv.Contact(ONE, 1.0, jv.RestitutionContact(0.8)),),
    (jv.AppliedLoad(ONE, jv.HarmonicLoad(0.09, 1.0)),),
)
van_der_pol = jv.autonomous_system(
    lambda x, p: [x[1], (p["mu"] - x[0] ** 2) * x[1] - x[0]],
    parameters={"mu": 0.5},
    dimension=2,
)


@pytest.fixture(scope="module")
def with_folds():
    orbit = jv.periodic_orbit(smooth, [0.0, 0.0])
    return jv.continue_orbit(smooth, orbit, "w", (0.9, 1.3))


@pytest.fixture(scope="module")
def with_grazing():
    orbit = jv.periodic_orbit(impacting, [0.0, 0.9])
    return jv.continue_orbit(impacting, orbit, LOAD, (0.05, 0.2))


def without(branch, kind):
    """Return a branch that does not list its bifurcations of a kind."""
    left = tuple(point for point in branch.bifurcations if point.kind != kind)
    assert len(left) < len(branch.bifurcations)
    return eqx.tree_at(lambda b: b.bifurcations, branch, left)


def kinds(found):
    return {fault.kind for fault in found.faults}


def test_a_branch_with_two_folds_has_no_faults(with_folds):
    found = with_folds.check(smooth)
    assert len(with_folds.bifurcations) == 2
    assert (found.faults, found.checked, found.unchecked) == ((), found.points, ())
    assert "no fault found" in repr(found)


def test_a_branch_through_a_grazing_and_a_fold_has_no_faults(with_grazing):
    assert {point.kind for point in with_grazing.bifurcations} == {"grazing", "fold"}
    assert with_grazing.check(impacting).faults == ()


@pytest.mark.parametrize("place", [0, 7, -1])
def test_a_state_moved_by_a_thousandth_is_no_orbit(with_folds, place):
    moved = with_folds.orbits.state.at[place, 1].add(1e-3)
    bad = eqx.tree_at(lambda b: b.orbits.state, with_folds, moved)
    (fault,) = bad.check(smooth).faults
    assert fault.kind == "not an orbit"
    assert fault.parameter == with_folds.parameter[place]
    assert "1.0e-03 away" in fault.words
    assert fault.words in repr(bad.check(smooth))


def test_a_moved_state_of_a_motion_with_impacts_is_no_orbit(with_grazing):
    place = int(np.argmax(with_grazing.contacts))
    moved = with_grazing.orbits.state.at[place, 0].add(1e-3)
    bad = eqx.tree_at(lambda b: b.orbits.state, with_grazing, moved)
    assert "not an orbit" in kinds(bad.check(impacting))


def test_an_error_bar_as_large_as_the_motion_is_reported(with_folds):
    bars = with_folds.orbits.state_error.at[3].set(0.5)
    bad = eqx.tree_at(lambda b: b.orbits.state_error, with_folds, bars)
    (fault,) = bad.check(smooth).faults
    assert fault.kind == "not an orbit"
    assert "as large as" in fault.words


def test_a_wrong_count_of_contacts_is_reported(with_grazing):
    place = int(np.flatnonzero(with_grazing.contacts == 0)[1])
    counts = with_grazing.orbits.contacts.at[place].add(1)
    bad = eqx.tree_at(lambda b: b.orbits.contacts, with_grazing, counts)
    assert kinds(bad.check()) == {"contacts"}
    words = [fault.words for fault in bad.check(impacting).faults]
    assert "1 told, 0 seen" in words


def test_contacts_that_begin_without_a_grazing_are_reported(with_grazing):
    found = without(with_grazing, "grazing").check()
    (where,) = {fault.parameter for fault in found.faults if fault.kind == "contacts"}
    assert abs(where - 0.1) < 5e-3  # amplitude = gap there


def test_a_fold_that_is_not_listed_is_a_change_of_stability_and_direction(with_folds):
    found = without(with_folds, "fold").check()
    assert kinds(found) == {"stability", "direction"}
    for fold in with_folds.bifurcations:
        near = [abs(fault.parameter - float(fold.parameter)) for fault in found.faults]
        assert min(near) < 5e-3


def test_a_budget_leaves_points_unchecked(with_grazing):
    assert len(with_grazing.parameter) > 32
    found = with_grazing.check(impacting, budget=1e-9)
    left = found.points - found.checked
    assert left > 0
    assert found.unchecked == (("beyond the budget", left),)
    assert f"{left} beyond the budget" in repr(found)


def test_points_with_a_reason_code_are_unchecked(with_folds):
    codes = with_folds.orbits.result.at[2].set(int(Reason.DIVERGED))
    bad = eqx.tree_at(lambda b: b.orbits.result, with_folds, codes)
    found = bad.check(smooth)
    assert (found.faults, found.checked) == ((), found.points - 1)
    none = jnp.full_like(codes, int(Reason.DIVERGED))
    bad = eqx.tree_at(lambda b: b.orbits.result, with_folds, none)
    assert bad.check(smooth).checked == 0


def test_points_without_error_bars_are_unchecked(with_folds):
    unknown = jnp.full_like(with_folds.orbits.state_error, jnp.nan)
    quick = eqx.tree_at(lambda b: b.orbits.state_error, with_folds, unknown)
    found = quick.check(smooth)
    assert (found.faults, found.checked) == ((), 0)
    assert "without an error bar" in repr(found)


def test_progress_counts_the_points(with_folds):
    seen = []
    with_folds.check(smooth, progress=seen.append)
    assert sum(seen) == len(with_folds.parameter)


@pytest.fixture(scope="module")
def equilibria():
    rest = jv.equilibrium(van_der_pol, [0.0, 0.0])
    return jv.branches.continue_equilibrium(van_der_pol, rest, "mu", (-1.0, 1.0))


def test_equilibria_lose_stability_at_a_listed_hopf_point_only(equilibria):
    assert equilibria.check().faults == ()
    assert kinds(without(equilibria, "hopf").check()) == {"stability"}


@pytest.mark.slow  # compiles the equations of cycles
def test_a_moved_state_of_a_cycle_is_no_cycle():
    cycle = jv.periodic_orbit(van_der_pol, [1.4, 0.0], period=6.3)
    cycles = jv.continue_orbit(van_der_pol, cycle, "mu", (0.4, 0.6))
    assert cycles.check(van_der_pol).faults == ()
    moved = cycles.cycles.state.at[1, 0].add(1e-3)
    bad = eqx.tree_at(lambda b: b.cycles.state, cycles, moved)
    assert kinds(bad.check(van_der_pol)) == {"not an orbit"}


def test_another_system_and_bad_budgets_are_refused(with_folds, equilibria):
    with pytest.raises(ValueError, match="'w'"):
        with_folds.check(impacting)
    with pytest.raises(ValueError, match="budget = 0"):
        with_folds.check(smooth, budget=0.0)
    with pytest.raises(ValueError, match="equilibria"):
        equilibria.check(van_der_pol)
