r"""What a derivative means where bodies meet, and where there is none.

The force $K \max(z, 0)^{3/2}$ is $C^1$, so a motion, its amplitudes and peak forces
have a derivative everywhere that $M - I$ is regular, at the onset of contact ($z = 0$,
$\dot z > 0$) and at grazing ($z = \dot z = 0$) too. The monodromy matrix $M$ holds
$F'(z) \sim \sqrt z$, and its own derivative $F''(z) \sim 1/\sqrt z$: integrable over an
onset, so that multipliers have a derivative there, but not over a grazing contact, where
$\int dt / \sqrt{z(t)}$ grows like the logarithm of the depth. So at grazing multipliers
have no derivative (that from the side of contact is infinite), and beside it theirs is
right but for a very small change only. The number of contacts jumps there. With a stiff
contact every derivative turns within a range of parameters that shrinks with the
contact's duration: what happens there is a step to anyone who moves further.

The largest of several peaks (`max_contact_force`, an amplitude) is continuous, and where
two are level its derivative is that of one of them.

**Source:** Nordmark (1991) for grazing of rigid contacts; the above for Hertz's.
"""

import enum

import numpy as np

# Nearer to grazing than this part of the amplitude, a derivative says nothing of steps.
NEAR = 1e-6


class Notice(enum.IntEnum):
    """What is to be said of the derivatives at one step of a design."""

    SMOOTH = 0
    CROSSED_GRAZING = 1
    AT_GRAZING = 2


_TEXTS = {
    Notice.SMOOTH: "derivatives hold",
    Notice.CROSSED_GRAZING: "contacts came or went since the step before: the derivative "
    "of each side ends at the grazing motion in between",
    Notice.AT_GRAZING: "a contact grazes: multipliers have no derivative here, and those "
    "of all else hold for very small changes only",
}


def notice(code) -> str:
    """Return the text of a notice."""
    return _TEXTS[Notice(int(code))]


def noticed(margin, contacts, contacts_before) -> Notice:
    """Return what is to be said of a motion, after the one of the step before."""
    if float(np.min(margin)) < NEAR:
        return Notice.AT_GRAZING
    if contacts_before is not None and np.any(np.asarray(contacts) != contacts_before):
        return Notice.CROSSED_GRAZING
    return Notice.SMOOTH
