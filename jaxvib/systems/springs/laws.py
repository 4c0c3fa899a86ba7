"""Force laws of springs and dampers."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ...foundation.arrays import host_namespace
from ...foundation.quantity import Quantity, check_ascending, quantity
from ..base.event_form import SpringForm, Stop
from ..base.law import SpringLaw
from ..parameter_formulas import ARRAY_FUNCTIONS, expression
from ..parameters import as_given, named_values


class PolynomialLaw(SpringLaw):
    r"""The force $F(e) = c_1 e + c_2 e^2 + \dots + c_m e^m$ of an elongation $e$.

    A cubic spring is `PolynomialLaw([0, 0, c_3])`, a quintic one has five coefficients.
    **Fields:** `coefficients` $c_k$, in N/m^k, shape (m,). **Raises:** `ValueError` unless
    they are one or more numbers.

    >>> float(jv.PolynomialLaw([100.0, 0.0, 1e4]).force(0.1))
    20.0
    """

    coefficients: Float[Quantity, " m"] = quantity(
        "coefficients", "N/m^k", "coefficients of e, e^2, e^3 ..."
    )
    jumps = False

    def __check_init__(self) -> None:
        _check_row(self.coefficients)

    def event_form(self) -> SpringForm:
        """Return the form of the force for event-driven integration."""
        return SpringForm(self.coefficients)

    def force(self, elongation: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the force, N, at an elongation, m."""
        return _polynomial(self.coefficients, jnp.asarray(elongation))

    def energy(self, elongation: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at an elongation, m."""
        elongation = jnp.asarray(elongation)
        powers = jnp.arange(2.0, 2.0 + self.coefficients.shape[0])
        return elongation * _polynomial(self.coefficients / powers, elongation)


class PolynomialDamperLaw(SpringLaw):
    r"""The force $F(\dot e) = d_1 \dot e + d_2 \dot e |\dot e| + d_3 \dot e^3 + \dots$.

    Even powers have the sign of the rate, so that each is dissipative. **Fields:**
    `coefficients` $d_k$, in N (s/m)^k, shape (m,). **Raises:** `ValueError` unless they
    are one or more numbers.

    >>> law = jv.PolynomialDamperLaw([2.0, 0.5])
    >>> float(law.force(0.0, 2.0))
    6.0
    """

    coefficients: Float[Quantity, " m"] = quantity(
        "coefficients", "N (s/m)^k", "coefficients of the rate and its powers"
    )
    jumps = False

    def __check_init__(self) -> None:
        _check_row(self.coefficients)

    def force(
        self, elongation: Float[ArrayLike, "*n"], rate: Float[ArrayLike, "*n"]
    ) -> Float[Array, "*n"]:
        """Return the force, N, at a rate, m/s, independent of the elongation."""
        rate = jnp.asarray(rate)
        # With the sign of the rate as a factor, the slope at rest would be 0, not d_1.
        total = jnp.zeros_like(rate)
        for coefficient in self.coefficients[::-1]:
            total = total * jnp.abs(rate) + coefficient
        return total * rate


class PiecewiseLinearLaw(SpringLaw):
    r"""A piecewise linear force with slope $k_i$ between elongations $b_i$, $b_{i+1}$.

    $$F(e) = k_0 e + \sum_i (k_i - k_{i-1}) [\max(e - b_i, 0) - \max(-b_i, 0)],$$

    0 at rest; a dead zone has a slope of 0 there. **Fields:** `stiffness`: all $k_i$,
    in N/m, shape (m,); `breaks`: $b_1 < b_2 < \dots$, in m, shape (m - 1,). **Raises:**
    `ValueError` for breaks that do not ascend, or inconsistent shapes.

    >>> float(jv.PiecewiseLinearLaw([0.0, 100.0], breaks=[0.01]).force(0.03))
    2.0
    """

    stiffness: Float[Quantity, " m"] = quantity("stiffness", "N/m", "slopes of the force")
    breaks: Float[Quantity, " m-1"] = quantity(
        "breaks", "m", "elongations where the slope changes"
    )
    jumps = False

    def __check_init__(self) -> None:
        count, changes = jnp.shape(self.stiffness), jnp.shape(self.breaks)
        if len(count) != 1 or changes != (count[0] - 1,):
            raise ValueError(
                f"stiffness, breaks have shapes {count}, {changes}; allowed: (m,), (m - 1,)"
            )
        check_ascending("breaks", self.breaks, "m")

    def contradicts(self) -> Any:
        """Return whether `breaks` do not ascend, of one or of a batch."""
        xp = host_namespace(self.breaks)
        return xp.any(xp.diff(self.breaks) <= 0, axis=-1)

    def event_form(self) -> SpringForm:
        """Return the form of the force for event-driven integration."""
        corners = zip(self.breaks, jnp.diff(self.stiffness), strict=True)
        return SpringForm(self.stiffness[:1], tuple(Stop(*corner) for corner in corners))

    def force(self, elongation: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the force, N, at an elongation, m."""
        e = jnp.asarray(elongation)
        total = self.stiffness[0] * e
        changes = jnp.diff(self.stiffness)
        for change, place in zip(changes, self.breaks, strict=True):
            over = jnp.where(e > place, e - place, 0) - jnp.maximum(-place, 0)
            total = total + change * over
        return total

    def energy(self, elongation: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at an elongation, m."""
        e = jnp.asarray(elongation)
        total = self.stiffness[0] * e**2 / 2
        changes = jnp.diff(self.stiffness)
        for change, place in zip(changes, self.breaks, strict=True):
            strained = jnp.maximum(-place, 0)  # over the break at rest
            over = jnp.where(e > place, e - place, 0)
            total = total + change * ((over**2 - strained**2) / 2 - strained * e)
        return total


class FunctionLaw(SpringLaw):
    r"""A user-defined force $F(e, \dot e, p)$ with named parameters.

    **Fields:** `function`: from an elongation $e$ (m), its rate (m/s) and the
    parameters to the force (N), in JAX; `parameters`: numbers, arrays or pytrees of
    them by name, which can be swept and differentiated. Discontinuous forces are
    detected; differentiating them is an error.

    >>> law = jv.FunctionLaw(lambda e, rate, p: p["k"] * jnp.sin(e), {"k": 3.0})
    >>> round(float(law.force(0.1, 0.0)), 4)
    0.2995
    """

    names: tuple[str, ...] = eqx.field(static=True)
    values: tuple[Any, ...] = eqx.field(metadata={"named_by": "names"})
    function: Callable = eqx.field(static=True)

    def __init__(self, function: Callable, parameters: Mapping[str, object]):
        values = named_values(parameters)
        self.names, self.values = tuple(values), tuple(values.values())
        self.function = function

    def force(self, elongation: Array, rate: Array) -> Array:
        """Return the force, N, at an elongation, m, and its rate, m/s."""
        given = as_given(self.names, self.values)
        return jnp.asarray(self.function(elongation, rate, given), float)


def _polynomial(coefficients, x):
    total = jnp.zeros_like(x)
    for coefficient in coefficients[::-1]:
        total = (total + coefficient) * x
    return total


def _check_row(row) -> None:
    if jnp.ndim(row) != 1 or not jnp.size(row):
        shape = jnp.shape(row)
        raise ValueError(f"coefficients has shape {shape}; allowed: (1,) or longer")


MOTION = ("elongation", "rate")


def formula_law(text: str) -> tuple[FunctionLaw, dict[str, str]]:
    """Return a spring law for a formula, and the formulas of its parameters.

    In the formula, `elongation`, m, and `rate`, m/s, are the motion; other names are
    those of variables or paths of parameters, as in `derived`. For each of them the law
    has a parameter, initially 1, named by the path with `-` for each dot, and returned
    with its formula for `derived`. **Raises:** `ValueError` for an invalid formula.

    >>> law, follows = jaxvib.systems.springs.formula_law("moment * sin(elongation)")
    >>> follows
    {'moment': "'moment'"}
    >>> round(float(law.force(0.1, 0.0)), 4)
    0.0998
    """
    names = [name for name in expression(text).names if name not in MOTION]
    own = {name: name.replace(".", "-") for name in names}
    law = FunctionLaw(_Formula(text, tuple(own.items())), dict.fromkeys(own.values(), 1.0))
    return law, {short: f"'{name}'" for name, short in own.items()}


@dataclasses.dataclass(frozen=True)
class _Formula:
    """A formula as a function; equal ones are compiled once."""

    text: str
    parameters: tuple[tuple[str, str], ...]

    def __call__(self, elongation, rate, given):
        values = {name: given[short] for name, short in self.parameters}
        motion = dict(zip(MOTION, (elongation, rate), strict=True))
        return expression(self.text).value(values | motion, ARRAY_FUNCTIONS)
