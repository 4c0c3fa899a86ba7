r"""Detection and location of bifurcations: zeros of test functions along a branch.

A sign change of a test function between two points brackets a zero, which is located on
the branch by Chandrupatla's method: points in planes across the chord are corrected
like any other. Jumps without a zero are dropped.

- fold: the parameter component of the tangent;
- period doubling: $\det(M + I)$;  Neimark-Sacker: $\det(M^{(2)} - I)$;
- branch point: $\det(M - I)$ without a fold;
- grazing: the depth of the contact that exists on one side only;
- event: a user-defined function of an orbit.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .interpolate takes 0.3 s
from scipy.optimize import elementwise

from .. import linalg
from ..ensemble import Reason, map_samples
from ..foundation.arrays import to_jax
from ..orbits.periodic_orbit import PeriodicOrbit
from .bifurcation_results import BifurcationPoint
from .branch import BranchEvent
from .defining_equations import NEAR
from .tracer import BranchPoint

# Offsets of neighbours of a branch point, relative to the chord...
_BESIDE = np.array([-0.01, -0.005, 0.005, 0.01])
# ... and of points before a grazing, where the gap changes smoothly: three of them far
# away, which reduces the effect of rounding, or all near.
_BEFORE = np.array([[1e-3, 1e-2, 2e-2, 3e-2], [1e-3, 2e-3, 3e-3, 4e-3]])
# Offsets, and their largest distance, relative to the chord, on a smooth branch.
_SIDES, _SMOOTH = np.array([-1e-3, 1e-3]), 0.05
# Accuracy, relative to the chord, that suffices for a subsequent interpolation.
_ACCURACY = {"branch_point": 1e-3, "grazing": 1e-6}


class ZeroCrossing(NamedTuple):
    """A sign change of the test function or event `kind` after a point of a branch."""

    branch: int
    after: int
    kind: str


def zero_crossings(
    branch: int, points: Sequence[BranchPoint], multipliers, contacts, watched
) -> list[ZeroCrossing]:
    """Return the sign changes between neighbouring points of a branch.

    `contacts`: None if branches have corners. A corner is always a grazing; intervals
    next to jumps are skipped. `watched`: values of the event functions by name.
    """
    tangents = np.array([point.tangent[-1] for point in points])
    corners = np.array([point.corner for point in points])
    apart = np.array([point.corner or point.jumped for point in points])
    if contacts is None:
        contacts = np.zeros(len(points))
    changes = {
        kind: _changes(_signs(test(tangents, multipliers))) for kind, test in _TESTS.items()
    }
    changes["branch_point"] &= ~changes["fold"]
    changes["grazing"] = contacts[1:] != contacts[:-1]
    changes |= {name: _changes(_signs(values)) for name, values in watched.items()}
    beside = apart[1:] | apart[:-1]
    found = [
        ZeroCrossing(branch, int(after), kind)
        for kind, where in changes.items()
        for after in np.flatnonzero(where & ~beside)
    ]
    # At a corner only the grazing itself is reported.
    return found + [
        ZeroCrossing(branch, int(corner), "grazing") for corner in np.flatnonzero(corners)
    ]


def values_of(function: Callable, orbits: PeriodicOrbit) -> np.ndarray:
    """Return an event function evaluated on orbits with a leading axis."""
    lanes = range(len(orbits.result))
    return np.array(
        [float(function(jax.tree.map(lambda leaf, i=i: leaf[i], orbits))) for i in lanes]
    )


def locate(correct, evaluate, problems, branches, crossings, path: str, events):
    """Return the located bifurcation or event of each crossing, None for jumps.

    `events`: functions of an orbit by name.
    """
    if not crossings:
        return []
    search = _Search(correct, evaluate, problems, branches, crossings, events)
    every = np.arange(len(crossings))
    zeros = _zeros(search, every)
    success = zeros.success
    x = search.points(zeros.fractions, every)
    for i in every[(search.kinds == "grazing") & ~search.corners]:
        where = float(zeros.fractions[i]), int(i)
        success[i] = search.touch(x, *where) or (success[i] and search.parts(*where))
    found = search.evaluated(x, every)
    return [
        _made(crossing.kind, path, found, zeros, i, events)
        for i, crossing in enumerate(crossings)
    ]


class _Zeros(NamedTuple):
    """Zeros of test functions, as fractions of the chords."""

    fractions: np.ndarray
    success: np.ndarray
    evaluations: np.ndarray


def _zeros(search: "_Search", every: np.ndarray) -> _Zeros:
    """Return the zeros of the test functions of all crossings except corners."""
    fractions, success = np.zeros(len(every)), search.corners.copy()
    evaluations = np.zeros(len(every), int)
    accuracies = np.array([_ACCURACY.get(kind, 1e-13) for kind in search.kinds])
    for accuracy in np.unique(accuracies):
        which = every[~search.corners & (accuracies == accuracy)]
        if which.size:
            # Bracketing locates a zero to the rounding of the chord at best.
            found = elementwise.find_root(
                search.test,
                (np.zeros(which.size), np.ones(which.size)),
                args=(which,),
                tolerances={"xatol": accuracy, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0},
                maxiter=60,
            )
            fractions[which] = np.nan_to_num(found.x, nan=0.5)
            success[which], evaluations[which] = found.success, found.nfev
    return _Zeros(fractions, success, evaluations)


def _made(kind: str, path: str, found, zeros: _Zeros, i: int, events):
    """Return the located bifurcation or event, None for a jump."""
    values, states, orbits = found
    code = Reason.SUCCESS if zeros.success[i] else Reason.ITERATION_LIMIT
    if kind in events:
        orbit = jax.tree.map(lambda leaf: jnp.asarray(leaf[i]), orbits)
        value, code = jnp.asarray(values[i]), jnp.asarray(int(code))
        return BranchEvent(kind, path, value, orbit, code)
    wrong, genuine = _distance(kind, orbits.floquet_multipliers[i])
    if kind == "grazing":
        wrong = orbits.grazing_margin[i]
    elif zeros.success[i] and not genuine:
        return None
    numbers = {
        "parameter": values[i],
        "state": states[i],
        "periods": orbits.periods[i],
        "time": np.nan,
        "residual": orbits.residual[i],
        "test": wrong,
        "iterations": zeros.evaluations[i],
        "result": code,
    }
    return BifurcationPoint(kind=kind, path=path, **to_jax(numbers))


class _Search:
    """Test functions along the chords of all crossings."""

    def __init__(self, correct, evaluate, problems, branches, crossings, events):
        self.correct, self.evaluate, self.events = correct, evaluate, events
        pairs = [branches[c.branch][c.after : c.after + 2] for c in crossings]
        self.starts = np.array([first.x for first, _ in pairs])
        self.chords = np.array([last.x - first.x for first, last in pairs])
        self.tangents = [np.array([pair[end].tangent for pair in pairs]) for end in (0, 1)]
        self.corners = np.array([first.corner for first, _ in pairs])
        lanes = np.array([c.branch for c in crossings])
        mine = jax.tree.map(lambda leaf: leaf[lanes], problems)
        # Tighter, since a bifurcation is as accurate as its monodromy matrix.
        self.problems = mine._replace(tight=mine.tight * 1e-2, close=mine.tight * 1e-2)
        self.kinds = np.array([c.kind for c in crossings])
        every = np.arange(len(lanes))
        self.contacts = self.evaluated(self.starts, every)[2].contacts
        self.after = self.evaluated(self.starts + self.chords, every)[2].contacts

    def corrected(self, fraction, which):
        """Return points of the branch at fractions of the chords of `which` crossings."""
        problems = jax.tree.map(lambda leaf: leaf[which], self.problems)
        chords = self.chords[which]
        normals = chords / linalg.norm(chords)[..., None]
        predicted = self.paths(fraction[:, None], which)
        return self.correct((problems, predicted, normals))

    def paths(self, fraction, which):
        """Return points on the cubic Hermite curves of chords."""
        chords = self.chords[which]
        lengths = linalg.norm(chords)[..., None]
        first, last = (lengths * ends[which] for ends in self.tangents)
        bend, twist = first - chords, last - chords
        rest = fraction * (1 - fraction) * ((1 - fraction) * bend - fraction * twist)
        return self.starts[which] + fraction * chords + rest

    def test(self, fraction, which):
        """Return the test functions; NaN if the correction fails."""
        which = which.astype(int)
        shape, fraction, which = fraction.shape, fraction.ravel(), which.ravel()
        return self._tested(fraction, which, self.corrected(fraction, which)).reshape(shape)

    def _tested(self, fraction, which, found):
        multipliers = linalg.eigenvalues(np.nan_to_num(found.monodromy))
        values = [test(found.tangent[:, -1], multipliers) for test in _TESTS.values()]
        kinds = self.kinds[which]
        test = np.select([kinds == kind for kind in _TESTS], values, np.nan)
        grazing = kinds == "grazing"
        if grazing.any():
            orbits = self.evaluated(found.x[grazing], which[grazing])[2]
            same = orbits.contacts == self.contacts[which[grazing]]
            test[grazing] = np.where(same, -1, 1) * orbits.grazing_margin
        for name, function in self.events.items():
            mine = kinds == name
            if mine.any():
                orbits = self.evaluated(found.x[mine], which[mine])[2]
                test[mine] = values_of(function, orbits)
        # Near a branch point, the point in a plane is not unique.
        lost = np.where(kinds == "branch_point", 0.0, np.nan)
        return np.where(found.found, test, lost)

    def points(self, fraction, which):
        """Return the scaled points at zeros of the test functions.

        A branch point is interpolated from its neighbours.
        """
        x = np.array(self.corrected(fraction, which).x)
        for i in np.flatnonzero(self.kinds[which] == "branch_point"):
            same = np.full(len(_BESIDE), which[i])
            found = self.corrected(fraction[i] + _BESIDE, same)
            tests = self._tested(fraction, same, found)
            if np.any(np.diff(np.sort(tests)) == 0) or not found.found.all():
                continue  # a jump, not a branch point
            at_zero = scipy.interpolate.BarycentricInterpolator(tests, _BESIDE)(0.0)
            x[i] = scipy.interpolate.BarycentricInterpolator(_BESIDE, found.x)(at_zero)
        return x

    def touch(self, x, fraction: float, i: int) -> bool:
        """Set the point of a grazing near a fraction of its chord; return success.

        The gap is extrapolated to 0 from the side without contact: on the other side, a
        contact counts only from some depth on, and the stiffness changes abruptly.
        """
        way = -1 if self.contacts[i] < self.after[i] else 1
        for before in _BEFORE:
            fractions = fraction + way * before
            same = np.full(len(fractions), i)
            found = self.corrected(fractions, same)
            orbits = self.evaluated(found.x, same)[2]
            heights = np.asarray(orbits.grazing_margin)
            apart = orbits.contacts == min(self.contacts[i], self.after[i])
            if not (found.found.all() and apart.all() and (np.diff(heights) > 0).all()):
                continue
            at_zero = scipy.interpolate.BarycentricInterpolator(heights, fractions)(0.0)
            if abs(at_zero - fraction) > before[0]:
                continue
            touching = self.corrected(np.atleast_1d(at_zero), same[:1])
            if touching.found[0]:
                x[i] = touching.x[0]
                return True
        return False

    def parts(self, fraction: float, i: int) -> bool:
        """Return whether a contact splits in two there, so that the motion is smooth.

        If the motion jumps, the chord passes over a corner of the branch.
        """
        beside = self.corrected(fraction + _SIDES, np.full(2, i))
        jump = linalg.norm(beside.x[1] - beside.x[0])
        smooth = jump < _SMOOTH * linalg.norm(self.chords[i])
        return bool(beside.found.all() and smooth)

    def evaluated(self, x, which):
        """Return parameters, states and orbits of scaled points."""
        problems = jax.tree.map(lambda leaf: leaf[which], self.problems)
        return map_samples(self.evaluate, (problems, x))


def _signs(values):
    # An exact zero has the sign of the point before it.
    signs = np.sign(values)
    for i in range(1, len(signs)):
        signs[i] = signs[i] or signs[i - 1]
    return signs


def _changes(signs):
    return signs[1:] * signs[:-1] < 0


def _pairs(multipliers):
    """Return the products of two different multipliers, along the last axis."""
    size = multipliers.shape[-1]
    first, second = np.triu_indices(size, 1)
    return multipliers[..., first] * multipliers[..., second]


# Test functions of the tangent's parameter component and of multipliers (points, n).
_TESTS: dict[str, Callable] = {
    "fold": lambda tangents, multipliers: tangents,
    "period_doubling": lambda tangents, multipliers: np.prod(1 + multipliers, -1).real,
    "neimark_sacker": lambda tangents, multipliers: (
        np.prod(_pairs(multipliers) - 1, -1).real
    ),
    "branch_point": lambda tangents, multipliers: np.prod(1 - multipliers, -1).real,
}


def _distance(kind: str, multipliers):
    """Return the distance of multipliers from the bifurcation, and if it is small."""
    if kind in ("fold", "branch_point"):
        wrong = np.abs(multipliers - 1).min()
    elif kind == "period_doubling":
        wrong = np.abs(multipliers + 1).min()
    else:
        torus = np.where(multipliers.imag != 0, np.abs(np.abs(multipliers) - 1), np.inf)
        wrong = torus.min()
    return wrong, wrong < NEAR
