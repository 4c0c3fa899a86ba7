"""The simplest modules: springs with dampers, point masses and inertias."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from .module import ROTATION, TRANSLATION, Module, quantity


class Spring(Module):
    r"""A spring and a damper between two translations, or one and the ground.

    $$V = \tfrac12 k (x_j - x_i)^2, \qquad R = \tfrac12 d (\dot x_j - \dot x_i)^2.$$

    **Fields:** `first`, `second`: freedoms; `stiffness` $k$ (N/m), `damping` $d$
    (N s/m). **Raises:** `ValueError` naming a field out of its range.
    """

    first: str = eqx.field(static=True)
    second: str = eqx.field(static=True)
    stiffness: Float[Array, ""] = quantity(
        "stiffness", "N/m", "stiffness of the spring", default=0.0, at_least=0.0
    )
    damping: Float[Array, ""] = quantity(
        "damping", "N s/m", "damping of the damper", default=0.0, at_least=0.0
    )

    kinds: ClassVar = (TRANSLATION, TRANSLATION)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: both freedoms."""
        return f"{self.first}-{self.second}"

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Both freedoms."""
        return self.first, self.second

    def kinetic(self):
        """Return no squares: a spring has no mass."""
        return []

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


class PointMass(Module):
    r"""A mass $m$ (kg) on a translation, $T = \tfrac12 m \dot x^2$."""

    freedom: str = eqx.field(static=True)
    mass: Float[Array, ""] = quantity("mass", "kg", "mass", kw_only=False, at_least=0.0)

    kinds: ClassVar = (TRANSLATION,)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: its freedom."""
        return self.freedom

    @property
    def freedoms(self) -> tuple[str, ...]:
        """The freedom it sits on."""
        return (self.freedom,)

    def kinetic(self):
        """Return the square of the kinetic energy."""
        return [(self.mass, (1.0,))]

    def dissipation(self):
        """Return no squares."""
        return []

    def potential(self):
        """Return no squares."""
        return []


class PointInertia(Module):
    r"""A moment of inertia $J$ (kg m^2) on a rotation, $T = \tfrac12 J \dot\varphi^2$."""

    freedom: str = eqx.field(static=True)
    inertia: Float[Array, ""] = quantity(
        "inertia", "kg m^2", "moment of inertia", kw_only=False, at_least=0.0
    )

    kinds: ClassVar = (ROTATION,)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: its freedom."""
        return self.freedom

    @property
    def freedoms(self) -> tuple[str, ...]:
        """The freedom it sits on."""
        return (self.freedom,)

    def kinetic(self):
        """Return the square of the kinetic energy."""
        return [(self.inertia, (1.0,))]

    def dissipation(self):
        """Return no squares."""
        return []

    def potential(self):
        """Return no squares."""
        return []
