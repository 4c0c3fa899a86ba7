"""An explicit Runge-Kutta solver for diffrax with unrolled stages."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ...foundation.types import AnyArray
from .breakpoints import just_after, just_before
from .scales import base

# Growth of forced steps, which ignore the error of their sensitivities. After the onset
# of a Hertz contact sensitivities change as the square root of the time since then:
# steps of a ninth of it are accurate again. Steps growing as fast as that time would
# never be.
_GROWTH = 1.125


class Progress(NamedTuple):
    """The solver state passed from one step to the next, see `Stepper`."""

    rate: Any
    least: Any
    jumped: Any
    observables: Any


class Stepper(diffrax.AbstractAdaptiveSolver):
    """An embedded Runge-Kutta pair that rejects steps which miss a contact.

    Diffrax's own explicit solvers loop over their stages with full rows of
    coefficients; here each stage is a sum of scalars times arrays that XLA fuses with
    the vector field, several times faster for the small states of vibration.

    **Fields:** `method`: an explicit FSAL pair of diffrax; `relative(error, start,
    end)`: the error of a step relative to the allowed one; `skips(h, start, end,
    args)`: whether a step of length h between two pairs (state, rate) must be rejected;
    `observer`: a pair (initial observables, `update(observables, t0, t1, start, end)`
    over an accepted step); the final observables are in the solution's `solver_state`.
    `least`: a step as short as this is accepted whatever the error of its
    sensitivities, and the next one may be an eighth longer: where a gap is zero to the
    last digit, a linear contact's stiffness jumps with every rounding. `jumps(t, start,
    end, args)`: whether the field jumps between two states, or None if it cannot; the
    solver state records it. `crossed(t, state, args)`: the state behind the next break
    after a time t, see `breakpoints`; None where the field has no breaks.
    """

    method: Any
    relative: Callable[..., Any]
    skips: Callable[..., Any] | None = None
    observer: tuple[Any, Callable[..., Any]] | None = None
    least: Any = 0.0
    jumps: Callable[..., Any] | None = None
    crossed: Callable[..., Any] | None = None

    term_structure: ClassVar = diffrax.AbstractTerm

    @property
    def interpolation_cls(self) -> Callable:  # ty: ignore[incompatible-property-override]
        """The interpolation class of the method."""
        return self.method.interpolation_cls

    def order(self, terms: PyTree) -> int:
        """Return the order of the step."""
        return self.method.order(terms)

    def func(self, terms: PyTree, t0: AnyArray | float, y0: PyTree, args: PyTree) -> PyTree:
        """Return the rate of change of the state."""
        return terms.vf(t0, y0, args)

    def init(
        self,
        terms: PyTree,
        t0: AnyArray | float,
        t1: AnyArray | float,
        y0: PyTree,
        args: PyTree,
    ) -> Progress:
        """Return the solver state: initial rate, least step, no jump, observables."""
        known = None if self.observer is None else self.observer[0]
        least, jumped = jnp.asarray(self.least), jnp.asarray(False)
        return Progress(terms.vf(t0, y0, args), least, jumped, known)

    def step(
        self,
        terms: PyTree,
        t0: AnyArray | float,
        t1: AnyArray | float,
        y0: PyTree,
        args: PyTree,
        solver_state: Progress,
        made_jump: AnyArray | bool,
    ) -> tuple[PyTree, PyTree, dict, Progress, diffrax.RESULTS]:
        """Return the state at t1, its relative error, the stages and solver state."""
        rate, least, jumped, observables = solver_state
        if self.crossed is not None:
            behind = self.crossed(just_before(just_before(t0)), y0, args)
            fresh = behind, terms.vf(t0, behind, args)
            y0, rate = jax.tree.map(
                lambda new, old: jnp.where(made_jump, new, old), fresh, (y0, rate)
            )
        length = t1 - t0
        rates, tableau = [rate], self.method.tableau
        assert isinstance(tableau, diffrax.ButcherTableau)  # checked by the engine
        y1 = y0
        for row, node in zip(tableau.a_lower, tableau.c, strict=True):
            y1 = _combined(y0, length, row, rates)
            # Without the barrier XLA recomputes each stage in every later one.
            rates.append(_computed_once(terms.vf(t0 + node * length, y1, args)))
        error = self.relative(_combined(None, length, tableau.b_error, rates), y0, y1)
        right = jnp.all(jnp.abs(base(error)) < 1)
        forced = right & (length <= 1.1 * least)  # the times are rounded
        error = jax.tree.map(lambda e: jnp.where(forced & jnp.isfinite(e), 0.0, e), error)
        least = jnp.maximum(self.least, jnp.where(forced, _GROWTH, 0.25) * least)
        start, stop = (y0, rate), (y1, rates[-1])
        if self.skips is not None:
            again = self.skips(length, start, stop, args)
            error = jax.tree.map(lambda e: jnp.where(again, jnp.inf, e), error)
        if self.observer is not None:
            observables = self.observer[1](observables, t0, t1, start, stop)
        if self.jumps is not None:
            new = self.jumps(t1, y0, y1, args)
            jumped = jumped if new is None else jumped | new
        stages = jax.tree.map(lambda *k: jnp.stack(k) * length, *rates)
        dense = {"y0": y0, "y1": y1, "k": stages}
        state = Progress(rates[-1], least, jumped, observables)
        return y1, error, dense, state, diffrax.RESULTS.successful


class Controller(diffrax.AbstractAdaptiveStepSizeController):
    """A step size controller with a given `first` step, which has no time unit.

    `next_breakpoint(t, args)`: the time of the field's next break, or None if it has none:
    no step crosses a break.
    """

    inner: diffrax.PIDController
    first: Any
    next_breakpoint: Callable[..., Any] | None = None
    rtol: Any = 0.0
    atol: Any = 1.0
    norm: Callable[[Any], Any] = diffrax.PIDController.norm

    def wrap(self, direction: AnyArray | int) -> "Controller":
        """Return itself: times ascend."""
        return self

    def init(
        self,
        terms: PyTree,
        t0: AnyArray | float,
        t1: AnyArray | float,
        y0: PyTree,
        dt0: AnyArray | float | None,
        args: PyTree,
        func: Callable,
        error_order: AnyArray | float | None,
    ) -> tuple[AnyArray | float, PyTree]:
        """Return the end of the first step, and the inner controller's state."""
        end, state = self.inner.init(terms, t0, t1, y0, self.first, args, func, error_order)
        if self.next_breakpoint is not None:
            end = jnp.minimum(end, just_before(self.next_breakpoint(t0, args)))
        return end, state

    def adapt_step_size(
        self,
        t0: AnyArray | float,
        t1: AnyArray | float,
        y0: PyTree,
        y1_candidate: PyTree,
        args: PyTree,
        y_error: PyTree,
        error_order: AnyArray | float,
        controller_state: PyTree,
    ) -> tuple[
        AnyArray | bool,
        AnyArray | float,
        AnyArray | float,
        AnyArray | bool,
        PyTree,
        diffrax.RESULTS,
    ]:
        """Return the inner controller's result, limited to the next break."""
        step = t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state
        found = self.inner.adapt_step_size(*step)
        if self.next_breakpoint is None:
            return found
        keep, begin, end, jumped, state, result = found
        there = self.next_breakpoint(t0, args)
        reached = keep & (begin >= just_before(there))
        behind = jnp.where(reached, just_after(there), begin)
        end = behind + (end - begin)
        end = jnp.minimum(end, just_before(self.next_breakpoint(behind, args)))
        return keep, behind, end, jumped | reached, state, result


def _combined(start, length, weights, rates):
    used = [(float(w), rate) for w, rate in zip(weights, rates, strict=True) if w != 0]
    weights = [w for w, _ in used]

    def combine(*leaves):
        total = sum(w * leaf for w, leaf in zip(weights, leaves[-len(used) :], strict=True))
        return length * total if start is None else leaves[0] + length * total

    trees = [rate for _, rate in used]
    return jax.tree.map(combine, *(trees if start is None else [start, *trees]))


def _computed_once(tree):
    # It would split a GPU kernel.
    if jax.default_backend() == "cpu":
        return jax.lax.optimization_barrier(tree)
    return tree
