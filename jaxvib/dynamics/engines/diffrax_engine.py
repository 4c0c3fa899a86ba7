"""The engine that integrates by diffrax."""

from typing import Any

from ..solve import Problem, Steps, Tolerance
from .stepped import SteppedEngine


class DiffraxEngine(SteppedEngine):
    """An explicit pair by diffrax: the quickest to compile for few lanes.

    **Fields:** `solver`: Dormand and Prince's 8(7) pair, `diffrax.Dopri8()`, unless
    another one is given whose last stage is the next step's first, as `diffrax.Tsit5()`.
    **Raises:** `ValueError` for a solver of another kind.

    **Source:** Prince and Dormand, *J. Comp. Appl. Math.* 7 (1981) 67.
    """

    solver: Any = None

    def __check_init__(self):
        if self.solver is not None and not _integration().repeats(self.solver):
            raise ValueError(
                f"solver = {self.solver!r}; allowed: an explicit one of diffrax whose last "
                "stage is the next step's first: Bosh3, Dopri5, Tsit5, Dopri8"
            )

    def problem(self, static) -> Problem:
        """Return the initial value problem of systems by what is no parameter of theirs."""
        return super().problem(static)._replace(method=self.solver)

    def steps(
        self, problem, state, prepared, t0, t1, tolerance: Tolerance, watch=None
    ) -> Steps:
        """Return where the steps of a problem end."""
        run = problem, state, prepared, t0, t1, tolerance, watch
        return _integration().steps(*run)


def _integration():
    """Return what calls diffrax, whose import takes as long as all of the library's own."""
    from .. import integration

    return integration
