"""Programs put together at random: loops and branches in each other, three deep."""

import jax.numpy as jnp
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
