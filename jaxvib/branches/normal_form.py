r"""Normal form coefficients of bifurcations: which way they open, and how stably.

With the Jacobian A of a field, of the map over a period, or of the Poincaré map of a
cycle, its critical eigenvector q and that of the transpose p,
$\langle q, q\rangle = \langle p, q\rangle = 1$, and the second and third derivatives B
and C, all of them exact by JAX.

That of a Hopf point is in `equations.hopf_coefficient`. **Source:** Kuznetsov, *Elements
of Applied Bifurcation Theory* (3rd ed.), section 5.4, equations (5.39), (5.44), (5.49)
and (5.51).
"""

import itertools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..dynamics.flow import flow
from ..ensemble import Reason, raise_if_empty, reason
from ..ensemble.result import Result
from ..foundation.quantity import result_field
from ..orbits.limit_cycle import reflection
from ..systems.base.system import System
from ..systems.drift import across_drift, modulo_drift
from ..systems.fields import is_autonomous
from ..systems.parameters import replace
from .equations.hopf_coefficient import hopf_coefficient
from .results.bifurcation_results import BifurcationPoint, FieldBifurcation

_RTOL = 1e-12  # of flows, whose third derivatives are taken
# Steps of differences that confirm the derivatives, relative to the state, and how
# closely they have to agree: differences of smooth functions do to their error, those
# of kinks do not at all.
_STEP, _AGREES = 3e-3, 0.05
_CONFIRMED = 1e-6  # differences of derivatives below this part of the terms are noise
# Where $e^{ik\theta} = 1$ for k up to 4 the coefficient of a torus does not exist.
_RESONANT = 1e-4


class NormalForm(Result):
    r"""The normal form coefficient at a bifurcation of an equilibrium, orbit or cycle.

    In the amplitude $\xi$ along q, whose length is 1 in the units of the states, near
    the bifurcation the motion follows, on its critical manifold,

    - "fold": $\dot\xi = \beta + a \xi^2$, or $\xi \mapsto \beta + \xi + a \xi^2$ of
      orbits and cycles: a is not 0, its sign depends on that of q;
    - "hopf": $\dot\xi = (\beta + i \omega) \xi + \omega l_1 \xi |\xi|^2$;
    - "period_doubling": $\xi \mapsto -(1 + \beta) \xi + c \xi^3$;
    - "neimark_sacker": $\xi \mapsto e^{i\theta} (1 + \beta + d |\xi|^2) \xi$, d by its
      real part.

    With $l_1 < 0$, $c > 0$, or $\mathrm{Re}\,d < 0$ it is supercritical: the motions that
    appear are stable, if no other eigenvalue is unstable, and exist where the former
    one is unstable. Otherwise unstable ones exist beside the stable one: subcritical.

    >>> jv.branches.NormalForm("hopf", jnp.asarray(0.5), jnp.asarray(0)).direction
    'subcritical'
    """

    kind: str = eqx.field(static=True)
    coefficient: Float[Any, ""] = result_field("normal form coefficient")
    result: Int[Any, ""] = result_field("reason code")

    @property
    def direction(self) -> str:
        """`"supercritical"` or `"subcritical"`; "" for a fold or an unknown coefficient."""
        value = float(self.coefficient)
        if self.kind == "fold" or not np.isfinite(value) or value == 0:
            return ""
        stable = value > 0 if self.kind == "period_doubling" else value < 0
        return "supercritical" if stable else "subcritical"

    def _empty(self) -> bool:
        return not np.isfinite(self.coefficient)

    def _lines(self) -> list[str]:
        words = f"{self.direction} " if self.direction else ""
        return [f"NormalForm: {words}{self.kind}, coefficient {self.coefficient:.8g}"]


def normal_form(
    system: System,
    point: BifurcationPoint | FieldBifurcation,
    *,
    throw: bool = True,
) -> NormalForm:
    r"""Return the normal form coefficient at a bifurcation of `system`.

    The field, or the flow over a period, must have three derivatives. Of orbits they
    are those of the map over their period, of cycles those of the Poincaré map of the
    plane through the point's state, orthogonal to the flow: its motions return at
    different times. They are compiled in tens of seconds. Differences
    of the first derivative confirm them: where they disagree, as at kinks, the
    coefficient is NaN. It does not work under transformations.

    **Arguments:** `point`: a result of `bifurcation_point`, or of a branch's
    `bifurcations`: "fold", "hopf", "period_doubling" or "neimark_sacker". `system`:
    that of the call; its parameter is replaced by the point's.

    **Raises:** `ValueError` for another kind, a point that was not found, or a system with
    contacts, whose forces lack the derivatives; `RuntimeError`
    with the reason for a coefficient that does not exist, unless `throw=False`.

    >>> normal = jv.autonomous_system(
    ...     lambda x, p: [x[1], (p["mu"] - x[0] ** 2) * x[1] - x[0]],
    ...     parameters={"mu": 0.1},
    ...     dimension=2,
    ... )
    >>> hopf = jv.bifurcation_point(normal, [0.0, 0.0], "hopf", "mu")
    >>> found = jv.branches.normal_form(normal, hopf)
    >>> found.direction, round(float(found.coefficient), 6)
    ('supercritical', -0.25)
    """
    if system.has_contacts:
        raise ValueError(
            "normal_form of a system with contacts, whose forces lack third derivatives; "
            "allowed: systems without contacts"
        )
    of_cycle = isinstance(point, FieldBifurcation) and point.of == "cycle"
    at_rest = is_autonomous(system) and not of_cycle
    rules = _OF_FIELDS if at_rest else _OF_MAPS
    if point.kind not in rules:
        raise ValueError(f"point of kind {point.kind!r}; allowed: {', '.join(rules)}")
    if int(point.result) != Reason.SUCCESS:
        raise ValueError(f"point was not found: {reason(point.result)}")
    jet = _Derivatives(replace(system, {point.path: point.parameter}), point, at_rest)
    coefficient, q = rules[point.kind](jet)
    code = Reason.SUCCESS if np.isfinite(coefficient) else Reason.STRONG_RESONANCE
    code = code if jet.is_smooth(q) else Reason.NOT_SMOOTH
    known = np.asarray(coefficient if code == Reason.SUCCESS else np.nan)
    raise_if_empty("normal_form", throw, code, known)
    code = np.asarray(code, np.int32)
    return NormalForm(kind=point.kind, coefficient=known, result=code)


def _poincare_map(system: System, point: FieldBifurcation) -> Callable[[Array], Array]:
    """Return the Poincaré map of a cycle in coordinates of the plane across its state.

    After the period T of the cycle a neighbour is off the plane by a time of the order
    of its distance. The motion over this time is a polynomial, whose terms up to the
    third order are all that third derivatives need.
    """

    def rate(state):
        return across_drift(system, system.equation().vector_field(0.0, state))

    def along_flow(function):
        return lambda state: jax.jvp(function, (state,), (rate(state),))[1]

    orders = [rate, along_flow(rate), along_flow(along_flow(rate))]
    turns = reflection(rate(point.state))
    normal, plane = turns[:, 0], turns[:, 1:]

    def returned(place):
        end = flow(
            system, point.state + plane @ place, 0.0, point.period, rtol=_RTOL,
            engine="diffrax",
        )  # fmt: skip
        terms = [modulo_drift(system, end, point.state) - point.state]
        terms += [order(end) / size for order, size in zip(orders, (1, 2, 6), strict=True)]
        off = jnp.stack([normal @ term for term in terms])
        later = -off[0] / off[1]
        # Newton's method: two steps are exact to the third order.
        powers = later ** jnp.arange(4.0)
        slope = off[1:] @ (jnp.arange(1.0, 4.0) * powers[:3])
        later = later - off @ powers / slope
        return sum(plane.T @ term * later**k for k, term in enumerate(terms))

    return returned


def _function(system: System, point, at_rest: bool) -> tuple[Callable, Array]:
    """Return a field, a map over the period, or of Poincaré, and its fixed place."""
    field = system.equation().vector_field
    if at_rest:
        return lambda state: field(0.0, state), point.state
    if isinstance(point, FieldBifurcation):
        return _poincare_map(system, point), jnp.zeros(point.state.shape[0] - 1)

    def end_at(state, time):
        image = flow(system, state, 0.0, time, rtol=_RTOL, engine="diffrax")
        return modulo_drift(system, image, point.state)

    span = point.periods.astype(float) * system.period()
    return lambda state: end_at(state, span), point.state


@eqx.filter_jit
def _place(system, point, at_rest):
    return _function(system, point, at_rest)[1]


@eqx.filter_jit
def _slope(system, point, at_rest, away, u):
    """Return the derivative along u, away from the place."""
    function, place = _function(system, point, at_rest)
    return jax.jvp(function, (place + away,), (u,))[1]


@eqx.filter_jit
def _second(system, point, at_rest, u, v):
    """Return the second derivative along u and v."""
    function, place = _function(system, point, at_rest)
    return jax.jvp(lambda x: jax.jvp(function, (x,), (u,))[1], (place,), (v,))[1]


@eqx.filter_jit
def _third(system, point, at_rest, u, v, w):
    """Return the third derivative along u, v and w."""
    function, place = _function(system, point, at_rest)

    def along(x):
        return jax.jvp(function, (x,), (u,))[1]

    def twice(x):
        return jax.jvp(along, (x,), (v,))[1]

    return jax.jvp(twice, (place,), (w,))[1]


@eqx.filter_jit
def _hopf_coefficient(system, point, at_rest):
    return hopf_coefficient(*_function(system, point, at_rest))


class _Derivatives:
    """The derivatives at a bifurcation, as multilinear forms of complex vectors."""

    def __init__(self, *where: Any):
        self.where = where
        self.size = _place(*where).shape[0]
        self.same = np.eye(self.size)
        still = np.zeros(self.size)
        columns = [_slope(*where, still, column) for column in self.same]
        self.matrix = np.stack(columns, axis=1)

    def second(self, *vectors: np.ndarray) -> np.ndarray:
        """Return B(u, v)."""
        return self._form(_second, vectors)

    def third(self, *vectors: np.ndarray) -> np.ndarray:
        """Return C(u, v, w)."""
        return self._form(_third, vectors)

    def _form(self, form, vectors):
        """Return a form of complex vectors, the sum over their parts."""
        parts = [[(1, v.real)] + [(1j, v.imag)] * bool(v.imag.any()) for v in vectors]
        return sum(
            np.prod([factor for factor, _ in each])
            * np.asarray(form(*self.where, *(part for _, part in each)))
            for each in itertools.product(*parts)
        )

    def critical(self, distance: Callable) -> tuple:
        """Return the eigenvalue of the least distance, q and p with <p, q> = 1."""
        values, right = np.linalg.eig(self.matrix.astype(complex))
        nearest = np.argmin(distance(values))
        value, q = values[nearest], right[:, nearest]
        others, left = np.linalg.eig(self.matrix.T.astype(complex))
        p = left[:, np.argmin(np.abs(others - np.conj(value)))]
        q = q * np.exp(-1j * np.angle(q[np.argmax(np.abs(q))])) / np.linalg.norm(q)
        if value.imag == 0:
            q = q.real.astype(complex)
        return value, q, p / np.conj(np.vdot(p, q))

    def is_smooth(self, q: np.ndarray) -> bool:
        """Return whether differences of the slope along q confirm its derivatives."""
        place = np.asarray(_place(*self.where))
        step = _STEP * max(np.abs(place).max(), 1.0)
        directions = [direction for direction in (q.real, q.imag) if direction.any()]
        return all(self._confirmed(direction, step) for direction in directions)

    def _confirmed(self, direction, step: float) -> bool:
        def slope(part):
            return np.asarray(_slope(*self.where, part * direction, direction))

        here = slope(0.0)
        known = (
            self.second(direction, direction).real,
            self.third(direction, direction, direction).real,
        )
        bent = np.abs(known[1]).max()
        if bent > 0:  # the field may vary over less than the state
            step = min(step, _STEP * float(np.sqrt(np.abs(here).max() / bent)) or step)
        down, up = slope(-step), slope(step)
        seen = (up - down) / (2 * step), (up - 2 * here + down) / step**2
        # The next derivative has an effect of the order of the step.
        large = max(np.abs(known[0]).max(), step * np.abs(known[1]).max())
        noise = _CONFIRMED * max(np.abs(here).max(), 1e-300)
        first = np.abs(seen[0] - known[0]).max() <= _AGREES * large + noise / step
        large = np.abs(known[1]).max()
        allowed = _AGREES * large + noise / step**2
        return bool(first and np.abs(seen[1] - known[1]).max() <= allowed)


def _fold(target: float) -> Callable:
    def of(jet: _Derivatives):
        _, q, p = jet.critical(lambda values: np.abs(values - target))
        return np.vdot(p, jet.second(q, q)).real / 2, q

    return of


def _hopf(jet: _Derivatives):
    found = _hopf_coefficient(*jet.where)
    return np.asarray(found.value), np.asarray(found.vector)


def _flip(jet: _Derivatives):
    _, q, p = jet.critical(lambda values: np.abs(values + 1))
    other = np.linalg.solve(jet.same - jet.matrix, jet.second(q, q))
    terms = jet.third(q, q, q) + 3 * jet.second(q, other)
    return np.vdot(p, terms).real / 6, q


def _torus(jet: _Derivatives):
    def off(values):
        return np.where(values.imag > 0, np.abs(np.abs(values) - 1), np.inf)

    value, q, p = jet.critical(off)
    turn, other = value / abs(value), np.conj(q)
    if min(abs(turn**k - 1) for k in range(1, 5)) < _RESONANT:
        return np.nan, q
    mixed, twice = jet.second(q, other), jet.second(q, q)
    terms = (
        jet.third(q, q, other)
        + 2 * jet.second(q, np.linalg.solve(jet.same - jet.matrix, mixed))
        + jet.second(other, np.linalg.solve(turn**2 * jet.same - jet.matrix, twice))
    )
    return (np.vdot(p, terms) / turn).real / 2, q


_OF_FIELDS = {"fold": _fold(0.0), "hopf": _hopf}
_OF_MAPS = {"fold": _fold(1.0), "period_doubling": _flip, "neimark_sacker": _torus}
