"""The base class of linear systems."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from ...foundation.types import EMPTY
from .freedoms import direction
from .system_repr import SystemRepr


class Linear(SystemRepr):
    r"""A system $M \ddot q + D \dot q + C q = f$, or the linear part of one.

    To add one, implement `matrices`. With `freedom_names`, degrees of freedom can be
    referred to by name; `strain_rows` keeps low frequencies accurate, and
    `sparse_matrices` with `sparse_strains` are for large systems.
    """

    has_contacts = False
    contacts = EMPTY
    loads = EMPTY
    frictions = EMPTY
    springs = EMPTY
    elements = EMPTY

    @abc.abstractmethod
    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C)."""

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom, empty if they have none."""
        return ()

    def linear_part(self) -> "Linear":
        """Return the system itself."""
        return self

    def direction(self, place: str | Mapping[str, float]) -> Float[Array, " n"]:
        """Return the direction of a degree of freedom, or of some with coefficients.

        **Raises:** `ValueError` for an unknown degree of freedom, with a suggestion, or
        a system whose degrees of freedom have no names.
        """
        if not self.freedom_names:
            raise ValueError(f"{place!r}: the system has no names; allowed: a position")
        return direction(self.freedom_names, place)

    def rotations(self) -> np.ndarray | None:
        """Return which degrees of freedom are rotations, (n,), None if none is."""
        return None

    def strain_rows(self) -> tuple[Float[Array, " s"], Float[Array, "s n"]] | None:
        r"""Return weights $w$ and rows $R$ with $C = R^T \mathrm{diag}(w) R$, or None."""
        return None

    def sparse_matrices(self) -> tuple[Any, ...] | None:
        """Return (M, D, C) as SciPy sparse arrays, None if they are not sparse."""
        return None

    def sparse_strains(self) -> tuple[Any, ...] | None:
        """Return `strain_rows` with the rows as a SciPy sparse array, or None."""
        return None
