"""A branch: periodic motions along a parameter, in their order."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from .._quantity import reported
from ..ensemble import reason
from ..orbits.periodic_orbit import PeriodicOrbit
from .bifurcation import BifurcationPoint

OF_ORBITS = (
    "floquet_multipliers",
    "largest_multiplier",
    "stable",
    "contacts",
    "max_contact_force",
    "amplitude",
    "residual",
    "state_error",
)


class BranchEvent(eqx.Module):
    """Where a quantity that was watched along a branch reaches its value."""

    name: str = eqx.field(static=True)
    path: str = eqx.field(static=True)
    parameter: Float[Array, ""] = reported("value of the parameter")
    orbit: PeriodicOrbit
    result: Int[Array, ""] = reported("reason code")

    def __repr__(self) -> str:
        missed = f" (not located: {reason(self.result)})" if int(self.result) else ""
        return f"{self.name} at {self.path} = {self.parameter:.10g}{missed}"


class Branch(eqx.Module):
    """Periodic motions along one parameter, in their order along the branch.

    `ends` says why the branch stops at its first and at its last point. `stable`,
    `contacts` and the rest are those of `PeriodicOrbit`, with a leading axis of points.
    """

    path: str = eqx.field(static=True)
    parameter: Float[Array, " points"] = reported("continued parameter", "", ("point",))
    states: Float[Array, "points n"] = reported("state at t = 0", "", ("point", "state"))
    floquet_multipliers: Complex[Array, "points n"] = reported(
        "Floquet multipliers, largest modulus first", "", ("point", "multiplier")
    )
    largest_multiplier: Float[Array, " points"] = reported(
        "modulus of the largest multiplier", "", ("point",)
    )
    stable: Int[Array, " points"] = reported(
        "1 stable, 0 unstable, -1 undecided", "", ("point",)
    )
    contacts: Int[Array, " points"] = reported(
        "onsets of contact in one period of the motion", "", ("point",)
    )
    max_contact_force: Float[Array, " points"] = reported(
        "largest contact force", "N", ("point",)
    )
    amplitude: Float[Array, "points freedoms"] = reported(
        "half of highest minus lowest displacement", "m", ("point", "freedom")
    )
    residual: Float[Array, " points"] = reported(
        "largest component of s(nT) - s(0)", "", ("point",)
    )
    state_error: Float[Array, " points"] = reported(
        "error bar of the state", "", ("point",)
    )
    predictor_error: Float[Array, " points"] = reported(
        "distance from the predicted to the found state, per size", "", ("point",)
    )
    periods: Int[Array, ""] = reported("periods of the load in one of the motion")
    ends: Int[Array, " 2"] = reported("reason codes of both ends", "", ("end",))
    bifurcations: tuple[BifurcationPoint, ...] = ()
    events: tuple[BranchEvent, ...] = ()

    def __repr__(self) -> str:
        if not len(self.parameter):
            return f"Branch along {self.path}: no point"
        low, high = (reason(code) for code in np.asarray(self.ends))
        share = np.mean(np.asarray(self.stable) == 1)
        counts = sorted({int(count) for count in np.asarray(self.contacts)})
        return "\n".join(
            [
                f"Branch along {self.path}: {len(self.parameter)} periodic motions",
                f"  from {self.parameter[0]:.8g}: {low}",
                f"  to   {self.parameter[-1]:.8g}: {high}",
                f"  stable at {share:.0%} of the points; contacts a period: {counts}",
                f"  largest |multiplier| {np.nanmax(self.largest_multiplier):.6g}, "
                f"peak force {np.nanmax(self.max_contact_force):.6g} N",
                *_listed(self.bifurcations),
                *(f"  {event!r}" for event in self.events),
            ]
        )

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def branch_of(
    path, values, orbits: PeriodicOrbit, misses, periods, ends, bifurcations=(), events=()
) -> Branch:
    """Return the branch of orbits with a leading axis of points."""
    numbers = {
        "parameter": np.asarray(values, float),
        "states": orbits.state,
        "predictor_error": np.asarray(misses, float),
        "periods": np.asarray(periods, np.int32),
        "ends": np.asarray(ends, np.int32),
    }
    numbers |= {name: getattr(orbits, name) for name in OF_ORBITS}
    whole = jax.tree.map(jnp.asarray, numbers)
    found: dict[str, Any] = {
        "path": path,
        "bifurcations": tuple(bifurcations),
        "events": tuple(events),
    }
    return Branch(**found, **whole)


def stacked(orbits: list[PeriodicOrbit]) -> PeriodicOrbit:
    """Return orbits as one with a leading axis of points."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *orbits)


def _listed(bifurcations) -> list[str]:
    return [
        f"  {point.kind.replace('_', ' ')} at {point.parameter:.10g}"
        + (f" (not located: {reason(point.result)})" if int(point.result) else "")
        for point in bifurcations
    ]
