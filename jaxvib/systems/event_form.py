"""Forces of contacts and springs in the form that event-driven integration requires."""

from typing import Any, NamedTuple


class Stop(NamedTuple):
    """A linear stop beyond a depth, m, or a corner of a spring, with a stiffness, N/m."""

    depth: Any
    stiffness: Any


class ContactForm(NamedTuple):
    r"""A contact force: $K z$, or $K z^{3/2}$ if `hertz`, with optional damping.

    `stops`: the additional linear stops at larger depths; `restitution`: of impacts, for
    a hard stop, which has no stiffness. The damped forces are $K z + c \dot z$ and
    $K z^{3/2} (1 + c \dot z)$, never tensile.
    """

    stiffness: Any
    hertz: bool = False
    damping: Any = None
    restitution: Any = None
    stops: tuple[Stop, ...] = ()


class SpringForm(NamedTuple):
    r"""A spring force $\sum_k c_k e^k$, with linear stops at corners.

    `stops`: one-sided springs of elongations, each less its force at rest.
    """

    coefficients: Any
    stops: tuple[Stop, ...] = ()


def has_event_form(law) -> bool:
    """Return whether a contact or spring law has the method `event_form`, and can use it.

    A law whose fields decide has a property `has_event_form` too.
    """
    return hasattr(law, "event_form") and getattr(law, "has_event_form", True)


def form_of(law: Any) -> Any:
    """Return the event-driven form of a law that has one."""
    return law.event_form()
