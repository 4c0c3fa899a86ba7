"""Module fields with a physical unit and an allowed range."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .arrays import is_concrete, to_jax
from .environment import require_float64
from .range import Range as Range

# What a field of `quantity` is annotated with: arrays that may be given as numbers. For
# type checkers they are descriptors, whose `__set__` tells what a constructor takes.
if TYPE_CHECKING:
    Numbers = float | np.number | np.ndarray | Array | Sequence["Numbers"]
    Read = TypeVar("Read")

    class _Converted(Generic[Read]):
        def __get__(self, instance: object, owner: type) -> Read: ...
        def __set__(self, instance: object, value: Numbers | Read) -> None: ...

    class Quantity(_Converted[Array]):
        """A field that is read as an array, and given as numbers."""

    class OptionalQuantity(_Converted[Read | None]):
        """The same for one that may be None, `OptionalQuantity[Float[Array, "n"]]`."""

else:
    Quantity, OptionalQuantity = Array, Optional

_MOST_NUMBERS = 2**28  # of an array: 2 GiB, which fits into the memory of most machines


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

    Annotate the field with `jv.Quantity`: it is given as a number, list or array and read
    as a JAX array. An `optional` quantity defaults to `None`, and is then not a
    parameter. One that is not `checked` is left to `check_fields`, whose messages name the
    owner. `default` and `kw_only` are those of `dataclasses.field`.
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


def system_field() -> Any:
    """Declare the field of a result that holds its system, which is no number of it."""
    return eqx.field(metadata={"system": True})


def real_array(value: Any) -> Array:
    """Convert to a JAX array: float64, unless the dtype is floating already."""
    require_float64()
    if not isinstance(value, jax.Array) and not is_concrete(value):
        value = jnp.asarray(value)  # a list with traced numbers
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


def check_ascending(name: str, values: Any, unit: str) -> None:
    """Raise `ValueError` unless an array of numbers ascends."""
    if not is_concrete(values):
        return  # no concrete values under jit or vmap
    values = np.asarray(values)
    ascends = np.diff(values) > 0
    if not ascends.all():
        place = int(np.argmin(ascends))
        raise ValueError(
            f"{name} = {values[place]:g}, {values[place + 1]:g} {unit} do not ascend; "
            f"allowed: ascending {name}"
        )


def check_range(name: str, value: Any, unit: str, allowed: Range) -> None:
    """Raise `ValueError` unless all elements are numbers within `allowed`."""
    if not is_concrete(value):
        return  # no concrete value under jit or vmap, in lists of numbers too
    try:
        values = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} = {value!r} is not an array of numbers") from error
    if values.dtype == object or not np.issubdtype(values.dtype, np.number):
        raise ValueError(f"{name} = {value!r} is not a number; allowed: {allowed}")
    if np.iscomplexobj(values):
        raise ValueError(f"{name} = {value!r} is not real; allowed: {allowed}")
    bad = values[~np.asarray(allowed.contains(values))]
    if bad.size:
        found = f"{bad.flat[0]:g} {unit}".rstrip()
        raise ValueError(f"{name} = {found} is not in {allowed}")


def check_count(name: str, value: int, numbers: int, *, at_least: int = 1) -> None:
    """Raise `ValueError` for fewer than `at_least`, or more than fit into 2 GiB.

    `numbers`: how many numbers one of them has. XLA ends the whole process, without an
    exception, if an array does not fit into memory.
    """
    most = max(_MOST_NUMBERS // max(numbers, 1), at_least)
    check_range(name, value, "", Range(at_least=at_least, at_most=most))


def check_shape(name: str, value: Any, *allowed: tuple[int, ...]) -> None:
    """Raise `ValueError` unless an array has one of the `allowed` shapes."""
    shape = np.shape(value)
    if shape not in allowed:
        words = " or ".join(map(str, allowed))
        raise ValueError(f"{name} has shape {shape}; allowed: {words}")


def check_number(name: str, value: Any, unit: str, allowed: Range) -> None:
    """Raise `ValueError` unless a value is one number within `allowed`."""
    if np.shape(value):
        raise ValueError(f"{name} has shape {np.shape(value)}; allowed: (), a number")
    check_range(name, value, unit, allowed)
