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

    SUCCESS = 0
    BAD_PARAMETER = 1
    STEP_LIMIT = 2
    STEP_UNDERFLOW = 3
    DIVERGED = 4
    ITERATION_LIMIT = 5
    SINGULAR = 6
    SHORTER_PERIOD = 7
    UNSEEN_CONTACT = 8
    NO_BIFURCATION = 9
    LIMIT_VIOLATED = 10
    COMPUTATION_FAILED = 11
    UNSTABLE = 12
    NOT_REACHED = 13
    NOT_INVARIANT = 14
    NO_COMMON_PERIOD = 15
    FIELD_JUMPS = 16
    EQUILIBRIUM = 17
    NO_CROSSING = 18
    NOT_SMOOTH = 19
    QUASI_PERIODIC = 20
    CHAOTIC = 21
    NOT_CONVERGED = 22
    UNDECIDED_MOTION = 23
    TRANSIENT = 24
    LONGER_PERIOD = 25
    UNDAMPED = 26
    ESCAPED = 27
    PARAMETER_BOUND = 40
    POINT_LIMIT = 41
    CLOSED = 42
    BRANCHED = 43
    STRONG_RESONANCE = 44
    EVENT = 45
    GRAZING = 46
    TOO_FEW_SEGMENTS = 47
    PERIOD_HALVED = 48
    IMPACTS_MEET = 49
    NOT_CERTIFIED = 60
    NOT_VERIFIED = 61

    @property
    def failed(self) -> bool:
        """Whether the sample has no usable result; classified motions are results."""
        below = 0 < self < self.QUASI_PERIODIC and self is not self.EQUILIBRIUM
        return below or self in (self.NOT_CERTIFIED, self.NOT_VERIFIED)

    @property
    def undecided(self) -> bool:
        """Whether the attractor of the sample is not known."""
        return self.motion.endswith("(undecided)")

    @property
    def motion(self) -> str:
        """A short name of a non-periodic motion, "" for other codes."""
        return _MOTIONS.get(self, "")


_MOTIONS = {
    Reason.EQUILIBRIUM: "at rest",
    Reason.QUASI_PERIODIC: "quasi-periodic",
    Reason.CHAOTIC: "chaotic",
    Reason.LONGER_PERIOD: "longer period",
    Reason.NOT_CONVERGED: "not converged (undecided)",
    Reason.UNDECIDED_MOTION: "exponent inconclusive (undecided)",
    Reason.TRANSIENT: "transient not over (undecided)",
    Reason.UNDAMPED: "not damped (undecided)",
    Reason.ESCAPED: "escaped (undecided)",
}

_TEXTS = {
    Reason.SUCCESS: "success",
    Reason.BAD_PARAMETER: "a parameter or state is not finite or out of range",
    Reason.STEP_LIMIT: "the solver used up its steps before the end time",
    Reason.STEP_UNDERFLOW: "the solver's steps became too small: the solution diverges",
    Reason.DIVERGED: "Newton's method did not converge",
    Reason.ITERATION_LIMIT: "the iteration did not converge within its limit",
    Reason.SINGULAR: "M - I is singular: a fold, a branch point or one of a family",
    Reason.SHORTER_PERIOD: "the orbit has a shorter period than requested",
    Reason.UNSEEN_CONTACT: "the solver missed a contact of this motion",
    Reason.NO_BIFURCATION: "the branch has no bifurcation of the requested kind",
    Reason.LIMIT_VIOLATED: "the design violates a limit",
    Reason.COMPUTATION_FAILED: "the computation failed with an error",
    Reason.UNSTABLE: "the motion is unstable",
    Reason.NOT_REACHED: "not found or not reached within the given bounds",
    Reason.NOT_INVARIANT: "the equations are not invariant under the shift of the drift",
    Reason.NO_COMMON_PERIOD: "the loads have no common period, or the vector field "
    "does not have the given period",
    Reason.FIELD_JUMPS: "the vector field is discontinuous in the state: its "
    "derivatives do not give the stability",
    Reason.EQUILIBRIUM: "converged to an equilibrium, not to a limit cycle",
    Reason.NO_CROSSING: "the motion no longer crosses the section",
    Reason.NOT_SMOOTH: "the third derivatives required by the normal form do not exist, or "
    "vary within a hundredth of the state",
    Reason.QUASI_PERIODIC: "converged to a quasi-periodic motion",
    Reason.CHAOTIC: "a chaotic motion, as far as it was watched: 512 periods or more",
    Reason.NOT_CONVERGED: "did not converge to an orbit of any tested period",
    Reason.UNDECIDED_MOTION: "undecided: the largest Lyapunov exponent is neither "
    "clearly zero nor clearly positive",
    Reason.TRANSIENT: "the transient was not over after the longest allowed run",
    Reason.LONGER_PERIOD: "converged to a longer period than any tested (not resolved)",
    Reason.UNDAMPED: "without damping there is no steady state",
    Reason.ESCAPED: "escaped: the state grew by more than a factor of ten thousand",
    Reason.PARAMETER_BOUND: "reached the end of the parameter's range",
    Reason.POINT_LIMIT: "reached the maximum number of points",
    Reason.CLOSED: "closed: returned to its first point",
    Reason.BRANCHED: "starts at a bifurcation of another branch",
    Reason.STRONG_RESONANCE: "the two multipliers meet at 1 or -1",
    Reason.EVENT: "reached a terminal event",
    Reason.GRAZING: "reached grazing: contact with zero velocity",
    Reason.TOO_FEW_SEGMENTS: "neighbouring states diverge too much within the segments "
    "of the cycle: use more segments or a smaller rtol",
    Reason.PERIOD_HALVED: "reached a period doubling of the motion of half the period",
    Reason.IMPACTS_MEET: "reached impacts on two stops at the same time",
    Reason.NOT_CERTIFIED: "not certified: the argument principle gives another count",
    Reason.NOT_VERIFIED: "the design's range is not stable at all of its random points",
}


def reason(code: SupportsInt) -> str:
    """Return the text of a result's reason code.

    >>> jv.reason(0)
    'success'
    """
    return _TEXTS[Reason(int(code))]


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
