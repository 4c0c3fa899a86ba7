r"""Validity of derivatives at contacts and at grazing.

The force $K \max(z, 0)^{3/2}$ is $C^1$, so a motion, its amplitudes and peak forces are
differentiable wherever $M - I$ is regular, also at the onset of contact ($z = 0$, $\dot
z > 0$) and at grazing ($z = \dot z = 0$). The monodromy matrix $M$ contains $F'(z) \sim
\sqrt z$, and its derivative $F''(z) \sim 1/\sqrt z$. At an onset this is integrable,
and multipliers are differentiable. A grazing contact of depth d has $z \approx d - t^2$
in suitable units, and $\int dt/\sqrt{d - t^2} = \pi$ for any depth: at grazing the
derivative of multipliers jumps from that of the motion without the contact to another
value. (In the example of the tests, the derivative of the trace of M with respect to
the load, per N, is 0 below and -0.585 above grazing.) The number of contacts also
jumps. Close to grazing, a derivative is valid for very small changes only; the range
shrinks with the contact stiffness and vanishes for a rigid contact.

The largest of several peaks (`max_contact_force`, an amplitude) is continuous; if two
are equal, its derivative is that of one of them.

**Source:** Nordmark, *J. Sound Vib.* 145 (1991), for grazing of rigid contacts; own
derivation for Hertz contacts.
"""

import enum

import numpy as np
from jaxtyping import ArrayLike

from ...foundation.types import Integer

# Distance to grazing, relative to the amplitude, below which derivatives are not
# reliable.
NEAR = 1e-5


class Notice(enum.IntEnum):
    """The validity of derivatives at one step of a design, or that it has no motion.

    >>> len(jv.design.Notice) > 1
    True
    """

    SMOOTH = 0
    CROSSED_GRAZING = 1
    AT_GRAZING = 2
    LOST = 3


_TEXTS = {
    Notice.SMOOTH: "derivatives are valid",
    Notice.CROSSED_GRAZING: "the number of contacts changed since the previous step: "
    "derivatives are valid only up to the grazing motion in between",
    Notice.AT_GRAZING: "a contact grazes: the derivative of multipliers jumps here, and "
    "other derivatives are valid for very small changes only",
    Notice.LOST: "the motion or bifurcation was not found: a search shortens its step",
}


def notice(code: Integer) -> str:
    """Return the text of a notice.

    >>> isinstance(jv.design.notice(jv.design.Notice(0)), str)
    True
    """
    return _TEXTS[Notice(int(code))]


def noticed(
    margin: ArrayLike, contacts: ArrayLike, contacts_before: ArrayLike | None
) -> Notice:
    """Return the notice for a motion, given the contacts of the previous step."""
    if float(np.min(margin)) < NEAR:
        return Notice.AT_GRAZING
    if contacts_before is not None and np.any(np.asarray(contacts) != contacts_before):
        return Notice.CROSSED_GRAZING
    return Notice.SMOOTH
