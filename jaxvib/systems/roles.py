"""Protocols of force laws, and the base class of linear systems."""

import abc
import inspect
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from .freedoms import direction
from .system_repr import SystemRepr


@runtime_checkable
class ElasticLaw(Protocol):
    """An elastic contact force as a function of the penetration.

    To add one, write an `equinox.Module` with these two methods, its numbers declared
    by `quantity`; arrays of any shape are mapped elementwise. Set `jumps = False` if
    the force is continuous; otherwise orbits and derivatives are rejected if a jump is
    detected. Time-stepping engines accept any law, "event" those with
    a method `event_form`, see `systems.event_form`.
    """

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m."""
        ...

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        ...


@runtime_checkable
class DampedLaw(Protocol):
    """A contact force as a function of the penetration and its rate.

    Like `ElasticLaw`, with a `force` that also takes the penetration's rate. A law whose
    slope jumps at a rate has a method `release_rate` that returns it, m/s.
    """

    def force(
        self, penetration: Float[ArrayLike, "*n"], rate: Float[ArrayLike, "*n"]
    ) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m, and its rate, m/s."""
        ...

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        ...


ContactLaw = ElasticLaw | DampedLaw


def is_damped(law: Any) -> bool:
    """Return whether the force of a law depends on a rate."""
    law = getattr(law, "scaled", law)
    return len(inspect.signature(law.force).parameters) > 1


def is_impulsive(law: object) -> bool:
    """Return whether a contact law acts by impulses: a hard stop."""
    return getattr(law, "impulsive", False)


def force_of(law: Any, *motion: Array) -> Array:
    """Return the force, N, of a law at a penetration or elongation, m, and its rate."""
    return law.force(*(motion if is_damped(law) else motion[:1]))


@runtime_checkable
class LoadLaw(Protocol):
    """A periodic force that depends on time alone.

    To add one, write an `equinox.Module` with these two methods, its numbers declared
    by `quantity`. Time-stepping engines accept any such law, others need a `Load`.
    """

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        ...

    def period(self) -> Float[Array, ""]:
        """Return the period, s."""
        ...


class Linear(SystemRepr):
    r"""A system $M \ddot q + D \dot q + C q = f$, or the linear part of one.

    To add one, implement `matrices`. With `freedom_names`, degrees of freedom can be
    referred to by name; `strain_rows` keeps low frequencies accurate, and
    `sparse_matrices` with `sparse_strains` are for large systems.
    """

    has_contacts = False
    loads = ()
    frictions = ()
    springs = ()

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

    def sparse_matrices(self) -> tuple | None:
        """Return (M, D, C) as SciPy sparse arrays, None if they are not sparse."""
        return None

    def sparse_strains(self) -> tuple | None:
        """Return `strain_rows` with the rows as a SciPy sparse array, or None."""
        return None
