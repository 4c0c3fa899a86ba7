"""Checked against: the same functions traced, so that JAX computes what numpy does."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib import linalg
from jaxvib.foundation.arrays import to_numpy
from jaxvib.orbits.periodic_orbit import orbit_from_guess
from jaxvib.orbits.shooting.linear_steady_state import (
    linear_steady_state,
    stays_apart,
    transient_periods,
)
from jaxvib.orbits.shooting.multipliers import (
    floquet_multipliers,
    multiplier_error,
    state_rounding,
)

# What cancels is as large as rounding, whichever order its terms come in.
ROUNDED = {"residual": 1e-13, "determinant_defect": 1e-9, "state_error": 1e-13}
# Differences of two tolerances, in whose last digits rounding shows.
DIFFERENCES = ("multiplier_error", "monodromy_error")


def assert_same(known, traced):
    assert known.labels == traced.labels
    for field in (f for f in dataclasses.fields(known) if "unit" in f.metadata):
        one, other = (np.asarray(getattr(of, field.name)) for of in (known, traced))
        assert (one.dtype, one.shape) == (other.dtype, other.shape), field.name
        if one.dtype.kind in "ib":
            np.testing.assert_array_equal(one, other, field.name)
            continue
        rtol = 1e-6 if field.name in DIFFERENCES else 1e-9
        rtol = 1e-12 if field.name in ("state", "period", "max_contact_force") else rtol
        atol = ROUNDED.get(field.name, 1e-15)
        np.testing.assert_allclose(one, other, rtol, atol, err_msg=field.name)


@jax.jit
def traced(amplitude, guess, periods):
    system = jv.two_body_impact(load=jv.HarmonicLoad(amplitude, 5.8))
    return orbit_from_guess(system, guess, periods, jnp.asarray(1e-8), jnp.asarray(1e-2))


@pytest.mark.parametrize(
    ("amplitude", "periods", "far"),
    [(500.0, 1, 1.0), (500.0, 2, 1.0), (350.0, 1, 1.0), (20.0, 1, 1.0), (500.0, 1, 1e8)],
)
def test_an_orbit_is_the_same_known_or_traced(amplitude, periods, far):
    system = jv.two_body_impact(load=jv.HarmonicLoad(amplitude, 5.8))
    guess = far * np.array([0.0829, 0.1978, 0.6707, 0.3049])
    known = jv.periodic_orbit(system, guess, periods, throw=False)
    assert_same(known, traced(amplitude, guess, np.int32(periods)))


@pytest.mark.slow  # compiles a traced search from rest, 5 s
def test_a_transient_leads_to_the_same_orbit_known_or_traced():
    system = jv.two_body_impact(contact=jv.RestitutionContact(0.7))
    known = jv.periodic_orbit(system)
    assert_same(known, jax.jit(jv.periodic_orbit)(system))
    assert int(known.contacts) == 1
    assert "peak force    unknown (hard stops)" in repr(known)


@pytest.mark.slow  # compiles an orbit, 2 s
def test_the_force_of_a_hard_stop_that_holds_a_ball_is_not_said_to_be_zero():
    nothing = [[0.0]]
    held = jv.ImpactSystem(
        jv.LinearSystem([[1.0]], nothing, nothing),
        (jv.Contact([-1.0], 0.0, jv.RestitutionContact(0.5)),),
        (
            jv.AppliedLoad([1.0], jv.ConstantLoad(-9.81)),
            jv.AppliedLoad([1.0], jv.HarmonicLoad(0.4, 5.0)),
        ),
    )
    text = repr(jv.periodic_orbit(held))
    assert "always in contact" in text
    assert "peak force    unknown (hard stops)" in text


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_multipliers_and_their_errors_are_the_same(scale):
    matrix, change = np.random.default_rng(3).normal(size=(2, 6, 6))
    change, units = scale * 1e-9 * change, np.abs(matrix[0])
    for function, arguments in (
        (floquet_multipliers, (matrix,)),
        (linalg.eigenvalues, (matrix,)),
        (multiplier_error, (matrix, change)),
        (state_rounding, (matrix, units)),
    ):
        known = function(*arguments)
        jaxs = jax.jit(function)(*map(jnp.asarray, arguments))
        assert isinstance(known, np.ndarray | np.generic)
        np.testing.assert_allclose(known, jaxs, rtol=1e-11)


@pytest.mark.parametrize(
    "loads",
    [1, pytest.param(2, marks=pytest.mark.slow)],  # 2 s to compile
)
def test_the_end_of_a_linear_transient_is_the_same(loads):
    system = jv.ImpactSystem(
        jv.two_body_impact(),
        (jv.Contact([1.0, -1.0], 0.05, jv.HertzContact(1e9)),),
        tuple(jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(5.0, 5.8 * (1 + k)))
              for k in range(loads)),
    )  # fmt: skip

    def end(system):
        end = linear_steady_state(system)
        apart = stays_apart(end, system.rest())
        return end, apart, transient_periods(end, system.period(), 10)

    found = to_numpy(jv.kernel(end)(system))
    for one, other in zip(
        jax.tree.leaves(found), jax.tree.leaves(jax.jit(end)(system)), strict=True
    ):
        assert isinstance(one, np.ndarray | np.generic)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)
