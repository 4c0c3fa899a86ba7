"""Results of located bifurcations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...ensemble import reason
from ...ensemble.result import Result
from ...foundation.quantity import result_field
from ...foundation.types import Number
from ..equations.cycle_equations import CycleJoints
from ..tracing.test_functions import LocatedZero


class Bifurcation(Result):
    """Base class of bifurcations: kind, location and accuracy."""

    kind: str = eqx.field(static=True)
    path: str = eqx.field(static=True)
    parameter: Float[Array, ""] = result_field("value of the parameter")
    state: Float[Array, " n"] = result_field("state at t = 0", "", ("state",))
    residual: Float[Array, ""] = result_field("relative residual of the equations")
    test: Float[Array, ""] = result_field("test function")
    iterations: Int[Array, ""] = result_field("iterations of the location")
    result: Int[Array, ""] = result_field("reason code")

    def _title(self) -> str:
        return f"{type(self).__name__} of kind {self.kind}"

    def _lines(self) -> list[str]:
        return [
            f"{type(self).__name__}: {self._kind_text()} at {self.path} = "
            f"{self.parameter:.12g}{self._details()}",
            f"  residual {self.residual:.1e}, test function {self.test:.1e}, "
            f"{int(self.iterations)} steps",
        ]

    def _kind_text(self) -> str:
        return self.kind

    def _details(self) -> str:
        return ""


class BifurcationPoint(Bifurcation):
    """A bifurcation of a periodic orbit.

    `parameter` and `state` are differentiable with respect to every other parameter of
    the system. `test` is the residual of the test function, and `residual` that of
    s(nT) - s(0) relative to the motion's size.
    """

    periods: Int[Array, ""] = result_field("load periods per period of the motion")
    time: Float[Array, ""] = result_field("time of the grazing contact", "s")


class BranchThrough(NamedTuple):
    """A branch at a point of it: the scales of its states, and its scaled direction."""

    units: Float[Array, " n"]
    direction: Float[Array, " unknowns"]


class FieldBifurcation(Bifurcation):
    r"""A bifurcation of an equilibrium or a cycle of an autonomous system.

    `of`: "equilibrium" or "cycle". `period`: of the cycle, or $2 \pi / \omega$ at a
    Hopf point with the `frequency` $\omega$; otherwise infinite, and in lists of a
    branch NaN. `test`: the distance of an eigenvalue or a multiplier from the
    bifurcation condition; `iterations`: its number of evaluations. `joints`: of a
    cycle, for multiple shooting; `branch`: of equilibria, on which it was found.
    """

    of: str = eqx.field(static=True)
    period: Float[Array, ""] = result_field("period of the cycle", "s")
    frequency: Float[Array, ""] = result_field("angular frequency", "rad/s")
    joints: CycleJoints | None = None
    branch: BranchThrough | None = None

    def _kind_text(self) -> str:
        return f"{self.kind} of {'a' if self.of == 'cycle' else 'an'} {self.of}"

    def _details(self) -> str:
        return f", {self.frequency:.10g} rad/s" if self.frequency > 0 else ""


def field_bifurcation(
    kind: str,
    of: str,
    path: str,
    joints: CycleJoints | None = None,
    branch: BranchThrough | None = None,
    **numbers: Any,
) -> FieldBifurcation:
    """Return a `FieldBifurcation` with the given fields converted to arrays."""
    integers = ("iterations", "result")
    arrays: dict[str, Any] = {
        name: jnp.asarray(value, jnp.int32 if name in integers else float)
        for name, value in numbers.items()
    }
    return FieldBifurcation(
        kind=kind, of=of, path=path, joints=joints, branch=branch, **arrays
    )


def found_bifurcation(
    find: LocatedZero,
    of: str,
    path: str,
    period: Number,
    frequency: Number,
    joints: CycleJoints | None = None,
    branch: BranchThrough | None = None,
) -> FieldBifurcation:
    """Return the `FieldBifurcation` at a `test_functions.LocatedZero`."""
    return field_bifurcation(
        find.kind,
        of,
        path,
        joints,
        branch,
        parameter=find.value,
        state=find.solution.state,
        period=period,
        frequency=frequency,
        residual=find.solution.residual,
        test=find.distance,
        iterations=find.evaluations,
        result=find.code,
    )


def listed(bifurcations: Sequence[Bifurcation]) -> list[str]:
    """Return a line of text per bifurcation."""
    return [
        f"  {point.kind.replace('_', ' ')} at {point.parameter:.10g}"
        + (f" (not located: {reason(point.result)})" if int(point.result) else "")
        for point in bifurcations
    ]
