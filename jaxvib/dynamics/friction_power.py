"""Mean powers lost to the friction of annular contacts."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..systems.annular import annular
from ..systems.equation import Equation
from ..systems.impact import ImpactSystem
from .flow import flow
from .integrated_system import IntegratedSystem


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
    **Raises:** `ValueError` for a system without annular contacts, and as `flow`.

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
    start = jnp.asarray(state, float)
    metered = IntegratedSystem(system, _powers, len(system.contacts))
    whole = jnp.concatenate([start, jnp.zeros(len(system.contacts))])
    end = flow(metered, whole, t0, t1, rtol=rtol, throw=throw)
    return end[start.shape[0] :] / (t1 - t0)


def _powers(equation: Equation, time, state):
    return equation.at(time).rubbing_powers(state)
