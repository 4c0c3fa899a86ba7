"""A branch: periodic motions along a parameter, in their order."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from .._quantity import reported
from ..ensemble import reason
from ..orbits.periodic_orbit import PeriodicOrbit
from .bifurcation import BifurcationPoint


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

    `orbits`: the motions, a `PeriodicOrbit` whose fields have a leading axis of points.
    `ends` says why the branch stops at its first and at its last point.
    """

    path: str = eqx.field(static=True)
    parameter: Float[Array, " points"] = reported("continued parameter", "", ("point",))
    orbits: PeriodicOrbit
    predictor_error: Float[Array, " points"] = reported(
        "distance from the predicted to the found state, per size", "", ("point",)
    )
    periods: Int[Array, ""] = reported("periods of the load in one of the motion")
    ends: Int[Array, " 2"] = reported("reason codes of both ends", "", ("end",))
    bifurcations: tuple[BifurcationPoint, ...] = ()
    events: tuple[BranchEvent, ...] = ()

    @property
    def states(self) -> Float[Array, "points n"]:
        """The states at t = 0."""
        return self.orbits.state

    @property
    def floquet_multipliers(self) -> Complex[Array, "points n"]:
        """The Floquet multipliers, largest modulus first."""
        return self.orbits.floquet_multipliers

    @property
    def largest_multiplier(self) -> Float[Array, " points"]:
        """The modulus of the largest multiplier."""
        return self.orbits.largest_multiplier

    @property
    def stable(self) -> Int[Array, " points"]:
        """1 stable, 0 unstable, -1 undecided."""
        return self.orbits.stable

    @property
    def contacts(self) -> Int[Array, " points"]:
        """Onsets of contact in one period of the motion."""
        return self.orbits.contacts

    @property
    def max_contact_force(self) -> Float[Array, " points"]:
        """The largest contact force, N."""
        return self.orbits.max_contact_force

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
    return Branch(
        path=path,
        parameter=jnp.asarray(values, float),
        orbits=jax.tree.map(jnp.asarray, orbits),
        predictor_error=jnp.asarray(misses, float),
        periods=jnp.asarray(periods, jnp.int32),
        ends=jnp.asarray(ends, jnp.int32),
        bifurcations=tuple(bifurcations),
        events=tuple(events),
    )


def passing(levels, level: float, *columns) -> Iterator[list]:
    """Yield columns, linear between points, wherever `levels` (points,) pass a level."""
    for i in np.flatnonzero((levels[1:] - level) * (levels[:-1] - level) <= 0):
        share = (level - levels[i]) / (levels[i + 1] - levels[i])
        yield [each[i] + share * (each[i + 1] - each[i]) for each in columns]


def stacked(orbits: list[PeriodicOrbit]) -> PeriodicOrbit:
    """Return orbits as one with a leading axis of points."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *orbits)


def _listed(bifurcations) -> list[str]:
    return [
        f"  {point.kind.replace('_', ' ')} at {point.parameter:.10g}"
        + (f" (not located: {reason(point.result)})" if int(point.result) else "")
        for point in bifurcations
    ]
