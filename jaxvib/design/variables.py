"""Design variables: parameters by path, with bounds and a linear or log scale."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..foundation.suggestions import CheckedArguments, unknown_key
from ..foundation.types import AnyArray
from ..linalg import kernel_of
from ..systems.parameters import enclosing_bounds, parameter_at

SCALES = ("linear", "log")


@dataclasses.dataclass(frozen=True)
class Variable(CheckedArguments):
    r"""A design variable, parametrised by a normalised value $s \in [0, 1]$.

    The `scale` "linear" gives $p = l + (h - l) s$, "log" gives $p = l\,(h/l)^s$ for a
    positive parameter that spans decades. Unbounded optimisers use the variable $u$
    with $s = 1 / (1 + e^{-u})$.

    **Raises:** `ValueError` for bounds that do not ascend, that are not positive on a
    log scale, or an unknown scale.

    >>> jv.design.Variable("contact.stiffness", 1e6, 1e9, scale="log").scale
    'log'
    """

    path: str
    low: float
    high: float
    scale: str = "linear"

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(unknown_key("scale", self.scale, SCALES))
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"bounds = {self._bounds()} of {self.path} do not ascend")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"bounds = {self._bounds()} of {self.path} are not above 0")

    def value(self, normalised: Any) -> Any:
        """Return the parameter at a normalised value.

        By the same machine code inside and outside of a program: XLA rounds a product
        and a sum once, NumPy twice, and their powers differ in the last digit.
        """
        formula = _on_log_scale if self.scale == "log" else _on_linear_scale
        return kernel_of(formula)(float(self.low), float(self.high), normalised)

    def normalised(self, value: float) -> float:
        """Return the normalised value of a parameter value."""
        if self.scale == "log":
            return float(np.log(value / self.low) / np.log(self.high / self.low))
        return (value - self.low) / (self.high - self.low)

    def slope(self, normalised: float) -> float:
        """Return the derivative of the parameter by its normalised value."""
        if self.scale == "log":
            return float(self.value(normalised) * np.log(self.high / self.low))
        return self.high - self.low

    def _bounds(self) -> str:
        return f"({self.low:g}, {self.high:g})"


def _on_linear_scale(low, high, normalised):
    return low + (high - low) * normalised


def _on_log_scale(low, high, normalised):
    return low * (high / low) ** normalised


Bounds = Variable | tuple[float, float] | tuple[float, float, str]


def variables_of(
    system: eqx.Module, bounds: Mapping[str, Bounds]
) -> tuple[tuple[Variable, ...], Float[np.ndarray, " variables"]]:
    """Return the variables declared by bounds, and the system's normalised values.

    **Raises:** `ValueError` if there is no path, for an unknown path, or for bounds
    that the parameter does not allow or that do not enclose the system's own value.
    """
    if not bounds:
        raise ValueError("bounds = {} contains no parameter; allowed: one or more")
    found, normalised = [], []
    for path, given in bounds.items():
        parameter = parameter_at(system, path)
        one = given if isinstance(given, Variable) else Variable(path, *given)
        value = float(parameter.value)
        enclosing_bounds(parameter, path, (one.low, one.high), value)
        found.append(one)
        normalised.append(one.normalised(value))
    return tuple(found), np.array(normalised)


def values_at(variables: tuple[Variable, ...], normalised: AnyArray) -> dict[str, Any]:
    """Return the parameters by path at normalised variables, (variables,)."""
    return {one.path: one.value(normalised[i]) for i, one in enumerate(variables)}


def slopes_at(
    variables: tuple[Variable, ...], normalised: AnyArray
) -> Float[np.ndarray, " variables"]:
    """Return the derivatives of the parameters by their normalised values."""
    pairs = zip(variables, normalised, strict=True)
    return np.array([one.slope(s) for one, s in pairs], float)


def normalised_of(free: ArrayLike) -> Array:
    """Return the normalised variables s of unbounded variables u."""
    return jax.nn.sigmoid(free)
