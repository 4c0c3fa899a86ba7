"""Adaptive solution of an initial value problem, with error-controlled derivatives."""

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...foundation.arrays import combine_arrays, partition_arrays
from ...foundation.types import Number
from ...foundation.zero_tangents import is_zero
from ...kernels import Kernel
from ...kernels.calls.derivative_rule import with_rule
from ...kernels.calls.kernel_cache import cached_kernel
from ..motion import Motion
from ..sensitivities import MOST_SENSITIVITIES, basis_of, contract_tangents
from .breakpoints import just_before
from .scales import Scales, base

PyTree = Any

# The tolerance t and step h of differences of first-order sensitivities: the
# fourth-order truncation error is h^4 = 1e-16 of the size, the tolerance contributes
# t/h = 1e-9.
_TIGHTEST, _RELATIVE_STEP = 1e-13, 1e-4
# Near a grazing the step is a tenth or a hundredth of that.
_SHORTER, _SHORTEST_STEP = 0.1, 1e-6
# If one-sided slopes differ by more than this part of themselves, a contact begins
# between them: those of a smooth function differ by h^2 times higher ones.
_MOST_APART = 1e-2
_NOISE = 1e3  # assumed error of a value, in tolerances
# Times 12 h, for five values: central of fourth order, one-sided of second order.
_SLOPES = np.array([
    [1.0, -8.0, 0.0, 8.0, -1.0],
    [6.0, -24.0, 18.0, 0.0, 0.0],
    [0.0, 0.0, -18.0, 24.0, -6.0],
])  # fmt: skip


def rms(errors: PyTree) -> Array:
    """Return the root mean square of all components."""
    flat = jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(errors)])
    return jnp.sqrt(jnp.mean(flat**2))


class Problem(NamedTuple):
    """The problem dy/dt = field(t, y, prepare(parameters)).

    `prepare` is evaluated once before the solve; `norm` maps the scaled errors of a
    state to a number that must stay below 1; `scales(t0, t1, state, prepared)`: the
    reference sizes of errors; `skips(h, slack, start, end, prepared)`: whether a step
    of length h between two pairs (state, rate) may have missed a contact deeper than
    displacements of sizes `slack` give: such a step is rejected; `has_sensitivities`:
    whether the state already includes its sensitivities; `steps`: the engine's
    integration, see `engines.stepped`; `longest(t0, t1, state, prepared)`: the longest
    step that resolves the field, None for no limit; `jumps(scales, t, first, last,
    prepared)`: whether the field jumps between two states; `next_breakpoint(t, prepared)`:
    the time of the field's next break, None if it has none; `crossed(t, state,
    prepared)`: the state behind the next break after a time; `method`: diffrax's
    solver, its 8(7) pair by default; `key`: a hashable key under which the problem's
    kernels are cached.
    """

    prepare: Callable[[PyTree], PyTree]
    field: Callable[[Any, PyTree, PyTree], PyTree]
    scales: Callable[..., Scales]
    steps: Callable[..., Motion]
    norm: Callable[[PyTree], Any] = rms
    skips: Callable[..., Any] | None = None
    has_sensitivities: bool = False
    longest: Callable[..., Any] = lambda *_: None
    jumps: Callable[..., Any] = lambda *_: None
    next_breakpoint: Callable[..., Any] = lambda *_: None
    crossed: Callable[..., Any] = lambda time, state, prepared: state
    method: Any = None
    key: Hashable = None


class Tolerance(NamedTuple):
    """Relative tolerance of a step with respect to the `Scales`, and longest step, s.

    If `longest` is None, the problem determines it.
    """

    rtol: Any
    longest: Any = None
    max_steps: int = 1_000_000


def solve(
    problem: Problem,
    state: PyTree,
    parameters: PyTree,
    t0: Number,
    t1: Number,
    tolerance: Tolerance,
) -> Motion:
    r"""Integrate a problem from `t0` to `t1`.

    The derivative rule integrates the state $y$ together with its sensitivities $Y_j =
    \partial y / \partial p_j$ to every perturbed state and parameter,

    $$\dot Y_j = \frac{\partial f}{\partial y} Y_j + \frac{\partial f}{\partial p_j},$$

    (the right-hand side by `jax.linearize`) in one solve whose error norm covers all
    of them. A derivative taken through the steps of an adaptive solver instead is not
    under error control: in rigid contact it is wrong by several per cent where the
    state is right to eight digits. The rule calls `solve` itself, so that derivatives
    of any order work, forward and reverse; second ones through contacts are differences
    of first ones, see `_differences`.

    A failed solve (a state that is not finite, too many or too small steps) has NaN as
    its state and the reason code in `result`.
    """
    most = tolerance.max_steps  # the tolerance itself may be traced: it is an argument

    def tolerated(numbers):
        return Tolerance(*numbers, most)

    def run(state, parameters, t0, t1, numbers):
        return _run(problem, state, parameters, t0, t1, tolerated(numbers))

    def rule(primals, tangents):
        *given, numbers = primals
        return _tangent(problem, tolerated(numbers), given, tangents[:4])

    start = jax.tree.map(jnp.asarray, (state, parameters))
    # Passed as arguments, not closed over: inside a scan they may be tracers.
    numbers = tolerance.rtol, tolerance.longest
    t0, t1, numbers = jax.tree.map(lambda x: jnp.asarray(x, float), (t0, t1, numbers))
    return with_rule(run, rule)(*start, t0, t1, numbers)


def _run(problem, state, parameters, t0, t1, tolerance: Tolerance) -> Motion:
    go = _kernel(problem, tolerance.max_steps)
    return go(state, parameters, t0, t1, tolerance.rtol, tolerance.longest)


@functools.lru_cache(maxsize=128)
def _kernel(problem: Problem, max_steps: int) -> Kernel:
    """Return the kernel of a problem's steps, one per structure of its parameters."""

    def go(state, parameters, t0, t1, rtol, longest) -> Motion:
        tolerance = Tolerance(rtol, longest, max_steps)
        prepared = problem.prepare(parameters)
        found = problem.steps(problem, state, prepared, t0, t1, tolerance)
        return Motion(found.state, found.result, found.steps)

    return cached_kernel(go, problem.key, max_steps)


def _tangent(problem, tolerance, primals, tangents):
    state, parameters, t0, t1 = primals
    d_state, d_parameters, d_t0, d_t1 = tangents
    basis, weights = basis_of(state, parameters, d_state, d_parameters)
    if not is_zero(d_t0):
        # A later start: the same state minus the flow over the delay.
        rate = problem.field(t0, state, problem.prepare(parameters))
        start = jax.tree.map(lambda r: -r[None], rate)
        row = start, jax.tree.map(lambda p: jnp.zeros_like(p)[None], parameters)
        if basis is not None:
            row = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), basis, row)
        basis = row
        weight = d_t0[None]
        weights = weight if weights is None else jnp.concatenate([weights, weight])
    still = all(is_zero(d) for d in jax.tree.leaves(d_parameters, is_leaf=is_zero))

    def sensitivities_along(rows):
        """Return the solution and its sensitivities in the directions of `rows`."""
        starts, directions = rows
        if problem.has_sensitivities and problem.skips is not None:
            solution = solve(problem, state, parameters, t0, t1, tolerance)
            return solution, _differences(problem, tolerance, primals, *rows)
        given = parameters if still else (parameters, directions)
        extended = augmented(problem, moved=not still)
        solution = solve(extended, (state, starts), given, t0, t1, tolerance)
        final, sensitivities = solution.state
        return solution._replace(state=final), sensitivities

    if basis is not None and len(weights) <= MOST_SENSITIVITIES:
        solution, sensitivities = sensitivities_along(basis)
        moved = jax.tree.map(
            lambda sensitivity: jnp.tensordot(weights, sensitivity, 1), sensitivities
        )
    else:
        solution = solve(problem, state, parameters, t0, t1, tolerance)
        if basis is None:
            moved = jax.tree.map(jnp.zeros_like, solution.state)
        else:
            moved = contract_tangents(
                lambda rows: sensitivities_along(rows)[1], basis, weights
            )
    if not is_zero(d_t1):
        prepared = problem.prepare(parameters)
        # A break at the end time is not crossed yet.
        last = t1 if problem.next_breakpoint(t1, prepared) is None else just_before(t1)
        rate = problem.field(last, solution.state, prepared)
        moved = jax.tree.map(lambda m, r: m + r * d_t1, moved, rate)
    no_change = np.zeros((), jax.dtypes.float0)
    return solution, Motion(moved, no_change, no_change)


def _differences(problem, tolerance, primals, starts, directions):
    r"""Return second sensitivities as differences of error-controlled first ones.

    The second derivative of a Hertz force grows like $z^{-1/2}$ at onset. Step size
    control misses that singularity, and second-order sensitivities integrated through
    it are wrong by per cents at any tolerance, while the first-order ones are smooth
    functions of state and parameters to the solver's last digits. Their central
    difference of fourth order is accurate to about 1e-8. Where its stencil would span a
    grazing, across which they differ, it is made shorter, with an accuracy of 1e-4 or
    better; where the shortest one would, the result is NaN.
    """
    state, parameters, t0, t1 = primals
    tight = tolerance._replace(rtol=_TIGHTEST)
    prepared = problem.prepare(parameters)
    scales = problem.scales(t0, t1, base(state), prepared)
    rates = problem.field(t0, state, prepared)
    sizes = base(scales.least_sizes(state, rates))

    def sensitivity(start, direction):
        # Relative to the motion's size; parameters change by a fraction of themselves.
        reach = jnp.max(jnp.abs(base(start)) / jnp.where(sizes > 0, sizes, 1.0))
        scale = 1 / jnp.where(reach > 0, reach, 1.0)

        def difference(step):
            """Return the difference, and whether a contact begins in its stencil."""

            def shifted(factor):
                moved = jax.tree.map(
                    lambda leaf, change: leaf + factor * step * change,
                    (state, parameters),
                    (start, direction),
                )
                return solve(problem, *moved, t0, t1, tight).state

            values = jax.vmap(shifted)(jnp.arange(-2.0, 3.0))
            central, left, right = (
                jax.tree.map(
                    lambda leaf, w=w: jnp.tensordot(w / (12 * step), leaf, 1), values
                )
                for w in _SLOPES
            )
            apart = _largest(jax.tree.map(jnp.subtract, left, right))
            noise = _NOISE * _TIGHTEST / step * _largest(values)
            return central, apart > _MOST_APART * _largest(central) + noise

        def shorter(last):
            part = last[0] * _SHORTER
            return part, *difference(part * scale)

        def goes_on(last):
            part, _, bent = last
            return bent & (part * _SHORTER > _SHORTEST_STEP / 2)

        nothing = jax.tree.map(jnp.zeros_like, state)
        begun = jnp.asarray(_RELATIVE_STEP / _SHORTER), nothing, jnp.asarray(True)
        _, central, bent = jax.lax.while_loop(goes_on, shorter, begun)
        return jax.tree.map(lambda leaf: jnp.where(bent, jnp.nan, leaf), central)

    return jax.vmap(sensitivity)(starts, directions)


def _largest(tree):
    return jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(tree)]))


@functools.lru_cache(maxsize=128)
def augmented(problem: Problem, moved: bool) -> Problem:
    """Return the problem of a state and its sensitivities in parameter directions.

    If `moved`, the parameters become (parameters, directions) and directions have a
    leading axis of sensitivities. The state becomes (state, sensitivities) with the
    same leading axis.
    """

    def prepare(given):
        if not moved:
            return problem.prepare(given), None, None
        parameters, directions = given
        prepared, push = _linearized(problem.prepare, parameters)
        return prepared, jax.vmap(push)(directions), _changes(parameters, directions)

    def scales(t0, t1, state, prepared):
        prepared, _, changes = prepared
        return problem.scales(t0, t1, state, prepared).along(changes)

    def along(function, state, prepared):
        """Return `function(state, prepared)` and its tangents for all sensitivities."""
        state, sensitivities = state
        prepared, directions, _ = prepared
        if not moved:
            value, push = jax.linearize(lambda s: function(s, prepared), state)
            return value, jax.vmap(push)(sensitivities)
        value, push = _linearized(function, state, prepared)
        return value, jax.vmap(push)(sensitivities, directions)

    def field(time, state, prepared):
        return along(functools.partial(problem.field, time), state, prepared)

    def norm(errors):
        error, sensitivities = errors
        return jnp.maximum(
            problem.norm(error), jnp.max(jax.vmap(problem.norm)(sensitivities))
        )

    def of_one(function):
        """Return a function of the prepared problem as one of it and its directions."""
        return lambda *given: function(*given[:-1], given[-1][0])

    def skips(length, slack, start, stop, prepared):
        assert problem.skips is not None
        first, last = (start[0][0], start[1][0]), (stop[0][0], stop[1][0])
        return problem.skips(length, slack, first, last, prepared[0])

    def crossed(time, state, prepared):
        return along(functools.partial(problem.crossed, time), state, prepared)

    return problem._replace(
        prepare=prepare,
        field=field,
        scales=scales,
        longest=of_one(problem.longest),
        jumps=of_one(problem.jumps),
        next_breakpoint=of_one(problem.next_breakpoint),
        crossed=crossed,
        norm=norm,
        skips=None if problem.skips is None else skips,
        has_sensitivities=True,
        key=None if problem.key is None else (problem.key, moved),
    )


def _changes(parameters, directions) -> Array:
    """Return the largest change of a parameter relative to its size, per direction."""

    def change(leaf, rows):
        size = jnp.max(jnp.abs(leaf))
        largest = jnp.max(jnp.abs(rows.reshape(rows.shape[0], -1)), axis=1)
        return jnp.where(size > 0, largest / jnp.where(size > 0, size, 1.0), 0.0)

    given = (eqx.filter(tree, eqx.is_inexact_array) for tree in (parameters, directions))
    pairs = zip(*map(jax.tree.leaves, given), strict=True)
    return jnp.max(jnp.stack([change(*pair) for pair in pairs if pair[0].size]), axis=0)


def _linearized(function, *arguments):
    """Like `jax.linearize`, for trees with arbitrary leaves.

    Only floating-point leaves are perturbed and have tangents: other leaves of a law,
    such as the activation of a network, have none.
    """
    numbers, others = eqx.partition(arguments, eqx.is_inexact_array)
    rest = None

    def of_numbers(numbers):
        nonlocal rest
        found, rest = partition_arrays(function(*eqx.combine(numbers, others)))
        return found

    found, push = jax.linearize(of_numbers, numbers)

    def changed(*changes):
        moved = push(_where_real(numbers, changes))
        return _where_real(eqx.filter(found, eqx.is_inexact_array), moved)

    return combine_arrays(found, rest), changed


def _where_real(numbers, changes):
    """Return the tangents of inexact leaves, None for other leaves."""
    return jax.tree.map(
        lambda number, change: None if number is None else change,
        numbers,
        changes,
        is_leaf=lambda leaf: leaf is None,
    )
