"""Checked against: linear equations, whose multipliers are exponentials in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.branches.equations.defining_equations import has_torus
from jaxvib.ensemble import Reason

RATE = np.log(6.59)  # a multiplier 6.59 over a period of 1


def about_one(rates):
    """Return the system whose distance from rest at (1, ..., 1) has a matrix of rates."""
    return jv.forced_system(
        lambda t, x, p: rates(p["p"]) @ (x - 1.0),
        parameters={"p": -1.8}, period=1.0, dimension=2,
    )  # fmt: skip


saddle = about_one(lambda p: jnp.diag(jnp.stack([jnp.asarray(RATE), p])))
spiral = about_one(lambda p: jnp.array([[0.0, 1.3], [-1.3, 0.0]]) + p * jnp.eye(2))


@pytest.mark.slow  # compiles two searches of bifurcations, 5 s
def test_two_real_multipliers_whose_product_is_one_are_no_torus():
    at_rest = np.ones(2)
    with pytest.raises(RuntimeError, match="neimark_sacker: the branch has no bifurcation"):
        jv.bifurcation_point(saddle, at_rest, "neimark_sacker", "p")
    found = jv.bifurcation_point(saddle, at_rest, "neimark_sacker", "p", throw=False)
    assert int(found.result) == Reason.NO_BIFURCATION
    assert float(found.parameter) == pytest.approx(-RATE, rel=1e-9)  # 6.59 and 0.152

    @jax.jit
    def code(guess):
        return jv.bifurcation_point(saddle, guess, "neimark_sacker", "p").result

    assert int(code(at_rest)) == Reason.NO_BIFURCATION


@pytest.mark.slow  # compiles a branch of its own, 4 s
def test_a_complex_pair_on_the_unit_circle_is_a_torus():
    near = jv.replace(spiral, {"p": -0.2})
    found = jv.bifurcation_point(near, [1.0, 1.0], "neimark_sacker", "p")
    assert int(found.result) == Reason.SUCCESS
    assert float(found.parameter) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow  # compiles an orbit and a branch, 4 s
def test_no_branch_lists_a_neutral_saddle():
    orbit = jv.periodic_orbit(saddle, np.ones(2))
    branch = jv.continue_orbit(saddle, orbit, "p", (-2.0, -1.7))
    products = np.prod(np.asarray(branch.floquet_multipliers), axis=1).real
    assert products[0] < 1 < products[-1]
    assert not branch.bifurcations


def test_a_pair_is_distinguished_from_a_saddle_by_its_imaginary_part():
    turn = np.exp(1j * 0.7)
    many = np.array([[turn, turn.conj(), 0.2], [6.59, 1 / 6.59, 0.2], [-2.0, -0.5, 0.1],
                     [1.2 * turn, 1.2 * turn.conj(), 1.0]])  # fmt: skip
    assert has_torus(many).tolist() == [True, False, False, False]
