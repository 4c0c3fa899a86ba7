"""Checked against: exact propagation, orders of convergence, scipy's DOP853."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics.propagation import propagate

RNG = np.random.default_rng(2)
# Each form of the steps takes more than a second to compile, as do other orders.
ENDS = [
    "periodic",
    "hinged",
    *(pytest.param(ends, marks=pytest.mark.slow) for ends in ("free", "clamped")),
]


@pytest.mark.parametrize("ends", ENDS)
def test_steps_and_exact_motion_agree(ends):
    chain = jv.BeamChain(bodies=8, gamma=1.0, ends=ends)
    state = RNG.normal(size=(4, 8))
    if ends == "hinged":
        state[np.ix_([0, 2], [0, -1])] = 0
    exact = propagate(chain, state, [10.0])[0]
    found = jv.dynamics.step_chain(chain, state, 10.0, 200, order=8)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("order", "steps"), [(2, 200), (4, 100), (8, 20)])
def test_each_order_converges_as_it_says(order, steps):
    chain = jv.BeamChain(bodies=6, gamma=0.7)
    state = RNG.normal(size=(4, 6))
    exact = propagate(chain, state, [4.0])[0]
    errors = [
        np.abs(jv.dynamics.step_chain(chain, state, 4.0, n, order=order) - exact).max()
        for n in (steps, 2 * steps)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_cubic_springs_and_a_stop_move_as_an_independent_integration():
    chain = jv.BeamChain(bodies=3, gamma=1.0, ends="clamped")
    forces = (
        jv.dynamics.CubicGround(0.2, 1.5),
        jv.dynamics.Stop(1, 0.1, jv.HertzContact(20.0)),
    )
    state = 0.5 * RNG.normal(size=(4, 3))

    def field(time, flat):
        y, phi, v, w = flat.reshape(4, 3)
        left, right = np.pad(y, 1)[:-2], np.pad(y, 1)[2:]
        before, after = np.pad(phi, 1)[:-2], np.pad(phi, 1)[2:]
        push = right - 2 * y + left - (after - before) / 2 - 0.2 * y - 1.5 * y**3
        push[1] -= 20.0 * max(y[1] - 0.1, 0.0) ** 1.5
        turn = 3 * (right - left) - (after + 4 * phi + before)
        return np.concatenate([v, w, push, turn])

    solved = solve_ivp(field, (0, 6), state.reshape(-1), "DOP853", rtol=1e-11, atol=1e-12,
                       max_step=0.01).y[:, -1]  # fmt: skip
    found = jv.dynamics.step_chain(chain, state, 6.0, 6000, forces=forces, order=4)
    np.testing.assert_allclose(np.asarray(found).reshape(-1), solved, atol=1e-8)

    def energy(at):
        extra = sum(force.energy(at[:2]) for force in forces)
        return float(chain.energies(at).total + extra)

    assert energy(found) == pytest.approx(energy(jax.numpy.asarray(state)), rel=1e-7)


class Cubic(eqx.Module):
    """A spring with f = k x + c x^3, as a law that an `ImpactSystem` takes."""

    stiffness: float
    cubic: float

    def force(self, x):
        return self.stiffness * x + self.cubic * x**3

    def energy(self, x):
        return self.stiffness * x**2 / 2 + self.cubic * x**4 / 4


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["periodic", "clamped", "free"])
def test_adaptive_and_symplectic_steps_of_a_nonlinear_chain_agree(ends):
    chain = jv.BeamChain(bodies=5, gamma=0.8, ends=ends)
    law, spring = jv.HertzContact(20.0), Cubic(0.2, 1.5)
    places = [jv.Contact(chain.direction(f"{i}.y"), 0.0, spring) for i in range(5)]
    stop = jv.Contact(chain.direction("2.y"), 0.1, law)
    system = jv.ImpactSystem(chain, (stop, *places))
    state = 0.4 * RNG.normal(size=(4, 5))
    flat = state.reshape(2, 2, 5).swapaxes(1, 2).reshape(-1)  # y, angle of each body
    adaptive = np.asarray(jv.flow(system, flat, 0.0, 8.0, rtol=1e-11, engine="diffrax"))
    forces = (jv.dynamics.CubicGround(0.2, 1.5), jv.dynamics.Stop(2, 0.1, law))
    stepped = jv.dynamics.step_chain(chain, state, 8.0, 8000, forces=forces, order=4)
    flat = np.asarray(stepped).reshape(2, 2, 5).swapaxes(1, 2).reshape(-1)
    np.testing.assert_allclose(flat, adaptive, rtol=0, atol=2e-8)
    depth = np.asarray(jv.simulate(system, flat, np.linspace(0, 8, 81)).contact_force)
    assert depth[:, 0].max() > 0


@pytest.mark.slow
def test_the_energy_stays_within_its_bound_for_a_hundred_thousand_units():
    chain = jv.BeamChain(bodies=16, gamma=1.0)
    state = RNG.normal(size=(4, 16))
    state[2] -= state[2].mean()
    step = 0.1
    worst = 0.0
    start = chain.energies(state).total
    for _ in range(10):
        state = jv.dynamics.step_chain(chain, state, 1e4, int(1e4 / step), order=4)
        worst = max(worst, abs(float(chain.energies(state).total / start) - 1))
    # the shadow energy differs by O(step^4); no drift in a million steps
    assert worst < 2e-5


def test_bad_steps_are_named():
    chain = jv.BeamChain(bodies=4, gamma=1.0)
    with pytest.raises(ValueError, match="order = 3; allowed: 2, 4, 8"):
        jv.dynamics.step_chain(chain, np.zeros((4, 4)), 1.0, 10, order=3)
    with pytest.raises(ValueError, match="steps = 0 is not in"):
        jv.dynamics.step_chain(chain, np.zeros((4, 4)), 1.0, 0)
