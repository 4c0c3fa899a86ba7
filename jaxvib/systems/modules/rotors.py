"""Spinning discs on flexible shafts."""

from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Float

from ...foundation.quantity import Quantity
from .module import ROTATION, TRANSLATION, Module, Square, body_freedom, quantity


class SpinningDisc(Module):
    r"""A rigid disc or shaft segment spinning about z, with gyroscopic coupling.

    Degrees of freedom are `x`, `y`, `angle_x`, `angle_y`, small. With the spin
    $\Omega$,

    $$T = \tfrac12 m (\dot x^2 + \dot y^2)
        + \tfrac12 J_d (\dot\varphi_x^2 + \dot\varphi_y^2), \qquad
      \begin{pmatrix} M_x \\ M_y \end{pmatrix} = \Omega J_p
      \begin{pmatrix} -\dot\varphi_y \\ \dot\varphi_x \end{pmatrix},$$

    with M the gyroscopic moment on the body (it does no work): an antisymmetric part of
    the damping matrix. **Fields:** `body`; `mass` $m$ (kg);
    `diametral_inertia` $J_d$, `polar_inertia` $J_p$ (kg m^2); `spin` $\Omega$ (rad/s).
    **Raises:** `ValueError` naming a field out of its range. **Source:** Genta, *Dynamics
    of Rotating Systems* (2005), chapter 2.
    """

    body: str = eqx.field(static=True)
    mass: Float[Quantity, ""] = quantity("mass", "kg", "mass of the disc", at_least=0.0)
    diametral_inertia: Float[Quantity, ""] = quantity(
        "diametral_inertia", "kg m^2", "moment of inertia about a diameter", above=0.0
    )
    polar_inertia: Float[Quantity, ""] = quantity(
        "polar_inertia", "kg m^2", "moment of inertia about the axis", at_least=0.0
    )
    spin: Float[Quantity, ""] = quantity(
        "spin", "rad/s", "angular velocity about the axis", default=0.0
    )

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, TRANSLATION, ROTATION, ROTATION)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: its body."""
        return self.body

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Two translations normal to the axis and the tilts about them."""
        motions = ("x", "y", "angle_x", "angle_y")
        return tuple(body_freedom(self.body, motion) for motion in motions)

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        mass, tilted = self.mass, self.diametral_inertia
        return [
            (mass, (1.0, 0, 0, 0)),
            (mass, (0, 1.0, 0, 0)),
            (tilted, (0, 0, 1.0, 0)),
            (tilted, (0, 0, 0, 1.0)),
        ]

    def gyroscopic(self) -> list[tuple[Any, tuple[int, int]]]:
        """Return the gyroscopic coupling of angle_y's rate to the moment on angle_x."""
        return [(self.spin * self.polar_inertia, (2, 3))]
