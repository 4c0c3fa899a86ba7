"""Programs put together at random.

`program(tree)`: loops and branches in each other, three deep. `operations(seed)`: up to
twelve of some hundred operations on floats, whole numbers and booleans, in loops and
branches too.
"""

import random

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from jax import lax


def program(tree):
    """Return a function of (x, n) that a tree of nodes describes."""
    if tree is None:
        return lambda x, n: (0.5 * x + jnp.sin(x) - 0.25, n)
    kind, first, second = tree
    one, other = program(first), program(second)
    if kind == "then":
        return lambda x, n: other(*one(x, n))
    if kind == "branch":
        return lambda x, n: lax.cond(x > 0.1, one, other, x, n)
    if kind == "scan":
        return lambda x, n: lax.scan(lambda c, r: (one(c[0] + r, c[1]), c[0]), (x, n),
                                     jnp.array([0.5, -0.25]))[0]  # fmt: skip

    def loop(x, n):
        def turn(carry):
            x, n, left = carry
            x, n = one(x, n)
            return x, n + 1, left - 1

        x, n, _ = lax.while_loop(
            lambda c: (c[2] > 0) & (jnp.abs(c[0]) < 4), turn, (x, n, n % 4)
        )
        return other(x, n)

    return loop


trees = st.recursive(
    st.none(),
    lambda inner: st.tuples(
        st.sampled_from(["then", "branch", "scan", "loop"]), inner, inner
    ),
    max_leaves=6,
)


def _bounded(function):
    return lambda x: function(jnp.clip(x, -30, 30))


def _flat(function):
    return lambda x: function(jnp.ravel(x))


def _alike(function):
    """Return a function of two numbers that `lax` wants of one shape and dtype."""

    def of_two(x, y):
        kind = jnp.result_type(x, y)
        return function(*jnp.broadcast_arrays(jnp.asarray(x, kind), jnp.asarray(y, kind)))

    return of_two


def _square_matrix(x):
    """Return nine moderate numbers, those of an array the first."""
    numbers = jnp.concatenate([jnp.ravel(x).astype(float), jnp.arange(9.0) + 0.5])[:9]
    numbers = jnp.where(jnp.isfinite(numbers), jnp.clip(numbers, -10, 10), 1.0)
    return numbers.reshape(3, 3)


def _of_matrix(function):
    return lambda x: function(_square_matrix(x))


NODES = np.array([0.3, -1.2, 2.5, 0.0, 7.0, -3.3, 1e3])
OF_A_FLOAT = [
    jnp.sin, jnp.cos, jnp.tan, jnp.tanh, jnp.arcsinh, jnp.arccosh,
    jax.scipy.special.erf, jax.scipy.special.erfc, jnp.arctanh,
    jnp.arcsin, jnp.arccos, jnp.arctan, jnp.log,
    jnp.log2, jnp.log10, jnp.log1p, jnp.sqrt, jnp.cbrt, lax.rsqrt, jnp.abs, jnp.sign,
    jnp.floor, jnp.ceil, jnp.round, jnp.trunc, jnp.square, jnp.reciprocal, jnp.isnan,
    jnp.isfinite, jnp.isinf, jnp.signbit, jnp.sinc, jnp.nan_to_num, jax.nn.sigmoid,
    jax.nn.relu, jax.nn.softplus, jax.nn.gelu, jax.scipy.special.logsumexp,
    *map(_bounded, (jnp.exp, jnp.exp2, jnp.expm1, jnp.sinh, jnp.cosh)),
    lambda x: x**3, lambda x: x**-2, lambda x: jnp.frexp(x)[0], lambda x: jnp.modf(x)[0],
    lambda x: jax.nn.softmax(jnp.atleast_1d(x)), lambda x: jnp.unwrap(jnp.atleast_1d(x)),
    _of_matrix(lambda a: a @ a), _of_matrix(jnp.linalg.det), _of_matrix(jnp.trace),
    _of_matrix(lambda a: jnp.linalg.solve(a + 15 * jnp.eye(3), a[0])),
    _of_matrix(lambda a: jnp.linalg.inv(a + 15 * jnp.eye(3))),
    _of_matrix(lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(3))),
    _of_matrix(lambda a: jnp.einsum("ij,kj->ik", a, a)),
    lambda x: jnp.interp(x, jnp.arange(7.0), NODES),
    lambda x: jnp.searchsorted(jnp.sort(NODES), x.astype(float)),
]  # fmt: skip
OF_TWO_FLOATS = [
    jnp.add, jnp.subtract, jnp.multiply, jnp.true_divide, jnp.maximum, jnp.minimum,
    jnp.fmax, jnp.fmin, jnp.arctan2, jnp.hypot, jnp.remainder, jnp.fmod, jnp.floor_divide,
    jnp.copysign, jnp.nextafter, jnp.logaddexp, jnp.heaviside, jax.scipy.special.xlogy,
    lambda x, y: jnp.power(x, jnp.clip(y, -5, 5)), lambda x, y: jnp.divmod(x, y)[1],
    lambda x, y: jnp.ldexp(x, jnp.clip(y, -5, 5).astype(int)),
    lambda x, y: jnp.clip(x, -jnp.abs(y), jnp.abs(y)),
]  # fmt: skip
OF_TWO = [
    jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal, jnp.equal, jnp.not_equal,
    lambda x, y: jnp.where(x > 0, x, y), lambda x, y: jnp.where(y, y, x),
]  # fmt: skip
OF_A_WHOLE_NUMBER = [
    jnp.negative, jnp.abs, jnp.sign, jnp.invert, jnp.square, jnp.sqrt, lambda x: x**3,
    lambda x: jnp.asarray(NODES)[x],
]  # fmt: skip
OF_TWO_WHOLE_NUMBERS = [
    jnp.add, jnp.subtract, jnp.multiply, jnp.floor_divide, jnp.remainder, jnp.fmod,
    jnp.bitwise_and, jnp.bitwise_or, jnp.bitwise_xor, jnp.left_shift, jnp.right_shift,
    jnp.maximum, jnp.minimum, jnp.true_divide,
    *map(_alike, (lax.div, lax.rem, lax.shift_right_logical)),
    lambda x, y: jnp.power(x, jnp.abs(y) % 5),
]  # fmt: skip
OF_AN_ARRAY = [
    jnp.sum, jnp.prod, jnp.max, jnp.min, jnp.mean, jnp.var, jnp.std, jnp.argmax, jnp.argmin,
    jnp.any, jnp.all, jnp.ptp, jnp.median, jnp.nansum, jnp.nanmax, jnp.count_nonzero,
    jnp.cumsum, jnp.cumprod, jnp.flip, jnp.ravel, lambda x: x.T, lambda x: jnp.roll(x, 1),
    *map(_flat, (jnp.sort, jnp.argsort, lax.cummax, lax.cummin, jnp.diff, jnp.trapezoid)),
    _flat(lambda x: lax.cumsum(x, reverse=True)), _flat(lambda x: jnp.repeat(x, 2)),
    _flat(lambda x: lax.associative_scan(jnp.add, x)), lambda x: jnp.pad(x, 1),
    _flat(lambda x: jnp.unique(x, size=3)), _flat(lambda x: jnp.polyval(x, 0.3)),
    _flat(lambda x: jnp.cross(x[:3], x[:3][::-1])), lambda x: jnp.outer(x, x)[:3, :3],
    lambda x: jnp.tril(jnp.atleast_2d(x)), lambda x: jnp.sort(x, axis=0),
    lambda x: jnp.sum(x, axis=0), lambda x: jnp.max(x, axis=-1),
]  # fmt: skip
OF_AN_ARRAY_AND_A_PLACE = [
    lambda x, i: x[i], lambda x, i: jnp.take(x, i, mode="clip"),
    lambda x, i: jnp.take(x, i, mode="wrap"), lambda x, i: jnp.take(x, i, mode="fill"),
    lambda x, i: lax.dynamic_slice(x, (jnp.ravel(i)[0],), (max(1, x.size // 2),)),
    lambda x, i: lax.dynamic_update_slice(x, x[: max(1, x.size // 2)], (jnp.ravel(i)[0],)),
    lambda x, i: x.at[i].set(x[0]), lambda x, i: x.at[i].add(jnp.ones((), x.dtype)),
    lambda x, i: x.at[i].multiply(2), lambda x, i: x.at[i].max(x[0]),
    lambda x, i: x.at[i].get(mode="fill", fill_value=0),
]  # fmt: skip
KINDS = [
    "float64", "float32", "bool",
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
]  # fmt: skip
# How often operations of a table are drawn, and the kinds of what they take: float,
# integer, bool.
TABLES = (
    (26, OF_A_FLOAT, ("f",)),
    (18, OF_TWO_FLOATS, ("f", "fi")),
    (9, OF_TWO, ("fib", "fib")),
    (3, OF_A_WHOLE_NUMBER, ("i",)),
    (9, OF_TWO_WHOLE_NUMBERS, ("i", "i")),
    (12, OF_AN_ARRAY, ("fi",)),
    (4, OF_AN_ARRAY_AND_A_PLACE, ("fib", "i")),
)
REFUSED = (
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
)  # by JAX: no such operation on these


def operations(seed: int):
    """Return a random function of one lane, and the (shape, dtype)s of what it takes."""
    draw = random.Random(seed)
    kinds = ["float64"] * 5 + ["float32", "int32", "int64", "bool", "uint8", "int8"]
    shapes = [(), (), (2,), (3,), (2, 3), (4,), (1,), (3, 3)]
    taken = [(draw.choice(shapes), draw.choice(kinds)) for _ in range(draw.randint(1, 3))]
    seeds = [draw.randrange(1 << 30) for _ in range(draw.randint(3, 12))]

    def function(*arguments):
        return tuple(_grown(seeds, arguments)[len(arguments) :][-6:]) or arguments

    return function, taken


def _grown(seeds, values, depth=0) -> list:
    """Return values, and what operations on them and each other give."""
    pool = list(values)
    for seed in seeds:
        try:
            pool.extend(_step(random.Random(seed), pool, depth))
        except REFUSED:
            continue
    return pool


def _picked(draw, pool, kinds="fib"):
    found = [x for x in pool if x.dtype.kind.replace("u", "i") in kinds]
    if not found:
        raise ValueError("there is none")
    return draw.choice(found[-6:] if draw.random() < 0.7 else found)


def _step(draw, pool, depth):
    if depth < 2 and draw.random() < 0.13:
        return draw.choice([_scanned, _looped, _branched])(draw, pool, depth)
    if draw.random() < 0.06:
        return [_picked(draw, pool).astype(draw.choice(KINDS))]
    ((_, table, kinds),) = draw.choices(TABLES, [weight for weight, *_ in TABLES])
    operation = draw.choice(table)
    values = [_picked(draw, pool, kind) for kind in kinds]
    if table is OF_AN_ARRAY_AND_A_PLACE:
        values[0] = jnp.ravel(values[0])
    return [operation(*values)]


def _carried(seeds, values, like, depth):
    """Return what operations give that is of the shape of an array, kept moderate."""
    *_, new = (x for x in _grown(seeds, values, depth) if x.shape == like.shape)
    new = new.astype(like.dtype)
    return jnp.where(jnp.abs(new) < 1e6, new, 1.0) if like.dtype.kind == "f" else new


def _scanned(draw, pool, depth):
    seeds = [draw.randrange(1 << 30) for _ in range(2)]
    start, used, length = _picked(draw, pool), pool[-3:], draw.randint(0, 5)
    rows = draw.choice([jnp.arange(length), jnp.linspace(-1, 1, length)])

    def turn(carry, row):
        new = _carried(seeds, [*used, row, carry], carry, depth + 1)
        # XLA makes a choice of a product with a boolean, and loses the sign of 0 times -1.
        return new, new if new.dtype == bool else new * row

    return lax.scan(turn, start, rows, reverse=draw.random() < 0.3)


def _looped(draw, pool, depth):
    seeds = [draw.randrange(1 << 30) for _ in range(2)]
    start, used = _picked(draw, pool), pool[-3:]
    turns = jnp.ravel(_picked(draw, pool, "i"))[0].astype("uint8") % 7

    def turn(carry):
        count, value = carry
        return count + 1, _carried(seeds, [*used, count, value], value, depth + 1)

    def go_on(carry):
        count, value = carry
        return (count < turns) & (jnp.sum(value.astype(float)) < 30.0)

    return lax.while_loop(go_on, turn, (jnp.uint8(0), start))


def _branched(draw, pool, depth):
    used = pool[-3:]

    def branch():
        seeds = [draw.randrange(1 << 30) for _ in range(2)]
        return lambda x: _carried(seeds, [*used, x], x, depth + 1)

    branches = [branch() for _ in range(3)]
    which = jnp.ravel(_picked(draw, pool, "ib"))[0].astype("int32")
    return [lax.switch(which, branches, _picked(draw, pool))]


SPECIAL = [  # none below 2.2e-308, which XLA takes for 0
    0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.0, -2.5, 1e-300, 1e10, np.pi,
    -0.1, 3.0, 1e-8, 7.5, -7.0,
]  # fmt: skip


def lanes_of(taken, lanes: int, seed: int) -> list[np.ndarray]:
    """Return numbers of `lanes` lanes; in the second half there are special ones."""
    draw, found = np.random.default_rng(seed), []
    late = np.arange(lanes) >= lanes // 2
    for shape, kind in taken:
        size = (lanes, *shape)
        some = late.reshape(-1, *[1] * len(shape)) & (draw.random(size) < 0.5)
        if kind == "bool":
            values = draw.random(size) < 0.5
        elif kind.startswith("float"):
            values = np.where(some, draw.choice(SPECIAL, size), draw.normal(0, 2, size))
        else:
            limits = np.iinfo(kind)
            ends = [limits.min, limits.max, limits.max - 1, 0]
            values = draw.integers(-5 if limits.min < 0 else 0, 12, size)
            values = np.where(some, draw.choice(ends, size), values)
        found.append(values.astype(kind))
    return found
