"""One initial value problem, solved by steps, with derivatives under error control."""

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._arrays import parted, rejoined
from ..kernels import Kernel
from ..kernels.derivative_rule import with_rule
from ..kernels.library import library_kernel
from .breaks import just_before
from .scales import Scales, base
from .sensitivities import MOST_SENSITIVITIES, basis_of, contracted, is_zero

PyTree = Any

# The tolerance t and the step h of differences between first-order sensitivities: of fourth
# order they leave out h^4 = 1e-16 of the size, and divide the tolerance to t/h = 1e-9.
_TIGHTEST, _RELATIVE_STEP = 1e-13, 1e-4
# Where slopes to the left and to the right differ by more of themselves, a contact begins
# between them: those of a smooth function differ by h^2 of higher ones.
_MOST_APART = 1e-2
_NOISE = 1e3  # tolerances that a value may be off
# Times 12 h, of five values: of fourth order, and one-sided ones of second order.
_SLOPES = np.array([
    [1.0, -8.0, 0.0, 8.0, -1.0],
    [6.0, -24.0, 18.0, 0.0, 0.0],
    [0.0, 0.0, -18.0, 24.0, -6.0],
])  # fmt: skip


def rms(errors):
    """Return the root mean square of all components."""
    flat = jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(errors)])
    return jnp.sqrt(jnp.mean(flat**2))


class Problem(NamedTuple):
    """What is integrated: dy/dt = field(t, y, prepare(parameters)).

    `prepare` is evaluated once before the solve; `norm` maps the scaled errors of a
    state to the one number that must stay below 1; `scales(t0, t1, state, prepared)`:
    what errors are measured against; `skips(h, slack, start, end, prepared)` says whether
    a step of length h between two pairs (state, rate) may have passed a contact unseen,
    deeper than displacements of sizes `slack` reach: such a step is taken again;
    `has_sensitivities`: whether the state is one with its sensitivities already; `steps`:
    of the engine that integrates it, see `engines.stepped`; `longest(t0, t1, state,
    prepared)`: the longest step that passes nothing, None for any; `jumps(scales, t, first,
    last, prepared)`: whether the field jumps between two states; `next_break(t, prepared)`:
    when the field breaks next, None if it never does; `crossed(t, state, prepared)`: the
    state behind the break that comes next after a time; `method`: the pair of the steps
    that diffrax takes, its 8(7) unless given; `key`: what tells the problem from others
    of the library, by which its kernels are kept.
    """

    prepare: Callable[[PyTree], PyTree]
    field: Callable[[Any, PyTree, PyTree], PyTree]
    scales: Callable[..., Scales]
    steps: Callable[..., "Steps"]
    norm: Callable[[PyTree], Any] = rms
    skips: Callable[..., Any] | None = None
    has_sensitivities: bool = False
    longest: Callable[..., Any] = lambda *_: None
    jumps: Callable[..., Any] = lambda *_: None
    next_break: Callable[..., Any] = lambda *_: None
    crossed: Callable[..., Any] = lambda time, state, prepared: state
    method: Any = None
    key: Hashable = None


class Tolerance(NamedTuple):
    """Tolerance of a step, relative to the motion's `Scales`, and the longest step, s.

    A problem finds the longest step by itself where it is None.
    """

    rtol: Any
    longest: Any = None
    max_steps: int = 1_000_000


class Solution(NamedTuple):
    """The state at the end time, a reason code, and the number of steps taken."""

    state: PyTree
    result: Any
    steps: Any


class Steps(NamedTuple):
    """The end of all steps: a `Solution`, and what was watched on the way."""

    state: PyTree
    result: Any
    steps: Any
    watched: Any


def solve(
    problem: Problem, state: PyTree, parameters: PyTree, t0, t1, tolerance: Tolerance
) -> Solution:
    r"""Integrate a problem from `t0` to `t1`.

    The derivative rule integrates the state $y$ together with its sensitivities $Y_j =
    \partial y / \partial p_j$ by every perturbed state and parameter,

    $$\dot Y_j = \frac{\partial f}{\partial y} Y_j + \frac{\partial f}{\partial p_j},$$

    (the right-hand side by `jax.linearize`) in one solve whose error norm covers all
    of them. A derivative taken through the steps of an adaptive solver instead is not
    under error control: in rigid contact it is wrong by several per cent where the
    state is right to eight digits. The rule is written with `solve` itself, so that
    derivatives of any order work, forward and reverse; second ones through contacts are
    differences of first ones, see `_differences`.

    A failed solve (a state that is not finite, steps used up or too small) has NaN as
    its state and says why in `result`.
    """

    def tolerated(numbers):
        return tolerance._replace(rtol=numbers[0], longest=numbers[1])

    def run(state, parameters, t0, t1, numbers):
        return _run(problem, state, parameters, t0, t1, tolerated(numbers))

    def rule(primals, tangents):
        *given, numbers = primals
        return _tangent(problem, tolerated(numbers), given, tangents[:4])

    start = jax.tree.map(jnp.asarray, (state, parameters))
    # Given and not closed over, as they may be traced where a scan is around.
    numbers = tolerance.rtol, tolerance.longest
    t0, t1, numbers = jax.tree.map(lambda x: jnp.asarray(x, float), (t0, t1, numbers))
    return with_rule(run, rule)(*start, t0, t1, numbers)


def _run(problem, state, parameters, t0, t1, tolerance: Tolerance) -> Solution:
    go = _kernel(problem, tolerance.max_steps)
    return go(state, parameters, t0, t1, tolerance.rtol, tolerance.longest)


@functools.lru_cache(maxsize=128)
def _kernel(problem: Problem, max_steps: int) -> Kernel:
    """Return the kernel of a problem's steps: one for each structure of its parameters."""

    def go(state, parameters, t0, t1, rtol, longest) -> Solution:
        tolerance = Tolerance(rtol, longest, max_steps)
        prepared = problem.prepare(parameters)
        found = problem.steps(problem, state, prepared, t0, t1, tolerance)
        return Solution(found.state, found.result, found.steps)

    return library_kernel(go, problem.key, max_steps)


def _tangent(problem, tolerance, primals, tangents):
    state, parameters, t0, t1 = primals
    d_state, d_parameters, d_t0, d_t1 = tangents
    basis, weights = basis_of(state, parameters, d_state, d_parameters)
    if not is_zero(d_t0):
        # A later start is a start in the same state from which the flow has not moved.
        rate = problem.field(t0, state, problem.prepare(parameters))
        start = jax.tree.map(lambda r: -r[None], rate)
        row = start, jax.tree.map(lambda p: jnp.zeros_like(p)[None], parameters)
        basis = row if basis is None else _stack([basis, row])
        weight = d_t0[None]
        weights = weight if weights is None else jnp.concatenate([weights, weight])
    still = all(is_zero(d) for d in jax.tree.leaves(d_parameters, is_leaf=is_zero))

    def sensitivities_along(rows):
        """Return the solution and its sensitivities along a stack of rows."""
        starts, directions = rows
        if problem.has_sensitivities and problem.skips is not None:
            solution = solve(problem, state, parameters, t0, t1, tolerance)
            return solution, _differences(problem, tolerance, primals, *rows)
        given = parameters if still else (parameters, directions)
        whole = augmented(problem, moved=not still)
        solution = solve(whole, (state, starts), given, t0, t1, tolerance)
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
            moved = contracted(lambda rows: sensitivities_along(rows)[1], basis, weights)
    if not is_zero(d_t1):
        prepared = problem.prepare(parameters)
        # A break at the end is not passed yet.
        last = t1 if problem.next_break(t1, prepared) is None else just_before(t1)
        rate = problem.field(last, solution.state, prepared)
        moved = jax.tree.map(lambda m, r: m + r * d_t1, moved, rate)
    no_change = np.zeros((), jax.dtypes.float0)
    return solution, Solution(moved, no_change, no_change)


def _differences(problem, tolerance, primals, starts, directions):
    r"""Return second sensitivities: by differences of error-controlled first ones.

    The second derivative of a Hertz force grows like $z^{-1/2}$ at onset. No step
    size control sees that singularity, and second-order sensitivities integrated through it
    are wrong by per cents at any tolerance, while the first-order ones are smooth
    functions of state and parameters to the solver's last digits. Their central
    difference of fourth order is right to about 1e-8. Where it would reach over a grazing,
    on whose sides they differ, it is NaN.
    """
    state, parameters, t0, t1 = primals
    tight = tolerance._replace(rtol=_TIGHTEST)
    prepared = problem.prepare(parameters)
    scales = problem.scales(t0, t1, base(state), prepared)
    rates = problem.field(t0, state, prepared)
    sizes = base(scales.least_sizes(state, rates))

    def sensitivity(start, direction):
        # Per size of the motion; parameters move by a part of themselves.
        reach = jnp.max(jnp.abs(base(start)) / jnp.where(sizes > 0, sizes, 1.0))
        step = _RELATIVE_STEP / jnp.where(reach > 0, reach, 1.0)

        def shifted(factor):
            moved = jax.tree.map(
                lambda leaf, change: leaf + factor * step * change,
                (state, parameters),
                (start, direction),
            )
            return solve(problem, *moved, t0, t1, tight).state

        values = jax.vmap(shifted)(jnp.arange(-2.0, 3.0))
        central, left, right = (
            jax.tree.map(lambda leaf, w=w: jnp.tensordot(w / (12 * step), leaf, 1), values)
            for w in _SLOPES
        )
        apart = _largest(jax.tree.map(jnp.subtract, left, right))
        noise = _NOISE * _TIGHTEST / step * _largest(values)
        bent = apart > _MOST_APART * _largest(central) + noise
        return jax.tree.map(lambda leaf: jnp.where(bent, jnp.nan, leaf), central)

    return jax.vmap(sensitivity)(starts, directions)


def _largest(tree):
    return jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(tree)]))


@functools.lru_cache(maxsize=128)
def augmented(problem: Problem, moved: bool) -> Problem:
    """Return the problem of a state and its sensitivities along parameter directions.

    Where parameters are `moved` they become (parameters, directions), of which directions
    have a leading axis of sensitivities. The state becomes (state, sensitivities),
    sensitivities having the same leading axis.
    """

    def prepare(given):
        if not moved:
            return problem.prepare(given), None
        parameters, directions = given
        prepared, push = _linearized(problem.prepare, parameters)
        return prepared, jax.vmap(push)(directions)

    def along(function, state, prepared):
        """Return `function(state, prepared)` and what becomes of all sensitivities."""
        state, sensitivities = state
        prepared, directions = prepared
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

    def scales(t0, t1, state, prepared):
        return problem.scales(t0, t1, state, prepared[0])

    def skips(length, slack, start, stop, prepared):
        assert problem.skips is not None
        first, last = (start[0][0], start[1][0]), (stop[0][0], stop[1][0])
        return problem.skips(length, slack, first, last, prepared[0])

    def longest(t0, t1, state, prepared):
        return problem.longest(t0, t1, state, prepared[0])

    def jumps(scales, time, first, last, prepared):
        return problem.jumps(scales, time, first, last, prepared[0])

    def next_break(time, prepared):
        return problem.next_break(time, prepared[0])

    def crossed(time, state, prepared):
        return along(functools.partial(problem.crossed, time), state, prepared)

    return problem._replace(
        prepare=prepare,
        field=field,
        scales=scales,
        longest=longest,
        jumps=jumps,
        next_break=next_break,
        crossed=crossed,
        norm=norm,
        skips=None if problem.skips is None else skips,
        has_sensitivities=True,
        key=None if problem.key is None else (problem.key, moved),
    )


def _linearized(function, *arguments):
    """Return `jax.linearize` of a function of trees whose leaves may be anything.

    Real numbers change, and only they have a leaf in trees of changes: not what else a law
    may hold, such as the activation of a network.
    """
    numbers, others = eqx.partition(arguments, eqx.is_inexact_array)
    rest = None

    def of_numbers(numbers):
        nonlocal rest
        found, rest = parted(function(*eqx.combine(numbers, others)))
        return found

    found, push = jax.linearize(of_numbers, numbers)

    def changed(*changes):
        moved = push(_where_real(numbers, changes))
        return _where_real(eqx.filter(found, eqx.is_inexact_array), moved)

    return rejoined(found, rest), changed


def _where_real(numbers, changes):
    """Return the changes of what is a number in another tree, None instead of others."""
    return jax.tree.map(
        lambda number, change: None if number is None else change,
        numbers,
        changes,
        is_leaf=lambda leaf: leaf is None,
    )


def _stack(trees):
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)
