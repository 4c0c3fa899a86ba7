r"""Closed-form optimal tuned mass dampers on an undamped main body.

Frequency ratio $f = \omega_a/\omega_m$ and damping ratio $\zeta$ of the attached body on
its own spring, for a mass ratio $\mu$.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import unknown_key


class Absorber(NamedTuple):
    """The frequency and damping ratio of an absorber."""

    frequency_ratio: Float[Array, "..."]
    damping_ratio: Float[Array, "..."]


def optimal_absorber(criterion: str, mass_ratio: Real[ArrayLike, "..."]) -> Absorber:
    r"""Return the optimal absorber for a criterion.

    - `"h2"`: minimum variance of the main body under a white-noise force (Crandall and
      Mark): $f = \sqrt{1 + \mu/2}/(1 + \mu)$, $\zeta = \sqrt{\mu (1 + 3\mu/4) / (4 (1 +
      \mu)(1 + \mu/2))}$;
    - `"h_infinity"`: minimum peak amplitude of the main body under a harmonic force,
      exact (Nishihara and Asami, 2002);
    - `"den_hartog"`: equal amplitudes at the fixed points, and the mean of the two
      dampings that have their peak at one of them (Brock): $f = 1/(1+\mu)$,
      $\zeta = \sqrt{3\mu / (8 (1 + \mu))}$, an approximation of the former.

    **Raises:** `ValueError` for an unknown criterion or a mass ratio that is not
    positive.

    >>> best = jv.design.optimal_absorber("h_infinity", 0.1)
    >>> round(float(best.damping_ratio), 6)
    0.18547
    """
    if criterion not in _FORMULAS:
        raise ValueError(unknown_key("criterion", criterion, _FORMULAS))
    check_range("mass_ratio", mass_ratio, "", Range(above=0.0))
    return _FORMULAS[criterion](jnp.asarray(mass_ratio, float))


def _h2(mu) -> Absorber:
    return Absorber(
        jnp.sqrt(1 + mu / 2) / (1 + mu),
        jnp.sqrt(mu * (1 + 3 * mu / 4) / (4 * (1 + mu) * (1 + mu / 2))),
    )


def _h_infinity(mu) -> Absorber:
    root = jnp.sqrt(4 + 3 * mu)
    above = 16 + 23 * mu + 9 * mu**2 + 2 * (2 + mu) * root
    below = 3 * (64 + 80 * mu + 27 * mu**2)
    return Absorber(
        2 / (1 + mu) * jnp.sqrt(2 * above / below),
        jnp.sqrt((8 + 9 * mu - 4 * root) / (1 + mu)) / 4,
    )


def _den_hartog(mu) -> Absorber:
    return Absorber(1 / (1 + mu), jnp.sqrt(3 * mu / (8 * (1 + mu))))


_FORMULAS = {"h2": _h2, "h_infinity": _h_infinity, "den_hartog": _den_hartog}
