"""JAX programs whose every operation is rounded at random: how well a result is known.

A program that two compilers translate may differ by the rounding of each operation. Such a
program is run some times here with errors of that size drawn at random: what the results
spread is what rounding alone does, of any condition, and a whole number or a NaN that is
not the same in all runs hangs on rounding.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core

from jaxvib.kernels.ir.elementary import FUNCTIONS

RUNS = 16
# Errors of elementary functions in units of the last place, those of XLA on a CPU as seen
# beside mpmath with `_FAST_TO_COMPILE`, twice: cube roots of large and small numbers, log1p
# within (-0.9, -0.2), hyperbolic functions and powers of 2 at arguments of 30 at most.
# `kernels.elementary` is within 5.
_ELEMENTARY = 8.0
_LARGER = {
    "cbrt": 250.0, "log1p": 200.0, "sinh": 40.0, "cosh": 40.0, "exp2": 40.0,
    "atanh": 250.0, "erfc": 1000.0,
}  # fmt: skip
_FUNCTIONS = frozenset({*FUNCTIONS, "erf", "erfc"})
_ARITHMETIC = frozenset(
    {"add", "add_any", "sub", "mul", "div", "square", "integer_pow", "sqrt", "rsqrt"}
)
# Their results may be added unrounded, by one multiply-add.
_PRODUCTS = frozenset({"mul", "square", "integer_pow", "dot_general"})
_SUMS = frozenset({"add", "add_any", "sub"})
# Their results may be 0 for their smallness.
_UNDERFLOWING = (
    _FUNCTIONS | (_PRODUCTS - {"dot_general"}) | {"div", "convert_element_type", "rem"}
)  # fmt: skip
_TOTALS = frozenset({"reduce_sum", "cumsum", "dot_general"})
# Those of floats that may have an error, with `_TOTALS`.
_INEXACT = (
    _FUNCTIONS | _ARITHMETIC
    | {"reduce_prod", "cumprod", "nextafter", "rem", "convert_element_type"}
)  # fmt: skip
_CALLS = frozenset(
    {"jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "checkpoint"}
)
_MOVES = frozenset(
    {
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "expand_dims",
        "transpose",
        "concatenate",
        "rev",
        "slice",
        "pad",
        "split",
        "stack",
        "copy",
        "neg",
        "select_n",
    }
)


# Each program runs once. XLA's emitters of fused loops take half of the time to compile it.
_FAST_TO_COMPILE = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
}


def known(function, arguments):
    """Return a function's results over lanes, how far they spread, and what is sure.

    Lanes are on the arguments' first axis. For each result: its value as JAX rounds it, the
    width of all runs' values where they are finite numbers, and where these are, or all
    runs agree.
    """
    closed = jax.make_jaxpr(function)(*(argument[0] for argument in arguments))

    def lane(run, *arguments):
        given = [(argument, False) for argument in arguments]
        return [value for value, _ in _Rounding(run).closed(closed, given)]

    lanes = len(arguments[0])
    runs = np.repeat(np.arange(RUNS + 1), lanes)
    tiled = [np.concatenate([argument] * (RUNS + 1)) for argument in arguments]
    results = jax.jit(jax.vmap(lane), compiler_options=_FAST_TO_COMPILE)(runs, *tiled)
    return [_spread(np.asarray(r).reshape(RUNS + 1, lanes, *r.shape[1:])) for r in results]


def _spread(values: np.ndarray):
    first = values[0]
    if values.dtype.kind != "f":
        same = (values == first).all(axis=0)
        return first, np.zeros(first.shape), same
    finite = np.isfinite(values).all(axis=0)
    with np.errstate(invalid="ignore"):
        width = np.where(finite, values.max(axis=0) - values.min(axis=0), 0.0)
        same = ((values == first) | (np.isnan(values) & np.isnan(first))).all(axis=0)
    return first, width, finite | same


class _Rounding:
    """Goes through a jaxpr, with pairs of a value and whether it may be unrounded yet."""

    def __init__(self, run):
        self.run, self._numbers = run, itertools.count(1)

    def closed(self, closed, given):
        if hasattr(closed, "consts"):
            return self._evaluate(closed.jaxpr, closed.consts, given)
        return self._evaluate(closed, (), given)

    def _evaluate(self, jaxpr, constants, given):
        known = dict(zip(jaxpr.constvars, _plain(map(jnp.asarray, constants)), strict=True))
        known.update(zip(jaxpr.invars, given, strict=True))

        def read(variable):
            if isinstance(variable, core.Literal):
                return jnp.asarray(variable.val, variable.aval.dtype), False
            return known[variable]

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(v) for v in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _equation(self, equation, given):
        name, parameters = equation.primitive.name, equation.params
        if name in _CALLS:
            keys = ("jaxpr", "call_jaxpr", "fun_jaxpr")
            return self.closed(next(parameters[k] for k in keys if k in parameters), given)
        if name in ("while", "scan", "cond"):
            values = [value for value, _ in given]
            return _plain(getattr(self, f"_{name}")(parameters, values))
        if name == "custom_linear_solve":
            counts = parameters["const_lengths"]
            first = counts.matvec + counts.vecmat
            right = given[first + counts.solve + counts.transpose_solve :]
            solve = parameters["jaxprs"].solve
            return self.closed(solve, [*given[first : first + counts.solve], *right])
        return self._rounded(equation, given)

    # Loops and branches round the values that they carry.

    def _values(self, closed, *values):
        return tuple(value for value, _ in self.closed(closed, _plain(values)))

    def _while(self, parameters, values):
        first = parameters["cond_nconsts"]
        second = first + parameters["body_nconsts"]
        asked, used, start = values[:first], values[first:second], values[second:]
        return lax.while_loop(
            lambda carry: self._values(parameters["cond_jaxpr"], *asked, *carry)[0],
            lambda carry: self._values(parameters["body_jaxpr"], *used, *carry),
            tuple(start),
        )

    def _scan(self, parameters, values):
        if "num_consts" in parameters:
            constants, carried = parameters["num_consts"], parameters["num_carry"]
        else:
            parts = parameters["ft_in"].unpack()
            constants, carried = len(parts[0]), len(parts[1])
        used, rest = values[:constants], values[constants:]

        def turn(carry, row):
            found = self._values(parameters["jaxpr"], *used, *carry, *row)
            return found[:carried], found[carried:]

        last, rows = lax.scan(
            turn, tuple(rest[:carried]), tuple(rest[carried:]),
            length=parameters["length"], reverse=parameters["reverse"],
        )  # fmt: skip
        return *last, *rows

    def _cond(self, parameters, values):
        branches = [
            lambda *values, branch=branch: self._values(branch, *values)
            for branch in parameters["branches"]
        ]
        return lax.switch(values[0], branches, *values[1:])

    # Single operations.

    def _rounded(self, equation, given):
        name, values = equation.primitive.name, [value for value, _ in given]
        if name in ("lu", "cholesky", "triangular_solve"):  # stable by small changes of A
            matrix = values[0]
            size = jnp.max(jnp.abs(matrix), axis=0, keepdims=True) * matrix.shape[0]
            values[0] = self._shaken(name, matrix, salted=[size])
        if name == "bitcast_convert_type" and _is_float(values[0]):
            values[0] = self._shaken(name, values[0])
        results = equation.primitive.bind(*values, **equation.params)
        results = results if equation.primitive.multiple_results else [results]
        moved = name in _MOVES and any(product for _, product in given)
        return [
            (self._result(equation, values, given, result), moved or name in _PRODUCTS)
            if _is_float(result) else (result, False)
            for result in results
        ]  # fmt: skip

    def _result(self, equation, values, given, result):
        """Return an operation's result with the errors that it may have."""
        name = equation.primitive.name
        if name in _TOTALS:
            terms = equation.primitive.bind(*map(jnp.abs, values), **equation.params)
            return self._shaken(name, result, values, salted=[terms])
        floats = [v for v in values if _is_float(v)]
        if name not in _INEXACT or (name == "convert_element_type" and not floats):
            return result
        products = [v for v, product in given if product and name in _SUMS]
        if name not in ("reduce_prod", "cumprod"):  # scalars may stand beside arrays
            floats, products = (
                [jnp.broadcast_to(v, result.shape) for v in each]
                for each in (floats, products)
            )
        return self._shaken(name, result, floats, salted=products)

    def _shaken(self, name, result, values=(), salted=()):
        """Return a result with the errors of an operation on values.

        `salted`: sizes of which it has errors that those of no other operation equal.
        """
        return jax.pure_callback(
            functools.partial(_with_errors, name, next(self._numbers), len(salted)),
            jax.ShapeDtypeStruct(result.shape, result.dtype),
            self.run, result, *salted, *values, vmap_method="broadcast_all",
        )  # fmt: skip


def _with_errors(name, number, sizes, run, result, *others):
    """Return results with errors drawn at random; those of run 0 as they are."""
    run, result, *others = map(np.asarray, (run, result, *others))
    salted, values = others[:sizes], others[sizes:]
    lanes = run.shape
    run = run.reshape(*lanes, *[1] * (result.ndim - run.ndim))
    with np.errstate(all="ignore"):
        errors, factor, any_sign, small = _errors(name, result, values, len(lanes))
    limits = np.finfo(result.dtype)
    own, other = _drawn(result, run, 0), _drawn(result, run, number)
    with np.errstate(all="ignore"):
        error = own * errors * result
        for size in salted:
            error = error + other * (factor * size)
        shaken = result + error * limits.eps
        shaken = np.where(np.isfinite(error), shaken, result)
        shaken = np.where(any_sign & (other < 0), -shaken, shaken)
    field = np.abs(result).view(f"i{result.dtype.itemsize}")
    least = limits.tiny.view(field.dtype)
    small = (field < least) & (small | (field > 0))
    drawn = np.copysign(np.where(own < 0, 0, limits.tiny), result)
    shaken = np.where(small, drawn, shaken)
    return np.where(run == 0, result, shaken).astype(result.dtype)


def _errors(name, result, values, lanes):
    """Return the errors of an operation's result and what else can happen to it.

    In units of the last place; the factor of the sizes that are salted; and where it may
    have either sign, or be 0 for its smallness. `lanes`: how many axes count lanes.
    """
    if name in _TOTALS:
        return 0.0, max(v[(0,) * lanes].size for v in values), result == 0, False
    if name == "bitcast_convert_type":
        return 0.0, 1, np.isnan(result), False
    if name in ("reduce_prod", "cumprod"):
        return values[0][(0,) * lanes].size, 1, False, True
    small = False
    if name in _UNDERFLOWING and values:  # XLA takes the smallest numbers for 0
        small = np.logical_and.reduce([v != 0 for v in values])
    if name in _FUNCTIONS:
        return _LARGER.get(name, _ELEMENTARY), 1, False, small
    if name not in {*_ARITHMETIC, "convert_element_type"}:
        return 0.0, 1, False, small
    whole = np.logical_and.reduce([_whole(v) for v in (*values, result)])
    return np.where(whole, 0.0, 1.0), 1, False, small


def _drawn(value, run, salt):
    """Return numbers within [-1, 1] that hang on the bits of values.

    Two values of the same bits have the same error, so that x - x stays 0.
    """
    mixed = value.view(f"u{value.dtype.itemsize}").astype(np.uint64)
    mixed = mixed ^ (run.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    mixed ^= np.uint64(salt * 0xD1B54A32D192ED03 % 2**64)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # splitmix64
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)) * 2.0**-52 - 1


def _plain(values):
    return [(value, False) for value in values]


def _is_float(value) -> bool:
    return jnp.issubdtype(value.dtype, jnp.floating)


def _whole(value):
    """Return where floats are whole numbers, whose sums and products are exact."""
    return (np.floor(value) == value) & (np.abs(value) < 1 / np.finfo(value.dtype).eps)
