"""A bar in its exact modes that falls on a rigid wall, and d'Alembert's solution."""

import numpy as np

import jaxvib as jv

# E A, the length, the mass per length and gravity; it falls from 5 m.
STIFFNESS, LENGTH, DENSITY, GRAVITY, HEIGHT = 900.0, 10.0, 1.0, 10.0, 5.0
TOUCH, RELEASE, SECOND_TOUCH = 1.0, 5 / 3, 11 / 3
IMPULSE = 150.0 * (RELEASE**2 - TOUCH**2)


def bar_force(times) -> np.ndarray:
    """Return the force of the wall up to the second touch, 300 t in contact."""
    return np.where((times > TOUCH) & (times < RELEASE), 300.0 * times, 0.0)


def bar_modes(modes, stiffness=STIFFNESS, density=DENSITY, length=LENGTH):
    """Return frequencies, the end's and the centre's shapes, and the end's residual."""
    number = np.arange(1, modes)
    frequencies = np.append(0.0, number * np.pi * np.sqrt(stiffness / density) / length)
    end = np.append(1.0, np.full(modes - 1, np.sqrt(2.0)))
    shapes = np.stack([end, np.eye(modes)[0]]) / np.sqrt(density * length)
    left = np.pi**2 / 6 - np.sum(1.0 / number**2)  # sum of 1/k^2 over the others
    return frequencies, shapes, 2 * length / (stiffness * np.pi**2) * left


def clamped_bar_modes(modes, stiffness, density, length):
    """Return frequencies, the free end's shapes and residual of a bar clamped behind."""
    waves = (np.arange(modes) + 0.5) * np.pi / length
    end = np.full(modes, np.sqrt(2 / (density * length)))
    frequencies = waves * np.sqrt(stiffness / density)
    return frequencies, end, length / stiffness - np.sum((end / frequencies) ** 2)


def falling_bar(modes: int) -> jv.ImpactSystem:
    """Return the bar in a number of modes, that of the rigid body included."""
    frequencies, shapes, left = bar_modes(modes)
    residual = left * np.diag([1.0, 0.0])
    bar = jv.ElasticStructure(frequencies, shapes, ["end", "centre"], residual=residual)
    weight = jv.ConstantLoad(DENSITY * LENGTH * GRAVITY)
    load = jv.AppliedLoad(bar.direction("centre"), weight)
    return jv.ImpactSystem(bar, [bar.stop("end", gap=HEIGHT)], [load])
