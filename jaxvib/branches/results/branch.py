"""Branches of periodic orbits along one parameter."""

from collections.abc import Iterator
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from ...drawing import Chart, Plottable, draw
from ...drawing.axes import Axes
from ...ensemble import reason
from ...foundation.command.progress import Report
from ...foundation.quantity import result_field
from ...orbits.orbit import peak_force_text
from ...orbits.periodic_orbit import PeriodicOrbit
from ...systems.base.system import System
from .bifurcation_results import BifurcationPoint, listed
from .check import BranchCheck, check_branch
from .dataset import branch_dataset
from .measures import Components, Measure
from .pictures import branches_chart


class BranchEvent(Plottable):
    """A zero of a user-defined event function along a branch.

    >>> settings = jv.branches.ContinuationSettings(
    ...     events={"27 kN": lambda orbit: orbit.max_contact_force - 27e3}
    ... )
    >>> branch = jv.continue_orbit(
    ...     system, orbit, "load.amplitude", (450.0, 550.0), settings=settings
    ... )
    >>> [(event.name, round(float(event.parameter), 1)) for event in branch.events]
    [('27 kN', 509.7)]
    """

    name: str = eqx.field(static=True)
    path: str = eqx.field(static=True)
    parameter: Float[Array, ""] = result_field("value of the parameter")
    orbit: PeriodicOrbit
    result: Int[Array, ""] = result_field("reason code")

    def __repr__(self) -> str:
        missed = f" (not located: {reason(self.result)})" if int(self.result) else ""
        return f"{self.name} at {self.path} = {self.parameter:.10g}{missed}"


class AbstractBranch(Plottable):
    """Solutions along one parameter, in their order along the branch.

    `ends` has the reason codes of the first and the last point. To add a kind of
    branch, define `orbits`: the solutions, a result with a leading axis of points.
    """

    noun: ClassVar[str]
    verdict: ClassVar[str] = "stable"  # of points with the code 1

    path: str = eqx.field(static=True)
    unit: str = eqx.field(static=True)
    parameter: Float[Array, " points"] = result_field("continued parameter", "", ("point",))
    predictor_error: Float[Array, " points"] = result_field(
        "relative distance from the predicted to the corrected state", "", ("point",)
    )
    ends: Int[Array, " 2"] = result_field("reason codes of both ends", "", ("end",))
    orbits: eqx.AbstractVar[Any]
    bifurcations: eqx.AbstractVar[tuple[Any, ...]]

    @property
    def states(self) -> Float[Array, "points n"]:
        """The states (of orbits: at t = 0)."""
        return self.orbits.state

    @property
    def stable(self) -> Int[Array, " points"]:
        """1 stable, 0 unstable, -1 undecided."""
        return self.orbits.stable

    @property
    def drawable(self) -> bool:
        """Whether the branch has a point."""
        return bool(len(self.parameter))

    def plot(
        self,
        *,
        measure: Measure = None,
        components: Components = None,
        system: System | None = None,
        ax: Axes = None,
    ) -> Axes:
        r"""Draw the branch over its parameter on matplotlib axes, and return them.

        Solid if stable, dashed if unstable, dotted if undecided; bifurcations are points
        of the lines, with marks.

        **Arguments:** `measure`: what is drawn over the parameter,

        - "amplitude": (max - min)/2 of each displacement, or of each state of a field; the
          default of motions. 0 for equilibria;
        - "state": the state (of orbits: at t = 0); the default of equilibria;
        - "range": the lowest and the highest value of each;
        - "norm": the Euclidean norm of the state; of motions the root mean square over a
          period, $\sqrt{\frac{1}{T} \int_0^T |x|^2 \, dt}$;
        - "period": the period, s;
        - another field of the solutions, such as "max_contact_force";
        - a function of one solution, which returns a number or several.

        `components`: of the state, names or positions; default: all. `system`: the
        branch's system, needed for "norm" of motions and "range" of forced motions, which
        are then computed; a point whose motion does not close within 1e-3 is left out.
        `ax`: default: new.

        **Raises:** `ValueError` for an unknown measure or component, a quantity that the
        solutions do not have, or a missing or another `system`.
        """
        return draw(branches_chart([self], measure, components, system), ax)

    def charts(self) -> list[Chart]:
        """Return the chart of `plot`, and those of all fields."""
        return [branches_chart([self]), *super().charts()]

    def check(
        self,
        system: System | None = None,
        *,
        budget: float | None = None,
        progress: Report = None,
    ) -> BranchCheck:
        r"""Check the points of the branch, and what changes between them.

        Each point must be an orbit: another flow over its period (another engine, or for
        hard stops and friction a tolerance of 1e-12) returns to its state within its error
        bar, with the same number of contacts. Between neighbouring points the number of
        contacts may change only at a listed grazing, the number of unstable multipliers or
        eigenvalues only at a listed bifurcation, and the direction of the parameter only
        at a listed fold, branch point or grazing. Points whose numbers are uncertain within
        their error bars are passed over.

        **Arguments:** `system`: of the branch, needed to check points of periodic motions;
        without one only the changes are checked, as always for equilibria. `budget`: s,
        after which the other points are left unchecked; default: none. `progress`: as in
        `continue_orbit`.

        **Raises:** `ValueError` for a system without the branch's parameter or of
        equilibria, or a budget that is not positive.

        >>> branch.check(system)
        BranchCheck of 23 periodic motions along load.amplitude: no fault found
          points integrated: 23
        """
        return check_branch(self, system, budget, progress)

    def to_xarray(self) -> Any:
        """Return the branch as an `xarray.Dataset`.

        Dimensions: `point`, in the order along the branch, with the parameter as
        coordinate; `state` and `freedom` by name; `bifurcation`. Variables: the fields of
        the solutions with `long_name` and `units`, `state` as `states`, complex ones in
        two, such as `floquet_multipliers.real` and `.imag`, since netCDF has real numbers
        only, and `bifurcation.kind`, `bifurcation.parameter` and `bifurcation.state`.

        >>> branch.to_xarray()["amplitude"].dims
        ('point', 'freedom')
        """
        return branch_dataset(self)

    def __repr__(self) -> str:
        name = f"{type(self).__name__} along {self.path}"
        if not len(self.parameter):
            return f"{name}: no point"
        low, high = (reason(code) for code in np.asarray(self.ends))
        values = np.asarray(self.parameter)
        share = np.mean(np.asarray(self.stable) == 1)
        unit = f" {self.unit}".rstrip()
        return "\n".join(
            [
                f"{name}: {len(self.parameter)} {self.noun}",
                f"  from {values[0]:.8g}{unit}: {low}",
                f"  to   {values[-1]:.8g}{unit}: {high}",
                f"  {self.verdict} at {share:.0%} of the points{self._details()}",
                *listed(self.bifurcations),
            ]
        )

    def _details(self) -> str:
        """Return additional text for `repr`."""
        return ""


class Branch(AbstractBranch):
    """Periodic orbits along one parameter, in their order along the branch.

    `orbits`: a `PeriodicOrbit` whose fields have a leading axis of points. `ends` has
    the reason codes of the first and the last point.

    >>> branch = jv.continue_orbit(system, orbit, "load.amplitude", (450.0, 550.0))
    >>> bool((branch.stable == 1).all()), len(branch.bifurcations)
    (True, 0)
    """

    noun = "periodic motions"

    orbits: PeriodicOrbit
    periods: Int[Array, ""] = result_field("load periods per period of the motion")
    bifurcations: tuple[BifurcationPoint, ...] = ()
    events: tuple[BranchEvent, ...] = ()

    @property
    def floquet_multipliers(self) -> Complex[Array, "points n"]:
        """The Floquet multipliers, largest modulus first."""
        return self.orbits.floquet_multipliers

    @property
    def largest_multiplier(self) -> Float[Array, " points"]:
        """The modulus of the largest multiplier."""
        return self.orbits.largest_multiplier

    @property
    def contacts(self) -> Int[Array, " points"]:
        """Onsets of contact per period of the orbit."""
        return self.orbits.contacts

    @property
    def max_contact_force(self) -> Float[Array, " points"]:
        """The largest contact force, N."""
        return self.orbits.max_contact_force

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"  {event!r}" for event in self.events)])

    def _details(self) -> str:
        largest = f"\n  largest |multiplier| {np.nanmax(self.largest_multiplier):.6g}"
        counts = sorted({int(count) for count in np.asarray(self.contacts)})
        # Contacts of a user-defined field are unknown.
        if not self.orbits.labels.units and counts == [0]:
            return largest
        force = peak_force_text(self.orbits)
        return f"; contacts per period: {counts}{largest}, peak force {force}"


def passing(levels: np.ndarray, level: float, *columns: np.ndarray) -> Iterator[list]:
    """Yield linearly interpolated columns wherever `levels` (points,) cross a level."""
    for i in np.flatnonzero((levels[1:] - level) * (levels[:-1] - level) <= 0):
        share = (level - levels[i]) / (levels[i + 1] - levels[i])
        yield [each[i] + share * (each[i + 1] - each[i]) for each in columns]
