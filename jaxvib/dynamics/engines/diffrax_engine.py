"""The engine that integrates with diffrax."""

from collections.abc import Callable
from typing import Any

from jaxtyping import PyTree

from ...foundation.types import Number
from ..motion import Motion
from ..solve import Problem, Tolerance
from .stepped import SteppedEngine


class DiffraxEngine(SteppedEngine):
    """An explicit pair of diffrax: the fastest to compile for few lanes.

    **Fields:** `solver`: Dormand and Prince's 8(7) pair, `diffrax.Dopri8()`, by
    default, or another pair with the FSAL property, such as `diffrax.Tsit5()`.
    **Raises:** `ValueError` for a solver without that property.

    **Source:** Prince and Dormand, *J. Comp. Appl. Math.* 7 (1981) 67.
    """

    solver: Any = None

    def __check_init__(self) -> None:
        if self.solver is not None and not _integration().repeats(self.solver):
            raise ValueError(
                f"solver = {self.solver!r}; allowed: an explicit FSAL solver of "
                "diffrax: Bosh3, Dopri5, Tsit5, Dopri8"
            )

    def problem(self, static: PyTree) -> Problem:
        """Return the initial value problem of systems with the same `static` part."""
        return super().problem(static)._replace(method=self.solver)

    def steps(
        self,
        problem: Problem,
        state: PyTree,
        prepared: PyTree,
        t0: Number,
        t1: Number,
        tolerance: Tolerance,
        observer: tuple[Any, Callable] | None = None,
    ) -> Motion:
        """Return the result of the steps of a problem."""
        run = problem, state, prepared, t0, t1, tolerance, observer
        return _integration().steps(*run)


def _integration():
    """Return the module that uses diffrax, whose import takes as long as jaxvib's."""
    from .. import integration

    return integration
