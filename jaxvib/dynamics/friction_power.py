"""Mean powers lost in annular contacts, to their friction and to their damping."""

from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.types import Number
from ..systems.annular import annular
from ..systems.equation import Equation
from ..systems.impact import ImpactSystem
from .mean_rates import mean_rates


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
    number = len(system.contacts)
    return mean_rates(system, _rubbed, number, state, (t0, t1), rtol, throw)


def mean_lost_power(
    system: ImpactSystem,
    state: Float[Array, " state"],
    span: Float[Array, ""],
    rtol: Number,
) -> Float[Array, " contacts"]:
    """Return the mean power lost in each contact, W, to damping and to its friction.

    Of the motion in `state` at 0 until `span` (s); NaN if its solve failed.
    """
    number = len(system.contacts)
    return mean_rates(system, _lost_power, number, state, (0.0, span), rtol, throw=False)


def lost_powers(
    equation: Equation, time: Number, state: Float[Array, " state"]
) -> tuple[Array, Array]:
    """Return the power lost in each contact, and the part due to its friction, W."""
    now = equation.at(time)
    rubbed = now.rubbing_powers(state)
    damped = now.lost_powers(now.penetrations(state), now.closing_rates(state))
    return damped + rubbed, rubbed


def _rubbed(equation: Equation, time, state):
    return equation.at(time).rubbing_powers(state)


def _lost_power(equation: Equation, time, state):
    return lost_powers(equation, time, state)[0]
