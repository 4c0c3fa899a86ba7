"""One motion in other units of length and time: numbers change, the motion does not.

A system in units of `length` metres and `time` seconds has the same masses in kilograms
and, by the dimension of each parameter, other numbers; Hertz's stiffness, in N/m^1.5 with
N = kg m / s^2, is divided by length^-0.5 time^-2.
"""

import jax.numpy as jnp
import numpy as np

import jaxvib as jv

LENGTHS = (1.0, 1e-3, 1e-6, 1e-9, 1e-12)  # m
TIMES = (1.0, 1e-6)  # s
UNITS = [(length, time) for time in TIMES for length in LENGTHS]


def in_units(value, length, time, *, lengths=0.0, times=0.0):
    """Return the number of a quantity of dimension m^lengths s^times in other units."""
    return value / (length**lengths * time**times)


def states_in(states, length, time):
    """Return states (..., 2n) of displacements (m) and velocities (m/s) in other units."""
    half = states.shape[-1] // 2
    units = np.concatenate([np.full(half, length), np.full(half, length / time)])
    return jnp.asarray(np.asarray(states) / units)


def two_bodies(length, time, *, amplitude=500.0, frequency=5.8, stiffness=35041219.07):
    """Return the two-body system with soft contact in other units."""
    return jv.two_body_impact(
        main_frequency=in_units(6.283, length, time, times=-1),
        attached_frequency=in_units(5.646, length, time, times=-1),
        gap=in_units(0.05, length, time, lengths=1),
        contact=jv.HertzContact(in_units(stiffness, length, time, lengths=-0.5, times=-2)),
        load=jv.HarmonicLoad(
            in_units(amplitude, length, time, lengths=1, times=-2),
            in_units(frequency, length, time, times=-1),
        ),
    )


def _duffing(t, x, p):
    force = p["force"] * jnp.cos(p["w"] * t)
    spring = p["stiffness"] * x[0] + p["cubic"] * x[0] ** 3
    return jnp.stack([x[1], force - spring - p["damping"] * x[1]])


_DUFFING = jv.forced_system(
    _duffing,
    parameters={"force": 0.5, "w": 1.2, "stiffness": 1.0, "cubic": 1.0, "damping": 0.2},
    period=lambda p: 2 * jnp.pi / p["w"],
    dimension=2,
)


def duffing(length, time, *, force=0.5, w=1.2):
    """Return Duffing's oscillator, a field that no one knows the units of, in others."""
    return jv.replace(
        _DUFFING,
        {
            "force": in_units(force, length, time, lengths=1, times=-2),
            "w": in_units(w, length, time, times=-1),
            "stiffness": in_units(1.0, length, time, times=-2),
            "cubic": in_units(1.0, length, time, lengths=-2, times=-2),
            "damping": in_units(0.2, length, time, times=-1),
        },
    )
