"""Physical quantities: the one place where a unit and an allowed range are declared."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._arrays import is_known, on_device
from ._environment import require_float64
from ._range import Range as Range


def quantity(
    name: str,
    unit: str,
    description: str = "",
    *,
    optional=False,
    checked=True,
    default: Any = dataclasses.MISSING,
    kw_only=False,
    **bounds: float,
):
    """Declare a module field of real numbers in `unit` within `Range(**bounds)`.

    An `optional` one is `None` unless it is given, and is then no parameter. One that is
    not `checked` is left to `check_fields`, which knows whose it is. `default`, `kw_only`:
    as of any field of a dataclass.
    """
    allowed = Range(**bounds)

    def convert(value):
        if optional and value is None:
            return None
        if checked:
            check_range(name, value, unit, allowed)
        elif not isinstance(value, jax.Array) and np.asarray(value).dtype.kind not in "iuf":
            return value  # no real number
        return real_array(value)

    metadata = {"name": name, "unit": unit, "description": description, "range": allowed}
    default = None if optional else default
    return eqx.field(converter=convert, metadata=metadata, default=default, kw_only=kw_only)


def reported(description: str, unit: str = "", axes: tuple[str, ...] = ()):
    """Declare a field of a result: what it means, its unit and the names of its axes."""
    metadata = {"description": description, "unit": unit, "axes": axes}
    return eqx.field(metadata=metadata)


def real_array(value):
    """Return numbers as an array, of float64 unless they have a real type of their own."""
    require_float64()
    if not isinstance(value, jax.Array):
        value = np.asarray(value)
        floating = np.issubdtype(value.dtype, np.floating)
        return jax.device_put(value if floating else value.astype(float))
    # Given outright even if it is its own: that makes a weak type a strong one.
    return jnp.asarray(
        value, value.dtype if jnp.isdtype(value.dtype, "real floating") else float
    )


def floats(name: str, values):
    """Return numbers as an array of floats, from a list of them (traced ones too) as well.

    **Raises:** `ValueError` for what is no array of numbers.
    """
    require_float64()
    try:
        if is_known(values):  # numpy's are made JAX's without a program for each shape
            values = np.asarray(values)
            if values.dtype.kind in "biu":
                values = values.astype(float)
            if values.dtype.kind in "fc":
                return on_device(values)
        values = jnp.asarray(values)
        inexact = jnp.issubdtype(values.dtype, jnp.inexact)
        return jnp.asarray(values, values.dtype if inexact else float)
    except (TypeError, ValueError) as error:
        shown = f"{values!r}"[:200]
        raise ValueError(f"{name} = {shown} is no array of numbers") from error


def check_fields(module: eqx.Module, whose: str) -> None:
    """Raise `ValueError`, saying whose it is, unless each field is within its range."""
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        if "range" in field.metadata and value is not None:
            check_range(
                f"{whose}: {field.name}",
                value,
                field.metadata["unit"],
                field.metadata["range"],
            )


def check_range(name, value, unit, allowed: Range) -> None:
    """Raise `ValueError` unless each element is a number within `allowed`."""
    if isinstance(value, jax.core.Tracer):
        return  # under jit or vmap there is no number to look at yet
    values = np.asarray(value)
    if values.dtype == object or not np.issubdtype(values.dtype, np.number):
        raise ValueError(f"{name} = {value!r} is not a number; allowed: {allowed}")
    if np.iscomplexobj(values):
        raise ValueError(f"{name} = {value!r} is not real; allowed: {allowed}")
    bad = values[~np.asarray(allowed.contains(values))]
    if bad.size:
        found = f"{bad.flat[0]:g} {unit}".rstrip()
        raise ValueError(f"{name} = {found} is not in {allowed}")
