"""What a law of loads tells the engines beside its force."""

import abc
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ..printed import Printed


class Wave(NamedTuple):
    r"""One harmonic part $A \cos(\omega t + \varphi)$ of a load."""

    amplitude: Any
    frequency: Any
    phase: Any


class Load(Printed):
    r"""A force that depends on time alone, analytic from break to break.

    To add one, write an `equinox.Module` whose numbers are declared by `quantity`, with
    `force` and `largest`; `period` unless it is the same at all times (`constant`) or
    never comes again (`repeats` is then False); `waves` if it is a sum of them, or else
    `series`; and `next_break`, and `breaks`, if it is one analytic function after another.
    One that may do in a part of its period what a step could pass, with no break to tell
    of it, says so by `pulses`.
    """

    # Without annotations, as these would be fields that come before a law's own.
    constant = False
    repeats = True
    pulses = False
    breaks = False

    @abc.abstractmethod
    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s; at a break that of the time after it."""

    @abc.abstractmethod
    def largest(self) -> Float[Array, ""]:
        """Return the order of the largest force, N, whatever its sign."""

    def period(self) -> Float[Array, ""]:
        """Return the period, s: infinite unless the load changes and repeats."""
        return jnp.asarray(jnp.inf)

    def pace(self) -> Float[Array, ""] | None:
        """Return the angular frequency of its changes, rad/s; None if it has none."""
        return 2 * jnp.pi / self.period() if self.repeats and not self.constant else None

    def fastest(self) -> Float[Array, ""] | None:
        """Return the highest angular frequency in it, rad/s; None if it has none."""
        return self.pace()

    def waves(self) -> tuple[Wave, ...] | None:
        """Return the waves that it is the sum of; None if it is none."""
        return None

    def series(self, time, inside, count: int) -> tuple:
        r"""Return up to `count` coefficients $c_k$ of the force $\sum_k c_k (t - t_0)^k$.

        `time`: $t_0$; `inside`: a time between the two breaks where the force is this one.
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
        """Return the law of its derivative. **Raises:** `ValueError` if not known."""
        raise ValueError(
            f"{type(self).__name__} has no derivative by time that is a law; allowed: "
            "HarmonicLoad, FourierLoad, ConstantLoad, or what is derived already"
        )

    def integral(self) -> "Load":
        """Return the law of its integral by time, without a mean.

        **Raises:** `ValueError` where none is known.
        """
        raise ValueError(
            f"{type(self).__name__} has no integral by time that is a law; allowed: "
            "HarmonicLoad, FourierLoad"
        )

    def next_break(self, time) -> Float[Array, ""]:
        """Return when it breaks next, s, after a time that is no break itself."""
        return jnp.asarray(jnp.inf)


def first_after(time, candidates) -> Float[Array, ""]:
    """Return the first of candidate times after a time by more than its rounding."""
    rounding = 4 * jnp.finfo(candidates.dtype).eps * jnp.abs(time)
    return jnp.min(jnp.where(candidates > time + rounding, candidates, jnp.inf))


def changing(loads) -> list:
    """Return those of several applied loads that are not constant."""
    return [load for load in loads if not _told(load.law).constant]


def never_repeats(loads) -> list:
    """Return those of several applied loads that change and never repeat."""
    return [load for load in changing(loads) if not _told(load.law).repeats]


def _told(law):
    """Return the law itself; a user's own one changes, and repeats, as it says."""
    return law if isinstance(law, Load) else Load
