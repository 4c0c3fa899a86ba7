"""Parameters defined by formulas of other parameters."""

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..foundation.suggestions import unknown_key
from ..foundation.units import is_si
from .base.system import Mechanical
from .base.system_repr import SystemRepr
from .parameter_formulas import ordered
from .parameters import System, named_values, parameters, replace


class Variables(SystemRepr):
    """Variables for use in formulas, with paths such as `variables.X`.

    **Fields:** `values`, whose `names` and `declared_units` are those of the paths.
    """

    values: tuple[Array, ...] = eqx.field(
        metadata={"named_by": "names", "units_by": "declared_units"}
    )
    names: tuple[str, ...] = eqx.field(static=True)
    declared_units: tuple[str, ...] = eqx.field(static=True)


def derived(
    system: System,
    formulas: Mapping[str, str],
    variables: Mapping[str, object] | None = None,
    units: Mapping[str, str] | None = None,
) -> System:
    """Return a system with parameters defined by formulas of others.

        jv.derived(
            system,
            {"loads.push.law.amplitude": "m * X * w**2",
             "loads.third.law.frequency": "3 * loads.push.law.frequency"},
            variables={"m": 2.0, "X": 0.01, "w": 5.0},
            units={"m": "kg", "X": "m", "w": "rad/s"},
        )

    Changes by `replace`, as in sweeps, continuation and design, also update the derived
    parameters, and derivatives include them; derived parameters cannot be changed
    themselves. Previous formulas of the system are dropped.

    **Arguments:** `formulas`: by the path of the derived parameter; names in them are
    paths of parameters or `variables`, which become parameters `variables.X` with the
    given `units`, of SI. Formulas may use derived parameters. **Raises:** `ValueError`
    for an unknown path or name, a unit that is not of SI, an invalid formula, a cycle of
    formulas, a value out of its range, or a system without bodies.
    """
    if not isinstance(system, Mechanical):
        raise ValueError(
            f"formulas for {type(system).__name__}; allowed: an ImpactSystem or a "
            "two_body_impact"
        )
    values = named_values(variables or {})
    for name, value in values.items():
        if not isinstance(value, jax.Array) or value.ndim:
            raise ValueError(f"variables: {name} is not one number; allowed: one number")
    names = tuple(values)
    units_of = {**dict.fromkeys(names, ""), **(units or {})}
    if unknown := set(units_of) - set(names):
        raise ValueError(f"units of {sorted(unknown)}; allowed: those of {names}")
    for name, unit in units_of.items():
        if not is_si(unit):
            raise ValueError(f"units: {name} is in {unit}; allowed: units of SI")
    container = Variables(
        tuple(values.values()), names, tuple(units_of[name] for name in names)
    )
    system = dataclasses.replace(
        system, variables=container if names else None, formulas=()
    )
    known = parameters(system)
    for path in formulas:
        if path not in known:
            raise ValueError(unknown_key("parameter", path, known))
        if jnp.ndim(known[path].value):
            raise ValueError(f"{path} is an array; allowed: paths of single numbers")
    rules = ordered(formulas, known)
    return replace(dataclasses.replace(system, formulas=rules), {})
