"""Tuning: parameters moved down the gradient of an orbit's objective."""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from .._quantity import Range, check_range
from ..ensemble import Reason, reason
from ..orbits import PeriodicOrbit, periodic_orbit
from ..systems.parameters import parameters, replace, unknown_key

Objective = Callable[[PeriodicOrbit], Float[Array, ""]]


class Tuning(eqx.Module):
    """The course of a design: `steps` + 1 values of everything, the start first.

    `variables`: by path, (steps + 1,), in the parameters' units; `objective`:
    (steps + 1,); `gradients`: by path, of the objective with respect to the parameter.
    `system`: with the best values found; `result`: a reason code, not 0 if an orbit
    was lost on the way (the course then ends there).
    """

    variables: dict[str, Float[Array, " steps"]]
    objective: Float[Array, " steps"]
    gradients: dict[str, Float[Array, " steps"]]
    system: eqx.Module
    result: Int[Array, ""]

    def __repr__(self) -> str:
        best = int(np.nanargmin(self.objective))
        lines = [
            f"Tuning: {len(self.objective) - 1} steps, {reason(self.result)}",
            f"  objective {self.objective[0]:.6g} -> {self.objective[best]:.6g}",
        ]
        for path, values in self.variables.items():
            lines.append(f"  {path} {values[0]:.6g} -> {values[best]:.6g}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def tune(
    objective: Objective,
    system: eqx.Module,
    bounds: Mapping[str, tuple[float, float]],
    *,
    steps: int = 20,
    optimiser: optax.GradientTransformation | None = None,
    periods: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Tuning:
    r"""Move parameters within bounds so that an orbit's objective becomes small.

    Each parameter is $p = p_{low} + (p_{high} - p_{low}) / (1 + e^{-u})$ with a free
    variable u, which `optimiser` (optax; Adam with rate 0.2 unless given) moves along
    the exact gradient: through the converged orbit by the implicit function theorem,
    through its peaks by the flow to their times. The first orbit is the one that a
    transient leads to; each following one starts from the one before.

    **Arguments:** `bounds`: by path, with the system's own value strictly in between.
    **Raises:** `ValueError` for an unknown path, bounds that do not enclose the value,
    or a first orbit that was not found.
    """
    check_range("steps", steps, "", Range(at_least=1))
    start = _checked_start(system, bounds)
    lows = {path: float(low) for path, (low, _) in bounds.items()}
    widths = {path: float(high) - lows[path] for path, (_, high) in bounds.items()}
    optimiser = optax.adam(0.2) if optimiser is None else optimiser

    def values_of(free):
        return {
            path: lows[path] + widths[path] * jax.nn.sigmoid(free[path]) for path in lows
        }

    @eqx.filter_jit
    def evaluate(free, guess):
        def of_values(values):
            orbit = periodic_orbit(replace(system, values), guess, periods)
            return objective(orbit), (orbit.state, orbit.result)

        values, push = jax.vjp(values_of, free)
        (value, rest), gradient = jax.value_and_grad(of_values, has_aux=True)(values)
        return value, values, gradient, push(gradient)[0], *rest

    free = {
        path: jnp.asarray(_logit((start[path] - lows[path]) / widths[path]))
        for path in lows
    }
    memory = optimiser.init(free)
    first = periodic_orbit(system, periods=periods)
    if int(first.result) != Reason.SUCCESS:
        raise ValueError(f"the first orbit was not found: {reason(first.result)}")
    guess, course, result = first.state, [], Reason.SUCCESS
    for _ in range(steps + 1):
        value, values, gradient, push, state, code = evaluate(free, guess)
        if int(code) != Reason.SUCCESS:
            result = Reason(int(code))
            break
        course.append((value, values, gradient))
        updates, memory = optimiser.update(push, memory, free)
        free, guess = optax.apply_updates(free, updates), state
        if progress is not None:
            progress(1)
    objectives = jnp.stack([value for value, _, _ in course])
    best = course[int(jnp.argmin(objectives))][1]
    return Tuning(
        {path: jnp.stack([values[path] for _, values, _ in course]) for path in lows},
        objectives,
        {path: jnp.stack([slopes[path] for _, _, slopes in course]) for path in lows},
        replace(system, best),
        jnp.asarray(result, jnp.int32),
    )


def _logit(share: float) -> float:
    return float(np.log(share / (1 - share)))


def _checked_start(system, bounds) -> dict[str, float]:
    known = parameters(system)
    start = {}
    if not bounds:
        raise ValueError("bounds = {} names no parameter; allowed: one or more")
    for path, (low, high) in bounds.items():
        if path not in known:
            raise ValueError(unknown_key("parameter", path, known))
        declared = known[path]
        for bound in (low, high):
            check_range(f"bounds of {path}", bound, declared.unit, declared.allowed)
        value = float(declared.value)
        if not low < value < high:
            raise ValueError(
                f"bounds = ({low:g}, {high:g}) of {path} do not enclose its value {value:g}"
            )
        start[path] = value
    return start
