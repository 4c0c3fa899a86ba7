r"""Where a branch changes its kind: the zeros of test functions between its points.

Between two points a test function of another sign has a zero, which is sought on the
branch itself: points in planes across the chord from one to the other, corrected like
any other, by Chandrupatla's bracketing method. What is no zero but a jump is dropped.

- fold: the parameter's part of the tangent changes its sign;
- period doubling: $\det(M + I)$;  Neimark-Sacker: $\det(M^{(2)} - I)$;
- branch point: $\det(M - I)$ where there is no fold;
- grazing: the depth of the contact that is there on one side only;
- an event: the user's own function of an orbit.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # which loads what it is asked for: .interpolate takes 0.3 s
from scipy.optimize import elementwise

from .. import linalg
from .._arrays import on_device
from ..ensemble import Reason, map_samples
from ..orbits.periodic_orbit import PeriodicOrbit
from .branch import BranchEvent
from .defining_equations import NEAR
from .located import BifurcationPoint
from .tracer import BranchPoint

# Beside a branch point its neighbours are taken, at these parts of the chord...
_BESIDE = np.array([-0.01, -0.005, 0.005, 0.01])
# ... and before a grazing those that do not touch yet, where the gap changes smoothly:
# some farther away, by which the rounding of the first counts once, or else all near.
_BEFORE = np.array([[1e-3, 1e-2, 2e-2, 3e-2], [1e-3, 2e-3, 3e-3, 4e-3]])
# Where a branch is smooth points at these are no farther from each other, per chord.
_SIDES, _SMOOTH = np.array([-1e-3, 1e-3]), 0.05
# Shares of the chord at which these are close enough to be interpolated.
_ACCURACY = {"branch_point": 1e-3, "grazing": 1e-6}


class Crossing(NamedTuple):
    """A change of `kind`, or an event of that name, after a point of a branch."""

    branch: int
    after: int
    kind: str


def crossings_of(
    branch: int, points: Sequence[BranchPoint], multipliers, contacts, watched
) -> list[Crossing]:
    """Return the changes between neighbours among a branch's points.

    `contacts`: None where branches have corners. A corner is a grazing, whatever jumps
    there; beside a jump nothing is looked for. `watched`: values of the events' functions
    by name.
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
        Crossing(branch, int(after), kind)
        for kind, where in changes.items()
        for after in np.flatnonzero(where & ~beside)
    ]
    # Of what lies after a corner only the corner itself is taken.
    return found + [
        Crossing(branch, int(corner), "grazing") for corner in np.flatnonzero(corners)
    ]


def values_of(function: Callable, orbits: PeriodicOrbit) -> np.ndarray:
    """Return an event's function of orbits with a leading axis."""
    lanes = range(len(orbits.result))
    return np.array(
        [float(function(jax.tree.map(lambda leaf, i=i: leaf[i], orbits))) for i in lanes]
    )


def locate(correct, evaluate, problems, branches, crossings, path: str, events):
    """Return the bifurcation or the event at each crossing, or None where there is none.

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
    """Where on the chords of crossings the test functions are 0."""

    fractions: np.ndarray
    success: np.ndarray
    evaluations: np.ndarray


def _zeros(search: "_Search", every: np.ndarray) -> _Zeros:
    """Return the zeros of the test functions of all crossings but the corners."""
    fractions, success = np.zeros(len(every)), search.corners.copy()
    evaluations = np.zeros(len(every), int)
    accuracies = np.array([_ACCURACY.get(kind, 1e-13) for kind in search.kinds])
    for accuracy in np.unique(accuracies):
        which = every[~search.corners & (accuracies == accuracy)]
        if which.size:
            # By signs alone a zero is known to the last bit of the chord at most.
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
    """Return the bifurcation or the event that was found, None where there is none."""
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
    return BifurcationPoint(kind=kind, path=path, **on_device(numbers))


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
        # A bifurcation is only as good as the monodromy matrix there.
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
        """Return the cubics through both ends of chords, along the tangents there."""
        chords = self.chords[which]
        lengths = linalg.norm(chords)[..., None]
        first, last = (lengths * ends[which] for ends in self.tangents)
        bend, twist = first - chords, last - chords
        rest = fraction * (1 - fraction) * ((1 - fraction) * bend - fraction * twist)
        return self.starts[which] + fraction * chords + rest

    def test(self, fraction, which):
        """Return the test functions; NaN where there is no point."""
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
        # Where two branches cross, no plane has one point only.
        lost = np.where(kinds == "branch_point", 0.0, np.nan)
        return np.where(found.found, test, lost)

    def points(self, fraction, which):
        """Return the scaled points at zeros of the test functions.

        A branch point is that between its neighbours where the test is 0.
        """
        x = np.array(self.corrected(fraction, which).x)
        for i in np.flatnonzero(self.kinds[which] == "branch_point"):
            same = np.full(len(_BESIDE), which[i])
            found = self.corrected(fraction[i] + _BESIDE, same)
            tests = self._tested(fraction, same, found)
            if np.any(np.diff(np.sort(tests)) == 0) or not found.found.all():
                continue  # a jump, not a crossing of two branches
            at_zero = scipy.interpolate.BarycentricInterpolator(tests, _BESIDE)(0.0)
            x[i] = scipy.interpolate.BarycentricInterpolator(_BESIDE, found.x)(at_zero)
        return x

    def touch(self, x, fraction: float, i: int) -> bool:
        """Set the point of a grazing near a fraction of its chord; return if it was found.

        The height of the gap that is about to close, where it does not yet, is followed
        to 0: beyond, a touch counts from some depth on, and stiffness jumps at first.
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
        """Return whether a contact parts in two there: no gap closes, nothing jumps.

        Where the motion jumps, the chord leads over a corner of the branch.
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
    # An exact zero belongs to the side that it comes from.
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


# Test functions by the parameter's part of the tangent and the multipliers, (points, n).
_TESTS: dict[str, Callable] = {
    "fold": lambda tangents, multipliers: tangents,
    "period_doubling": lambda tangents, multipliers: np.prod(1 + multipliers, -1).real,
    "neimark_sacker": lambda tangents, multipliers: (
        np.prod(_pairs(multipliers) - 1, -1).real
    ),
    "branch_point": lambda tangents, multipliers: np.prod(1 - multipliers, -1).real,
}


def _distance(kind: str, multipliers):
    """Return how far multipliers are from what makes the kind, and whether that is near."""
    if kind in ("fold", "branch_point"):
        wrong = np.abs(multipliers - 1).min()
    elif kind == "period_doubling":
        wrong = np.abs(multipliers + 1).min()
    else:
        torus = np.where(multipliers.imag != 0, np.abs(np.abs(multipliers) - 1), np.inf)
        wrong = torus.min()
    return wrong, wrong < NEAR
