r"""Eigenvalues and mode shapes of a beam with bodies: certified and differentiable."""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Complex, Float

from ...drawing import Chart, spectrum_chart
from ...drawing.plottable import ResultRepr
from ...foundation.arrays import is_concrete
from ...foundation.quantity import result_field, system_field
from ...systems.structures.beam import BeamWithBodies
from .characteristic import (
    Dimensionless,
    dimensionless,
    equilibrated,
    matrix,
    mixing,
    waves_at,
)
from .fast_spectrum import fast_spectrum
from .spectrum import certified_spectrum


class BeamModes(ResultRepr):
    r"""Eigenvalues $\lambda$ of a beam with bodies, with error measures.

    $z = Z e^{\lambda t}$, $u = V e^{\lambda t}$. Values in the closed upper half plane,
    by modulus, repeated by multiplicity.

    >>> modes = jv.beam_eigenvalues(jv.BeamWithBodies(beam), count=2)
    >>> abs(modes.shape(np.array([0.0, 0.5, 1.0]))).round(3).tolist()
    [[0.0, 0.34, 1.0], [0.0, 0.714, 1.0]]
    """

    values: Complex[Array, " value"] = result_field("eigenvalues", "rad/s", ("value",))
    residuals: Float[Array, " value"] = result_field(
        "backward errors: smallest by largest singular value of M", "", ("value",)
    )
    conditions: Float[Array, " value"] = result_field(
        "conditions: relative change of a value by relative change of M", "", ("value",)
    )
    multiplicities: Float[Array, " value"] = result_field("multiplicities", "", ("value",))
    certified: Array = result_field("the argument principle confirms the number of values")
    radius: Float[Array, ""] = result_field("radius of the certified circle", "rad/s")
    vectors: Complex[Array, "value N"] = result_field(
        "waves, link forces and motions of the modes, not normalised", "", ("value", "row")
    )
    system: Dimensionless = system_field()

    @property
    def drawable(self) -> bool:
        """Whether these are the modes of one beam."""
        return np.ndim(self.values) == 1

    def charts(self) -> list[Chart]:
        """Return the chart of the eigenvalues, and those of all fields."""
        return [spectrum_chart(self.values, "rad/s"), *super().charts()]

    @property
    @mixing
    def bodies(self) -> Complex[Array, "value n"]:
        """Motions Z of the bodies, normalised so that max |V| over the beam is 1."""
        motions = self.vectors[:, 4 + len(self.system.turns) :]
        return motions / self._scales()[:, None]

    @mixing
    def shape(self, x: ArrayLike | Sequence[float]) -> Complex[Array, "value ..."]:
        """Return the mode shapes V at points x (m) of the beam.

        The largest |V| over the beam is 1, and V is real and positive there; if V
        vanishes everywhere, the largest |Z| is normalised instead.
        """
        x = jnp.asarray(x, float) / self.system.length
        shapes = _shapes(self.system, self._roots(), self.vectors, jnp.ravel(x))
        shapes = shapes / self._scales()[:, None]
        return shapes.reshape(*shapes.shape[:1], *x.shape)

    def _roots(self):
        return self.values * self.system.time

    def _scales(self):
        return _largest(self.system, self._roots(), self.vectors)


_MOST = 10_000  # eigenvalues; memory and time grow with the square


@mixing
def beam_eigenvalues(
    system: BeamWithBodies, count: int = 10, radius: float | None = None
) -> BeamModes:
    """Return the first `count` eigenvalues, or all with |lambda| < `radius` (rad/s).

    All roots of the entire characteristic function are found simultaneously from Ritz
    starts. The argument principle certifies that none is missing and none is listed
    twice; missing roots are searched. Derivatives are implicit, through the same
    function; those of a repeated value are NaN, except that rigid motions stay at 0.
    Under `jit` and `vmap` (with `count` only) a faster method is used, which certifies
    lightly and moderately damped symmetric systems and marks others as not certified;
    `beam_spectra` recomputes these.

    **Raises:** `ValueError` for a `count` outside [1, 10000] or a `radius` that is not
    positive.

    >>> modes = jv.beam_eigenvalues(jv.BeamWithBodies(beam), count=3)
    >>> modes.values.imag.round(2).tolist(), bool(modes.certified)
    ([25.84, 161.94, 453.44], True)
    """
    if radius is None and (not isinstance(count, int) or not 1 <= count <= _MOST):
        raise ValueError(f"count = {count!r} is not in [1, {_MOST}]")
    if radius is not None and not 0 < radius < np.inf:
        raise ValueError(f"radius = {radius} rad/s is not in (0, inf)")
    scaled = dimensionless(system)
    found = _spectrum(scaled, count if radius is None else None, radius)
    roots, vectors, residuals, conditions, multiplicities, certified, circle = found
    return BeamModes(
        roots / scaled.time,
        residuals,
        conditions,
        multiplicities,
        certified > 0,
        circle / jax.lax.stop_gradient(scaled.time),
        vectors,
        scaled,
    )


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _spectrum(system: Dimensionless, count, radius):
    if not is_concrete(system):
        if radius is not None:
            raise ValueError("radius needs concrete values; allowed under jit: count")
        return fast_spectrum(system, count)
    scaled = None if radius is None else radius * float(system.time)
    found = certified_spectrum(system, count, scaled)
    parts = (found.backward_errors, found.conditions, found.multiplicities)
    parts = (*parts, found.certified, np.nan if found.radius is None else found.radius)
    reals = tuple(jnp.asarray(part, float) for part in parts)
    return jnp.asarray(found.values), jnp.asarray(found.vectors), *reals


@_spectrum.defjvp
@mixing
def _spectrum_jvp(count, radius, primals, tangents):
    (system,), (change,) = primals, tangents
    found = _spectrum(system, count, radius)
    roots, vectors, multiplicities = found[0], found[1], found[4]
    d_roots, d_vectors = _mode_tangents(system, change, roots, vectors, multiplicities)
    still = tuple(jnp.zeros_like(part) for part in found[2:])
    return found, (d_roots, d_vectors, *still)


@jax.jit
def _mode_tangents(system, change, roots, vectors, multiplicities):
    def of_one(root, vector, multiplicity):
        moved = jax.jvp(lambda s: matrix(s, root) @ vector, (system,), (change,))[1]
        return _mode_tangent(system, root, vector, multiplicity, moved)

    return jax.vmap(of_one)(roots, vectors, multiplicities)


def _mode_tangent(system, root, vector, multiplicity, moved):
    """Return the tangents of a root and its vector for a tangent `moved` of M x.

    M dx + M' x dlambda = -moved, with dx orthogonal to x in the equilibrated unknowns.
    """
    m, rows, columns = equilibrated(matrix(system, root))
    slope = jax.jvp(lambda value: matrix(system, value), (root,), (jnp.ones_like(root),))[1]
    pull = rows * (slope @ vector)
    size = jnp.max(jnp.abs(pull))
    border = jnp.conj(vector / columns)
    border = border / jnp.max(jnp.abs(border))
    bordered = jnp.block([[m, (pull / size)[:, None]], [border[None], jnp.zeros((1, 1))]])
    right = jnp.concatenate([-rows * moved, jnp.zeros(1)])
    solved = jnp.linalg.solve(bordered, right)
    alone = multiplicity < 1.5
    d_root = jnp.where(alone, solved[-1] / size, jnp.where(root == 0, 0.0, jnp.nan))
    return d_root, jnp.where(alone, solved[:-1] * columns, jnp.nan)


def deflection(system: Dimensionless, root: Array, vector: Array, x: Array) -> list[Array]:
    """Return V, V' and V'' at a dimensionless point x, from the unknowns `vector`."""
    waves = waves_at(root)
    turns = np.array(system.turns, bool)
    near = waves.basis(waves.reach(x), waves.reach(1 - x))[:3]
    parts = [wave @ vector[:4] for wave in near]
    if not len(turns):
        return parts
    apart = x - system.positions
    side = jnp.where(apart < 0, -1.0, 1.0)
    green = waves.green(waves.reach(jnp.abs(apart)), 4)
    forces = vector[4 : 4 + len(turns)]
    for order in range(3):
        by_force = side**order * green[order]
        by_moment = -(side ** (order + 1)) * green[order + 1]
        parts[order] = parts[order] + jnp.where(turns, by_moment, by_force) @ forces
    return parts


@jax.jit
def _shapes(system, roots, vectors, points):
    along = jax.vmap(lambda r, v, x: deflection(system, r, v, x)[0], (None, None, 0))
    return jax.vmap(along, (0, 0, None))(roots, vectors, points)


@jax.jit
def _largest(system, roots, vectors):
    """Return per mode the value of V (or of Z) with the largest modulus."""
    grid = jnp.linspace(0.0, 1.0, 16 * len(roots) + 65)
    step = grid[1]
    first = 4 + len(system.turns)

    def of_one(root, vector):
        still = jax.lax.stop_gradient((system, root, vector))
        along = jax.vmap(lambda x: deflection(*still, x)[0])(grid)
        x = grid[jnp.argmax(jnp.abs(along))]
        low, high = jnp.maximum(x - step, 0.0), jnp.minimum(x + step, 1.0)

        def nearer(mode, x):
            v, v1, v2 = deflection(*mode, x)
            slope = (jnp.conj(v) * v1).real
            bend = jnp.abs(v1) ** 2 + (jnp.conj(v) * v2).real
            bend = jnp.where(bend < 0, bend, -(jnp.abs(v) ** 2) / step**2)
            return jnp.clip(x - slope / jax.lax.stop_gradient(bend), low, high)

        x = jax.lax.fori_loop(0, 5, lambda _, x: nearer(still, x), x)
        # only the last step is differentiated: it gives the tangent of the position,
        # and so of the phase there
        x = nearer((system, root, vector), x)
        largest = deflection(system, root, vector, x)[0]
        motions = vector[first:]
        if not motions.shape[0]:
            return largest
        moving = motions[jnp.argmax(jnp.abs(motions))]
        vanishes = jnp.abs(largest) < 1e-9 * jnp.abs(moving)
        return jnp.where(vanishes, moving, largest)

    return jax.vmap(of_one)(roots, vectors)
