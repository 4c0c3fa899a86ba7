"""Modules of translating and rotating bodies."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...foundation.quantity import OptionalQuantity, Quantity
from .module import ROTATION, TRANSLATION, Link, Module, Square, quantity


class TranslationTranslation(Link):
    r"""Two bodies translating on one line, joined by a spring and a damper.

    $$m = \mathrm{diag}(m_i, m_j), \qquad c = \begin{bmatrix} k & -k \\ -k & k
      \end{bmatrix}, \qquad d = \begin{bmatrix} d & -d \\ -d & d \end{bmatrix}.$$

    The masses of a body add up over its modules. **Fields:** `first`, `second`: names
    of the bodies, `"ground"` is the fixed one; `mass` $m_j$ and `first_mass` $m_i$
    (kg), `stiffness` $k$ (N/m), `damping` $d$ (N s/m). **Raises:** `ValueError` naming
    a field out of its range. **Source:** Pavlov, Lilkova-Markova, Evlogiev and
    Ivanova, modules of planar discrete systems.

    >>> cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=8.0)
    >>> jv.natural_frequencies(jv.assemble([cart])).tolist()
    [2.0]
    """

    mass: Float[Quantity, ""] = quantity(
        "mass", "kg", "mass of the second body", default=0.0, at_least=0.0
    )
    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m", "stiffness of the spring", default=0.0, at_least=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "N s/m", "damping of the damper", default=0.0, at_least=0.0
    )
    first_mass: Float[Quantity, ""] = quantity(
        "first_mass", "kg", "mass of the first body", default=0.0, at_least=0.0
    )

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, TRANSLATION)

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        return [(self.first_mass, (1.0, 0)), (self.mass, (0, 1.0))]

    def dissipation(self) -> list[Square]:
        """Return the squares of half the dissipated power."""
        return [(self.damping, (-1.0, 1.0))]

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy."""
        return [(self.stiffness, (-1.0, 1.0))]


class TranslationRotation(Link):
    r"""A pendulum: a body rotating by $\varphi$ about a hinge on a translating body.

    $$m = \begin{bmatrix} m_i + m_j & m_j l_j/2 \\ m_j l_j/2 & J_O \end{bmatrix},
      \qquad c = \mathrm{diag}(0, k \pm m_j g l_j/2), \qquad
      d = \mathrm{diag}(0, d), \qquad J_O = J_C + m_j l_j^2/4,$$

    with $+$ for a hanging and $-$ for a standing body. $\varphi$ is absolute, positive
    when the mass centre (at $l_j/2$ from the hinge) moves along $+x$. **Fields:**
    `first`, `second`: names of the bodies; `mass` $m_j$, `first_mass` $m_i$ (kg),
    `length` $l_j$ (m), `stiffness` $k$ (N m/rad), `damping` $d$ (N m s/rad), `inertia`
    $J_C$ (kg m^2, a uniform rod's $m l^2/12$ if `None`), `gravity` (m/s^2),
    `standing`. **Raises:** `ValueError` naming a field out of its range. **Source:**
    Pavlov, Lilkova-Markova, Evlogiev and Ivanova.

    >>> cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0)
    >>> rod = jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, stiffness=3.0)
    >>> jv.natural_frequencies(jv.assemble([cart, rod])).round(5).tolist()
    [4.68231, 8.11144]
    """

    mass: Float[Quantity, ""] = quantity(
        "mass", "kg", "mass of the rotating body", above=0.0
    )
    length: Float[Quantity, ""] = quantity(
        "length", "m", "length of the rotating body", above=0.0
    )
    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N m/rad", "stiffness of the angular spring", default=0.0, at_least=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "N m s/rad", "damping of the angular damper", default=0.0, at_least=0.0
    )
    first_mass: Float[Quantity, ""] = quantity(
        "first_mass", "kg", "mass of the translating body", default=0.0, at_least=0.0
    )
    inertia: OptionalQuantity[Float[Array, ""]] = quantity(
        "inertia",
        "kg m^2",
        "moment of inertia about the mass centre",
        optional=True,
        at_least=0.0,
    )
    gravity: Float[Quantity, ""] = quantity(
        "gravity", "m/s^2", "acceleration of gravity", default=9.81, at_least=0.0
    )
    standing: bool = eqx.field(static=True, default=False, kw_only=True)

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, ROTATION)

    @property
    def semidefinite(self) -> bool:
        """Whether the potential energy is positive semidefinite: unless standing."""
        return not self.standing

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        own = _rod_inertia(self.mass, self.length, self.inertia)
        return [
            (self.first_mass, (1.0, 0)),
            (self.mass, (1.0, self.length / 2)),
            (own, (0, 1.0)),
        ]

    def dissipation(self) -> list[Square]:
        """Return the squares of half the dissipated power."""
        return [(self.damping, (0, 1.0))]

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy."""
        weight = _sign(self.standing) * self.gravity * self.mass * self.length / 2
        return [(self.stiffness + weight, (0, 1.0))]


class RodOnRod(Module):
    r"""A rod (mass $m_2$, length $l_2$) hinged on the end of a rod of length $l_1$.

    The first rod is hinged on a carrier that translates by $x$, and is a separate
    `TranslationRotation`; this module adds, with spring $k$ and damper $d$ between,

    $$T = \tfrac12 m_2 (\dot x + l_1 \dot\varphi_1 + \tfrac{l_2}{2} \dot\varphi_2)^2
          + \tfrac12 J_C \dot\varphi_2^2, \qquad
      V = \tfrac12 k (\varphi_2 - \varphi_1)^2
          \pm \tfrac12 m_2 g (l_1 \varphi_1^2 + \tfrac{l_2}{2} \varphi_2^2),$$

    $+$ for hanging and $-$ for standing rods, angles absolute. **Fields:** `carrier`,
    `first`, `second`: names; `mass`, `length` of the second rod, `first_length`,
    `stiffness` (N m/rad), `damping` (N m s/rad), `inertia` $J_C$ (a uniform rod's if
    `None`), `gravity`, `standing`. **Raises:** `ValueError` naming a field out of its
    range.

    >>> cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0)
    >>> rod = jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8)
    >>> second = jv.RodOnRod("cart", "rod", "tip", mass=0.5, length=0.4, first_length=0.8)
    >>> jv.assemble([cart, rod, second]).names
    ('cart', 'rod', 'tip')
    """

    carrier: str = eqx.field(static=True)
    first: str = eqx.field(static=True)
    second: str = eqx.field(static=True)
    mass: Float[Quantity, ""] = quantity("mass", "kg", "mass of the second rod", above=0.0)
    length: Float[Quantity, ""] = quantity(
        "length", "m", "length of the second rod", above=0.0
    )
    first_length: Float[Quantity, ""] = quantity(
        "first_length", "m", "length of the first rod", above=0.0
    )
    stiffness: Float[Quantity, ""] = quantity(
        "stiffness",
        "N m/rad",
        "stiffness of the spring between the rods",
        default=0.0,
        at_least=0.0,
    )
    damping: Float[Quantity, ""] = quantity(
        "damping",
        "N m s/rad",
        "damping of the damper between the rods",
        default=0.0,
        at_least=0.0,
    )
    inertia: OptionalQuantity[Float[Array, ""]] = quantity(
        "inertia",
        "kg m^2",
        "moment of inertia of the second rod about its mass centre",
        optional=True,
        at_least=0.0,
    )
    gravity: Float[Quantity, ""] = quantity(
        "gravity", "m/s^2", "acceleration of gravity", default=9.81, at_least=0.0
    )
    standing: bool = eqx.field(static=True, default=False, kw_only=True)

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, ROTATION, ROTATION)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: both rods."""
        return f"{self.first}-{self.second}"

    @property
    def freedoms(self) -> tuple[str, ...]:
        """The carrier's translation and both rotations."""
        return self.carrier, self.first, self.second

    @property
    def semidefinite(self) -> bool:
        """Whether the potential energy is positive semidefinite: unless standing."""
        return not self.standing

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        own = _rod_inertia(self.mass, self.length, self.inertia)
        return [(self.mass, (1.0, self.first_length, self.length / 2)), (own, (0, 0, 1.0))]

    def dissipation(self) -> list[Square]:
        """Return the squares of half the dissipated power."""
        return [(self.damping, (0, -1.0, 1.0))]

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy."""
        weight = _sign(self.standing) * self.gravity * self.mass
        return [
            (self.stiffness, (0, -1.0, 1.0)),
            (weight * self.first_length, (0, 1.0, 0)),
            (weight * self.length / 2, (0, 0, 1.0)),
        ]


def _rod_inertia(mass, length, inertia):
    return mass * length**2 / 12 if inertia is None else inertia


def _sign(standing: bool) -> float:
    return -1.0 if standing else 1.0
