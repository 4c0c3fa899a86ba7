"""A cantilever in its exact modes that hits a stop at its tip."""

import numpy as np

import jaxvib as jv

FREQUENCY, AMPLITUDE, GAP, DAMPING_RATIO = 3.3, 0.05, 0.02, 0.01
PERIOD = 2 * np.pi / FREQUENCY


def cantilever_frequencies(modes: int) -> np.ndarray:
    """Return the squares of the roots of 1 + cos(x) cosh(x), by Newton iteration."""
    roots = (np.arange(1, modes + 1) - 0.5) * np.pi
    roots[0] = 1.875
    for _ in range(30):
        small = np.exp(-2 * roots)
        value = np.cos(roots) + 2 * np.exp(-roots) / (1 + small)
        slope = -np.sin(roots) - 2 * np.exp(-roots) * (1 - small) / (1 + small) ** 2
        roots = roots - value / slope
    return roots**2


def modal_cantilever(modes: int, *laws, gaps=(GAP,)) -> jv.ImpactSystem:
    """Return a unit cantilever in modes of unit mass, loaded and stopped at its tip."""
    load = jv.AppliedLoad(_tip(modes), jv.HarmonicLoad(AMPLITUDE, FREQUENCY))
    return free_cantilever(modes, *laws, gaps=gaps, damping=DAMPING_RATIO, loads=(load,))


def free_cantilever(
    modes: int, *laws, gaps=(GAP,), damping=0.0, loads=()
) -> jv.ImpactSystem:
    """Return it by default without damping and loads."""
    frequencies, tip = cantilever_frequencies(modes), _tip(modes)
    linear = jv.LinearSystem(
        np.eye(modes), np.diag(2 * damping * frequencies), np.diag(frequencies**2)
    )
    stops = [jv.Contact(tip, gap, law) for gap, law in zip(gaps, laws, strict=True)]
    return jv.ImpactSystem(linear, stops, loads)


def _tip(modes: int) -> np.ndarray:
    """Return the modes' displacements of the tip."""
    return 2 * (-1.0) ** np.arange(modes)
