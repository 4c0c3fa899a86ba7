"""Checked against: the closed form of a free fall, and the system's own equation."""

import jax.numpy as jnp
import pytest

import jaxvib as jv
from jaxvib.dynamics.integrated_system import IntegratedSystem
from jaxvib.dynamics.measures import Squares


def test_an_integral_along_a_fall_has_its_closed_form():
    # v = g t: the integral of v^2 is g^2 t^3 / 3.
    body = jv.LinearSystem([[2.0]], [[0.0]], [[0.0]])
    weight = jv.AppliedLoad([1.0], jv.ConstantLoad(2.0 * 9.81), "weight")
    falling = IntegratedSystem(jv.ImpactSystem(body, loads=[weight]), Squares)
    end = jv.flow(falling, falling.rest(), 0.0, 0.7, rtol=1e-11)
    assert float(end[4]) == pytest.approx(9.81**2 * 0.7**3 / 3, rel=1e-9)
    assert float(end[0]) == pytest.approx(9.81 * 0.7**2 / 2, rel=1e-9)


def test_steps_stop_where_those_of_the_system_do():
    body = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
    law = jv.HuntCrossleyContact(1e3, damping=0.2)
    record = jv.RecordLoad([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    system = jv.ImpactSystem(
        body, [jv.Contact([1.0], 0.1, law, "stop")], [jv.AppliedLoad([1.0], record, "push")]
    )
    own = system.equation()
    with_integral = IntegratedSystem(system, Squares).equation()
    assert with_integral.damped_contacts() == own.damped_contacts() == (True,)
    assert with_integral.may_jump() == own.may_jump()
    time = jnp.asarray(0.4)
    assert float(with_integral.next_breakpoint(time)) == float(own.next_breakpoint(time))
    assert float(with_integral.next_breakpoint(time)) == 1.0
