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


def falling_bar(modes: int) -> jv.ImpactSystem:
    """Return the bar in a number of modes, that of the rigid body included."""
    number = np.arange(1, modes)
    speed = np.sqrt(STIFFNESS / DENSITY)
    frequencies = np.append(0.0, number * np.pi * speed / LENGTH)
    end = np.append(1.0, np.full(modes - 1, np.sqrt(2.0)))
    centre = np.append(1.0, np.zeros(modes - 1))
    shapes = np.stack([end, centre]) / np.sqrt(DENSITY * LENGTH)
    left = np.pi**2 / 6 - np.sum(1.0 / number**2)  # sum of 1/k^2 over the others
    residual = 2 * LENGTH / (STIFFNESS * np.pi**2) * left * np.diag([1.0, 0.0])
    bar = jv.ElasticStructure(frequencies, shapes, ["end", "centre"], residual=residual)
    weight = jv.ConstantLoad(DENSITY * LENGTH * GRAVITY)
    load = jv.AppliedLoad(bar.direction("centre"), weight)
    return jv.ImpactSystem(bar, [bar.stop("end", gap=HEIGHT)], [load])
