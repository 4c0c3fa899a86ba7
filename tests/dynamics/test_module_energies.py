"""Checked against: energies by hand, by the whole matrices, the balance of power."""

import jax
import numpy as np
import pytest

import jaxvib as jv


def cart_with_rods():
    return jv.assemble(
        [
            jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0,
                                      damping=0.5),
            jv.TranslationRotation("cart", "down", mass=1.0, length=0.8, damping=0.2),
            jv.TranslationRotation("cart", "up", mass=0.5, length=0.6, stiffness=9.0,
                                   standing=True),
        ]
    )  # fmt: skip


def test_two_masses_and_a_spring_have_the_energies_by_hand():
    system = jv.assemble(
        [
            jv.PointMass("a", 2.0),
            jv.PointMass("b", 3.0),
            jv.Spring("a", "b", stiffness=7.0, damping=0.4),
        ]
    )
    found = jv.dynamics.module_energies(system, np.array([0.1, 0.4, 1.5, -0.5]))
    np.testing.assert_allclose(found.kinetic, [2.25, 0.375, 0.0], rtol=1e-14)
    np.testing.assert_allclose(found.potential, [0, 0, 3.5 * 0.09], rtol=1e-14)
    np.testing.assert_allclose(found.dissipated, [0, 0, 0.4 * 4.0], rtol=1e-14)


@pytest.mark.slow  # compiles three coupled modules, 4 s
def test_energies_and_losses_of_modules_sum_to_those_of_the_system():
    system = cart_with_rods()
    times = np.linspace(0.0, 3.0, 7)
    start = np.array([0.1, -0.2, 0.3, 0.4, -0.1, 0.2])
    states = jv.propagate(system, start, times)
    found = jax.jit(jv.dynamics.module_energies)(system, states)
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    q, v = np.split(np.asarray(states), 2, -1)
    by_matrices = (
        (found.kinetic, (v * (v @ mass)).sum(-1) / 2),
        (found.potential, (q * (q @ stiffness)).sum(-1) / 2),
        (found.dissipated, (v * (v @ damping)).sum(-1)),
    )
    for mine, whole in by_matrices:
        assert mine.shape == (7, 3)
        np.testing.assert_allclose(mine.sum(-1), whole, rtol=1e-12, atol=1e-14)

    def total(time):
        moved = jv.propagate(system, start, time[None])[0]
        energies = jv.dynamics.module_energies(system, moved)
        return (energies.kinetic + energies.potential).sum()

    rate = jax.jit(jax.grad(total))(times[3])
    np.testing.assert_allclose(rate, -found.dissipated[3].sum(), rtol=1e-9)


def test_a_standing_rod_gives_energy_as_it_falls():
    system = cart_with_rods()
    lean = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
    weight = 0.5 * 9.81 * 0.6 / 2
    found = jv.dynamics.module_energies(system, lean).potential
    np.testing.assert_allclose(found, [0, 0, (9.0 - weight) * 0.005], rtol=1e-12)


def test_states_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"states have shape \(4,\); allowed: \(..., 6\)"):
        jv.dynamics.module_energies(cart_with_rods(), np.zeros(4))
