r"""Tables of test functions, whose sign changes along a branch are its bifurcations.

With the eigenvalues $\lambda$ of an equilibrium's Jacobian, or the multipliers $\mu$ of
an orbit or cycle (without the trivial one):

| kind | orbits and cycles | equilibria |
| --- | --- | --- |
| `fold` | parameter component of the tangent | the same |
| `branch_point` | $\prod (1 - \mu_i)$, without a fold | $\prod \lambda_i$ |
| `period_doubling` | $\prod (1 + \mu_i)$ | |
| `neimark_sacker` | number of complex pairs outside the unit circle | |
| `hopf` | | number of complex pairs with a positive real part |

Factors of multipliers are divided by $1 + |\mu|$, those of equilibria by the largest
$|\lambda|$, and a product of them is replaced by that of the two of least modulus, with
the sign of all. A complex pair is located by its own distance from the circle or the
axis: real ones with $\mu_i \mu_j = 1$ or $\lambda_i + \lambda_j = 0$ (neutral saddles)
solve the equations of a pair too. Orbits have `problems.grazing_test` and user-defined
events besides, and curves in two parameters `branches.curves`. To add a kind,
add a row to the table of a `BranchProblem`.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads submodules lazily: .interpolate takes 0.3 s

from ... import linalg
from ...ensemble import Reason
from ..equations.corrector import Corrected
from ..equations.defining_equations import NEAR
from .tracer import BranchPoint, smooth_chords

# Offsets of neighbours of a branch point, relative to the chord.
_BESIDE = np.array([-0.01, -0.005, 0.005, 0.01])
# Nearer ones, in parts of these, follow where the zero is not known well enough.
_NEARER = (1.0, 0.1, 0.01)
# It is if without the last neighbour it moves by less than this part of the offsets: the
# error of the cubic is below a thousandth of that again.
_SMOOTH = 1e-3
# Values of a test function below this are rounding noise: products of two factors of at
# most 1, or relative to the largest value on the branch.
_NOISE, _NOISE_OF_FACTORS = 1e-13, 1e-15
# A complex pair nearer than this to the circle or the axis may be on either side.
_UNDECIDED = 1e-9


class EvaluatedPoints:
    """Input of test functions for a batch of points.

    `tangents`: components along the parameters, (points, parameters); `eigenvalues`:
    (points, n); `solutions`: with a leading axis of points, evaluated on first use;
    `elastic`: onsets of the contacts that are no hard stops, (points, contacts), or None.
    """

    def __init__(
        self, tangents, eigenvalues, evaluate: Callable[[], Any], elastic: Any = None
    ):
        self.tangents, self.eigenvalues = tangents, eigenvalues
        self._evaluate, self.elastic = evaluate, elastic

    @classmethod
    def of_corrected(
        cls, found: Corrected, parameters: int, evaluate: Callable[[], Any]
    ) -> "EvaluatedPoints":
        """Return the same for corrected points."""
        return cls(found.tangent[:, -parameters:], eigenvalues_of(found), evaluate)

    @functools.cached_property
    def solutions(self) -> Any:
        """The solutions at the points."""
        return self._evaluate()


def eigenvalues_of(found: Corrected) -> np.ndarray:
    """Return the eigenvalues or multipliers at corrected points."""
    matrices = np.nan_to_num(found.monodromy)
    if not matrices.size:
        return np.zeros(matrices.shape[:-1], complex)
    return linalg.eigenvalues(matrices)


class TestFunction(NamedTuple):
    """A row of a table of test functions.

    **Fields:** `kind`: its name. `value(seen, first)`: the test function of points,
    which lie on chords that begin at the points `first`. `distance(seen)`: of points
    from the condition of the kind; a located point farther than `tolerance` is a jump
    between two points of a branch, and dropped. `noise`, and `rounding` relative to the
    largest: values below have no sign.
    `accuracy`: of the location, relative to the chord (bracketing locates a zero to
    the rounding of the chord at best). `lost`: the value where a point is not found.
    `changes(seen)`: the chords to search, by default those on which the value changes
    its sign. `refine(search, chord, fraction, success)`: returns a better point than
    that at the zero, or None, and whether it is located. `factors`: maps eigenvalues to
    the numbers of which one has to vanish, see `tracing.chords`; `number`: of
    eigenvalues that pass.
    """

    __test__ = False  # no test of pytest

    kind: str
    value: Callable[[EvaluatedPoints, EvaluatedPoints], np.ndarray]
    distance: Callable[[EvaluatedPoints], np.ndarray] | None = None
    tolerance: float = NEAR
    noise: float = 0.0
    rounding: float = _NOISE
    accuracy: float = 1e-13
    lost: float = np.nan
    changes: Callable[[EvaluatedPoints], np.ndarray] | None = None
    refine: Callable | None = None
    factors: Callable[[np.ndarray], np.ndarray] | None = None
    number: int = 1


class SignChange(NamedTuple):
    """A sign change of a test function after a point of a branch.

    `corner`: whether the point itself is a grazing, or `grazing` is one on its chord. Of
    folds, `run`: the number of chords from the first to the last fold with the same
    parameter; `others`: chords nearby on which an eigenvalue passes that of a fold.
    """

    branch: int
    after: int
    test: TestFunction
    corner: bool = False
    grazing: Any = None
    run: int = 1
    others: tuple[int, ...] = ()


class LocatedZero(NamedTuple):
    """A located sign change, with the solution there.

    `distance`: from the condition of its kind; `code`: whether it is located; `along`: the
    chord of the branch that it is on.
    """

    after: int
    kind: str
    x: np.ndarray
    value: Any
    solution: Any
    eigenvalues: np.ndarray
    distance: float
    evaluations: int
    code: Reason
    along: np.ndarray | None = None

    @property
    def located(self) -> bool:
        """Whether the zero is located."""
        return self.code == Reason.SUCCESS


def pairs(values: np.ndarray, combine: Callable) -> np.ndarray:
    """Return `combine` of all pairs of different values along the last axis."""
    first, second = np.triu_indices(values.shape[-1], 1)
    return combine(values[..., first], values[..., second])


product = functools.partial(np.prod, axis=-1)


def _two_smallest(factors: np.ndarray) -> np.ndarray:
    """Return the product of the two smallest moduli, with the sign of all factors'.

    Products of many factors range over hundreds of powers of ten. The smallest alone is
    not smooth where a pair meets at the target, as in systems without damping.
    """
    sizes = np.abs(factors)
    sign = np.sign(product(factors / np.where(sizes > 0, sizes, 1.0)).real)
    ones = np.ones((*sizes.shape[:-1], 2))
    least = np.sort(np.concatenate([sizes, ones], axis=-1), axis=-1)
    return sign * least[..., 0] * least[..., 1]


def _excess(multipliers, target: float):
    """Return how far multipliers are past a target, at most 1 in modulus.

    Along a canard multipliers change by many powers of ten: their differences from the
    target would be lost among the largest ones.
    """
    return (multipliers - target) / (1 + np.abs(multipliers))


def nearest_to(target: float) -> Callable[[EvaluatedPoints], np.ndarray]:
    """Return the function to the distance of the nearest eigenvalue from a target."""
    return lambda seen: np.abs(seen.eigenvalues - target).min(-1)


def past_circle(multipliers: np.ndarray) -> np.ndarray:
    """Return how far multipliers are outside the unit circle, relative to themselves."""
    return _excess(np.abs(multipliers), 1.0)


def past_axis(eigenvalues: np.ndarray) -> np.ndarray:
    """Return how far eigenvalues are to the right of the imaginary axis, of themselves."""
    sizes = np.abs(eigenvalues)
    return eigenvalues.real / np.where(sizes > 0, sizes, 1.0)


def relative(eigenvalues: np.ndarray) -> np.ndarray:
    """Return eigenvalues relative to the largest modulus of each point."""
    largest = np.abs(eigenvalues).max(-1, keepdims=True)
    return eigenvalues / np.where(largest > 0, largest, 1.0)


def off_axis(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the distances of complex eigenvalues from the imaginary axis."""
    return np.where(eigenvalues.imag > 0, np.abs(eigenvalues.real), np.inf)


def _pair_passed(before: np.ndarray, here: np.ndarray, past: Callable) -> np.ndarray:
    """Return whether others than real eigenvalues passed the limit.

    Where a real one passes, the number of them beyond it on its side changes by an odd
    number. It changes by two where a pair there becomes real or complex.
    """

    def numbers(eigenvalues):
        outside, real = past(eigenvalues) > 0, eigenvalues.imag == 0
        sides = ((outside & real & (sign * eigenvalues.real > 0)) for sign in (1, -1))
        return [outside.sum(-1), *(side.sum(-1) for side in sides)]

    changes = zip(numbers(before), numbers(here), strict=True)
    total, *real = (other - one for one, other in changes)
    return total != sum(np.where(change % 2, change, 0) for change in real)


def complex_pair(
    kind: str, past: Callable, distance: Callable, factors: Callable
) -> TestFunction:
    """Return the row of a complex pair that passes the circle or the axis.

    `past(eigenvalues)`: how far each is past it.
    """

    def nearest(eigenvalues: np.ndarray) -> np.ndarray:
        off = np.where(eigenvalues.imag != 0, np.abs(past(eigenvalues)), 1.0)
        return off.min(-1)

    def value(seen: EvaluatedPoints, first: EvaluatedPoints) -> np.ndarray:
        passed = _pair_passed(first.eigenvalues, seen.eigenvalues, past)
        return np.where(passed, 1.0, -1.0) * nearest(seen.eigenvalues)

    def changes(seen: EvaluatedPoints) -> np.ndarray:
        values = seen.eigenvalues

        def passed(one, other):
            return _pair_passed(values[one], values[other], past)

        return _steps(passed, nearest(values) > _UNDECIDED)

    return TestFunction(kind, value, distance, changes=changes, factors=factors, number=2)


def off_circle(seen: EvaluatedPoints) -> np.ndarray:
    """Return the distance of the nearest complex multiplier from the circle."""
    values = seen.eigenvalues
    return np.where(values.imag != 0, np.abs(np.abs(values) - 1), np.inf).min(-1)


def between(
    search: Any, chord: int, fraction: float, success: bool
) -> tuple[np.ndarray | None, bool]:
    """Return a branch point interpolated from its neighbours, None at a jump.

    Near a branch point, a plane contains points of both branches.
    """
    same, better = np.full(len(_BESIDE), chord), None
    for nearer in _NEARER:
        beside = nearer * _BESIDE
        found = search.corrected(fraction + beside, same)
        tests = search.values(found, same)
        if np.any(np.diff(np.sort(tests)) == 0) or not found.found.all():
            break
        zero, other = (
            float(scipy.interpolate.BarycentricInterpolator(tests[:n], beside[:n])(0.0))
            for n in (len(beside), len(beside) - 1)
        )
        better = scipy.interpolate.BarycentricInterpolator(beside, found.x)(zero)
        fraction += zero
        if abs(zero - other) < _SMOOTH * beside[-1]:
            break
    return better, success


def fold(target: float) -> TestFunction:
    """Return the row of a fold, where an eigenvalue is at a target."""
    return TestFunction("fold", lambda seen, _: seen.tangents[:, -1], nearest_to(target))


def real_one(kind: str, target: float, factors: Callable) -> TestFunction:
    """Return the row of a real eigenvalue at a target, where one of the factors is 0."""

    def value(seen: EvaluatedPoints, _) -> np.ndarray:
        return _two_smallest(factors(seen.eigenvalues))

    row = TestFunction(kind, value, nearest_to(target), noise=_NOISE_OF_FACTORS)
    return row._replace(rounding=0.0, factors=factors)


def branch_point(target: float, factors: Callable) -> TestFunction:
    """Return the row of a branch point, see `real_one`."""
    # The accuracy suffices for the interpolation.
    row = real_one("branch_point", target, factors)
    return row._replace(accuracy=1e-3, lost=0.0, refine=between)


# The test functions of multipliers.
OF_MULTIPLIERS = (
    fold(1.0),
    real_one("period_doubling", -1.0, lambda multipliers: _excess(multipliers, -1)),
    complex_pair(
        "neimark_sacker",
        past_circle,
        off_circle,
        lambda multipliers: _excess(pairs(multipliers, np.multiply), 1),
    ),
    branch_point(1.0, lambda multipliers: _excess(multipliers, 1)),
)


def sign_changes(
    branch: int,
    points: Sequence[BranchPoint],
    seen: EvaluatedPoints,
    tests: Sequence[TestFunction],
    resolution: float = 0.0,
) -> list[SignChange]:
    """Return the sign changes between neighbouring points of a branch.

    A "branch_point" at a "fold" is not among them. Consecutive folds with parameters
    within `resolution` count as one if odd in number, and otherwise as none. A corner
    is always a grazing; intervals next to corners, and those that hold a grazing or a
    jump, are skipped.
    """
    if len(points) < 2:
        return []
    rows = {test.kind: test for test in tests}
    smooth = smooth_chords(points)
    changes = {kind: smooth & changed(test, seen) for kind, test in rows.items()}
    found = []
    if {"fold", "branch_point"} <= set(rows):
        parameter = np.array([point.x[-1] for point in points])
        folds, crossings = changes.pop("fold"), changes["branch_point"]
        for run in _runs_of_folds(np.flatnonzero(folds), parameter, resolution):
            near = np.abs(parameter[:-1] - parameter[run[0]]) <= resolution
            near[run] = True
            others = tuple(map(int, np.flatnonzero(crossings & near)))
            crossings &= ~near
            if len(run) % 2:
                first = SignChange(branch, int(run[0]), rows["fold"])
                found.append(first._replace(run=int(run[-1] - run[0]) + 1, others=others))
    found += [
        SignChange(branch, int(after), rows[kind])
        for kind, where in changes.items()
        for after in np.flatnonzero(where)
    ]
    for at, point in enumerate(points):
        if point.corner:
            found.append(SignChange(branch, at, rows["grazing"], True))
        elif point.grazing is not None:
            change = SignChange(branch, at - 1, rows["grazing"], True)
            found.append(change._replace(grazing=point.grazing))
    return sorted(found, key=lambda change: (change.after, change.test.kind))


def changed(test: TestFunction, seen: EvaluatedPoints) -> np.ndarray:
    """Return the chords to search for zeros of a test function, (points - 1,).

    Values at the level of rounding have no reliable sign: after a run of them the change
    is where their computed signs first agree with the next reliable one.
    """
    if test.changes is not None:
        return test.changes(seen)
    values = test.value(seen, seen)
    known = np.abs(values[np.isfinite(values)])
    least = max(test.noise, test.rounding * known.max()) if known.size else np.inf
    signs = np.sign(values)
    changes = _steps(lambda i, j: signs[i] != signs[j], np.abs(values) > least)
    return changes & ~np.isnan(values[1:] - values[:-1])


def _steps(differ: Callable, sure: np.ndarray) -> np.ndarray:
    """Return the chords on which sure points differ.

    `differ(i, j)`: whether points do. After a run of unsure ones the change is where they
    first agree with the next sure one.
    """
    changes = np.zeros(len(sure) - 1, bool)
    sure = np.flatnonzero(sure)
    apart = np.flatnonzero(differ(sure[:-1], sure[1:]))
    for one, other in zip(sure[apart], sure[apart + 1], strict=True):
        agree = ~differ(np.arange(one + 1, other + 1), other)
        changes[one + np.argmax(agree)] = True
    return changes


def _runs_of_folds(folds, parameter, resolution: float) -> Iterator[np.ndarray]:
    """Return runs of consecutive folds with parameters within the resolution.

    Along a canard the parameter is constant to double precision and its direction is
    rounding noise: only a run with an odd number of folds reverses it.
    """
    steps = np.abs(np.diff(parameter[folds]))
    runs = np.split(folds, np.flatnonzero(steps > resolution) + 1)
    return (run for run in runs if len(run))
