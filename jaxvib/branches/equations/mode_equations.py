r"""Periodic motions without loads and losses at an energy: their equations and multipliers.

The unknowns $x = (z, T/\theta, \lambda/\ell)$ are a state $s = \sqrt h\,u\,z$ in units
that grow with the energy $h = e^\lambda$, and the period. Motions of all energies are
periodic. A term in proportion to the excess energy leaves one of them:

$$\varphi^T(s) - s + \Big(\frac{H(s)}{h} - 1\Big)\, c = 0, \qquad
  f(\hat s) \cdot (s - \hat s) = 0.$$

A motion keeps its energy: with its gradient $g = \nabla H$, $g \cdot (\varphi^T(s) - s)$
vanishes with the square of that distance, and as $g \cdot c > 0$ so must the excess. c is
the gradient at a state $\hat s$ nearby, in the norm of the energy.

The monodromy matrix M has the eigenvalue 1 twice: $M f = f$ for the rate f of the state,
and $g^T M = g^T$, $g^T f = 0$. With Q a basis of what is orthogonal to
both, the other multipliers are the eigenvalues of $Q^T M Q$, with or without the term:
it changes M by a column times $g^T$, and $g^T Q = 0$. They are pairs $\mu$, $1/\mu$.

**Source:** Munoz-Almaraz, Freire, Galan, Doedel and Vanderbauwhede, *Physica D* 181 (2003)
1, for a term that vanishes on the family; Kerschen et al., *Mech. Syst. Signal Process.*
23 (2009) 170.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from ... import linalg
from ...drawing import Labels
from ...dynamics.engines.choice import MODAL
from ...dynamics.flow import flow, observe
from ...dynamics.modal import modal_form
from ...ensemble import Reason
from ...foundation.quantity import result_field
from ...orbits.equilibrium import FIELD_ROUNDING
from ...orbits.limit_cycle import reflection, transverse
from ...orbits.orbit import invalidate
from ...orbits.shooting.motion_pictures import PlottableMotion
from ...orbits.shooting.multipliers import floquet_multipliers, modulus, multiplier_error
from ...systems.base.system import System
from ...systems.conservative import energy_doubt, total_energy
from .corrector import LaneData, system_of
from .cycle_equations import OF_ENDS

# The error of a period of motion, in tolerances: 1 to 10 were measured beside saddles.
_STEPS = 10.0


class FreeMotion(PlottableMotion):
    """A periodic motion of a system without loads and losses, one of a family.

    `state`: where all bodies rest, if there is such a time. `floquet_multipliers`: without
    the two along the family, which are 1. They are pairs of values and their inverses: on
    the unit circle, `elliptic`, or not, `hyperbolic`. A system of one degree of freedom has
    no others.
    """

    state: Float[Array, " n"] = result_field("state at t = 0", "", ("state",))
    energy: Float[Array, ""] = result_field("energy of the motion", "J")
    period: Float[Array, ""] = result_field("period of the motion", "s")
    frequency: Float[Array, ""] = result_field("angular frequency", "rad/s")
    amplitude: Float[Array, " freedoms"] = result_field(
        "half of highest minus lowest value", "", ("freedom",)
    )
    highest: Float[Array, " freedoms"] = result_field("highest value", "", ("freedom",))
    lowest: Float[Array, " freedoms"] = result_field("lowest value", "", ("freedom",))
    contacts: Int[Array, ""] = result_field("onsets of contact per period")
    floquet_multipliers: Complex[Array, " m"] = result_field(
        "Floquet multipliers but the two along the family, largest modulus first",
        "",
        ("multiplier",),
    )
    largest_multiplier: Float[Array, ""] = result_field("modulus of the largest of them")
    stable: Int[Array, ""] = result_field("1 elliptic, 0 hyperbolic, -1 undecided")
    residual: Float[Array, ""] = result_field(
        "bound on the relative distance of s(T) from s(0)"
    )
    state_error: Float[Array, ""] = result_field("error bar of the state")
    period_error: Float[Array, ""] = result_field("error bar of the period", "s")
    multiplier_error: Float[Array, ""] = result_field(
        "bound on the error of each multiplier"
    )
    result: Int[Array, ""] = result_field("reason code")
    labels: Labels = eqx.field(static=True, default=Labels())

    default_picture: ClassVar[str] = "displacement"

    def _lines(self) -> list[str]:
        verdict = {1: "elliptic", 0: "hyperbolic", -1: "undecided"}[int(self.stable)]
        return [
            f"{self._title()} of {self.energy:.10g} J: {verdict}",
            f"  frequency  {self.frequency:.10g} rad/s",
            f"  period     {self.period:.10g} s (error {self.period_error:.1e})",
            f"  amplitude  {self.labels.amplitudes(np.asarray(self.amplitude))}",
        ]


def _place(data: LaneData, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return the state, period and energy at scaled unknowns, and the state's units."""
    energy = jnp.exp(x[-1] * data.units[-1])
    units = data.units[:-2] * jnp.sqrt(energy)
    return x[:-2] * units, x[-2] * data.units[-2], energy, units


def _rate(system, data: LaneData, x: Array) -> Array:
    """Return the direction of a scaled state's rate."""
    state, _, _, units = _place(data, x)
    along = system.equation().vector_field(0.0, state) / units
    return along / jnp.maximum(linalg.norm(along), jnp.finfo(float).tiny)


def mode_residual(system, data: LaneData, anchor: Array, x: Array) -> Array:
    """Return the return of the state, with its excess energy, and the phase."""
    state, period, energy, units = _place(data, x)
    excess = total_energy(system, state) / energy - 1
    final = flow(system, state, 0.0, period, rtol=data.tight, engine=_engine(system))
    upward = _gradient(system, data, anchor) / _energy_sizes(system, data) ** 2
    upward = upward / jnp.maximum(linalg.norm(upward), jnp.finfo(float).tiny)
    back = final / units - x[:-2] + excess * upward
    return jnp.append(back, _rate(system, data, anchor) @ (x - anchor)[:-2])


def _engine(system) -> str:
    """Return that of large systems, whose kernels would take long to compile, or any."""
    return "auto" if modal_form(system) is None else MODAL


def _gradient(system, data: LaneData, x: Array) -> Array:
    """Return the gradient of the energy along a scaled state."""
    state, _, _, units = _place(data, x)
    return jax.grad(total_energy, 1)(system, state) * units


def mode_map(
    system: System, path: str, data: LaneData, anchor: Array, x: Array, rougher=1.0
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Return the residual of the equations, see `corrector.lane_corrector`.

    The matrix has all multipliers but those along the family; its tolerance is `rougher`
    times that of the residual. The ends of motions that pass a saddle depend so much on
    their starts that the flow's error is too large.
    """

    def both(x):
        rough = data._replace(tight=data.tight * rougher)
        rest = mode_residual(system, rough, anchor, x)
        return rest, rest

    matrix, rest = jax.jacfwd(both, has_aux=True)(x)
    if rougher != 1.0:
        rest = mode_residual(system, data, anchor, x)
    size, rate = len(x) - 2, _rate(system, data, x)
    monodromy = matrix[:size, :size] + jnp.eye(size)
    sizes = _energy_sizes(system, data)
    growth = jnp.sqrt(jnp.sum((sizes[:, None] * monodromy / sizes[None]) ** 2))
    _, others = transverse(monodromy, rate, jnp.ones(size))
    level = (reflection(rate) @ _gradient(system, data, x))[1:]
    _, others = transverse(others.T, level, jnp.ones(size - 1))
    return rest, matrix, (others, _STEPS * data.tight * growth / OF_ENDS)


def _energy_sizes(system, data: LaneData) -> Array:
    """Return the roots of the energy per squared component of a scaled state, nearly.

    Measured so, motions of linear springs do not grow, however stiff these are.
    """
    mass, _, stiffness = map(jnp.diagonal, system.matrices())
    frequency = 2 * jnp.pi / data.units[-2]
    sizes = jnp.sqrt(jnp.append(jnp.abs(stiffness) + mass * frequency**2, mass))
    return sizes * data.units[:-2]


@functools.lru_cache(maxsize=32)
def mode_evaluator(static: System) -> Callable[[Any], tuple[Array, FreeMotion]]:
    """Return the function from a lane (data, x) to the energy and the motion."""

    def evaluate(lane):
        data, x = lane
        return motion_at(system_of(data, static), data, x)

    return evaluate


def motion_at(system, data: LaneData, x: Array, rougher=1.0) -> tuple[Array, FreeMotion]:
    """Return energy and motion of a scaled point, with errors from two tolerances.

    `rougher`: see `mode_map`.
    """
    place, _, level, _ = _place(data, x)
    doubt = energy_doubt(system, place) / level

    def step(rtol):
        at_tolerance = "", data._replace(tight=rtol), x, x
        rest, matrix, (others, _) = mode_map(system, *at_tolerance, rougher)
        solver = linalg.inverse(matrix[:, :-1])
        rounded = jnp.sum(jnp.abs(matrix[:-1, :-1]), axis=1) + 2.0
        rounded = jnp.abs(solver) @ jnp.append(FIELD_ROUNDING * rounded, 0.0)
        rounded = rounded + doubt * jnp.abs(solver @ matrix[:, -1])
        return rest, solver @ rest, rounded, others

    # Sequential, so that the flow is compiled once.
    tolerances = jnp.stack([jnp.asarray(data.setting, float), data.tight])
    every = jax.lax.map(step, tolerances)
    _, coarse, _, before = (leaf[0] for leaf in every)
    rest, fine, rounded, others = (leaf[1] for leaf in every)
    state, period, energy, units = _place(data, x)
    moved = jnp.abs(coarse - fine) + jnp.abs(fine) + rounded
    evidenced = data.tight < data.setting
    moved = jnp.where(evidenced, moved, jnp.nan)
    wanted = {"rtol": data.tight, "grazing": 0.0, "engine": _engine(system)}
    end, seen, result = observe(system, state, 0.0, period, **wanted)
    multipliers, largest, error = jnp.zeros(0, complex), jnp.ones(()), jnp.zeros(())
    stable = jnp.ones((), jnp.int8)
    if others.size:
        multipliers = floquet_multipliers(others)
        largest = modulus(multipliers)
        error = multiplier_error(others, others - before)
        stable = _verdict(multipliers, jnp.where(evidenced, error, jnp.nan))
    # Near a saddle the error of the motion itself grows without bound.
    missed = jnp.max(jnp.abs(end - state) / units)
    lost = ~(missed < OF_ENDS)
    lost = lost & (result == Reason.SUCCESS)
    result = jnp.where(lost, Reason.TOO_FEW_SEGMENTS, result).astype(jnp.int32)
    fields = {
        "state": state,
        "energy": energy,
        "period": period,
        "frequency": 2 * jnp.pi / period,
        "amplitude": (seen.highest - seen.lowest) / 2,
        "highest": seen.highest,
        "lowest": seen.lowest,
        "contacts": jnp.sum(seen.onsets).astype(jnp.int32),
        "floquet_multipliers": multipliers,
        "largest_multiplier": largest,
        "stable": jnp.where(result == Reason.SUCCESS, stable, -1).astype(jnp.int8),
        "residual": jnp.maximum(
            missed, jnp.max(jnp.abs(rest) + jnp.abs(every[0][0] - rest))
        ),
        "state_error": jnp.max(moved[:-1] * units),
        "period_error": moved[-1] * data.units[-2],
        "multiplier_error": jnp.where(evidenced, error, jnp.nan),
        "result": result,
    }
    fields = invalidate(fields, result, kept=("energy",))
    return energy, FreeMotion(**fields, labels=system.labels)


def _verdict(multipliers: Complex[Array, " m"], error: Array) -> Array:
    """Return 1 for elliptic multipliers, 0 for hyperbolic ones, -1 if that is not known.

    One leaves the circle only where it meets another: those on it within their error are
    on it if none is as near to another.
    """
    apart = jnp.abs(multipliers[:, None] - multipliers[None])
    nearest = jnp.min(jnp.where(jnp.eye(multipliers.size) > 0, jnp.inf, apart))
    off = jnp.max(jnp.abs(jnp.abs(multipliers) - 1))
    elliptic = (off <= error) & (nearest > 2 * error)
    return jnp.where(elliptic, 1, jnp.where(off > error, 0, -1))
