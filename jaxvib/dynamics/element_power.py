"""Mean powers that elements with states take from bodies."""

from jaxtyping import Array, ArrayLike, Float, Real

from ..systems.impact import ImpactSystem
from ..systems.states import CoupledEquation
from .mean_rates import mean_rates


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
    number = len(system.elements)
    return mean_rates(system, _powers, number, state, (t0, t1), rtol, throw)


def _powers(equation: CoupledEquation, time, state):
    return equation.element_powers(time, state)
