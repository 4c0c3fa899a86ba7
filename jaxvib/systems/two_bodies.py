"""The two-body vibro-impact system: a main body and an attached body."""

from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Real

from ..foundation.arrays import to_jax, to_numpy
from ..foundation.quantity import Quantity, quantity
from .assembly import Assembled, assemble
from .base.freedoms import GROUND
from .base.law import ContactLaw, LoadLaw
from .base.roles import Linear
from .base.system import Mechanical
from .base.system_repr import SystemRepr
from .contacts.contact import HertzContact
from .contacts.unilateral import Contact
from .impact import AppliedLoad, EquationOfMotion, equation_of_motion
from .loads import HarmonicLoad
from .modules.bodies import TranslationTranslation
from .periods import period_of_loads


class Body(SystemRepr):
    r"""A body on a spring and a damper, by natural frequency and damping ratio.

    $k = m \omega^2$ and $c = 2 \xi \omega m$. **Fields:** `mass` $m > 0$ (kg),
    `frequency` $\omega > 0$ (rad/s), `damping_ratio` $\xi \ge 0$ of critical damping.
    **Raises:** `ValueError` naming a field out of its range.

    >>> jv.Body(mass=2.0, frequency=10.0, damping_ratio=0.01)
    Body: mass 2 kg, frequency 10 rad/s, damping_ratio 0.01
    """

    mass: Float[Quantity, ""] = quantity("mass", "kg", "mass", above=0.0)
    frequency: Float[Quantity, ""] = quantity(
        "frequency", "rad/s", "uncoupled natural angular frequency", above=0.0
    )
    damping_ratio: Float[Quantity, ""] = quantity(
        "damping_ratio", "", "uncoupled damping ratio", at_least=0.0
    )

    def module(self, carrier: str, name: str) -> TranslationTranslation:
        """Return the body on its spring and damper as a module on a carrier."""
        mass, frequency, ratio = to_numpy((self.mass, self.frequency, self.damping_ratio))
        return TranslationTranslation(
            carrier,
            name,
            mass=mass,
            stiffness=mass * frequency**2,
            damping=2 * ratio * mass * frequency,
        )


class TwoBodyImpact(Mechanical, Linear):
    r"""A main body on the ground with an attached body, which can collide.

    $$\ddot x_m = -2 \xi_m \omega_m v_m - \omega_m^2 x_m - \chi [2 \xi_a \omega_a
      (v_m - v_a) + \omega_a^2 (x_m - x_a + D)] + [F(t) - F_c(z)]/m_m$$
    $$\ddot x_a = -2 \xi_a \omega_a (v_a - v_m) - \omega_a^2 (x_a - x_m - D)
      + F_c(z)/m_a, \qquad z = x_m - x_a, \quad \chi = m_a/m_m.$$

    States are $(x_m, x_a, v_m, v_a)$ at t = 0; at rest $(0, D, 0, 0)$. **Fields:**
    `main`, `attached`: `Body`; `gap` $D \ge 0$ (m); `contact`: a contact law; `load`:
    on the main body. **Source:** Pogorelova and Postnikova (2011), with its body
    numbers replaced by names.

    >>> system.rest()
    Array([0.  , 0.05, 0.  , 0.  ], dtype=float64)
    """

    main: Body
    attached: Body
    gap: Float[Quantity, ""] = quantity(
        "gap", "m", "gap between the bodies at rest", at_least=0.0
    )
    contact: ContactLaw
    load: LoadLaw

    degrees_of_freedom = 2
    has_contacts = True
    freedom_names: ClassVar[tuple[str, ...]] = ("main", "attached")
    state_names: ClassVar[tuple[str, ...]] = (
        "x_main",
        "x_attached",
        "v_main",
        "v_attached",
    )

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The one contact, between the bodies."""
        return (Contact(np.array([1.0, -1.0]), self.gap, self.contact),)

    @property
    def loads(self) -> tuple[AppliedLoad, ...]:
        """The one load, on the main body."""
        return (AppliedLoad(np.array([1.0, 0.0]), self.load),)

    def linear_part(self) -> Assembled:
        """Return the bodies on their springs and dampers, ground - main - attached."""
        return assemble(
            [self.main.module(GROUND, "main"), self.attached.module("main", "attached")]
        )

    def matrices(self) -> tuple[Float[Array, "2 2"], ...]:
        """Return (M, D, C) of the linear part."""
        return self.linear_part().matrices()

    def equation(self) -> EquationOfMotion:
        """Return the equation of motion."""
        contacts, loads = self.contacts, self.loads
        offset = self.gap * np.array([0.0, 1.0])
        return equation_of_motion(self.matrices(), contacts, loads, offset)

    def rest(self) -> Float[Array, " 4"]:
        """Return the state at rest, the attached body at its gap."""
        return to_jax(to_numpy(self.gap) * np.array([0.0, 1.0, 0.0, 0.0]))

    def period(self) -> Float[Array, ""]:
        """Return the period of the load, s, as `ImpactSystem.period` does."""
        return period_of_loads(self.loads)

    def with_law(self, place: int, law: LoadLaw) -> "TwoBodyImpact":
        """Return the system with the law of its load replaced."""
        return eqx.tree_at(lambda system: system.load, self, law)


def two_body_impact(
    *,
    main_mass: Real[Array, ""] | float = 1000.0,
    main_frequency: Real[Array, ""] | float = 6.283,
    main_damping_ratio: Real[Array, ""] | float = 0.036,
    attached_mass: Real[Array, ""] | float = 100.0,
    attached_frequency: Real[Array, ""] | float = 5.646,
    attached_damping_ratio: Real[Array, ""] | float = 0.036,
    gap: Real[Array, ""] | float = 0.05,
    contact: ContactLaw | None = None,
    load: LoadLaw | None = None,
) -> TwoBodyImpact:
    """Build the two-body vibro-impact system, with default parameters.

    Masses in kg, angular frequencies in rad/s, gap in m; the contact is steel on steel
    and the load 500 N at 5.8 rad/s unless given. **Raises:** `ValueError` naming an
    argument out of its range. **Source:** Pogorelova and Postnikova (2011).

    >>> heavy = jv.two_body_impact(attached_mass=120.0)
    >>> float(heavy.attached.mass)
    120.0
    """
    if contact is None:
        contact = HertzContact.from_materials((2.1e11, 2.1e11), (0.3, 0.3), 1.0, 0.318)
    return TwoBodyImpact(
        Body(main_mass, main_frequency, main_damping_ratio),
        Body(attached_mass, attached_frequency, attached_damping_ratio),
        gap,
        contact,
        HarmonicLoad(500.0, 5.8) if load is None else load,
    )
