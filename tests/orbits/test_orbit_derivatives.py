"""Checked against: what the message promises."""

import jax
import jax.numpy as jnp
import pytest

import jaxvib as jv


def duffing():
    def field(t, x, p):
        push = 0.4 * jnp.cos(1.3 * t)
        return jnp.stack([x[1], push - 0.2 * x[1] - x[0] - p["cubic"] * x[0] ** 3])

    return jv.forced_system(
        field,
        parameters={"cubic": 0.5},
        period=lambda p: 2 * jnp.pi / 1.3 + 0 * p["cubic"],
        dimension=2,
    )


def test_a_second_derivative_says_what_there_is_instead():
    system = duffing()

    def largest(cubic):
        changed = jv.replace(system, {"cubic": cubic})
        return jv.periodic_orbit(changed, jnp.array([0.3, 0.1])).largest_multiplier

    with pytest.raises(TypeError, match="take differences of first ones"):
        jax.jacfwd(jax.jacfwd(largest))(jnp.asarray(0.5))
