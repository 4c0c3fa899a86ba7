"""The engine that integrates by diffrax."""

import diffrax
import jax
import jax.numpy as jnp

from ..solve import Steps, Tolerance, ended, integrate, reason_of
from .stepped import SteppedEngine


class DiffraxEngine(SteppedEngine):
    """An explicit pair by diffrax: the quickest to compile for few lanes.

    **Fields:** `solver`: Dormand and Prince's 8(7) pair, `diffrax.Dopri8()`, unless
    another one is given whose last stage is the next step's first, as `diffrax.Tsit5()`.
    **Raises:** `ValueError` for a solver of another kind.

    **Source:** Prince and Dormand, *J. Comp. Appl. Math.* 7 (1981) 67.
    """

    solver: diffrax.AbstractSolver = diffrax.Dopri8()

    def __check_init__(self):
        explicit = isinstance(self.solver, diffrax.AbstractERK)
        if not explicit or not getattr(self.solver.tableau, "fsal", False):
            raise ValueError(
                f"solver = {self.solver!r}; allowed: an explicit one of diffrax whose last "
                "stage is the next step's first: Bosh3, Dopri5, Tsit5, Dopri8"
            )

    def problem(self, system):
        """Return a system's initial value problem, and its parameters."""
        problem, parameters = super().problem(system)
        return problem._replace(method=self.solver), parameters

    def steps(
        self, problem, state, prepared, t0, t1, tolerance: Tolerance, watch=None
    ) -> Steps:
        """Return where the steps of a problem end."""
        kept = problem.has_sensitivities or watch is not None
        saveat = diffrax.SaveAt(t1=True, solver_state=kept)
        run = problem, state, prepared, t0, t1, tolerance, saveat, watch
        solution, finite = integrate(*run)
        final, result = ended(solution, finite)
        watched = solution.solver_state.watched if kept else None
        return Steps(final, result, solution.stats["num_steps"], watched)

    def sampled(self, system, state, times, rtol):
        """Return states and contact forces at times, NaN from where a solve failed."""
        problem, parameters = self.problem(system)
        equation = problem.prepare(parameters)
        solution, finite = integrate(
            problem, state, equation, times[0], times[-1], Tolerance(rtol),
            diffrax.SaveAt(ts=times),
        )  # fmt: skip
        states = jnp.where(jnp.isfinite(solution.ys), solution.ys, jnp.nan)
        result = reason_of(solution.result, finite)
        return states, jax.vmap(equation.forces_at)(states), result
