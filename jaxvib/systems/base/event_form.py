"""Forces of contacts and springs in the form that event-driven integration requires."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .law import trait


class Stop(NamedTuple):
    """A linear stop beyond a depth, m, or a corner of a spring, with a stiffness, N/m."""

    depth: Any
    stiffness: Any


class ContactForm(NamedTuple):
    r"""A contact force: $K z$, or $K z^{3/2}$ if `hertz`, with optional damping.

    The damped forces are $K z + c \dot z$ and $K z^{3/2} (1 + c \dot z)$, never tensile.
    **Fields:** `stiffness` $K$, in N/m or N/m^1.5, None for a hard stop; `damping` $c$,
    in N s/m or s/m; `restitution`: of a hard stop's impacts; `stops`: additional linear
    stops at larger depths. All numbers are scalars.
    """

    stiffness: Any
    hertz: bool = False
    damping: Any = None
    restitution: Any = None
    stops: tuple[Stop, ...] = ()


class SpringForm(NamedTuple):
    r"""A spring force $\sum_k c_k e^k$, with linear stops at corners.

    **Fields:** `coefficients` $c_k$, in N/m^k, shape (m,), from $k = 1$; `stops`:
    one-sided springs beyond an elongation, each minus its force at rest.
    """

    coefficients: Any
    stops: tuple[Stop, ...] = ()


def has_event_form(law: Any) -> bool:
    """Return whether a contact or spring law has an `event_form` that it can use."""
    return trait(law, "event_form") is not None and trait(law, "has_event_form")


def form_of(law: Any) -> Any:
    """Return the event-driven form of a contact or spring law; None if it has none."""
    return law.event_form() if has_event_form(law) else None


def product_term(left: Sequence, right: Sequence, order: int) -> Any:
    """Return the coefficient of an order in the product of two series."""
    return sum(left[i] * right[order - i] for i in range(order + 1))
