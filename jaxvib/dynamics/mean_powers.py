"""Mean powers along a motion: those that elements take, and those lost in contacts."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..ensemble import raise_if_empty
from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range
from ..foundation.types import Number
from ..systems.annular import annular
from ..systems.impact import ImpactSystem
from .flow import checked_state
from .measure import Measure
from .measures import ElementPowers, FrictionPowers, LostPowers, integrals


def mean_element_power(
    system: ImpactSystem,
    state: Real[ArrayLike, " state"],
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    throw: bool = True,
) -> Float[Array, " elements"]:
    r"""Return the mean power that each element takes from the bodies, W.

    $$P_k = \frac{1}{t_1 - t_0} \int_{t_0}^{t_1} F_k\, n_k^T \dot q\, dt$$

    of the motion in `state` at `t0`; negative for an element that drives the bodies.
    Over a period of an orbit an element stores nothing: the power of a harvester is
    that of its resistor. Works under `jit`, `vmap` and differentiation. **Raises:**
    `ValueError` for a system without elements, a `t1` that is not after `t0`, and as
    `flow`.

    >>> patch = jv.PiezoelectricCircuit(1e-3, resistance=100.0, coupling=0.5)
    >>> circuit = jv.StateElement([0.0, 1.0], patch, "circuit")
    >>> parts = stopped.contacts, stopped.loads
    >>> harvester = jv.ImpactSystem(tower, *parts, elements=(circuit,))
    >>> orbit = jv.periodic_orbit(harvester)
    >>> power = jv.dynamics.mean_element_power(harvester, orbit.state, 0.0, orbit.period)
    >>> bool(power[0] > 0)
    True
    """
    if not system.elements:
        raise ValueError("elements = () is empty; allowed: a system with elements")
    return _mean(system, ElementPowers, state, (t0, t1), rtol, throw)


def mean_friction_power(
    system: ImpactSystem,
    state: Real[ArrayLike, " state"],
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    throw: bool = True,
) -> Float[Array, " contacts"]:
    r"""Return the mean power lost to the friction of each annular contact, W.

    $$P_c = \frac{1}{t_1 - t_0} \int_{t_0}^{t_1} \mu\, |s(v)\, v|\, F_n\, dt$$

    of the motion in `state` at `t0`, with the sliding speed v of `AnnularContact`: the
    work rate by which wear is estimated (Archard: a worn volume proportional to the
    work). 0 for other contacts. Works under `jit`, `vmap` and differentiation.
    **Raises:** `ValueError` for a system without annular contacts, a `t1` that is not
    after `t0` (NaN under transformations), and as `flow`.

    >>> rotor = jv.LinearSystem(np.eye(2), 0.2 * np.eye(2), np.eye(2))
    >>> rub = {"friction_coefficient": 0.1, "surface_speed": 2.0}
    >>> stator = jv.AnnularContact(np.eye(2), 1.0, jv.LinearContact(5.0), **rub)
    >>> turning = jv.ImpactSystem(rotor, contacts=(stator,))
    >>> lost = jv.dynamics.mean_friction_power(turning, [1.5, 0.0, 0.0, 0.0], 0.0, 1.0)
    >>> bool(lost[0] > 0)
    True
    """
    if not annular(system.contacts):
        raise ValueError("contacts has no AnnularContact; allowed: one or more")
    return _mean(system, FrictionPowers, state, (t0, t1), rtol, throw)


def mean_lost_power(
    system: ImpactSystem,
    state: Float[Array, " state"],
    span: Float[Array, ""],
    rtol: Number,
) -> Float[Array, " contacts"]:
    """Return the mean power lost in each contact, W, to damping and to its friction.

    Of the motion in `state` at 0 until `span` (s); NaN if its solve failed.
    """
    return _mean(system, LostPowers, state, (0.0, span), rtol, throw=False)


def _mean(system: Any, measure: type[Measure], state, times, rtol, throw: bool):
    """Return the means of a measure's rates over `times` = (t0, t1), of a motion."""
    t0, t1 = times
    if is_concrete(times) and t1 <= t0:
        raise ValueError(f"t1 = {t1} s is not after t0 = {t0} s; allowed: later than t0")
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    times = jnp.stack([jnp.asarray(time, float) for time in times])
    _, sums, result = integrals(system, measure, checked_state(system, state), times, rtol)
    raise_if_empty("mean power", throw, result, sums[-1])
    return jnp.where(t1 < t0, jnp.nan, sums[-1]) / (t1 - t0)
