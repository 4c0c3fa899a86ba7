r"""The first Lyapunov coefficient of a Hopf point: which way its cycles branch off.

With the Jacobian A of a field, $A q = i \omega q$, $A^T p = -i \omega p$,
$\langle q, q\rangle = \langle p, q\rangle = 1$, and the second and third derivatives B
and C,

$$l_1 = \frac{1}{2\omega} \mathrm{Re} \langle p, C(q, q, \bar q)
  - 2 B(q, A^{-1} B(q, \bar q)) + B(\bar q, (2 i \omega I - A)^{-1} B(q, q)) \rangle.$$

**Source:** Kuznetsov, *Elements of Applied Bifurcation Theory* (3rd ed.), (5.34).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from ... import linalg


class HopfCoefficient(NamedTuple):
    """The first Lyapunov coefficient, and its `share` in the sum of its terms' moduli.

    `vector`: q, in units of the states.
    """

    value: Float[Array, ""]
    share: Float[Array, ""]
    vector: Complex[Array, " n"]


def hopf_coefficient(
    field: Callable[[Array], Array], state: Float[Array, " n"]
) -> HopfCoefficient:
    """Return the coefficient of the complex pair nearest to the imaginary axis."""

    def second(u, v, at=state):
        return jax.jvp(lambda x: jax.jvp(field, (x,), (u,))[1], (at,), (v,))[1]

    def third(u, v, w):
        return jax.jvp(lambda x: second(u, v, x), (state,), (w,))[1]

    matrix = jax.jacfwd(field)(state)
    values, right, left = linalg.eigensystem(matrix)
    which = jnp.argmin(jnp.where(values.imag > 0, jnp.abs(values.real), jnp.inf))
    omega, a, b = values.imag[which], right.real[:, which], right.imag[:, which]
    aa, ab, bb = jax.vmap(second)(jnp.stack([a, a, b]), jnp.stack([a, b, b]))
    three = jnp.stack([a, a, a, b]), jnp.stack([a, a, b, b]), jnp.stack([a, b, b, b])
    aaa, aab, abb, bbb = jax.vmap(third)(*three)
    r = linalg.solve_vector(matrix, aa + bb)
    turn = 2 * omega * jnp.eye(len(state))
    turning = jnp.block([[-matrix, -turn], [turn, -matrix]])
    c, d = jnp.split(linalg.solve_vector(turning, jnp.append(aa - bb, 2 * ab)), 2)
    pairs = jnp.stack([a, b, a, b, a, b]), jnp.stack([r, r, c, c, d, d])
    ar, br, ac, bc, ad, bd = jax.vmap(second)(*pairs)
    real = jnp.stack([aaa + abb, -2 * ar, ac + bd])
    imag = jnp.stack([aab + bbb, -2 * br, ad - bc])
    p = linalg.Parts(left.real[which], left.imag[which])
    each = linalg.Parts(real @ p.real - imag @ p.imag, real @ p.imag + imag @ p.real)
    total, size = jnp.sum(each.real), jnp.sum(linalg.modulus(each))
    share = jnp.where(size > 0, total / jnp.where(size > 0, size, 1.0), size)
    return HopfCoefficient(total / (2 * omega), share, jax.lax.complex(a, b))
