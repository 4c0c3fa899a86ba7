"""Base class of modules: energies as weighted sums of squares."""

import abc
import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import check_fields
from ...foundation.quantity import quantity as any_quantity
from ..base.freedoms import GROUND
from ..base.system_repr import SystemRepr

TRANSLATION = "translation"
ROTATION = "rotation"

# A weight and the coefficients of degrees of freedom; structural zeros are the integer 0.
Square = tuple[Any, Sequence[Any]]


# A parameter of a module, checked by `Module`, whose messages name the module.
quantity = functools.partial(any_quantity, checked=False, kw_only=True)


class ModuleMatrices(eqx.Module):
    """The contributions of a module for its degrees of freedom, (d, d) each."""

    mass: Float[Array, "d d"]
    damping: Float[Array, "d d"]
    stiffness: Float[Array, "d d"]


class Module(SystemRepr):
    r"""A part of a system, defined by its energies in its degrees of freedom $q$.

    $$T = \tfrac12 \sum_s w_s (r_s^T \dot q)^2, \qquad
      R = \tfrac12 \sum_s w_s (r_s^T \dot q)^2, \qquad
      V = \tfrac12 \sum_s w_s (r_s^T q)^2,$$

    the kinetic energy, half the dissipated power and the potential energy. Each sum
    gives its matrix, $\sum_s w_s r_s r_s^T$. Formulas use arithmetic alone, so that
    they apply to one module or thousands at once, and to concrete and traced values.

    `kinds` declares which degrees of freedom are translations and which rotations;
    `semidefinite`, that no weight of V can be negative. To add a module, implement
    those energies that it has.
    """

    kinds: ClassVar[tuple[str, ...]]

    def __check_init__(self) -> None:
        check_fields(self, f"module {self.name!r}")

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The module's name on a parameter path."""

    @property
    @abc.abstractmethod
    def freedoms(self) -> tuple[str, ...]:
        """The names of the module's degrees of freedom; `"ground"` is the fixed one."""

    @property
    def semidefinite(self) -> bool:
        """Whether the potential energy is positive semidefinite."""
        return True

    def kinetic(self) -> list[Square]:
        """Return the squares of the kinetic energy (default: none)."""
        return []

    def dissipation(self) -> list[Square]:
        """Return the squares of half the dissipated power (default: none)."""
        return []

    def potential(self) -> list[Square]:
        """Return the squares of the potential energy (default: none)."""
        return []

    def gyroscopic(self) -> list[tuple[Any, tuple[int, int]]]:
        """Return gyroscopic terms: (w, (i, j)) adds w to d_ij and -w to d_ji."""
        return []

    def matrices(self) -> ModuleMatrices:
        """Return the module's mass, damping and stiffness matrices."""
        size = len(self.freedoms)
        sums = (self.kinetic(), self.dissipation(), self.potential())
        mass, damping, stiffness = (_matrix(squares, size) for squares in sums)
        for weight, (i, j) in self.gyroscopic():
            damping = damping.at[i, j].add(weight).at[j, i].add(-weight)
        return ModuleMatrices(mass, damping, stiffness)


class Link(Module):
    """A module between two bodies, or a body and the ground, named after both."""

    first: str = eqx.field(static=True)
    second: str = eqx.field(static=True)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: both ends."""
        return f"{self.first}-{self.second}"

    @property
    def freedoms(self) -> tuple[str, ...]:
        """One degree of freedom of each end."""
        return self.first, self.second


class Point(Module):
    """A module with one degree of freedom, named after it."""

    freedom: str = eqx.field(static=True)

    @property
    def name(self) -> str:
        """The module's name on a parameter path: its freedom."""
        return self.freedom

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Its degree of freedom."""
        return (self.freedom,)


def entries(squares: list[Square]) -> dict[tuple[int, int], Any]:
    """Return the matrix entries of a sum of squares, without structural zeros."""
    found = {}
    for weight, row in squares:
        used = [i for i, r in enumerate(row) if not (isinstance(r, int) and r == 0)]
        for i in used:
            for j in used:
                # symmetric to the last bit: the smaller index comes first
                low, high = min(i, j), max(i, j)
                term = weight * row[low] * row[high]
                found[i, j] = found[i, j] + term if (i, j) in found else term
    return found


def body_freedom(body: str, motion: str) -> str:
    """Return the name of a body's motion, such as `cart.x`; the ground has one name."""
    return GROUND if body == GROUND else f"{body}.{motion}"


def _matrix(squares, size):
    found = entries(squares)
    zero = jnp.zeros(()) if not found else jnp.zeros_like(next(iter(found.values())))
    rows = [
        jnp.stack([found[i, j] + zero if (i, j) in found else zero for j in range(size)])
        for i in range(size)
    ]
    return jnp.stack(rows)
