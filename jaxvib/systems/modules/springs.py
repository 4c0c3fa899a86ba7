"""The simplest modules: springs with dampers, point masses and inertias."""

from typing import ClassVar

from jaxtyping import Array, Float

from .module import ROTATION, TRANSLATION, Link, Point, quantity


class Spring(Link):
    r"""A spring and a damper between two translations, or one and the ground.

    $$V = \tfrac12 k (x_j - x_i)^2, \qquad R = \tfrac12 d (\dot x_j - \dot x_i)^2.$$

    **Fields:** `first`, `second`: freedoms; `stiffness` $k$ (N/m), `damping` $d$
    (N s/m). **Raises:** `ValueError` naming a field out of its range.
    """

    stiffness: Float[Array, ""] = quantity(
        "stiffness", "N/m", "stiffness of the spring", default=0.0, at_least=0.0
    )
    damping: Float[Array, ""] = quantity(
        "damping", "N s/m", "damping of the damper", default=0.0, at_least=0.0
    )

    kinds: ClassVar = (TRANSLATION, TRANSLATION)

    def dissipation(self):
        """Return the square of half the dissipated power."""
        return [(self.damping, (-1.0, 1.0))]

    def potential(self):
        """Return the square of the potential energy."""
        return [(self.stiffness, (-1.0, 1.0))]


class AngularSpring(Spring):
    r"""A spring (N m/rad) and a damper (N m s/rad) between two rotations."""

    stiffness: Float[Array, ""] = quantity(
        "stiffness", "N m/rad", "stiffness of the angular spring", default=0.0, at_least=0.0
    )
    damping: Float[Array, ""] = quantity(
        "damping", "N m s/rad", "damping of the angular damper", default=0.0, at_least=0.0
    )

    kinds: ClassVar = (ROTATION, ROTATION)


class PointMass(Point):
    r"""A mass $m$ (kg) on a translation, $T = \tfrac12 m \dot x^2$."""

    mass: Float[Array, ""] = quantity("mass", "kg", "mass", kw_only=False, at_least=0.0)

    kinds: ClassVar = (TRANSLATION,)

    def kinetic(self):
        """Return the square of the kinetic energy."""
        return [(self.mass, (1.0,))]


class PointInertia(Point):
    r"""A moment of inertia $J$ (kg m^2) on a rotation, $T = \tfrac12 J \dot\varphi^2$."""

    inertia: Float[Array, ""] = quantity(
        "inertia", "kg m^2", "moment of inertia", kw_only=False, at_least=0.0
    )

    kinds: ClassVar = (ROTATION,)

    def kinetic(self):
        """Return the square of the kinetic energy."""
        return [(self.inertia, (1.0,))]
