"""Fields of the literature, once each: their rates, and systems of them.

Systems of one field differ in the values of parameters only, so that tests of one process
share compiled programs.
"""

import jax.numpy as jnp

import jaxvib as jv

TAU = 2 * jnp.pi
LORENZ = {"sigma": 10.0, "r": 28.0, "b": 8 / 3}


def duffing(w=1.0, f=0.015, c=0.04, k=1.0):
    """Return x'' + c x' + x + k x^3 = f cos(w t), whose folds are near w = 1.046."""
    values = {"w": w, "f": f, "c": c, "k": k}
    return jv.forced_system(duffing_rates, parameters=values, period=_turn, dimension=2)


def duffing_rates(t, x, p):
    push = p["f"] * jnp.cos(p["w"] * t) - p["c"] * x[1]
    return [x[1], push - x[0] - p["k"] * x[0] ** 3]


def _turn(p):
    return TAU / p["w"]


def fitzhugh_nagumo():
    """Return a nerve cell that a fast current stimulates."""
    values = {"a": 0.8, "amp": 0.1}
    return jv.forced_system(_nerve, parameters=values, period=TAU / 10, dimension=2)


def _nerve(t, x, p):
    push = x[0] - x[0] ** 3 / 3 + x[1] - p["amp"] * jnp.cos(10 * t)
    return [3 * push, -(x[0] - p["a"] + 0.8 * x[1]) / 3]


def predator_prey():
    """Return predator and prey in seasons."""
    values = {"b0": 0.45, "eps": 0.2}
    return jv.forced_system(_eaten, parameters=values, period=1.0, dimension=2)


def _eaten(t, x, p):
    eaten = 4 * jnp.pi * x[0] * x[1] / (p["b0"] * (1 + p["eps"] * jnp.cos(TAU * t)) + x[0])
    return [TAU * (1 - x[0]) * x[0] - eaten, eaten - TAU * x[1]]


def van_der_pol(mu):
    """Return x'' - mu (1 - x^2) x' + x = 0."""
    return jv.autonomous_system(van_der_pol_rates, parameters={"mu": mu}, dimension=2)


def van_der_pol_rates(x, p):
    return jnp.stack([x[1], p["mu"] * (1 - x[0] ** 2) * x[1] - x[0]])


def rossler(c=2.5):
    """Return Rossler's field with a = b = 0.2."""
    return jv.autonomous_system(_rossler, parameters={"c": c}, dimension=3)


def _rossler(x, p):
    return jnp.stack([-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - p["c"])])


def lorenz(r):
    """Return Lorenz's convection; its rolls are stable up to r = 470 / 19."""
    return jv.autonomous_system(lorenz_rates, parameters=LORENZ | {"r": r}, dimension=3)


def lorenz_rates(x, p):
    turn = x[0] * (p["r"] - x[2]) - x[1]
    return [p["sigma"] * (x[1] - x[0]), turn, x[0] * x[1] - p["b"] * x[2]]


def brusselator(a=1.0, b=1.0):
    """Return a reaction at rest at (a, b / a), which oscillates above b = 1 + a^2."""
    return jv.autonomous_system(brusselator_rates, parameters={"a": a, "b": b}, dimension=2)


def brusselator_rates(x, p):
    rate = x[0] ** 2 * x[1]
    return [p["a"] - (p["b"] + 1) * x[0] + rate, p["b"] * x[0] - rate]


def spring(first, second, **values):
    """Return a spring and damper between two bodies, of which the second has a mass."""
    return jv.TranslationTranslation(first, second, **values)
