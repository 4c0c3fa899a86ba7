"""Checked against: x' = x^2 with its motion 1/(1 - t), and x' = 1, which never repeats."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason, raise_if_empty


def growing(power):
    return jv.forced_system(
        lambda t, x, p: [p["rate"] * x[0] ** power],
        parameters={"rate": 1.0}, period=1.0, dimension=1,
    )  # fmt: skip


explosive, drifting = growing(2), growing(0)
GONE = "the solution diverges|used up its steps"


def test_a_flow_that_fails_alone_raises_its_reason():
    with pytest.raises(RuntimeError, match=f"flow: .*({GONE})"):
        jv.flow(explosive, [1.0], 0.0, 2.0)
    assert np.isnan(jv.flow(explosive, [1.0], 0.0, 2.0, throw=False)).all()
    np.testing.assert_allclose(jv.flow(explosive, [1.0], 0.0, 0.5), [2.0], rtol=1e-8)


def test_under_transformations_a_flow_that_fails_is_nan():
    def end(start):
        return jv.flow(explosive, start, 0.0, 0.75)[0]

    starts = jnp.array([[1.0], [2.0]])
    found = jax.vmap(end)(starts)
    np.testing.assert_allclose(found, [4.0, np.nan], rtol=1e-7)
    assert np.isnan(jax.jit(end)(starts[1]))
    assert np.isnan(jax.jacfwd(end)(starts[1])).all()


def test_a_motion_that_ends_early_keeps_its_samples():
    found = jv.simulate(explosive, [1.0], [0.0, 0.5, 2.0])
    assert Reason(int(found.result)).failed
    np.testing.assert_allclose(found.states[:, 0], [1.0, 2.0, np.nan], rtol=1e-7)
    with pytest.raises(RuntimeError, match=f"simulate: .*({GONE})"):
        jv.simulate(explosive, [1.0], [0.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match=f"poincare_section: .*({GONE})"):
        jv.orbits.poincare_section(explosive, [1.0], periods=2, skip=2)


@pytest.mark.slow  # compiles an orbit, a settling and a traced one, 3 s
def test_an_orbit_that_is_not_there_raises_its_reason():
    with pytest.raises(RuntimeError, match=r"periodic_orbit: .*; throw=False"):
        jv.periodic_orbit(drifting, [0.0])
    found = jv.periodic_orbit(drifting, [0.0], throw=False)
    assert int(found.result) != 0
    assert np.isnan(found.largest_multiplier)
    with pytest.raises(RuntimeError, match="did not converge to an orbit"):
        jv.periodic_orbit(drifting, periods=None)

    @jax.jit
    def code(rate):
        return jv.periodic_orbit(jv.replace(drifting, {"rate": rate}), [0.0]).result

    assert int(code(1.0)) != 0


def test_where_newtons_method_fails_the_next_step_is_named():
    chaotic = jv.replace(
        jv.two_body_impact(), {"load.amplitude": 2000 / 11, "load.frequency": 70 / 11}
    )
    with pytest.raises(RuntimeError, match="; omit the guess to settle first"):
        jv.periodic_orbit(chaotic, [0.1, 0.2, 3.0, -2.0])
    with pytest.raises(RuntimeError, match="; the motion from rest does not settle to the"):
        jv.periodic_orbit(chaotic)


def test_a_result_with_numbers_is_an_answer_whatever_its_reason():
    code = Reason.SHORTER_PERIOD
    raise_if_empty("periodic_orbit", True, code, np.array([np.nan, 1.0]))
    raise_if_empty("periodic_orbit", False, code)
    raise_if_empty("periodic_orbit", True, np.array([code, 0]))
    raise_if_empty("periodic_orbit", True, Reason.SUCCESS)
    jax.jit(lambda code: raise_if_empty("periodic_orbit", True, code))(int(code))
    with pytest.raises(RuntimeError, match="periodic_orbit: the orbit has a shorter"):
        raise_if_empty("periodic_orbit", True, code, np.array([np.nan, np.inf]))


@pytest.mark.parametrize(
    ("engine", "law"),
    [
        ("event", None),
        # 2 s and 3 s to compile
        pytest.param("event", jv.RestitutionContact(0.8), marks=pytest.mark.slow),
        pytest.param("diffrax", None, marks=pytest.mark.slow),
    ],
)
def test_where_a_motion_is_not_known_its_contact_force_is_not(engine, law):
    system = jv.two_body_impact() if law is None else jv.two_body_impact(contact=law)
    bad = jv.replace(system, {"load.amplitude": 1e200})
    found = jv.simulate(
        bad, system.rest(), np.linspace(0.0, 5.0, 11), engine=engine, throw=False
    )
    lost = np.isnan(found.states).any(axis=1)
    assert found.result != 0
    assert lost[-1]
    np.testing.assert_array_equal(np.isnan(found.contact_force[:, 0]), lost)
