"""Where an equilibrium or a cycle of an autonomous field changes its kind, as a result."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._quantity import reported
from ..ensemble import reason


class FieldBifurcation(eqx.Module):
    r"""An equilibrium, or a cycle, at the parameter's value where it changes its kind.

    `of` says which of both it is. `period`: of the cycle, or $2 \pi / \omega$ of a Hopf
    point, whose `frequency` $\omega$ is; NaN where there is none. `test`: how far an
    eigenvalue or a multiplier is from where it should be.
    """

    kind: str = eqx.field(static=True)
    of: str = eqx.field(static=True)
    path: str = eqx.field(static=True)
    parameter: Float[Array, ""] = reported("value of the parameter")
    state: Float[Array, " n"] = reported("state at t = 0", "", ("state",))
    period: Float[Array, ""] = reported("period of the cycle", "s")
    frequency: Float[Array, ""] = reported("angular frequency", "rad/s")
    residual: Float[Array, ""] = reported("what is left of the equations")
    test: Float[Array, ""] = reported("test function")
    iterations: Int[Array, ""] = reported("evaluations of the test function")
    result: Int[Array, ""] = reported("reason code")

    def __repr__(self) -> str:
        if np.ndim(self.result) or isinstance(self.result, jax.core.Tracer):
            return f"FieldBifurcation of kind {self.kind}"
        if int(self.result):
            return f"FieldBifurcation: no {self.kind} found ({reason(self.result)})"
        turning = f", {self.frequency:.10g} rad/s" if np.isfinite(self.frequency) else ""
        return (
            f"FieldBifurcation: {self.kind} of an {self.of} at {self.path} = "
            f"{self.parameter:.12g}{turning}\n"
            f"  residual {self.residual:.1e}, test function {self.test:.1e}"
        ).replace("an cycle", "a cycle")


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
