"""Module fields with a physical unit and an allowed range."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .arrays import is_concrete, to_jax
from .environment import require_float64
from .range import Range as Range


def quantity(
    name: str,
    unit: str,
    description: str = "",
    *,
    optional: bool = False,
    checked: bool = True,
    default: Any = dataclasses.MISSING,
    kw_only: bool = False,
    **bounds: float,
) -> Any:
    """Declare a module field of real numbers in `unit` within `Range(**bounds)`.

    An `optional` quantity defaults to `None`, and is then not a parameter. One that is
    not `checked` is left to `check_fields`, whose messages name the owner. `default`
    and `kw_only` are those of `dataclasses.field`.
    """
    allowed = Range(**bounds)

    def convert(value):
        if optional and value is None:
            return None
        if checked:
            check_range(name, value, unit, allowed)
        elif not isinstance(value, jax.Array) and np.asarray(value).dtype.kind not in "iuf":
            return value  # not a real number
        return real_array(value)

    metadata = {"name": name, "unit": unit, "description": description, "range": allowed}
    default = None if optional else default
    return eqx.field(converter=convert, metadata=metadata, default=default, kw_only=kw_only)


def result_field(description: str, unit: str = "", axes: tuple[str, ...] = ()) -> Any:
    """Declare a field of a result with its description, unit and axis names."""
    metadata = {"description": description, "unit": unit, "axes": axes}
    return eqx.field(metadata=metadata)


def real_array(value: Any) -> Array:
    """Convert to a JAX array: float64, unless the dtype is floating already."""
    require_float64()
    if not isinstance(value, jax.Array):
        value = np.asarray(value)
        floating = np.issubdtype(value.dtype, np.floating)
        return jax.device_put(value if floating else value.astype(float))
    # The dtype is given even if unchanged: that makes a weak type strong.
    return jnp.asarray(
        value, value.dtype if jnp.isdtype(value.dtype, "real floating") else float
    )


def floats(name: str, values: Any) -> Array:
    """Convert numbers, or a list of (traced) numbers, to a floating JAX array.

    **Raises:** `ValueError` for anything else.
    """
    require_float64()
    try:
        if is_concrete(values):  # no compilation for each shape
            values = np.asarray(values)
            if values.dtype.kind in "biu":
                values = values.astype(float)
            if values.dtype.kind in "fc":
                return to_jax(values)
        values = jnp.asarray(values)
        inexact = jnp.issubdtype(values.dtype, jnp.inexact)
        return jnp.asarray(values, values.dtype if inexact else float)
    except (TypeError, ValueError) as error:
        shown = f"{values!r}"[:200]
        raise ValueError(f"{name} = {shown} is not an array of numbers") from error


def check_fields(module: eqx.Module, whose: str) -> None:
    """Raise `ValueError`, naming `whose` field it is, unless all are in range."""
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        if "range" in field.metadata and value is not None:
            check_range(
                f"{whose}: {field.name}",
                value,
                field.metadata["unit"],
                field.metadata["range"],
            )


def check_range(name: str, value: Any, unit: str, allowed: Range) -> None:
    """Raise `ValueError` unless all elements are numbers within `allowed`."""
    if isinstance(value, jax.core.Tracer):
        return  # no concrete value under jit or vmap
    values = np.asarray(value)
    if values.dtype == object or not np.issubdtype(values.dtype, np.number):
        raise ValueError(f"{name} = {value!r} is not a number; allowed: {allowed}")
    if np.iscomplexobj(values):
        raise ValueError(f"{name} = {value!r} is not real; allowed: {allowed}")
    bad = values[~np.asarray(allowed.contains(values))]
    if bad.size:
        found = f"{bad.flat[0]:g} {unit}".rstrip()
        raise ValueError(f"{name} = {found} is not in {allowed}")
