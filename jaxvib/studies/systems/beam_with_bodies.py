"""The beam with bodies in a config; links and bodies are lists and matrices."""

import dataclasses
import functools
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import Field

from ...foundation.range import Range
from ..config.catalogue import Declared, catalogue
from ..config.document import Document
from ..config.tables import Table, flattened, nested_model, validated
from ..resources import library
from .base import Role, SystemKind

_MOST = 64  # links, or degrees of freedom of the bodies

_VECTORS = ("positions", "link_stiffness", "link_damping", "link_inertance")
_MASS = Range(at_least=0.0)
_SQUARES = ("mass", "damping", "stiffness")
_COUPLINGS = {
    "coupling_stiffness": Declared(
        0.0, "N/m", "stiffness of the bodies' side of the links", Range()
    ),
    "coupling_damping": Declared(
        0.0, "N s/m", "damping of the bodies' side of the links", Range()
    ),
}


def _diagonal(value):
    if not isinstance(value, list) or any(isinstance(entry, list) for entry in value):
        return value
    return [
        [entry if i == j else 0.0 for j in range(len(value))]
        for i, entry in enumerate(value)
    ]


_Vector = Annotated[list[float], Field(max_length=_MOST)]
_Matrix = Annotated[list[_Vector], Field(max_length=_MOST)]
_Square = Annotated[_Matrix, pydantic.BeforeValidator(_diagonal)]
_End = Literal["clamped", "hinged", "sliding", "free", "elastic"]


class BeamWithBodiesKind(SystemKind):
    """A beam with bodies on linear links, lumped masses and elastic supports."""

    name = "beam_with_bodies"
    roles = frozenset({Role.BEAM})

    @functools.cached_property
    def options(self) -> type[Table]:
        """The model of its config table."""
        given = {
            "kind": (Literal["beam_with_bodies"], Field(description="the kind of system")),
            "ends": (
                list[_End],
                Field(default=["clamped", "free"], min_length=2, max_length=2,
                      description="supports of the left and right end",
                      json_schema_extra={"allowed": "two of clamped, hinged, sliding, "
                                                    "free, elastic"}),
            ),
            "turns": (
                list[bool] | None,
                Field(default=None, max_length=_MOST,
                      description="links that act on the slope, not the deflection"),
            ),
        }  # fmt: skip
        every = _entries()
        given |= {name: _listed(every[name], _Vector) for name in _VECTORS}
        given |= {name: _listed(every[name], _Square) for name in _SQUARES}
        given |= {name: _listed(every[name], _Matrix) for name in ("link_map", *_COUPLINGS)}
        beam = {path: entry for path, entry in every.items() if path.startswith("beam.")}
        return nested_model(self.name, beam, given)

    def read(self, document: Document) -> Any:
        """Return the validated table of a config, lists and matrices filled."""
        table = document.tables["system"]
        options = validated(self.options, table, "system", document)
        given = {n: getattr(options, n) for n in (*_VECTORS, *_SQUARES, *_COUPLINGS)}
        links, bodies = len(given["positions"] or []), len(given["mass"] or [])
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_VECTORS, (links,))
        shapes |= dict.fromkeys(_SQUARES, (bodies, bodies))
        shapes |= dict.fromkeys(_COUPLINGS, (bodies, links))
        filled = {
            name: _filled(name, value, shapes[name], document)
            for name, value in given.items()
            if value is not None or name not in _COUPLINGS
        }
        links_to = options.link_map
        if links_to is None and bodies and links != bodies:
            raise ValueError(
                f"{document.where('system')}: system.link_map is missing; allowed: a row "
                f"for each of {links} links with {bodies} numbers each"
            )
        if links_to is None:
            links_to = _diagonal([1.0] * bodies) if bodies else [[] for _ in range(links)]
        filled["link_map"] = _filled("link_map", links_to, (links, bodies), document)
        filled["turns"] = _filled("turns", options.turns, (links,), document, False)
        rigid_ends = {str(s): end for s, end in enumerate(options.ends) if end != "elastic"}
        for side, end in rigid_ends.items():
            path = f"system.beam.ends.{side}"
            if any(key.startswith(path) for key in document.origins):
                raise ValueError(
                    f"{document.where(path)}: {path} is given, and that end is {end}; "
                    'allowed where ends has "elastic" there'
                )
        # A dump of these would be refused: such an end has no stiffness.
        ends = options.beam.ends.model_copy(update=dict.fromkeys(rigid_ends))
        beam = options.beam.model_copy(update={"ends": ends})
        return options.model_copy(update={**filled, "beam": beam})

    def default(self) -> Any:
        """Return the paper's example with an elastic support, for its declarations."""
        systems = library("systems")
        beam = systems.Beam(*np.array([1.0, 0.675, 36.45831]))
        link = np.full(3, 0.1)
        example = systems.oscillators_on_beam(beam, [0.1, 0.5, 0.9], link, link, link)
        return {
            "": example,
            "beam.ends.0": systems.ElasticSupport(),
            "beam.ends.1": systems.ElasticSupport(),
        }

    def declared(self, options: Any) -> dict[str, Declared]:
        """Return the declaration of each single number, by path."""
        every, found = _entries(), {}
        for path, value in _given(options).items():
            for place, number in _numbers(value):
                name = ".".join([path, *map(str, place)])
                found[name] = dataclasses.replace(every[path], default=number)
                if path == "mass" and len(set(place)) == 1:  # no coupling of two bodies
                    found[name] = dataclasses.replace(found[name], allowed=_MASS)
        return found

    def build(self, options: Any) -> Any:
        """Build the system of a config."""
        systems = library("systems")
        given = _given(options)
        ends = [
            systems.ElasticSupport(
                given[f"beam.ends.{side}.stiffness"],
                given[f"beam.ends.{side}.rotational_stiffness"],
            )
            if end == "elastic"
            else end
            for side, end in enumerate(options.ends)
        ]
        beam = systems.Beam(
            *(
                given[f"beam.{n}"]
                for n in ("length", "mass_per_length", "bending_stiffness")
            ),
            ends=ends,
        )
        links, bodies = len(options.positions), len(options.mass)
        matrices = {
            name: np.reshape(value, (bodies, bodies) if name in _SQUARES else
                             (links, bodies) if name == "link_map" else (bodies, links))
            for name, value in given.items()
            if name in (*_SQUARES, "link_map", *_COUPLINGS)
        }  # fmt: skip
        vectors = {name: np.array(given[name], float) for name in _VECTORS}
        return systems.BeamWithBodies(beam, **vectors, **matrices, turns=options.turns)


def _entries() -> dict[str, Declared]:
    return {**catalogue()[BeamWithBodiesKind.name], **_COUPLINGS}


def _listed(entry: Declared, kind):
    extra: dict[str, Any] = {"unit": entry.unit, "allowed": "a list of numbers"}
    return kind | None, Field(
        default=None, description=entry.description, json_schema_extra=extra
    )


def _given(options) -> dict[str, Any]:
    """Return the values of every path; elastic supports only if there are any."""
    table = options.model_dump(exclude={"kind", "ends", "turns"}, exclude_none=True)
    return flattened(table)


def _filled(name: str, value, shape, document: Document, nothing=0.0):
    """Return a list or matrix, zeros if omitted; raise for a wrong shape."""
    if value is None:
        rows = [nothing] * shape[-1]
        return rows if len(shape) == 1 else [list(rows) for _ in range(shape[0])]
    lengths = [len(value), *{len(row) for row in value}] if len(shape) > 1 else [len(value)]
    if lengths != list(shape) and (len(shape) == 1 or value or shape[0]):
        found, allowed = (" x ".join(map(str, each)) for each in (lengths, shape))
        path = f"system.{name}"
        raise ValueError(
            f"{document.where(path)}: {path} has {found} entries; allowed: {allowed}, as "
            "there are links (positions) and bodies (mass)"
        )
    return value


def _numbers(value, place=()):
    if not isinstance(value, list):
        yield place, value
        return
    for i, entry in enumerate(value):
        yield from _numbers(entry, (*place, i))
