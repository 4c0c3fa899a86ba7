"""Checked against: natural frequencies, harmonic balance, and scipy's flow."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import jaxvib as jv

PUSH = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 1.0, 0.4), "push")


def one_body(cubic=1.0, damping=0.05, spring=1.0, **parts):
    bent = jv.NonlinearSpring([1.0], jv.PolynomialLaw(jnp.stack([0.0, 0.0, cubic])))
    matrices = (jnp.reshape(jnp.asarray(each), (1, 1)) for each in (damping, spring))
    linear = jv.LinearSystem([[1.0]], *matrices)
    return jv.ImpactSystem(linear, **{"loads": [PUSH], "springs": [bent], **parts})


@functools.cache
def duffing():
    return jv.branches.phase_resonance(one_body(), 0, 0.1, 0)


def balanced(load, damping=0.05, harmonics=24):
    """Return frequency and reach of Duffing's oscillator by harmonic balance.

    Of the odd harmonics of x'' + d x' + x + x^3 = F cos(w t), without a cosine of w t.
    """
    order = np.arange(1, 2 * harmonics, 2)
    angle = 2 * np.pi * np.arange(16 * harmonics) / (16 * harmonics)
    cosines, sines = np.cos(np.outer(order, angle)), np.sin(np.outer(order, angle))

    def motion(unknowns):
        cosine = np.append(0.0, unknowns[1:harmonics])
        return cosine, unknowns[harmonics:], unknowns[0]

    def left(unknowns):
        cosine, sine, frequency = motion(unknowns)
        position = cosine @ cosines + sine @ sines
        curved = [2 * np.mean(position**3 * each, axis=1) for each in (cosines, sines)]
        still, pace = 1 - (order * frequency) ** 2, damping * order * frequency
        forced = np.append(load, np.zeros(harmonics - 1))
        return np.append(still * cosine + pace * sine + curved[0] - forced,
                         still * sine - pace * cosine + curved[1])  # fmt: skip

    start = np.zeros(2 * harmonics)
    reach = load / damping / 1.2
    start[0], start[harmonics] = np.sqrt(1 + 0.75 * reach**2), reach
    found = scipy.optimize.root(left, start, tol=1e-14)
    assert np.abs(left(found.x)).max() < 1e-13
    cosine, sine, frequency = motion(found.x)
    return frequency, np.abs(cosine @ cosines + sine @ sines).max()


@pytest.mark.slow
def test_a_linear_body_with_a_viscous_damper_has_it_at_its_natural_frequency():
    found = jv.branches.phase_resonance(
        one_body(cubic=0.0, damping=0.3, spring=4.0), 0, 3.0, 0
    )
    np.testing.assert_allclose(found.frequency, 2.0, rtol=1e-11)
    assert (np.abs(np.asarray(found.frequency) - 2) <= found.frequency_error).all()
    np.testing.assert_allclose(
        found.orbits.amplitude[:, 0], found.parameter / (0.3 * 2.0), rtol=1e-6
    )
    assert np.asarray(found.ends).tolist() == [jv.Reason.PARAMETER_BOUND] * 2
    assert float(found.parameter[-1]) == 3.0


def test_duffings_resonance_frequencies_are_those_of_harmonic_balance():
    found = duffing()
    for load in (0.01, 0.05, 0.1):
        frequency, _ = balanced(load)
        np.testing.assert_allclose(
            found.frequency_at(one_body(), load), frequency, rtol=1e-9
        )
    frequency, reach = balanced(0.1)
    assert abs(found.frequency[-1] - frequency) <= found.frequency_error[-1] < 1e-7
    np.testing.assert_allclose(found.orbits.amplitude[-1, 0], reach, rtol=1e-4)
    assert (np.asarray(found.stable) == 1).all()


@pytest.mark.slow
def test_a_resonance_frequency_has_the_derivatives_of_harmonic_balance():
    def frequency(load, damping):
        return duffing().frequency_at(one_body(damping=damping), load)

    slopes = jax.jacfwd(frequency, (0, 1))(0.05, 0.05)
    ahead, behind = (balanced(0.05 * (1 + way))[0] for way in (1e-4, -1e-4))
    np.testing.assert_allclose(slopes[0], (ahead - behind) / (2 * 0.05 * 1e-4), rtol=1e-6)
    ahead, behind = (balanced(0.05, 0.05 * (1 + way))[0] for way in (1e-4, -1e-4))
    np.testing.assert_allclose(slopes[1], (ahead - behind) / (2 * 0.05 * 1e-4), rtol=1e-6)


def test_a_curve_of_phase_resonance_is_text_a_picture_and_a_dataset():
    found = duffing()
    assert "motions in phase resonance" in repr(found)
    assert found.plot(measure="period").get_ylabel() == "period of the motion (s)"
    assert found.to_xarray()["amplitude"].dims == ("point", "freedom")
    with pytest.raises(ValueError, match="check of a phase resonance"):
        found.check(one_body())


@pytest.mark.slow
def test_the_phase_is_held_through_the_touching_of_a_stop():
    gap, stop = 0.5, 2.0
    stiffness, damping = np.array([[2.0, -1.0], [-1.0, 3.0]]), np.diag([0.1, 0.05])
    contact = jv.Contact([0.0, 1.0], gap, jv.LinearContact(stop), "stop")
    load = jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(9.0, 9.0, -0.7), "shaker")
    system = jv.ImpactSystem(
        jv.LinearSystem(np.eye(2), damping, stiffness), [contact], [load]
    )
    found = jv.branches.phase_resonance(system, 0, 0.15, {"0": 1.0, "1": 0.5})
    touched = np.asarray(found.orbits.contacts)
    assert touched[0] == 0 < touched[-1]
    for place in (0, len(touched) // 2, -1):
        amplitude, frequency = (float(each[place]) for each in
                                (found.parameter, found.frequency))  # fmt: skip

        def rates(time, state, amplitude=amplitude, frequency=frequency):
            position, velocity = state[:2], state[2:4]
            wave = np.exp(1j * (frequency * time - 0.7))
            force = [amplitude * wave.real, -stop * max(position[1] - gap, 0.0)]
            seen = (position[0] + 0.5 * position[1]) * wave
            pull = stiffness @ position + damping @ velocity
            return [*velocity, *(force - pull), seen.real, seen.imag]

        state = np.asarray(found.states[place])
        end = scipy.integrate.solve_ivp(
            rates, (0.0, 2 * np.pi / frequency), [*state, 0.0, 0.0],
            method="DOP853", rtol=1e-12, atol=1e-14, max_step=0.01,
        ).y[:, -1]  # fmt: skip
        np.testing.assert_allclose(end[:4], state, atol=1e-7 * np.abs(state).max())
        assert abs(end[4]) < 1e-7 * abs(end[5])
        assert end[5] > 0


def shaken(given):
    return jv.BaseMotion([1.0], jv.HarmonicLoad(1.0, 1.0), given)


@pytest.mark.slow
def test_a_body_on_a_shaken_base_has_it_at_its_natural_frequency():
    system = one_body(cubic=0.0, spring=4.0, loads=[shaken("acceleration")])
    found = jv.branches.phase_resonance(system, 0, 0.1, 0)
    np.testing.assert_allclose(found.frequency, 2.0, rtol=1e-10)
    assert found.unit == "m/s^2"


WEIGHT = jv.AppliedLoad([1.0], jv.ConstantLoad(1.0), "weight")
PAD = jv.CoulombFriction([1.0], 2.0, name="pad")
STOP = jv.Contact([1.0], 0.1, jv.RestitutionContact(0.5), "wall")
SHUT = jv.Contact([1.0], -0.1, jv.LinearContact(1.0), "shut")


@pytest.mark.parametrize(
    ("system", "given", "words"),
    [
        (one_body().linear, (0, 1.0, 0), "of type LinearSystem; allowed: ImpactSystem"),
        (one_body(loads=[]), (0, 1.0, 0), "0 loads; allowed: an ImpactSystem with one"),
        (one_body(loads=[PUSH, WEIGHT]), (0, 1.0, 0), "2 loads"),
        (one_body(loads=[WEIGHT]), (0, 1.0, 0), "the load is a ConstantLoad"),
        (one_body(frictions=[PAD]), (0, 1.0, 0), "dry friction acts"),
        (one_body(loads=[shaken("velocity")]), (0, 1.0, 0), "as the velocity of a base"),
        (one_body(contacts=[STOP]), (0, 1.0, 0), "contacts.wall is a hard stop"),
        (one_body(contacts=[SHUT]), (0, 1.0, 0), "contacts.shut.gap: the contact touches"),
        (one_body(), (1, 1.0, 0), r"mode = 1 is not in \[0, 0\]"),
        (one_body(spring=0.0), (0, 1.0, 0), "mode = 0 is rigid"),
        (one_body(), (0, 0.0, 0), "amplitude = 0 N is not in"),
        (one_body(), (0, 1.0, 1), r"coordinate = 1 is not in \[0, 0\]"),
        (one_body(), (0, 1.0, "roof"), "roof"),
        (one_body(damping=0.0), (0, 1.0, 0), "has no damping"),
    ],
)
def test_bad_input_is_named(system, given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        jv.branches.phase_resonance(system, *given)
