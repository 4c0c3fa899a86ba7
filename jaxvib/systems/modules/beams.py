"""Euler-Bernoulli beams as modules: planar with 4 degrees of freedom, spatial with 12."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float

from ...foundation.quantity import Quantity
from .module import ROTATION, TRANSLATION, Link, Square, body_freedom, quantity


class BeamModule(Link):
    r"""A uniform beam between two bodies, bending in one plane.

    Degrees of freedom are `first.y`, `first.angle`, `second.y`, `second.angle`; the
    angle is the beam's slope. With $d = y_2 - y_1$, $p, q$ the angles and $b = E J$,

    $$V = \tfrac12 \frac{12 b}{l^3} \Bigl(d - l \frac{p + q}{2}\Bigr)^2
        + \tfrac12 \frac{b}{l} (p - q)^2,$$

    and the kinetic energy is that of the same cubic (consistent mass, written as
    squares of Legendre coefficients). **Fields:** `length` $l$ (m), `bending_stiffness`
    $b$ (N m^2), `mass_per_length` (kg/m, 0 for a massless beam), `material_damping`
    (s): stiffness-proportional damping. **Raises:** `ValueError` naming a field out of
    its range.

    >>> bent = jv.BeamModule(
    ...     "ground", "tip", length=1.0, bending_stiffness=3.0, mass_per_length=1.0
    ... )
    >>> jv.assemble([bent]).names
    ('tip.y', 'tip.angle')
    >>> jv.natural_frequencies(jv.assemble([bent])).round(3).tolist()
    [6.119, 60.287]
    """

    length: Float[Quantity, ""] = quantity("length", "m", "length of the beam", above=0.0)
    bending_stiffness: Float[Quantity, ""] = quantity(
        "bending_stiffness", "N m^2", "bending stiffness E J", above=0.0
    )
    mass_per_length: Float[Quantity, ""] = quantity(
        "mass_per_length", "kg/m", "mass of the beam per length", default=0.0, at_least=0.0
    )
    material_damping: Float[Quantity, ""] = quantity(
        "material_damping", "s", "damping over stiffness", default=0.0, at_least=0.0
    )

    kinds: ClassVar[tuple[str, ...]] = (TRANSLATION, ROTATION, TRANSLATION, ROTATION)

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Deflection and slope at both bodies."""
        bodies = (self.first, self.second)
        return tuple(body_freedom(b, motion) for b in bodies for motion in ("y", "angle"))

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        rows = _cubic_in_legendre(self.length)
        return _legendre_squares(self.mass_per_length * self.length, rows)

    def dissipation(self) -> list[Square]:
        """Return the squares of half the dissipated power."""
        return [(self.material_damping * w, row) for w, row in self.potential()]

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy."""
        half = self.length / 2
        shear, bend = _bending_weights(self.bending_stiffness, self.length)
        return [(shear, (-1.0, -half, 1.0, -half)), (bend, (0, 1.0, 0, -1.0))]


class FrameModule(Link):
    r"""A uniform straight beam in space between two bodies of six degrees of freedom each.

    Degrees of freedom are `x`, `y`, `z`, `angle_x`, `angle_y`, `angle_z` of both
    bodies. The beam stretches, twists and bends in its two principal planes without
    shear (Euler-Bernoulli), with consistent masses. **Fields:** `along`: vector from
    the first body to the second, shape (3,), m, its length is the beam's; `side`: any
    vector, shape (3,), whose component normal to the beam is the first principal axis;
    `axial_stiffness` $E A$ (N), `torsional_stiffness` $G I_t$ (N m^2),
    `bending_stiffness`: shape (2,), for deflection along the first and the second
    principal axis (N m^2); `mass_per_length` (kg/m); `inertia_per_length`: mass moment
    about the axis (kg m). **Raises:** `ValueError` for a field out of its range or a
    `side` along the beam.

    >>> arm = jv.FrameModule(
    ...     "ground",
    ...     "tip",
    ...     along=[1.0, 0.0, 0.0],
    ...     side=[0.0, 1.0, 0.0],
    ...     axial_stiffness=1e6,
    ...     torsional_stiffness=10.0,
    ...     bending_stiffness=[20.0, 20.0],
    ...     mass_per_length=1.0,
    ...     inertia_per_length=1e-3,
    ... )
    >>> jv.assemble([arm]).names
    ('tip.x', 'tip.y', 'tip.z', 'tip.angle_x', 'tip.angle_y', 'tip.angle_z')
    """

    along: Float[Quantity, " 3"] = quantity(
        "along", "m", "vector to the second body", kw_only=True
    )
    side: Float[Quantity, " 3"] = quantity(
        "side", "", "vector towards the first axis", kw_only=True
    )
    axial_stiffness: Float[Quantity, ""] = quantity(
        "axial_stiffness", "N", "axial stiffness E A", above=0.0
    )
    torsional_stiffness: Float[Quantity, ""] = quantity(
        "torsional_stiffness", "N m^2", "torsional stiffness G I_t", above=0.0
    )
    bending_stiffness: Float[Quantity, " 2"] = quantity(
        "bending_stiffness", "N m^2", "bending stiffnesses E J", above=0.0
    )
    mass_per_length: Float[Quantity, ""] = quantity(
        "mass_per_length", "kg/m", "mass of the beam per length", default=0.0, at_least=0.0
    )
    inertia_per_length: Float[Quantity, ""] = quantity(
        "inertia_per_length",
        "kg m",
        "mass moment about the axis",
        default=0.0,
        at_least=0.0,
    )

    kinds: ClassVar[tuple[str, ...]] = ((TRANSLATION,) * 3 + (ROTATION,) * 3) * 2

    def __check_init__(self) -> None:
        shapes = [np.shape(a) for a in (self.along, self.side, self.bending_stiffness)]
        if shapes != [(3,), (3,), (2,)]:
            raise ValueError(
                f"along, side, bending_stiffness have shapes {shapes}; allowed: (3,), "
                "(3,), (2,)"
            )
        try:
            along, side = np.asarray(self.along), np.asarray(self.side)
        except TypeError:
            return  # traced: no concrete values
        across = np.linalg.norm(np.cross(along, side))
        if not across > 1e-9 * np.linalg.norm(along) * np.linalg.norm(side):
            raise ValueError(f"side = {side} lies along the beam, along = {along} m")

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Three translations and three rotations of both bodies."""
        motions = ("x", "y", "z", "angle_x", "angle_y", "angle_z")
        return tuple(body_freedom(b, m) for b in (self.first, self.second) for m in motions)

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy."""
        length, axis, planes = self._axes()
        mass = self.mass_per_length * length
        spin = self.inertia_per_length * length
        linear = ((0.5, 0.5), (-0.5, 0.5))  # a linear function in Legendre polynomials
        squares = [
            *_legendre_squares(mass, [_row((axis, None), ends) for ends in linear]),
            *_legendre_squares(spin, [_row((None, axis), ends) for ends in linear]),
        ]
        for plane in planes:
            bent = [_bending_row(*plane, row) for row in _cubic_in_legendre(length)]
            squares += _legendre_squares(mass, bent)
        return squares

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy."""
        length, axis, planes = self._axes()
        half = length / 2
        squares = [
            (self.axial_stiffness / length, _row((axis, None), (-1.0, 1.0))),
            (self.torsional_stiffness / length, _row((None, axis), (-1.0, 1.0))),
        ]
        for place, (deflection, turn) in enumerate(planes):
            shear, bend = _bending_weights(self.bending_stiffness[..., place], length)
            sheared = _bending_row(deflection, turn, (-1.0, -half, 1.0, -half))
            squares += [(shear, sheared), (bend, _row((None, turn), (1.0, -1.0)))]
        return squares

    def _axes(self):
        """Return the length, the axis, and each plane's axes of deflection and rotation."""
        along = [self.along[..., i] for i in range(3)]
        side = [self.side[..., i] for i in range(3)]
        length = _dot(along, along) ** 0.5
        axis = tuple(a / length for a in along)
        inside = _dot(side, axis)
        across = [s - inside * a for s, a in zip(side, axis, strict=True)]
        width = _dot(across, across) ** 0.5
        one = tuple(a / width for a in across)
        two = tuple(
            axis[(i + 1) % 3] * one[(i + 2) % 3] - axis[(i + 2) % 3] * one[(i + 1) % 3]
            for i in range(3)
        )
        return length, axis, ((one, two), (two, tuple(-c for c in one)))


def _bending_weights(stiffness, length):
    return 12 * stiffness / length**3, stiffness / length


def _cubic_in_legendre(length):
    """Return the Legendre coefficients 0 to 3 of the cubic through (y1, p, y2, q)."""
    return [
        (0.5, length / 12, 0.5, -length / 12),
        (-0.6, -length / 20, 0.6, -length / 20),
        (0, -length / 12, 0, length / 12),
        (0.1, length / 20, -0.1, length / 20),
    ]


def _legendre_squares(mass, rows):
    return [(mass / (2 * k + 1), row) for k, row in enumerate(rows)]


def _row(axes, ends):
    """Return the twelve coefficients of translations and rotations along two axes."""
    translation, rotation = axes
    none = (0, 0, 0)
    row = []
    for end in ends:
        row += none if translation is None else [end * c for c in translation]
        row += none if rotation is None else [end * c for c in rotation]
    return tuple(row)


def _bending_row(deflection, turn, planar):
    """Return the twelve coefficients of a planar row (y1, p, y2, q)."""
    y1, p, y2, q = planar
    row = []
    for y, angle in ((y1, p), (y2, q)):
        row += [0 if isinstance(y, int) else y * c for c in deflection]
        row += [angle * c for c in turn]
    return tuple(row)


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
