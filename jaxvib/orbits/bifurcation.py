r"""Where a periodic motion changes its kind: folds, flips, tori and grazing.

The point solves r(s, p) = 0, that s is a periodic motion, together with a test that is 0
where the motion changes (M the monodromy matrix, $M^{(2)}$ its second compound, whose
eigenvalues are the products of two multipliers):

- `"fold"`: $\det(M - I) = 0$, a multiplier at 1;
- `"period_doubling"`: $\det(M + I) = 0$, one at -1;
- `"neimark_sacker"`: $\det(M^{(2)} - I) = 0$, a complex pair on the unit circle;
- `"grazing"`: $z(t) = \dot z(t) = 0$ at a time t found with it, a contact of no depth.

**Source:** Kuznetsov, *Elements of Applied Bifurcation Theory*, section 10.2; di Bernardo
et al., *Piecewise-smooth Dynamical Systems* (2008), chapter 6, for grazing.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from .._nearest import nearest
from .._quantity import reported
from ..dynamics.flow import checked_state, flow, simulate
from ..ensemble import Reason, reason
from ..systems.parameters import parameters, unknown_key
from .implicit import implicit_root
from .periodic_orbit import PeriodicOrbit, check_periods
from .point import at
from .shooting import scales

KINDS = ("fold", "period_doubling", "neimark_sacker", "grazing")
_MOST_ITERATIONS = 20
_RTOL = 1e-11
_GOING = -1
_LONGEST = 0.2  # step of Newton's method, per size
_SAMPLES = 2001  # of a period, among which contacts are looked for


class BifurcationPoint(eqx.Module):
    """A periodic motion at the parameter's value where it changes its kind.

    `parameter` and `state` are differentiable with respect to every other parameter of
    the system. `test` is what is left of the test function, and `residual` of
    s(nT) - s(0) in units of the motion's size.
    """

    kind: str = eqx.field(static=True)
    path: str = eqx.field(static=True)
    parameter: Float[Array, ""] = reported("value of the parameter")
    state: Float[Array, " n"] = reported("state at t = 0", "", ("state",))
    periods: Int[Array, ""] = reported("periods of the load in one of the motion")
    time: Float[Array, ""] = reported("time of the grazing contact", "s")
    residual: Float[Array, ""] = reported("s(nT) - s(0), per size")
    test: Float[Array, ""] = reported("test function")
    iterations: Int[Array, ""] = reported("steps of Newton's method")
    result: Int[Array, ""] = reported("reason code")

    def __repr__(self) -> str:
        if np.ndim(self.result) or isinstance(self.result, jax.core.Tracer):
            return f"BifurcationPoint of kind {self.kind}"
        if int(self.result):
            return f"BifurcationPoint: no {self.kind} found ({reason(self.result)})"
        return (
            f"BifurcationPoint: {self.kind} at {self.path} = {self.parameter:.10g}\n"
            f"  residual {self.residual:.1e}, test function {self.test:.1e}, "
            f"{int(self.iterations)} steps"
        )


def bifurcation_point(
    system: eqx.Module,
    guess: PeriodicOrbit | BifurcationPoint | Real[ArrayLike, " n"],
    kind: str,
    path: str,
    periods: int = 1,
) -> BifurcationPoint:
    """Return the bifurcation of a kind near a motion, in the parameter at `path`.

    Newton's method in state and parameter (and time, for grazing). The result is
    differentiable by the implicit function theorem; `guess` is a start and no more.
    Works under `jit`, `vmap`, `jacfwd` and `grad`.

    **Arguments:** `guess`: a periodic orbit of `system` near the bifurcation, or its
    state at t = 0, or one of a branch's `bifurcations`, whose parameter is then the
    start. `periods`: of the load in one of the motion, where the guess is a state.

    **Raises:** `ValueError` for an unknown kind or path, a system that cannot have such
    a point, or an orbit that was not found. What goes wrong later is in `.result`.
    """
    if kind not in KINDS:
        near = nearest(kind, KINDS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"kind = {kind!r}; allowed: {', '.join(KINDS)}{hint}")
    known = parameters(system)
    if path not in known:
        raise ValueError(unknown_key("parameter", path, known))
    if kind == "grazing" and not getattr(system, "has_contacts", False):
        raise ValueError("kind = 'grazing'; the system has no contacts")
    value = jnp.asarray(known[path].value, float)
    if isinstance(guess, PeriodicOrbit | BifurcationPoint):
        lost = not isinstance(guess.result, jax.core.Tracer) and int(guess.result)
        if lost:
            raise ValueError(f"orbit was not found: {reason(guess.result)}")
        state, count = jnp.asarray(guess.state), jnp.asarray(guess.periods)
        value = value if isinstance(guess, PeriodicOrbit) else jnp.asarray(guess.parameter)
    else:
        check_periods(periods)
        state, count = checked_state(system, guess), jnp.asarray(periods, jnp.int32)
    if kind == "neimark_sacker" and state.shape[0] < 2:
        raise ValueError("kind = 'neimark_sacker'; the system has fewer than two states")
    return _found(system, *jax.lax.stop_gradient((state, count, value)), kind, path)


@eqx.filter_jit
def _found(system, state, count, value, kind: str, path: str) -> BifurcationPoint:
    leaves, static = eqx.partition(system, eqx.is_inexact_array)
    frozen = jax.tree.map(jax.lax.stop_gradient, leaves)
    here = at(eqx.combine(frozen, static), path, value)
    periods = count.astype(float)
    state, begin, turn, contact = _section(here, state, periods * here.period())
    start = [state, value[None]] + ([turn[None]] if kind == "grazing" else [])
    size = jnp.where(value == 0, 1.0, jnp.abs(value))
    units = jnp.concatenate([scales(here, state), size[None], jnp.ones(len(start) - 2)])
    map_ = _extended(static, kind, path)
    others = periods, begin, units, contact
    found, left, steps, code = _newton(
        map_, jnp.concatenate(start) / units, (frozen, *others)
    )
    solved = implicit_root(map_, found, (leaves, *others)) * units
    size = state.shape[0]
    there = at(eqx.combine(leaves, static), path, solved[size])
    span = periods * there.period()
    whole = flow(there, solved[:size], begin * span, span, rtol=_RTOL)
    time = jnp.mod(solved[size + 1], span) if kind == "grazing" else jnp.nan * span
    return BifurcationPoint(
        kind=kind,
        path=path,
        parameter=solved[size],
        state=whole,
        periods=count,
        time=time,
        residual=jnp.max(jnp.abs(left[:size])),
        test=jnp.max(jnp.abs(left[size:])),
        iterations=steps,
        result=code,
    )


def second_compound(matrix: Float[Array, "n n"]) -> Float[Array, "m m"]:
    """Return the matrix of all 2 x 2 minors; its eigenvalues are products of two."""
    pairs = np.array(list(itertools.combinations(range(matrix.shape[0]), 2)))
    i, j = pairs[:, 0], pairs[:, 1]
    return (
        matrix[i[:, None], i] * matrix[j[:, None], j]
        - matrix[i[:, None], j] * matrix[j[:, None], i]
    )


def _extended(static, kind: str, path: str):
    """Return the map whose root, in units of its own, is the point."""

    def extended(x, arguments):
        leaves, periods, begin, units, contact = arguments
        x = x * units
        size = units.shape[0] - (2 if kind == "grazing" else 1)
        state, value = x[:size], x[size]
        system = at(eqx.combine(leaves, static), path, value)
        span = periods * system.period()
        first = begin * span

        def residual(state):
            image = flow(system, state, first, first + span, rtol=_RTOL)
            return image - state, image - state

        if kind == "grazing":
            rest, _ = residual(state)
            there = flow(system, state, first, x[size + 1], rtol=_RTOL)
            equation = system.equation()
            rate = equation.vector_field(x[size + 1], there)
            depth, speed, _ = equation.contact_motion(there, rate)
            velocity = units[size - 1]
            test = jnp.stack([depth[contact] / units[0], speed[contact] / velocity])
        else:
            matrix, rest = jax.jacfwd(residual, has_aux=True)(state)
            test = _test(kind, matrix + jnp.eye(size))[None]
        return jnp.concatenate([rest / units[:size], test])

    return extended


def _test(kind: str, monodromy):
    if kind == "neimark_sacker":
        monodromy = second_compound(monodromy)
    sign = -1.0 if kind != "period_doubling" else 1.0
    return jnp.linalg.det(monodromy + sign * jnp.eye(monodromy.shape[0]))


def _newton(map_, start, arguments):
    """Return a root, what is left there, the steps taken and a reason code."""

    def look(x):
        left = map_(x, arguments)
        return left, left

    def step(carry):
        x, _, length, steps, _ = carry
        matrix, left = jax.jacfwd(look, has_aux=True)(x)
        change = -jnp.linalg.solve(matrix, left)
        stride = jnp.max(jnp.abs(change))
        # As good as it gets where steps no longer become shorter.
        done = (stride < 1e-9) & ((stride > length / 2) | (stride < 1e-13))
        code = jnp.where(done, Reason.SUCCESS, _GOING)
        code = jnp.where(jnp.isfinite(stride), code, Reason.DIVERGED)
        new = jnp.where(code == _GOING, x + change * jnp.minimum(1.0, _LONGEST / stride), x)
        return new, left, stride, steps + 1, code.astype(jnp.int32)

    def unfinished(carry):
        return (carry[-1] == _GOING) & (carry[-2] < _MOST_ITERATIONS)

    first = (
        start,
        jnp.full_like(start, jnp.nan),
        jnp.asarray(jnp.inf),
        jnp.asarray(0, jnp.int32),
        jnp.asarray(_GOING, jnp.int32),
    )
    x, left, _, steps, code = jax.lax.while_loop(unfinished, step, first)
    return x, left, steps, jnp.where(code == _GOING, Reason.ITERATION_LIMIT, code)


def _section(system, state, period):
    """Return a state in which all gaps are open, its part of the period, and more.

    A monodromy matrix that starts on a contact has no derivative there. The rest is
    when, after that, a gap turns nearest to touching, and which.
    """
    nothing = jnp.asarray(0.0)
    if not getattr(system, "has_contacts", False):
        return state, nothing, nothing, jnp.asarray(0)
    parts = jnp.linspace(0.0, 1.0, _SAMPLES)
    states = simulate(system, state, period * parts).states
    depths = jax.vmap(system.equation().penetrations)(states)
    first = jnp.argmin(jnp.max(depths, axis=1))
    inner = depths[1:-1]
    turns = (inner >= depths[:-2]) & (inner >= depths[2:])
    size = jnp.where(turns, jnp.abs(inner), jnp.inf)
    row, contact = jnp.unravel_index(jnp.argmin(size), size.shape)
    turn = parts[row + 1] + jnp.where(row + 1 < first, 1.0, 0.0)
    return states[first], parts[first], turn * period, contact
