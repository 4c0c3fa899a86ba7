"""Reason codes: the status of each sample, stored with its result."""

import enum
from collections.abc import Sequence
from typing import SupportsInt

import numpy as np
from numpy.typing import ArrayLike


class Reason(enum.IntEnum):
    """Status of a sample: 0 is success.

    >>> jv.Reason(6).name
    'SINGULAR'
    """

    text: str
    motion: str

    def __new__(cls, code: int, text: str, motion: str = "") -> int:
        """Return a code; `motion`: a short name of a non-periodic motion."""
        found = int.__new__(cls, code)
        found._value_, found.text, found.motion = code, text, motion
        return found

    SUCCESS = 0, "success"
    BAD_PARAMETER = 1, "a parameter or state is not finite or out of range"
    STEP_LIMIT = 2, "the solver used up its steps before the end time"
    STEP_UNDERFLOW = 3, "the solver's steps became too small: the solution diverges"
    DIVERGED = 4, "Newton's method did not converge"
    ITERATION_LIMIT = 5, "the iteration did not converge within its limit"
    SINGULAR = 6, "M - I is singular: a fold, a branch point or one of a family"
    SHORTER_PERIOD = 7, "the orbit has a shorter period than requested"
    UNSEEN_CONTACT = 8, "the solver missed a contact of this motion"
    NO_BIFURCATION = 9, "the branch has no bifurcation of the requested kind"
    LIMIT_VIOLATED = 10, "the design violates a limit"
    COMPUTATION_FAILED = 11, "the computation failed with an error"
    UNSTABLE = 12, "the motion is unstable"
    NOT_REACHED = 13, "not found or not reached within the given bounds"
    NOT_INVARIANT = 14, "the equations are not invariant under the shift of the drift"
    NO_COMMON_PERIOD = (
        15,
        "the loads have no common period, or the vector field does not have the given "
        "period",
    )
    FIELD_JUMPS = (
        16,
        "the vector field is discontinuous in the state: its derivatives do not give the "
        "stability",
    )
    EQUILIBRIUM = 17, "converged to an equilibrium, not to a limit cycle", "at rest"
    NO_CROSSING = 18, "the motion no longer crosses the section"
    NOT_SMOOTH = (
        19,
        "the third derivatives required by the normal form do not exist, or vary within "
        "a hundredth of the state",
    )
    QUASI_PERIODIC = 20, "converged to a quasi-periodic motion", "quasi-periodic"
    CHAOTIC = (
        21,
        "a chaotic motion, as far as it was watched: 512 periods or more",
        "chaotic",
    )
    NOT_CONVERGED = (
        22,
        "did not converge to an orbit of any tested period",
        "not converged (undecided)",
    )
    UNDECIDED_MOTION = (
        23,
        "undecided: the largest Lyapunov exponent is neither clearly zero nor clearly "
        "positive",
        "exponent inconclusive (undecided)",
    )
    TRANSIENT = (
        24,
        "the transient was not over after the longest allowed run",
        "transient not over (undecided)",
    )
    LONGER_PERIOD = (
        25,
        "converged to a longer period than any tested (not resolved)",
        "longer period",
    )
    UNDAMPED = 26, "without damping there is no steady state", "not damped (undecided)"
    ESCAPED = (
        27,
        "escaped: the state grew by more than a factor of ten thousand",
        "escaped (undecided)",
    )
    PARAMETER_BOUND = 40, "reached the end of the parameter's range"
    POINT_LIMIT = 41, "reached the maximum number of points"
    CLOSED = 42, "closed: returned to its first point"
    BRANCHED = 43, "starts at a bifurcation of another branch"
    STRONG_RESONANCE = 44, "the two multipliers meet at 1 or -1"
    EVENT = 45, "reached a terminal event"
    GRAZING = 46, "reached grazing: contact with zero velocity"
    TOO_FEW_SEGMENTS = (
        47,
        "neighbouring states diverge too much within the segments of the cycle: use more "
        "segments or a smaller rtol",
    )
    PERIOD_HALVED = 48, "reached a period doubling of the motion of half the period"
    IMPACTS_MEET = 49, "reached impacts on two stops at the same time"
    NOT_CERTIFIED = 60, "not certified: the argument principle gives another count"
    NOT_VERIFIED = 61, "the design's range is not stable at all of its random points"

    @property
    def failed(self) -> bool:
        """Whether the sample has no usable result; classified motions are results."""
        below = 0 < self < self.QUASI_PERIODIC and self is not self.EQUILIBRIUM
        return below or self in (self.NOT_CERTIFIED, self.NOT_VERIFIED)

    @property
    def undecided(self) -> bool:
        """Whether the attractor of the sample is not known."""
        return self.motion.endswith("(undecided)")


def reason(code: SupportsInt) -> str:
    """Return the text of a result's reason code.

    >>> jv.reason(0)
    'success'
    """
    return Reason(int(code)).text


def undecided(
    result: ArrayLike | Sequence[int], stable: ArrayLike | Sequence[int] | None = None
) -> np.ndarray:
    """Return which samples are undecided, in their attractor or in its stability.

    Used by the terminal summary and by reports. **Arguments:** `result`: reason codes,
    (samples,). `stable`: verdicts, 1, 0 or -1, which are used where the result is a
    success; `None` if there are none.

    >>> jv.ensemble.undecided(np.array([0, 0]), stable=np.array([1, -1])).tolist()
    [False, True]
    """
    result = np.atleast_1d(result)
    open_ = [code for code in Reason if code.undecided]
    verdictless = (result == Reason.SUCCESS) & (np.asarray(stable) == -1)
    return np.isin(result, open_) | (verdictless if stable is not None else False)
