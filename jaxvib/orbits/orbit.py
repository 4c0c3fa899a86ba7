"""The `PeriodicOrbit` and its construction from a shooting result."""

import dataclasses
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Complex, Float, Int

from ..drawing import Labels
from ..drawing.labels import LENGTH_OR_ANGLE
from ..dynamics.engines import EventEngine, engine_of
from ..dynamics.observables import Observables
from ..ensemble import Reason, reason
from ..foundation.arrays import (
    HOST,
    array_namespace,
    combine_arrays,
    expand_to_lanes,
    is_concrete,
    partition_arrays,
    stop_gradient,
    to_jax,
    to_numpy,
)
from ..foundation.quantity import result_field
from ..foundation.types import AnyArray, Integer, Number
from ..kernels.calls import elementwise
from ..systems.base.system import System, state_shape
from ..systems.drift import modulo_drift
from .shooting.error_estimates import assess_orbit
from .shooting.implicit import KernelFunction, implicit_root, with_derivative_of
from .shooting.motion_kernels import ShootingDetails
from .shooting.motion_pictures import PlottableMotion
from .shooting.multipliers import (
    ROUNDING,
    VERDICTS,
    floquet_multipliers,
    modulus,
    state_rounding,
    verdict,
)
from .shooting.orbit_derivatives import Revolution, differentiable_values
from .shooting.orbit_shooting import Shift, ShootingResult

# Without error bars, multipliers nearer to the unit circle than this are undecided: far
# more than the error of a contact's onset (`error_estimates._multiplier_bar`).
BAND = 1e-3


class PeriodicOrbit(PlottableMotion):
    r"""A motion $s(t)$ with $s(t + nT) = s(t)$, in SI units; T the load's period.

    Every field is differentiable with respect to every parameter of the system by the
    implicit function theorem, except for error estimates and
    `contact_duration`, whose derivative is NaN.

    An onset is counted as a contact if the penetration then exceeds 1e-9 of the
    largest displacement; `grazing_margin` is the smallest |penetration| at which a gap
    turned from closing to opening: if it is small, the count is uncertain.
    """

    state: Float[Array, " n"] = result_field("state at t = 0", "", ("state",))
    period: Float[Array, ""] = result_field("period of the motion", "s")
    periods: Int[Array, ""] = result_field("load periods per period of the motion")
    monodromy: Float[Array, "n n"] = result_field(
        "monodromy matrix", "", ("state", "column")
    )
    floquet_multipliers: Complex[Array, " n"] = result_field(
        "Floquet multipliers, largest modulus first", "", ("multiplier",)
    )
    largest_multiplier: Float[Array, ""] = result_field("modulus of the largest multiplier")
    stable: Int[Array, ""] = result_field("1 stable, 0 unstable, -1 undecided")
    contacts: Int[Array, ""] = result_field("onsets of contact in one period of the motion")
    contacts_per_period: Float[Array, ""] = result_field("contacts per period of the load")
    max_contact_force: Float[Array, ""] = result_field("largest contact force", "N")
    contact_duration: Float[Array, ""] = result_field("time in contact in one period", "s")
    grazing_margin: Float[Array, ""] = result_field("smallest |penetration| at a turn", "m")
    amplitude: Float[Array, " freedoms"] = result_field(
        "half of highest minus lowest displacement", "m", ("freedom",)
    )
    lyapunov_exponent: Float[Array, ""] = result_field("largest Lyapunov exponent", "1/s")
    lyapunov_error: Float[Array, ""] = result_field("standard error of the exponent", "1/s")
    watched: Int[Array, ""] = result_field(
        "load periods for which a motion without an orbit was watched, 0 for orbits"
    )
    residual: Float[Array, ""] = result_field(
        "largest component of s(nT) - s(0), tighter tolerance"
    )
    state_error: Float[Array, ""] = result_field("error bar of the state")
    monodromy_error: Float[Array, ""] = result_field("change of M at the tighter tolerance")
    multiplier_error: Float[Array, ""] = result_field(
        "bound on the error of each multiplier"
    )
    determinant_defect: Float[Array, ""] = result_field(
        "det M / exp(-nT tr(D/M)) - 1, without the impacts' part; NaN below 1e-307"
    )
    condition: Float[Array, ""] = result_field("condition number of M - I")
    newton_quotient: Float[Array, ""] = result_field("Newton-Kantorovich quotient")
    result: Int[Array, ""] = result_field("reason code")
    labels: Labels = eqx.field(static=True, default=Labels())

    def _lines(self) -> list[str]:
        state = self.labels.shown(np.asarray(self.state))
        amplitude = self.labels.amplitudes(np.asarray(self.amplitude))
        lines = [
            f"{self._title()}: {VERDICTS[int(self.stable)]}, "
            f"largest |multiplier| {self.largest_multiplier:.6g} "
            f"(error {self.multiplier_error:.1e})",
            f"  period        {self.period:.6g} s = {int(self.periods)} x load period",
            f"  state, t = 0  {state} (error {self.state_error:.1e})",
            f"  amplitude     {amplitude}",
        ]
        # Contacts of a user-defined field are unknown.
        if self.labels.units or self.contacts > 0:
            words = (
                f"{int(self.contacts)} per period, {self.contact_duration:.4g} s in total"
            )
            if not self.contacts and self.contact_duration > 0:
                words = "always in contact"
            lines += [
                f"  contacts      {words}",
                f"  peak force    {peak_force_text(self)}",
            ]
        evidence = f"  evidence      residual {self.residual:.1e}"
        if np.isfinite(self.determinant_defect):  # NaN with friction or for a field
            evidence += f", det M off by {self.determinant_defect:.1e}"
        if self.watched > 0:
            lines.append(f"  watched       {int(self.watched)} load periods")
        return [*lines, evidence, f"  result        {reason(self.result)}"]


class WithProgress(PlottableMotion):
    """A periodic motion of a system with a drift: its `progress` is part of its text."""

    _: dataclasses.KW_ONLY  # behind the labels, which have a default
    progress: Float[Array, ""] = result_field(
        "shift along the drift in one period of the motion", LENGTH_OR_ANGLE
    )
    progress_error: Float[Array, ""] = result_field(
        "error bar of the progress", LENGTH_OR_ANGLE
    )

    def _lines(self: Any) -> list[str]:
        lines = super()._lines()
        length = f"{self.progress:.10g} {self.labels.progress_unit}".rstrip()
        progress = f"{length} per period (error {self.progress_error:.1e})"
        return [*lines[:2], f"  progress      {progress}", *lines[2:]]


class DriftingOrbit(WithProgress, PeriodicOrbit):
    r"""A motion $s(t + nT) = s(t) + a\,d$ of a system with a drift, see `drifting`.

    `state` has a drift coordinate of zero, or less than half a step from it. `monodromy`
    and `floquet_multipliers` are those of the motion modulo the shift: a shift of any
    length, whose multiplier is 1, is given the multiplier 0. `amplitude` includes the
    progress.

    Of a motion that is not periodic `progress` is the mean per period of the load, with
    its standard error.

    >>> conveyor = jv.forced_system(
    ...     lambda t, x, p: [p["speed"] * jnp.sin(t) ** 2],
    ...     parameters={"speed": 0.2},
    ...     period=2 * np.pi,
    ...     dimension=1,
    ... )
    >>> orbit = jv.periodic_orbit(jv.drifting(conveyor, "0"))
    >>> round(float(orbit.progress), 6), int(orbit.stable)  # 0.1 for a period
    (0.628319, 1)
    """


def peak_force_text(orbits: PeriodicOrbit) -> str:
    """Return the largest contact force of one orbit or of a batch as text.

    The force of a hard stop is unknown: its impacts are impulses, and its holding force
    is not observed. All other contacts have a force while they are closed.
    """
    force = np.asarray(orbits.max_contact_force)
    touches = (np.asarray(orbits.contact_duration) > 0) | (np.asarray(orbits.contacts) > 0)
    if np.any(touches & (force == 0)) and not np.any(force > 0):
        return "unknown (hard stops)"
    return f"{np.nanmax(force):.6g} N"


def unknown_orbits(system: System, number: int) -> PeriodicOrbit:
    """Return unknown orbits as NumPy arrays: NaN for floats, -1 for integers.

    They have a leading axis of length `number`.
    """
    state = state_shape(system)
    shapes = {
        "state": state,
        "monodromy": state * 2,
        "floquet_multipliers": state,
        "amplitude": (len(system.freedom_names),),
    }
    types = {
        "periods": np.int32,
        "floquet_multipliers": complex,
        "stable": np.int8,
        "contacts": np.int32,
        "watched": np.int32,
        "contacts_per_period": np.float32,  # as JAX's ratio of int32 values
        "result": np.int32,
    }

    def unknown(name: str):
        kind = types.get(name, float)
        nothing = np.nan if np.issubdtype(kind, np.inexact) else -1
        return np.full((number, *shapes.get(name, ())), nothing, kind)

    kind = orbit_type(system)
    fields = dataclasses.fields(kind)
    names = [field.name for field in fields if "unit" in field.metadata]
    return _of_numpy(kind, **{name: unknown(name) for name in names}, labels=system.labels)


class _Values(NamedTuple):
    """The quantities of an orbit that depend on the parameters of its system."""

    state: Float[Array, " n"]
    monodromy: Float[Array, "n n"]
    details: ShootingDetails
    observables: Observables
    progress: Any = None


def with_fields(orbit: PeriodicOrbit, **values: Number) -> PeriodicOrbit:
    """Return an orbit, or many, with other values of some fields."""
    return eqx.tree_at(
        lambda o: [getattr(o, name) for name in values], orbit, list(values.values())
    )


def orbit_from_shooting(
    system: System,
    shooting: ShootingResult,
    details: ShootingDetails,
    periods: AnyArray | np.integer,
    tight: Number,
    evidenced: ArrayLike,
) -> PeriodicOrbit:
    """Return the orbit of a shooting result, with error estimates if `evidenced`.

    With JAX arrays a differentiable function of the system's parameters. With NumPy
    arrays the result has NumPy arrays and no derivatives, and all arrays may have a
    leading axis of lanes: `system` is then any one of theirs.
    """
    xp = array_namespace(shooting, details, periods, tight, evidenced)
    found = assess_orbit(shooting, details.units, tight, evidenced)
    seen, onsets = shooting.revolution, shooting.revolution.observables.onsets
    shift, progress = seen.progress, None
    if shift is not None:
        progress = _progress(shift, found.converged - shooting.state)
    state = modulo_drift(system, found.converged)
    given = _Values(state, seen.monodromy, details, seen.observables, progress)
    values = given if xp is HOST else _differentiable(system, given, periods, tight)
    if xp is HOST:
        multipliers = found.multipliers.real + 1j * found.multipliers.imag
    else:
        multipliers = floquet_multipliers(values.monodromy)
    largest, forces = modulus(multipliers), values.details.forces
    # Without error estimates multipliers within this band are undecided.
    band = xp.where(evidenced, found.multiplier_error, BAND)
    contacts = xp.sum(onsets, axis=-1, dtype=np.int32)
    period = periods.astype(float) * values.details.period
    exponent, exponent_error = _exponent(largest, found.multiplier_error, period)
    estimates = {
        "state": values.state,
        "period": period,
        "periods": periods,
        "monodromy": values.monodromy,
        "floquet_multipliers": multipliers,
        "largest_multiplier": largest,
        "stable": verdict(stop_gradient(largest), band),
        "contacts": contacts,
        "contacts_per_period": (contacts / periods).astype(np.float32),
        # The largest of no numbers has the derivative NaN for JAX.
        "max_contact_force": xp.max(forces, axis=-1, initial=0.0)
        if forces.shape[-1]
        else xp.zeros(forces.shape[:-1]),
        "contact_duration": xp.sum(values.observables.duration, axis=-1),
        "grazing_margin": found.nearest,
        "amplitude": (values.observables.highest - values.observables.lowest) / 2,
        "lyapunov_exponent": exponent,
        "lyapunov_error": exponent_error,
        "watched": xp.zeros_like(contacts),
        "residual": xp.max(xp.abs(found.residual), axis=-1),
        "state_error": found.state_error,
        "monodromy_error": found.monodromy_error,
        "multiplier_error": found.multiplier_error,
        "determinant_defect": _determinant_defect(system, found, details),
        "condition": found.condition,
        "newton_quotient": found.quotient,
        "result": found.result.astype(np.int32),
    }
    if shift is not None:
        error = _progress_error(shooting, progress, details.units)
        estimates["progress"] = values.progress
        estimates["progress_error"] = xp.where(evidenced, stop_gradient(error), xp.nan)
    code = xp.where(found.found, 0, found.result)
    fields = invalidate(estimates, code, kept=("state", "period"))
    kind = orbit_type(system)
    make = functools.partial(_of_numpy, kind) if xp is HOST else kind
    return make(**fields, labels=system.labels)


def _exponent(largest, error, period) -> tuple[Any, Any]:
    """Return the exponent of an orbit, 1/s, and its error; NaN in a batch of NumPy.

    Studies store that of motions without an orbit there.
    """
    xp = array_namespace(largest, error, period)
    if xp is HOST and np.ndim(largest):
        return (np.full_like(largest, np.nan),) * 2
    size, duration = stop_gradient(largest), stop_gradient(period)
    bar = xp.where(size > error, error, xp.inf) / xp.where(size > 0, size, 1.0)
    # By kernels: those of NumPy and XLA differ between processors and devices.
    logarithm = elementwise.log if xp is HOST else elementwise.log_of_number
    return logarithm(largest) / period, bar / duration


def _determinant_defect(system: System, found, details) -> Any:
    """Return det M / det M by Liouville - 1; NaN where M has no part along a shift.

    As JAX arrays it is inf where unknown: for `jax_debug_nans` any NaN is a fault.
    """
    defect = found.determinant / details.determinant - 1
    free = system.drift is not None and system.drift.step is None
    if array_namespace(defect) is HOST:
        return defect + np.nan if free else defect
    return jnp.where(free | jnp.isnan(defect), jnp.inf, defect)


def _progress(shift: Shift, ahead) -> Any:
    """Return the progress from a state a small step `ahead` of the integrated one."""
    return shift.value + (shift.slope * ahead).sum(axis=-1)


def _progress_error(shooting: ShootingResult, progress, units) -> Any:
    """Return the difference of both tolerances' progress, and rounding."""
    xp = array_namespace(shooting, progress, units)
    seen, shift = shooting.revolution, shooting.revolution.progress
    rounding = state_rounding(seen.monodromy, units) + ROUNDING * units
    assert shift is not None
    rounding = xp.sum(xp.abs(shift.slope) * rounding, axis=-1)
    return xp.abs(progress - shooting.coarse_progress) + rounding


def orbit_type(system: System) -> type[PeriodicOrbit]:
    """Return the class of a system's orbits."""
    return PeriodicOrbit if system.drift is None else DriftingOrbit


def _of_numpy(kind: type[PeriodicOrbit], **fields) -> Any:
    """Return an orbit of NumPy arrays; `with_failure` and batching convert to JAX arrays.

    Bypasses field conversion, as unflattening a pytree does.
    """
    orbit = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(orbit, name, value)
    return orbit


def _differentiable(system, given: _Values, periods, tight) -> _Values:
    """Return an orbit's values as differentiable functions of the parameters."""
    parameters, static = partition_arrays(system)
    arguments, engine = (parameters, periods, tight), engine_of(system, "auto")

    def revolution(state, arguments) -> Revolution:
        leaves, periods, rtol = arguments
        system = combine_arrays(leaves, static)
        return Revolution(system, state, periods.astype(float) * system.period(), rtol)

    def residual(state, arguments):
        motion = revolution(state, arguments)
        return motion.returned(engine) - state

    # Derivatives of small systems are kernels; of others a few calls of their flow.
    key = (static, engine) if isinstance(engine, EventEngine) else None
    by_kernel = residual if key is None else KernelFunction(residual, (key, "residual"))
    state = implicit_root(by_kernel, given.state, arguments)
    details, observables = given.details, given.observables
    monodromy, forces, seen = differentiable_values(
        revolution, (state, arguments), given.monodromy, observables,
        details.forces, details.times, engine, key,
    )  # fmt: skip
    duration = without_derivative(jnp.sum(observables.duration), system)
    details = details._replace(forces=forces, period=system.period())
    progress = given.progress
    if progress is not None:

        def length(*where):
            return revolution(*where).progress(engine)

        progress = with_derivative_of(length, progress, (state, arguments))
    seen = seen._replace(duration=duration[None])
    return _Values(state, monodromy, details, seen, progress)


def without_derivative(value: Array, system: System) -> Array:
    """Return a value whose derivatives by parameters are not computed: they are NaN."""
    return with_derivative_of(_nan_slope, value, (partition_arrays(system)[0],))


def _nan_slope(parameters):
    return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(parameters)) * jnp.nan


def invalidate(fields: dict, code: Integer, kept: tuple[str, ...] = ("period",)) -> dict:
    """Return an orbit's fields with NaN for floats where a code is not 0."""
    xp = array_namespace(code, fields)
    failed = code != Reason.SUCCESS
    if xp is HOST and not np.any(failed):
        return fields
    others = {"stable": -1, "contacts": -1, "result": code}

    def of(name, value):
        if np.issubdtype(value.dtype, np.inexact) and name not in kept:
            return xp.where(expand_to_lanes(failed, value), xp.nan, value)
        if name in others:
            return xp.where(failed, others[name], value).astype(value.dtype)
        return value

    return {name: of(name, value) for name, value in fields.items()}


def with_failure(orbit: Any, code: Integer, kept: tuple[str, ...] = ("period",)) -> Any:
    """Return an orbit of JAX arrays, or a cycle, with NaN where a code is not 0."""
    concrete = is_concrete(orbit, code)
    orbit, code = to_numpy((orbit, code)) if concrete else (orbit, code)
    names = [f.name for f in dataclasses.fields(orbit) if "unit" in f.metadata]
    fields = invalidate({name: getattr(orbit, name) for name in names}, code, kept)
    return type(orbit)(**to_jax(fields), labels=orbit.labels)
