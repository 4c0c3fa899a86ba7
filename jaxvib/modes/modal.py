"""Natural frequencies and modes of linear systems (M, D, C)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int

from .. import linalg
from ..drawing import Axis, Chart, Line, spectrum_chart
from ..drawing.plottable import ResultRepr
from ..foundation.arrays import HOST, array_namespace, require_concrete, to_numpy
from ..foundation.quantity import result_field
from ..foundation.types import AnyArray
from ..systems.base.roles import Linear
from ..systems.linear_part import linear_part
from ..systems.structures.chain import BeamChain
from .natural import check_natural, check_not_gyroscopic, nan_unless_natural

# Relative difference below which components of a shape are equal, well above rounding.
_ALIKE = 1e-9


class NaturalModes(ResultRepr):
    """Undamped modes, ascending in frequency; shapes have unit modal mass."""

    frequencies: Float[Array, " mode"] = result_field(
        "natural frequency", "rad/s", ("mode",)
    )
    shapes: Float[Array, "freedom mode"] = result_field(
        "mode shape", "", ("freedom", "mode")
    )
    damping_ratios: Float[Array, " mode"] = result_field("damping ratio", "", ("mode",))
    rigid: Int[Array, ""] = result_field("number of modes without strain")

    @property
    def drawable(self) -> bool:
        """Whether these are the modes of one system."""
        return np.ndim(self.frequencies) == 1

    def charts(self) -> list[Chart]:
        """Return the chart of the lowest mode shapes, and those of all fields."""
        return [shapes_chart(self.shapes, self.frequencies), *super().charts()]


class DampedModes(ResultRepr):
    r"""Modes of $(\lambda^2 M + \lambda D + C) x = 0$, padded with NaN.

    One of each conjugate pair (Im >= 0) and all real values, ascending in modulus.
    """

    values: Complex[Array, " mode"] = result_field("eigenvalue", "1/s", ("mode",))
    shapes: Complex[Array, "freedom mode"] = result_field(
        "mode shape, largest component 1", "", ("freedom", "mode")
    )
    damping_ratios: Float[Array, " mode"] = result_field("damping ratio", "", ("mode",))

    @property
    def drawable(self) -> bool:
        """Whether these are the modes of one system."""
        return np.ndim(self.values) == 1

    def charts(self) -> list[Chart]:
        """Return the chart of the eigenvalues, and those of all fields."""
        return [spectrum_chart(self.values, "1/s"), *super().charts()]


def natural_frequencies(system: Linear) -> Float[Array, " n"]:
    r"""Return the undamped natural frequencies, rad/s, ascending.

    There is one per degree of freedom. Values are repeated by multiplicity; rigid-body
    modes have 0, and statically unstable modes (negative stiffness) have NaN and come
    first. If the potential energy is a sum of squares, the frequencies are singular
    values of $\mathrm{diag}(w)^{1/2} R L^{-T}$, $M = L L^T$, and so exact to rounding
    relative to the largest one; for a uniform periodic chain they are in closed form.
    From matrices alone, n frequencies below $3 \cdot 10^{-8} \sqrt n$ of the largest one
    are rounding, and 0 too: assemble bodies of very different masses from modules. A
    nonlinear system is replaced by its linear part: contacts, friction elements and
    loads are ignored, nonlinear springs are linearised at the unstrained position.

    Works under `jit`, `vmap` and forward- and reverse-mode differentiation. Derivatives
    are valid for the sum of repeated values; see `frequency_derivatives` for each.

    **Raises:** `ValueError` for matrices that are not symmetric (flutter or gyroscopic
    motions, see `damped_modes`), for springs that cannot be linearised there, or that
    constant loads strain. NaN instead under `jit` and `vmap`.

    >>> jv.natural_frequencies(tower).round(4).tolist()
    [12.2474, 24.4949]
    """
    system = linear_part(system)
    if isinstance(system, BeamChain) and system.uniform and system.ends == "periodic":
        return _chain_frequencies(system)
    mass, damping, stiffness = matrices = to_numpy(system.matrices())
    check_not_gyroscopic(damping, mass)
    strains = to_numpy(system.strain_rows())
    if strains is None:
        check_natural(mass, stiffness)
        found = _frequencies(_eigenvectors(mass, stiffness)[0])
    elif array_namespace(strains, mass, stiffness) is HOST:
        found = _strain_modes(strains, mass)[0]
    else:
        found = _by_strains(strains, mass, stiffness)
    return jax.device_put(nan_unless_natural(*matrices, found))


def natural_modes(system: Linear) -> NaturalModes:
    r"""Return the undamped modes with unit modal mass, $\Phi^T M \Phi = I$.

    The damping ratio of a mode is $\varphi^T D \varphi / (2 \omega)$ (exact for
    proportional damping; NaN for rigid-body modes); `damped_modes` gives exact values
    for any damping. The largest component of a shape is positive (the first of those
    equal to $10^{-9}$). Shapes of repeated frequencies are an arbitrary orthogonal
    basis.

    **Raises:** `ValueError` as `natural_frequencies`.

    >>> jv.natural_modes(tower).damping_ratios.round(4).tolist()
    [0.0204, 0.0408]
    """
    system = linear_part(system)
    mass, damping, stiffness = matrices = to_numpy(system.matrices())
    check_not_gyroscopic(damping, mass)
    strains = to_numpy(system.strain_rows())
    if strains is None:
        check_natural(mass, stiffness)
        values, shapes = _eigenvectors(mass, stiffness)
        found = _frequencies(values), shapes
    else:
        found = _strain_modes(strains, mass)
    frequencies, shapes = nan_unless_natural(*matrices, found)
    xp = array_namespace(frequencies, shapes, damping)
    shapes = shapes * xp.sign(_largest_component(shapes))
    power = xp.sum(shapes * linalg.product(damping, shapes), 0)
    moving = frequencies > 0
    ratios = xp.where(moving, power / (2 * xp.where(moving, frequencies, 1)), xp.nan)
    rigid = xp.sum(frequencies == 0)
    return NaturalModes(*jax.device_put((frequencies, shapes, ratios, rigid)))


def damped_modes(system: Linear) -> DampedModes:
    """Return the complex modes of a damped system, computed on the host.

    Sorted by ascending modulus, then by descending real part, see `linalg.order_of`.
    The largest component of a shape is 1 (the first of those equal to 1e-9). Motions
    without strain have the eigenvalue 0, twice if nothing damps them, and the damping
    ratio NaN; so do others within rounding of 0 beside the largest. For up to 8 degrees
    of freedom, results are bit-identical on every processor.

    **Raises:** `ValueError` for a system without matrices, or values that are not finite.

    >>> jv.modes.damped_modes(tower).values.round(3).tolist()
    [(-0.25+12.245j), (-1+24.474j), (nan+0j), (nan+0j)]
    """
    require_concrete("damped_modes", system)
    system = linear_part(system)
    mass, damping, stiffness = (np.asarray(m, float) for m in system.matrices())
    size = mass.shape[0]
    if not all(np.isfinite(m).all() for m in (mass, damping, stiffness)):
        raise ValueError("the matrices of the system are not finite")
    rigid, strained, strains = _strained(system, mass, stiffness)
    solved = linalg.solve(mass, np.concatenate([stiffness, damping], 1))
    slowed = linalg.product(solved[:, :size], strained)
    acting = np.concatenate([slowed, solved[:, size:]], 1)
    top = np.concatenate([np.zeros((len(strains),) * 2), strains], 1)
    values, vectors = linalg.eigenvectors(np.concatenate([top, -acting]), "smallest")
    values = np.where(np.abs(values) > _noise(np.abs(values), 2 * size), values, 0.0)
    order = np.flatnonzero(values.imag >= 0)
    # The velocities of a mode are its shape too, also where it does not strain.
    shapes = np.concatenate([rigid, vectors[-size:, order]], 1)
    values = np.concatenate([np.zeros(rigid.shape[1]), values[order]])
    shapes = shapes / _largest_component(shapes)
    missing = 2 * size - len(values)
    found = np.pad(values, (0, missing), constant_values=np.nan)
    shapes = np.pad(shapes, ((0, 0), (0, missing)), constant_values=np.nan)
    modulus = np.abs(found)
    still = modulus == 0
    ratios = np.where(still, np.nan, -found.real / np.where(still, 1, modulus))
    return DampedModes(jnp.asarray(found), jnp.asarray(shapes), jnp.asarray(ratios))


def _chain_frequencies(chain) -> Float[Array, " n"]:
    wave_numbers = 2 * jnp.pi * jnp.arange(float(chain.bodies)) / chain.bodies
    bands = chain.waves(wave_numbers)
    return jnp.sort(jnp.concatenate(bands[:2]))


@jax.custom_jvp
def _by_strains(strains, mass, stiffness):
    return _strain_modes(strains, mass)[0]


@_by_strains.defjvp
def _by_strains_derivative(primals, tangents):
    # Through (M, C): square roots of the weights have no derivative at a weight of 0.
    strains, mass, stiffness = primals
    _, mass_change, stiffness_change = tangents
    frequencies = _by_strains(strains, mass, stiffness)
    values, shapes = _eigenvectors(mass, stiffness)
    change = jnp.sum(shapes * (stiffness_change @ shapes), 0)
    change = change - values * jnp.sum(shapes * (mass_change @ shapes), 0)
    moving = frequencies > 0
    safe = jnp.where(moving, frequencies, 1.0)
    return frequencies, jnp.where(moving, change / (2 * safe), 0.0)


def _strain_modes(strains, mass):
    factor = linalg.cholesky(mass)
    scaled = _scaled_strains(strains, factor)
    _, values, vectors = linalg.singular_system(scaled)
    xp = array_namespace(values)
    frequencies = xp.where(values > _noise(values, len(scaled)), values, 0.0)[::-1]
    return frequencies, linalg.solve_triangular(factor.T, vectors[:, ::-1], lower=False)


def _scaled_strains(strains, factor):
    """Return square rows or more, whose squares sum up to the scaled stiffness."""
    weights, rows = strains
    xp = array_namespace(weights, rows, factor)
    scaled = xp.sqrt(weights)[:, None] * linalg.solve_triangular(factor, rows.T).T
    return xp.pad(scaled, ((0, max(0, len(factor) - len(scaled))), (0, 0)))


def _strained(system, mass, stiffness):
    """Return (V, W, S): q = V a + W b, where only b = S q strains; NumPy arrays."""
    size, strains = len(mass), to_numpy(system.strain_rows())
    factor = linalg.cholesky(mass)
    if strains is not None:
        scaled = _scaled_strains(strains, factor)
    else:
        half = linalg.solve_triangular(factor, stiffness)
        scaled = linalg.solve_triangular(factor, half.T).T
    _, values, vectors = linalg.singular_system(scaled)
    free = values <= _noise(values, len(scaled))
    if not free.any():
        return np.zeros((size, 0)), np.eye(size), np.eye(size)
    shapes = linalg.solve_triangular(factor.T, vectors, lower=False)
    return shapes[:, free], shapes[:, ~free], linalg.product(factor, vectors[:, ~free]).T


def _noise(values, size: int):
    """Return the size below which values are rounding."""
    xp = array_namespace(values)
    return 4 * jnp.finfo(values.dtype).eps * size * xp.max(values)


def _eigenvectors(mass, stiffness):
    factor = linalg.cholesky(mass)
    half = linalg.solve_triangular(factor, stiffness)
    scaled = linalg.solve_triangular(factor, half.T)
    values, vectors = linalg.symmetric_system((scaled + scaled.T) / 2)
    return values, linalg.solve_triangular(factor.T, vectors, lower=False)


def _largest_component(shapes):
    """Return the largest component of each column, the first of equal ones."""
    xp = array_namespace(shapes)
    sizes = xp.abs(shapes)
    alike = sizes >= (1 - _ALIKE) * xp.max(sizes, axis=0)[None]
    return xp.take_along_axis(shapes, xp.argmax(alike, 0)[None], 0)


def _frequencies(values):
    """Return the roots of eigenvalues, of which small ones are rounding."""
    xp = array_namespace(values)
    sizes = xp.abs(values)
    still = ~(sizes > _noise(sizes, values.shape[0]))
    with np.errstate(invalid="ignore"):  # NaN for statically unstable modes
        return xp.where(still, 0.0, xp.sqrt(xp.where(still, 1.0, values)))


_MOST = 6  # modes that are distinguishable in one picture


def shapes_chart(shapes: AnyArray, frequencies: AnyArray) -> Chart:
    """Return a chart of the lowest mode shapes, scaled to a maximum of 1."""
    shapes, frequencies = np.asarray(shapes), np.asarray(frequencies)
    count = min(_MOST, shapes.shape[1])
    places = np.arange(shapes.shape[0])
    largest = np.abs(shapes).max(axis=0)
    lines = tuple(
        Line(places, column, f"{frequencies[mode]:.4g} rad/s", mode, marks=True)
        for mode, column in enumerate((shapes / largest).T[:count])
    )
    more = f", the lowest {count} of {shapes.shape[1]}" if count < shapes.shape[1] else ""
    across, up = Axis("degree of freedom"), Axis("mode shape, maximum 1")
    return Chart(across, up, lines, f"modes{more}")
