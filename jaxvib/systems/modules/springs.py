"""Modules of springs with dampers, point masses and point inertias."""

from typing import ClassVar

from jaxtyping import Float

from ...foundation.quantity import Quantity
from .module import ROTATION, TRANSLATION, Link, Point, Square, quantity


class Spring(Link):
    r"""A spring and a damper between two translations, or one and the ground.

    $$V = \tfrac12 k (x_j - x_i)^2, \qquad R = \tfrac12 d (\dot x_j - \dot x_i)^2.$$

    **Fields:** `first`, `second`: degrees of freedom; `stiffness` $k$ (N/m), `damping` $d$
    (N s/m). **Raises:** `ValueError` naming a field out of its range.

    >>> spring = jv.Spring("roof", "ground", stiffness=50.0)
    >>> jv.assemble([*tower.modules, spring]).stiffness.tolist()
    [[900.0, -300.0], [-300.0, 350.0]]
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m", "stiffness of the spring", default=0.0, at_least=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "N s/m", "damping of the damper", default=0.0, at_least=0.0
    )

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, TRANSLATION)

    def dissipation(self) -> list[Square]:
        """Return the square of half the dissipated power."""
        return [(self.damping, (-1.0, 1.0))]

    def potential(self) -> list[Square]:
        """Return the square of the potential energy."""
        return [(self.stiffness, (-1.0, 1.0))]


class AngularSpring(Spring):
    r"""A spring and a damper between two rotations, or one and the ground.

    $$V = \tfrac12 k (\varphi_j - \varphi_i)^2, \qquad
      R = \tfrac12 d (\dot\varphi_j - \dot\varphi_i)^2.$$

    **Fields:** `first`, `second`: rotations; `stiffness` $k$ (N m/rad), `damping` $d$
    (N m s/rad). **Raises:** `ValueError` naming a field out of its range.

    >>> cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0)
    >>> rod = jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, gravity=0.0)
    >>> held = jv.AngularSpring("rod", "ground", stiffness=3.0)
    >>> jv.assemble([cart, rod, held]).stiffness.tolist()
    [[100.0, 0.0], [0.0, 3.0]]
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N m/rad", "stiffness of the angular spring", default=0.0, at_least=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "N m s/rad", "damping of the angular damper", default=0.0, at_least=0.0
    )

    kinds: ClassVar[tuple[str, ...]] = (ROTATION, ROTATION)


class PointMass(Point):
    r"""A mass on a translation, $T = \tfrac12 m \dot x^2$.

    **Fields:** `freedom`: a translation; `mass` $m \ge 0$ (kg). **Raises:** `ValueError`
    for a mass out of its range.

    >>> jv.assemble([*tower.modules, jv.PointMass("roof", 0.5)]).mass.tolist()
    [[2.0, 0.0], [0.0, 1.5]]
    """

    mass: Float[Quantity, ""] = quantity("mass", "kg", "mass", kw_only=False, at_least=0.0)

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION,)

    def kinetic(self) -> list[Square]:
        """Return the square of the kinetic energy."""
        return [(self.mass, (1.0,))]


class PointInertia(Point):
    r"""A moment of inertia on a rotation, $T = \tfrac12 J \dot\varphi^2$.

    **Fields:** `freedom`: a rotation; `inertia` $J \ge 0$ (kg m^2). **Raises:**
    `ValueError` for an inertia out of its range.

    >>> cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0)
    >>> rod = jv.TranslationRotation("cart", "rod", mass=1.0, length=0.6)
    >>> float(jv.assemble([cart, rod, jv.PointInertia("rod", 0.1)]).mass[1, 1])
    0.22
    """

    inertia: Float[Quantity, ""] = quantity(
        "inertia", "kg m^2", "moment of inertia", kw_only=False, at_least=0.0
    )

    kinds: ClassVar[tuple[str, ...]] = (ROTATION,)

    def kinetic(self) -> list[Square]:
        """Return the square of the kinetic energy."""
        return [(self.inertia, (1.0,))]
