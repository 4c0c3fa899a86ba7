"""Where a motion changes its kind, as a result: a point of a branch, located."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._quantity import reported
from ..ensemble import reason
from ..ensemble.result import Result


class Bifurcation(Result):
    """What every bifurcation tells: its kind, where it is, and how well it is known."""

    kind: str = eqx.field(static=True)
    path: str = eqx.field(static=True)
    parameter: Float[Array, ""] = reported("value of the parameter")
    state: Float[Array, " n"] = reported("state at t = 0", "", ("state",))
    residual: Float[Array, ""] = reported("what is left of the equations, per size")
    test: Float[Array, ""] = reported("test function")
    iterations: Int[Array, ""] = reported("steps until it was located")
    result: Int[Array, ""] = reported("reason code")

    def _title(self) -> str:
        return f"{type(self).__name__} of kind {self.kind}"

    def _lines(self) -> list[str]:
        return [
            f"{type(self).__name__}: {self._what()} at {self.path} = "
            f"{self.parameter:.12g}{self._besides()}",
            f"  residual {self.residual:.1e}, test function {self.test:.1e}, "
            f"{int(self.iterations)} steps",
        ]

    def _what(self) -> str:
        return self.kind

    def _besides(self) -> str:
        return ""


class BifurcationPoint(Bifurcation):
    """A periodic motion at the parameter's value where it changes its kind.

    `parameter` and `state` are differentiable with respect to every other parameter of
    the system. `test` is what is left of the test function, and `residual` of
    s(nT) - s(0) in units of the motion's size.
    """

    periods: Int[Array, ""] = reported("periods of the load in one of the motion")
    time: Float[Array, ""] = reported("time of the grazing contact", "s")


class FieldBifurcation(Bifurcation):
    r"""An equilibrium, or a cycle, at the parameter's value where it changes its kind.

    `of` says which of both it is. `period`: of the cycle, or $2 \pi / \omega$ of a Hopf
    point, whose `frequency` $\omega$ is; NaN where there is none. `test`: how far an
    eigenvalue or a multiplier is from where it should be; `iterations` count evaluations
    of it.
    """

    of: str = eqx.field(static=True)
    period: Float[Array, ""] = reported("period of the cycle", "s")
    frequency: Float[Array, ""] = reported("angular frequency", "rad/s")

    def _what(self) -> str:
        return f"{self.kind} of {'a' if self.of == 'cycle' else 'an'} {self.of}"

    def _besides(self) -> str:
        return f", {self.frequency:.10g} rad/s" if np.isfinite(self.frequency) else ""


def field_bifurcation(kind: str, of: str, path: str, **numbers) -> FieldBifurcation:
    """Return a bifurcation of such numbers, as arrays."""
    whole = ("iterations", "result")
    arrays = {
        name: jnp.asarray(value, jnp.int32 if name in whole else float)
        for name, value in numbers.items()
    }
    return FieldBifurcation(kind=kind, of=of, path=path, **arrays)


def listed(bifurcations) -> list[str]:
    """Return a line for each bifurcation of a branch."""
    return [
        f"  {point.kind.replace('_', ' ')} at {point.parameter:.10g}"
        + (f" (not located: {reason(point.result)})" if int(point.result) else "")
        for point in bifurcations
    ]
