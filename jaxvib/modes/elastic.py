"""Elastic structures in their modes, from beams, assemblies and matrices."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, check_shape
from ..foundation.suggestions import unknown_key
from ..linalg.sparse_modes import sparse_modes
from ..systems.base.roles import Linear
from ..systems.files.matrix_files import ReadMatrices
from ..systems.linear_part import linear_part
from ..systems.structures.beam import BeamWithBodies
from ..systems.structures.elastic import ElasticStructure
from .beams.modes import beam_eigenvalues
from .beams.response import beam_response
from .modal import natural_modes

# Off-diagonal modal damping that rounding explains: relative to the geometric mean of its
# own two modes, and to the largest damping of all.
_PROPORTIONAL, _ROUNDING = 1e-8, 1e-14
_BODY = "body."


def elastic_structure(
    source: BeamWithBodies | Linear | ReadMatrices,
    modes: int,
    points: Mapping[str, object] | Sequence[str] | None = None,
    *,
    damping_ratio: Real[Array, "..."] | float | None = None,
    mass_damping: Real[Array, ""] | float | None = None,
    stiffness_damping: Real[Array, ""] | float | None = None,
) -> ElasticStructure:
    r"""Return a structure in its lowest undamped modes, with their values at named points.

    **Arguments:** `source`: a `BeamWithBodies` (certified modes), an assembly or
    another linear system, or what `read_matrices` returns; `modes`: how many;
    `points`: by name, on a beam a position (m) or `"body.0"` for the first degree of
    freedom of its bodies; elsewhere a degree of freedom, some with coefficients, or a
    row over all, shape (n,); the names of degrees of freedom themselves; by default all
    of these. `damping_ratio`, `mass_damping`, `stiffness_damping`: see
    `ElasticStructure`; without any of them the damping of the source is kept, if it
    does not couple the modes. The residual flexibility is exact: the sum over the
    modes left out, on a beam the static flexibility less that of the modes. Works under
    differentiation by the parameters of the source.

    **Raises:** `ValueError` for a number of modes that the source does not have, an
    unknown point (with a suggestion) or one off the beam, a source with contacts or
    loads, one that is not symmetric or gyroscopic, damping that couples modes, and for
    a beam with repeated frequencies or rigid-body modes.

    >>> tube = jv.elastic_structure(jv.BeamWithBodies(beam), 5, {"tip": 1.0})
    >>> tube.frequencies[:2].round(2).tolist()
    [25.84, 161.94]
    >>> round(float(tube.truncation("tip").of_structure), 6)
    0.000322
    """
    if isinstance(modes, bool) or not isinstance(modes, int) or modes < 1:
        raise ValueError(f"modes = {modes!r}; allowed: whole numbers from 1 on")
    given = {
        "damping_ratio": damping_ratio,
        "mass_damping": mass_damping,
        "stiffness_damping": stiffness_damping,
    }
    given = {name: value for name, value in given.items() if value is not None}
    _check_damping(given, modes)
    if isinstance(source, BeamWithBodies):
        return _structure_of_beam(source, modes, points, given)
    return _structure_of_matrices(source, modes, points, given)


def _check_damping(damping: Mapping[str, Any], modes: int) -> None:
    """Raise `ValueError` for damping that `ElasticStructure` would refuse."""
    shapes = {"damping_ratio": [(), (modes,)]}
    for name, value in damping.items():
        if is_concrete(value):
            check_range(name, value, "", Range(at_least=0.0))
        check_shape(name, value, *shapes.get(name, [()]))


def _structure_of_matrices(source, modes, points, damping) -> ElasticStructure:
    if isinstance(source, ReadMatrices) and source.system is None:
        return _structure_of_sparse(source, modes, points, damping)
    linear = source.system if isinstance(source, ReadMatrices) else source
    if linear_part(linear) is not linear:
        raise ValueError(
            f"source is {type(linear).__name__} with contacts, loads or springs; "
            "allowed: its linear part"
        )
    found = natural_modes(linear)
    size = found.frequencies.shape[0]
    if modes > size:
        raise ValueError(f"modes = {modes}; allowed: up to {size}, as many as the source")
    if is_concrete(found) and np.isnan(found.frequencies).any():
        raise ValueError("the source is statically unstable; allowed: a stable one")
    _check_rigid_modes(found.frequencies, modes)
    still, follows = getattr(source, "condensed", None), 0.0
    places, rows = _rows_of(source, points, size if still is None else len(source.names))
    if still is not None and still.shapes is not None:
        follows, rows = rows @ still.flexibility @ rows.T, rows @ still.shapes
    shapes, rest = found.shapes[:, :modes], found.shapes[:, modes:]
    seen = (rows @ rest) / found.frequencies[None, modes:]
    if not damping:
        rates = shapes.T @ linear.matrices()[1] @ shapes
        _check_modal_damping(rates, found.frequencies[:modes])
        ratios = jnp.where(found.frequencies > 0, found.damping_ratios, 0.0)[:modes]
        damping = {"damping_ratio": ratios}
    residual = seen @ seen.T + follows
    return ElasticStructure(
        found.frequencies[:modes], rows @ shapes, places, residual=residual, **damping
    )


def _structure_of_sparse(source: ReadMatrices, modes, points, damping) -> ElasticStructure:
    """Return the structure of matrices too large to be dense, by its lowest modes only."""
    if points is None:
        raise ValueError("points = None for a large sparse source; allowed: some points")
    mass, damper, stiffness = source.matrices
    found = sparse_modes(mass, stiffness, modes)
    _check_rigid_modes(np.append(found.frequencies, found.next_frequency), modes)
    places, rows = _rows_of(source, points, len(source.names))
    rows = np.asarray(rows)
    shapes, moving = rows @ found.shapes, found.frequencies > 0
    seen = shapes[:, moving] / found.frequencies[moving]
    statics = rows @ found.solve(rows.T) - seen @ seen.T
    if not damping:
        rates = found.shapes.T @ (damper @ found.shapes)
        _check_modal_damping(rates, found.frequencies)
        ratios = np.diagonal(rates) / (2 * np.where(moving, found.frequencies, np.inf))
        damping = {"damping_ratio": ratios}
    residual = (statics + statics.T) / 2
    return ElasticStructure(found.frequencies, shapes, places, residual=residual, **damping)


def _check_rigid_modes(frequencies, modes: int) -> None:
    """Raise `ValueError` if a mode beyond those kept has the frequency 0."""
    if is_concrete(frequencies) and np.any(np.asarray(frequencies)[modes:] == 0):
        raise ValueError(
            f"modes = {modes} leaves out a rigid-body mode; allowed: all rigid-body modes"
        )


def _rows_of(source, points, size: int) -> tuple[tuple[str, ...], Float[Array, "points n"]]:
    if points is None:
        points = source.freedom_names
        if not points:
            raise ValueError("points = None for a source without names; allowed: points")
    places = points if isinstance(points, Mapping) else {name: name for name in points}
    rows = []
    for name, place in places.items():
        named = isinstance(place, str | Mapping)
        row = source.direction(place) if named else jnp.asarray(place, float)
        check_shape(f"points: {name}", row, (size,))
        rows.append(row)
    if not rows:
        raise ValueError("points is empty; allowed: one point or more")
    return tuple(places), jnp.stack(rows)


def _check_modal_damping(rates, frequencies) -> None:
    """Raise `ValueError` if damping couples modes of unit mass, or damps rigid ones."""
    if is_concrete(rates, frequencies):
        own = np.diagonal(rates)
        size = np.sqrt(np.abs(np.outer(own, own)))
        allowed = _PROPORTIONAL * size + _ROUNDING * np.max(size, initial=0.0)
        coupled = np.abs(rates) > allowed
        rigid = (np.asarray(frequencies) == 0) & coupled.diagonal()
        if coupled[~np.eye(len(own), dtype=bool)].any() or rigid.any():
            raise _damped("damping couples modes or damps rigid-body ones")


def _damped(what: str) -> ValueError:
    return ValueError(
        f"the source's {what}; allowed: damping_ratio, mass_damping or "
        "stiffness_damping, which replace it"
    )


def _structure_of_beam(source: BeamWithBodies, modes, points, damping) -> ElasticStructure:
    dampers = (source.link_damping, source.damping, source.coupling_damping)
    if any(part is not None and np.size(part) and _any(part) for part in dampers):
        if not damping:
            raise _damped("dampers couple its modes")
        source = dataclasses.replace(
            source,
            link_damping=np.zeros(source.links),
            damping=np.zeros((source.bodies, source.bodies)),
            coupling_damping=None,
        )
    places = _places_on(source, points)
    found = beam_eigenvalues(source, modes)
    frequencies = found.values.imag[:modes]
    if is_concrete(found.values):
        _check_beam_modes(found, frequencies, modes)
    scale = 1 / jnp.sqrt(_modal_masses(source, found, modes))
    beam = [place for place in places.values() if not isinstance(place, int)]
    beam = jnp.stack(beam) if beam else jnp.zeros(0)
    along = found.shape(beam)
    columns, taken = [], iter(range(len(beam)))
    for place in places.values():
        inside = isinstance(place, int)
        columns.append(found.bodies[:, place] if inside else along[:, next(taken)])
    shapes = jnp.stack([column.real[:modes] * scale for column in columns])
    seen = shapes / frequencies[None]
    residual = _static_flexibility(source, places, beam) - seen @ seen.T
    return ElasticStructure(frequencies, shapes, places, residual=residual, **damping)


def _any(part) -> bool:
    return isinstance(part, jax.core.Tracer) or bool(np.any(np.asarray(part) != 0))


def _places_on(source: BeamWithBodies, points) -> dict[str, Any]:
    """Return the position, m, or the number of the body's freedom, of each point."""
    if not isinstance(points, Mapping) or not points:
        raise ValueError(
            f"points = {points!r}; allowed: positions on the beam (m) by name, or bodies"
        )
    bodies = {f"{_BODY}{k}": k for k in range(source.bodies)}
    found: dict[str, Any] = {}
    for name, place in points.items():
        if isinstance(place, str):
            if place not in bodies:
                raise ValueError(unknown_key(f"body of point {name}", place, bodies))
            found[name] = bodies[place]
            continue
        length = source.beam.length
        if is_concrete(place, length) and not 0 <= float(place) <= float(length):
            raise ValueError(
                f"points: {name} = {float(place):g} m is not in [0, {float(length):g}]"
            )
        found[name] = jnp.asarray(place, float)
    return found


def _check_beam_modes(found, frequencies, modes: int) -> None:
    if not bool(np.all(found.certified)):
        raise ValueError("source: its modes are not certified; allowed: fewer modes")
    if np.any(np.asarray(frequencies) < 1e-9 * np.max(frequencies)):
        raise ValueError(
            "source has rigid-body modes or an unstable one; allowed: a supported beam, "
            "or an assembly of beam modules"
        )
    values, many = np.asarray(found.values[:modes]), np.asarray(found.multiplicities)
    if np.any(many[:modes] > 1.5):
        place = int(np.argmax(many > 1.5))
        raise ValueError(
            f"source: the frequency {values[place].imag:g} rad/s is repeated; allowed: "
            "single ones"
        )


def _modal_masses(source: BeamWithBodies, found, modes: int) -> Float[Array, " modes"]:
    """Return the modal masses by Gauss quadrature between the links, exact to rounding."""
    beam = source.beam
    nodes, weights = np.polynomial.legendre.leggauss(2 * modes + 24)
    edges = jnp.sort(
        jnp.concatenate([jnp.zeros(1), source.positions, jnp.reshape(beam.length, 1)])
    )
    half, middle = jnp.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    at = middle[:, None] + half[:, None] * nodes[None]
    weight = (half[:, None] * weights[None]).reshape(-1)
    along = found.shape(at.reshape(-1)).real[:modes]
    bodies = found.bodies.real[:modes]
    total = beam.mass_per_length * (along**2 @ weight)
    total = total + jnp.sum((bodies @ source.mass) * bodies, axis=1)
    if source.links:
        links = _link_motions(source, found, modes, bodies)
        total = total + links**2 @ source.link_inertance
    return total


def _link_motions(source, found, modes: int, bodies):
    """Return the elongations of links: of bodies less those of the beam."""

    def on_beam(x):
        return found.shape(x).real[:modes]

    turns = np.array(source.turns, bool)
    own = on_beam(source.positions)
    if turns.any():
        ones = jnp.ones_like(source.positions)
        slopes = jax.jvp(on_beam, (source.positions,), (ones,))[1]
        own = jnp.where(turns[None], slopes, own)
    return bodies @ source.link_map.T - own


def _static_flexibility(source, places, beam) -> Float[Array, "points points"]:
    """Return the static displacements at all points under a unit force at each, m/N."""
    columns = []
    for place in places.values():
        inside = isinstance(place, int)
        force = {"force_on": place} if inside else {"force_at": place}
        moved, bodies = beam_response(source, jnp.zeros(1), at=beam, **force)
        taken = iter(range(len(beam)))
        columns.append(
            jnp.stack([
                (bodies[0, p] if isinstance(p, int) else moved[0, next(taken)]).real
                for p in places.values()
            ])
        )  # fmt: skip
    flexibility = jnp.stack(columns)
    return (flexibility + flexibility.T) / 2
