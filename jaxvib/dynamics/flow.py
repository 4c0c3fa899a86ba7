"""The flow of a system, its trajectories and its observables."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..drawing import Chart, Labels, draw
from ..drawing.axes import Axes
from ..drawing.plottable import ResultRepr
from ..ensemble import raise_if_empty
from ..foundation.arrays import is_concrete, to_numpy
from ..foundation.quantity import (
    Range,
    check_ascending,
    check_range,
    check_shape,
    floats,
    result_field,
)
from ..foundation.types import Number
from ..systems.base.system import System, state_shape
from .engines.choice import engine_of
from .engines.engine import Engine
from .motion import Motion, Want
from .observables import Observables
from .pictures import trajectory_animation, trajectory_chart, trajectory_text


class Trajectory(ResultRepr):
    """A motion at given times; NaN after its solve failed.

    >>> motion = jv.simulate(system, system.rest(), np.linspace(0.0, 5.0, 51))
    >>> round(float(motion.states[-1, 0]), 4)
    -0.0825
    """

    times: Float[Array, " times"] = result_field("time", "s", ("time",))
    states: Float[Array, "times state"] = result_field("state", "", ("time", "state"))
    contact_force: Float[Array, "times contacts"] = result_field(
        "contact force", "N", ("time", "contact")
    )
    result: Int[Array, ""] = result_field("reason code")
    labels: Labels = eqx.field(static=True, default=Labels())

    @property
    def drawable(self) -> bool:
        """Whether this is a single motion."""
        return np.ndim(self.result) == 0

    def __repr__(self) -> str:
        return trajectory_text(self) if self.drawable else super().__repr__()

    def charts(self) -> list[Chart]:
        """Return the chart of the displacements, and those of all fields."""
        return [trajectory_chart(self, "displacement"), *super().charts()]

    def plot(self, what: str = "displacement", *, ax: Axes = None) -> Axes:
        """Draw the motion on matplotlib axes, by default new ones, and return them.

        **Arguments:** `what`: over time (s) the `"displacement"`, the `"velocity"` or the
        contact `"force"` (N); or the velocity over the displacement, `"phase"`. In a
        system without bodies all states count as displacements. **Raises:**
        `ValueError` for a batch of motions or an unknown `what`.
        """
        return draw(trajectory_chart(self, what), ax)

    def animate(self, duration: float = 8.0) -> Any:
        """Return a `matplotlib.animation.FuncAnimation` of the bodies, `duration` (s) long.

        Each body moves on its own row by its displacement; in a notebook
        `IPython.display.HTML(motion.animate().to_jshtml())` plays it,
        `.save("motion.gif")` stores it. **Raises:** `ValueError` for a batch of motions
        or a `duration` that is not positive.
        """
        check_range("duration", duration, "s", Range(above=0.0))
        return trajectory_animation(self, duration)


def flow(
    system: System,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    t0: Real[Array, ""] | float,
    t1: Real[Array, ""] | float,
    *,
    rtol: Real[Array, ""] | float = 1e-10,
    engine: str | Engine = "auto",
    throw: bool = True,
) -> Float[Array, " state"]:
    r"""Return the state at time `t1` (s), `t0` or later, of a motion in `state` at `t0`.

    Works under `jit`, `vmap` and differentiation of any order, forward and reverse,
    with respect to the state, the times and every physical parameter. Its `jax.jacfwd`
    over one period is the monodromy matrix, whose columns are integrated under the same
    error control as the state. A failed solve gives NaN in a batch and under
    transformations; a single call raises unless `throw=False`.

    `engine` is a module of `dynamics.engines` or its name. `engine="event"` integrates
    event-driven, from contact to contact (`dynamics.events`): several times as fast,
    but for many degrees of freedom slower to compile. "auto" selects it where it is faster
    and for hard stops, see `engine_for`, and time stepping by diffrax otherwise. All
    are kernels, see `jv.kernel`. `engine="modal"` (`dynamics.modal`) is for linear
    systems of more than 8 degrees of freedom with elastic contacts and harmonic loads;
    "auto" selects it for single calls.

    **Raises:** `ValueError` for a state of the wrong shape, a time before `t0` (NaN under
    transformations: motions do not run backwards), a tolerance out of range, an unknown
    engine, or an engine that does not support the system; `RuntimeError` with the
    reason if a single solve fails.

    >>> after = jv.flow(system, orbit.state, 0.0, orbit.period)
    >>> bool(abs(after - orbit.state).max() < 1e-7)
    True
    """
    traced = not is_concrete(t0, t1)
    if not traced and t1 < t0:
        raise ValueError(f"t1 = {t1} s is before t0 = {t0} s; allowed: t0 or later")
    solution = solve_system(system, state, t0, t1, rtol=rtol, engine=engine)
    raise_if_empty("flow", throw, solution.result, solution.state)
    return jnp.where(t1 < t0, jnp.nan, solution.state) if traced else solution.state


def solve_system(
    system: System,
    state: Any,
    t0: Number,
    t1: Number,
    *,
    rtol: Number,
    engine: str | Engine = "auto",
) -> Motion:
    """Return the `Motion` of `flow`: state, reason code and number of steps."""
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    state = checked_state(system, state)
    chosen = engine_of(system, engine, state, t0, t1, rtol)
    return chosen.integrate(system, state, t0, t1, Want(rtol))


def simulate(
    system: System,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    times: Sequence[float] | Array | np.ndarray,
    rtol: Real[Array, ""] | float = 1e-10,
    *,
    engine: str | Engine = "auto",
    throw: bool = True,
) -> Trajectory:
    """Return the motion from `state` at `times[0]`, sampled at ascending `times` (s).

    The force of a hard stop is its holding force; impulses are not included.

    **Raises:** `ValueError` for a state of the wrong shape, times that do not ascend,
    a tolerance out of range or an unknown engine; `RuntimeError` with the reason where
    a single call fails before its second time, unless `throw=False`.

    >>> motion = jv.simulate(system, system.rest(), np.linspace(0.0, 5.0, 51))
    >>> motion.states.shape
    (51, 4)
    """
    chosen = engine_of(system, engine)
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    state = checked_state(system, state)
    times = jnp.asarray(floats("times", times), float)
    if times.ndim != 1 or times.size < 2:
        raise ValueError(f"times has shape {times.shape}; allowed: (2,) or longer")
    check_ascending("times", times, "s")
    rtol = floats("rtol", rtol)
    span = to_numpy(times)  # sliced by JAX a time would be compiled
    motion = chosen.integrate(system, state, span[0], span[-1], Want(rtol, times))
    sampled = motion.states, motion.forces, motion.result
    found = Trajectory(times, *sampled, labels=system.labels)
    raise_if_empty("simulate", throw, found.result, to_numpy(found.states)[1:])
    return found


def observe_with_monodromy(
    system: System,
    state: Array,
    t0: Number,
    t1: Number,
    *,
    engine: str | Engine = "auto",
    **wanted: Any,
) -> Motion:
    """Return the flow, its monodromy matrix and the observables of a motion.

    `wanted`: see `Want`. The result is not differentiable; use `flow` up to an observed
    time instead.
    """
    want = Want(**wanted, monodromy=True)
    return engine_of(system, engine).integrate(system, state, t0, t1, want)


def observe(
    system: System,
    state: Array,
    t0: Number,
    t1: Number,
    *,
    engine: str | Engine = "auto",
    **wanted: Any,
) -> tuple[Array, Observables, Array]:
    """Return the final state, the observables and a reason code; `wanted`: see `Want`."""
    chosen = engine_of(system, engine)
    found = chosen.integrate(system, state, t0, t1, Want(**wanted))
    return found.state, found.observables, found.result


def end_of(
    system: System,
    state: Any,
    t0: Number,
    t1: Number,
    rtol: Number,
    engine: str | Engine = "auto",
) -> Motion:
    """Return `solve_system` without differentiation."""
    chosen = engine_of(system, engine)
    return chosen.integrate(system, checked_state(system, state), t0, t1, Want(rtol))


def checked_state(system: System, state: Any) -> Float[Array, " state"]:
    """Return the state in float64.

    **Raises:** `ValueError` if it is not real or its shape is not the system's.
    """
    state = floats("state", state)
    if jnp.iscomplexobj(state):
        raise ValueError(f"state = {state} is not real; allowed: real numbers")
    state = jnp.asarray(state, float)
    check_shape("state", state, state_shape(system))
    return state
