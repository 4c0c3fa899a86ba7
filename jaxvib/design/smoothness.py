r"""What a derivative means where bodies meet, and where there is none.

The force $K \max(z, 0)^{3/2}$ is $C^1$, so a motion, its amplitudes and peak forces
have a derivative everywhere that $M - I$ is regular, at the onset of contact ($z = 0$,
$\dot z > 0$) and at grazing ($z = \dot z = 0$) too. The monodromy matrix $M$ holds
$F'(z) \sim \sqrt z$, and its own derivative $F''(z) \sim 1/\sqrt z$. Over an onset that
can be integrated, and multipliers have a derivative. A grazing contact of depth d has
$z \approx d - t^2$ in suitable units, and $\int dt/\sqrt{d - t^2} = \pi$ however shallow
it is: at grazing the derivative of multipliers jumps, from that of the motion without
the contact to another one, and there is none in between. (The example of the tests: the
trace of M by the load, per N, is 0 below and -0.585 above grazing.) The number of
contacts jumps there, too. Right beside grazing a derivative holds for very small changes
alone: the stiffer the contact, the sooner it turns, until a rigid one takes it away
altogether.

The largest of several peaks (`max_contact_force`, an amplitude) is continuous, and where
two are level its derivative is that of one of them.

**Source:** Nordmark, *J. Sound Vib.* 145 (1991), for grazing of rigid contacts; ours
for Hertz's.
"""

import enum

import numpy as np

# Nearer to grazing than this part of the amplitude, a derivative says nothing of steps.
NEAR = 1e-5


class Notice(enum.IntEnum):
    """What is to be said of the derivatives at one step of a design.

    >>> len(jv.design.Notice) > 1
    True
    """

    SMOOTH = 0
    CROSSED_GRAZING = 1
    AT_GRAZING = 2


_TEXTS = {
    Notice.SMOOTH: "derivatives hold",
    Notice.CROSSED_GRAZING: "contacts came or went since the step before: the derivative "
    "of each side ends at the grazing motion in between",
    Notice.AT_GRAZING: "a contact grazes: the derivative of multipliers jumps here, and "
    "those of all else hold for very small changes only",
}


def notice(code) -> str:
    """Return the text of a notice.

    >>> isinstance(jv.design.notice(jv.design.Notice(0)), str)
    True
    """
    return _TEXTS[Notice(int(code))]


def noticed(margin, contacts, contacts_before) -> Notice:
    """Return what is to be said of a motion, after the one of the step before."""
    if float(np.min(margin)) < NEAR:
        return Notice.AT_GRAZING
    if contacts_before is not None and np.any(np.asarray(contacts) != contacts_before):
        return Notice.CROSSED_GRAZING
    return Notice.SMOOTH
