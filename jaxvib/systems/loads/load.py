"""Base class of load laws, with the information that engines need."""

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ...foundation.types import UNKNOWN, Number
from ..base.law import LoadLaw, trait


class Wave(NamedTuple):
    r"""A harmonic component $A \cos(\omega t + \varphi)$ of a load."""

    amplitude: Any
    frequency: Any
    phase: Any


class Load(LoadLaw):
    r"""A force that depends on time alone, analytic between breaks.

    To add one, write an `equinox.Module` whose numbers are declared by `quantity`, with
    `largest`; `period` unless it is `constant` or not periodic (`repeats = False`);
    `waves` if it is a sum of them, otherwise `series`, of which `force` is the first
    coefficient; and `next_breakpoint` with `breaks = True` if it is piecewise analytic.
    Set `pulses = True` if it may have pulses within its period that are not marked by
    breaks and that a step could miss. `linear_fields` names the fields to which the force
    is proportional.
    """

    # Not annotated, as fields would precede those of a subclass.
    pulses = False
    breaks = False
    linear_fields: ClassVar[tuple[str, ...]] = ()

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s; at a jump its right-hand limit."""
        return self.series(time, time, 1)[0]

    @abc.abstractmethod
    def largest(self) -> Float[Array, ""]:
        """Return the order of magnitude of the largest absolute force, N."""

    def period(self) -> Float[Array, ""]:
        """Return the period, s: infinite for constant or non-periodic loads."""
        return jnp.asarray(jnp.inf)

    def angular_frequency(self) -> Float[Array, ""] | None:
        """Return the characteristic angular frequency, rad/s; None if it has none."""
        return 2 * jnp.pi / self.period() if self.repeats and not self.constant else None

    def highest_angular_frequency(self) -> Float[Array, ""] | None:
        """Return the highest angular frequency, rad/s; None if it has none."""
        return self.angular_frequency()

    def waves(self) -> tuple[Wave, ...] | None:
        """Return its harmonic components; None if it is not such a sum."""
        wave = self.harmonic()
        return None if wave is None else (wave,)

    def harmonic(self) -> Wave | None:
        """Return the load as a single harmonic; None for all but harmonic loads."""
        return None

    def is_piecewise_linear(self) -> bool:
        """Return whether the load is linear between breaks."""
        return False

    def pieces(self) -> Any:
        """Return a long load as a table of polynomials, see `loads.pieces`, or None."""
        return None

    def series(self, time: Number, inside: Number, count: int) -> tuple[Any, ...]:
        r"""Return up to `count` coefficients $c_k$ of $F = \sum_k c_k (t - t_0)^k$.

        `time`: $t_0$; `inside`: a time between the breaks of the piece to expand.
        """
        waves = self.waves()
        assert waves is not None
        amplitude, frequency, phase = map(jnp.stack, zip(*waves, strict=True))
        angle = frequency * time + phase
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        turned, found = (cosine, -sine, -cosine, sine), []
        for k in range(count):
            found.append(jnp.sum(amplitude * turned[k % 4]))
            amplitude = amplitude * frequency * (1 / (k + 1))
        return tuple(found)

    def rate(self) -> "Load":
        """Return the law of the derivative. **Raises:** `ValueError` if unknown."""
        raise ValueError(
            f"{type(self).__name__} has no derivative that is a law; allowed: "
            "HarmonicLoad, FourierLoad, ConstantLoad, or a given derivative"
        )

    def integral(self) -> "Load":
        """Return the law of the time integral, without a mean.

        **Raises:** `ValueError` if it is unknown.
        """
        raise ValueError(
            f"{type(self).__name__} has no integral that is a law; allowed: "
            "HarmonicLoad, FourierLoad"
        )

    def next_breakpoint(self, time: Number) -> Float[Array, ""]:
        """Return the next break, s, after a time that is not a break itself."""
        return jnp.asarray(jnp.inf)


class ScaledLoad(Load):
    """A load of an `amplitude`, its largest absolute force, N."""

    if TYPE_CHECKING:  # as a field it would precede those of the subclasses
        amplitude = UNKNOWN

    def largest(self) -> Float[Array, ""]:
        """Return the absolute amplitude, N."""
        return jnp.abs(self.amplitude)


def as_load(law: LoadLaw) -> Load | None:
    """Return the law if it is a `Load`, None for a user's periodic law."""
    return law if isinstance(law, Load) else None


def harmonic_of(law: LoadLaw) -> Wave | None:
    """Return a load as a single harmonic, None if it is not harmonic."""
    return law.harmonic() if isinstance(law, Load) else None


def first_after(time: Number, candidates: Array) -> Float[Array, ""]:
    """Return the first candidate after a time, by more than rounding."""
    rounding = 4 * jnp.finfo(candidates.dtype).eps * jnp.abs(time)
    return jnp.min(jnp.where(candidates > time + rounding, candidates, jnp.inf))


def time_varying(loads: Sequence) -> list:
    """Return the applied loads that are not constant."""
    return [load for load in loads if not trait(load.law, "constant")]


def never_repeats(loads: Sequence) -> list:
    """Return the applied loads that are neither constant nor periodic."""
    return [load for load in time_varying(loads) if not trait(load.law, "repeats")]
