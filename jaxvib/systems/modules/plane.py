"""Plane frame elements with rigid arms at their ends."""

from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from ...foundation.quantity import OptionalQuantity, Quantity
from .beams import _bending_weights, _cubic_in_legendre, _legendre_squares
from .module import ROTATION, TRANSLATION, Link, Square, body_freedom, quantity


class PlaneFrameModule(Link):
    r"""A uniform straight beam in a plane, with extension and bending.

    Degrees of freedom are `x`, `y` and `angle` (from x to y) of both bodies. With $u$
    the axial and $v$ the lateral displacements and $p, q$ the angles at its ends,

    $$V = \tfrac12 \frac{EA}{l} (u_2 - u_1)^2
        + \tfrac12 \frac{12 EJ}{l^3} \Bigl(v_2 - v_1 - l \frac{p + q}{2}\Bigr)^2
        + \tfrac12 \frac{EJ}{l} (p - q)^2$$

    with consistent masses. An end may be attached by a rigid arm $(a_x, a_y)$ of its
    body; its displacement is then $(x - a_y \varphi, y + a_x \varphi)$.

    **Fields:** `along`: vector from the first end to the second, shape (2,), m, its length
    is the beam's; `axial_stiffness` $EA$ (N), `bending_stiffness` $EJ$ (N m^2);
    `mass_per_length` (kg/m), `material_damping` (s): stiffness-proportional damping;
    `first_arm`, `second_arm`: vectors from the bodies to the beam's ends, shape (2,),
    m, or None. **Raises:** `ValueError` naming a field out of its range.
    """

    along: Float[Quantity, " 2"] = quantity(
        "along", "m", "vector from the first end to the second"
    )
    axial_stiffness: Float[Quantity, ""] = quantity(
        "axial_stiffness", "N", "axial stiffness E A", above=0.0
    )
    bending_stiffness: Float[Quantity, ""] = quantity(
        "bending_stiffness", "N m^2", "bending stiffness E J", above=0.0
    )
    mass_per_length: Float[Quantity, ""] = quantity(
        "mass_per_length", "kg/m", "mass of the beam per length", default=0.0, at_least=0.0
    )
    material_damping: Float[Quantity, ""] = quantity(
        "material_damping", "s", "damping over stiffness", default=0.0, at_least=0.0
    )
    first_arm: OptionalQuantity[Float[Array, " 2"]] = quantity(
        "first_arm", "m", "arm from the first body to the beam", optional=True
    )
    second_arm: OptionalQuantity[Float[Array, " 2"]] = quantity(
        "second_arm", "m", "arm from the second body to the beam", optional=True
    )

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, TRANSLATION, ROTATION) * 2

    def __check_init__(self) -> None:
        vectors = self.along, self.first_arm, self.second_arm
        shapes = [np.shape(vector) for vector in vectors if vector is not None]
        if set(shapes) != {(2,)}:
            raise ValueError(
                f"module {self.name!r}: along, first_arm, second_arm have shapes {shapes}; "
                "allowed: (2,) each"
            )
        traced = isinstance(self.along, jax.core.Tracer)
        if not traced and not np.any(np.asarray(self.along)):
            raise ValueError(f"module {self.name!r}: along = 0 m; allowed: a length")

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Two translations and the rotation of both bodies."""
        motions = ("x", "y", "angle")
        return tuple(body_freedom(b, m) for b in (self.first, self.second) for m in motions)

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        length, along, across = self._axes()
        mass = self.mass_per_length * length
        ends = ((0.5, 0.5), (-0.5, 0.5))  # a linear function in Legendre polynomials
        stretched = [self._row(along, (a, 0.0, b, 0.0)) for a, b in ends]
        bent = [self._row(across, row) for row in _cubic_in_legendre(length)]
        return [*_legendre_squares(mass, stretched), *_legendre_squares(mass, bent)]

    def dissipation(self) -> list[Square]:
        """Return the squares of half the dissipated power."""
        return [(self.material_damping * w, row) for w, row in self.potential()]

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy."""
        length, along, across = self._axes()
        half = length / 2
        shear, bend = _bending_weights(self.bending_stiffness, length)
        return [
            (self.axial_stiffness / length, self._row(along, (-1.0, 0.0, 1.0, 0.0))),
            (shear, self._row(across, (-1.0, -half, 1.0, -half))),
            (bend, self._row(across, (0.0, 1.0, 0.0, -1.0))),
        ]

    def _row(self, axis, ends):
        """Return the six coefficients of a row (u1, p, u2, q) along an axis."""
        (c, s), row = axis, []
        arms = self.first_arm, self.second_arm
        for (moved, turned), arm in zip((ends[:2], ends[2:]), arms, strict=True):
            if arm is not None:
                turned = turned + moved * (s * arm[..., 0] - c * arm[..., 1])
            row += [moved * c, moved * s, turned]
        return tuple(row)

    def _axes(self):
        """Return the length, and the axes along the beam and across it."""
        x, y = self.along[..., 0], self.along[..., 1]
        length = (x**2 + y**2) ** 0.5
        return length, (x / length, y / length), (-y / length, x / length)
