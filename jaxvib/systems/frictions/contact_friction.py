"""Dry friction under the normal force of a contact."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from ...foundation.quantity import OptionalQuantity, Quantity, quantity
from ...foundation.suggestions import unknown_key
from ..base.law import is_impulsive
from ..parameters import part_names
from .friction import Friction
from .sliding import SlidingLaw


class ContactFriction(Friction):
    r"""Dry friction under the normal force of a contact of the same system.

    With the contact's force $N(z, \dot z) \ge 0$ and the sliding velocity
    $w = n^T \dot q - v$ the force on the degrees of freedom is $-n R$,

    $$R = \mu N\,\mathrm{sgn}\,w \text{ where } w \ne 0, \qquad
      |R| \le \mu_s N \text{ with } w = 0 \text{ while that can hold}:$$

    R is 0 while the contact is open. With the Stribeck velocity $v_s$ the
    kinetic coefficient is $\mu + (\mu_s - \mu) / (1 + |w|/v_s)$.

    **Fields:** `direction` $n$, shape (n,), tangential: 1 at the degree of freedom that
    rubs and -1 at the one that it rubs on (none for the ground), at a rotation its
    lever arm, m; `contact`: the name or the position of the contact with the normal
    force; `coefficient` $\mu \ge 0$, kinetic; `static` coefficient $\mu_s \ge \mu$,
    by default equal; `speed` $v$ of the belt, m/s; `name`: on parameter paths, instead
    of the position among the frictions; `stribeck` $v_s > 0$, m/s, at which half of the
    excess of `static` is lost: optional, requires `static`; `curve`: another
    `SlidingLaw` in its place. Requires the event-driven engine (`engine="event"`).
    **Raises:** `ValueError` for a field out of its range, a direction of zeros and,
    when the system is built, a missing contact or a hard stop, whose normal force is an
    impulse. **Source:** Leine and Nijmeijer, *Dynamics and
    Bifurcations of Non-Smooth Mechanical Systems* (2004), section 3.2.

    >>> floor = jv.Contact([0.0, 1.0], gap=0.0, law=jv.HertzContact(1e8), name="floor")
    >>> sole = jv.ContactFriction([1.0, 0.0], "floor", 0.3, static=0.4, name="sole")
    >>> block = jv.ImpactSystem(tower, contacts=(floor,), frictions=(sole,))
    >>> float(jv.parameters(block)["frictions.sole.coefficient"].value)
    0.3
    """

    direction: Float[Quantity, " n"] = quantity("direction", "", "direction of sliding")
    contact: str | int = eqx.field(static=True)
    coefficient: Float[Quantity, ""] = quantity(
        "coefficient", "", "kinetic friction coefficient", at_least=0.0
    )
    static: OptionalQuantity[Float[Array, ""]] = quantity(
        "static", "", "static friction coefficient", optional=True, at_least=0.0
    )
    speed: Float[Quantity, ""] = quantity("speed", "m/s", "speed of the belt", default=0.0)
    name: str | None = eqx.field(default=None, static=True)
    stribeck: OptionalQuantity[Float[Array, ""]] = quantity(
        "stribeck", "m/s", "Stribeck velocity", optional=True, above=0.0
    )
    curve: SlidingLaw | None = None

    unit = ""

    @property
    def kinetic(self) -> Any:  # of one system or of a batch
        """The kinetic friction coefficient."""
        return self.coefficient


def pressing_contacts(frictions: Sequence, contacts: Sequence) -> tuple[int | None, ...]:
    """Return the position of each friction's contact, None for constant forces.

    **Raises:** `ValueError` for a missing contact, or a hard stop.
    """
    names, found = part_names(contacts), []
    for name, friction in zip(part_names(frictions), frictions, strict=True):
        place, where = friction.contact, f"frictions.{name}.contact"
        if isinstance(place, str):
            if place not in names:
                raise ValueError(f"{where}: {unknown_key('contact', place, names)}")
            place = names.index(place)
        if place is not None:
            if not isinstance(place, int) or not 0 <= place < len(names):
                raise ValueError(f"{where} = {place!r}; allowed: the name or the position "
                                 f"of one of {len(names)} contacts")  # fmt: skip
            if is_impulsive(contacts[place].law):
                raise ValueError(f"{where} = {names[place]!r} is a hard stop, whose normal "
                                 "force is an impulse; allowed: a contact with a "
                                 "stiffness")  # fmt: skip
        found.append(place)
    return tuple(found)
