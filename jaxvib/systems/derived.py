"""Parameters that follow from others by formulas."""

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._nearest import unknown_key
from .following import ordered
from .parameters import System, named_values, parameters, replace
from .printed import Printed


class Variables(Printed):
    """Numbers that belong to no part, for formulas to use: `variables.X` is one's path.

    **Fields:** `values`, whose `names` and `said_units` are those of the paths.
    """

    values: tuple[Array, ...] = eqx.field(
        metadata={"named_by": "names", "units_by": "said_units"}
    )
    names: tuple[str, ...] = eqx.field(static=True)
    said_units: tuple[str, ...] = eqx.field(static=True)


def derived(
    system: System,
    formulas: Mapping[str, str],
    variables: Mapping[str, object] | None = None,
    units: Mapping[str, str] | None = None,
) -> System:
    """Return a system some of whose parameters follow from others.

        jv.derived(
            system,
            {"loads.push.law.amplitude": "m * X * w**2",
             "loads.third.law.frequency": "3 * loads.push.law.frequency"},
            variables={"m": 2.0, "X": 0.01, "w": 5.0},
            units={"m": "kg", "X": "m", "w": "rad/s"},
        )

    Whatever moves a parameter by `replace`, as sweeps, continuation and design do, moves
    what follows from it along, and derivatives know of it; what follows cannot be moved
    itself. Formulas that the system had already are dropped.

    **Arguments:** `formulas`: by the path of what follows; names in them are paths of
    parameters or `variables`, which become parameters `variables.X`, of the `units` given.
    Formulas may use what others set. **Raises:** `ValueError` for an unknown path or name,
    a text that is no formula, formulas that follow from each other in a ring, a value that
    is out of its range, or a system without bodies.
    """
    if not hasattr(system, "formulas"):
        raise ValueError(
            f"formulas for {type(system).__name__}; allowed: an ImpactSystem or a "
            "two_body_impact"
        )
    values = named_values(variables or {})
    for name, value in values.items():
        if not isinstance(value, jax.Array) or value.ndim:
            raise ValueError(f"variables: {name} is not one number; allowed: one number")
    names = tuple(values)
    said = {**dict.fromkeys(names, ""), **(units or {})}
    if strangers := set(said) - set(names):
        raise ValueError(f"units of {sorted(strangers)}; allowed: those of {names}")
    held = Variables(tuple(values.values()), names, tuple(said[name] for name in names))
    system = dataclasses.replace(system, variables=held if names else None, formulas=())
    known = parameters(system)
    for path in formulas:
        if path not in known:
            raise ValueError(unknown_key("parameter", path, known))
        if jnp.ndim(known[path].value):
            raise ValueError(f"{path} is an array; allowed: paths of single numbers")
    rules = ordered(formulas, known)
    return replace(dataclasses.replace(system, formulas=rules), {})
