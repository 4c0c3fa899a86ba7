"""The chain of bodies joined by beams in a config."""

import functools
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pydantic
from pydantic import Field

from ...foundation.range import Range
from ..config.catalogue import Declared, catalogue
from ..config.tables import Table, flattened, nested_model, option
from ..resources import library
from .base import Role, SystemKind


class Defect(Table):
    """A body or a beam with properties that differ from the others."""

    body: int | None = option("number of the body", None, ge=0)
    beam: int | None = option("number of the beam", None, ge=0)
    mass: float | None = option("mass relative to the others", None, gt=0.0)
    inertia: float | None = option("inertia relative to the others", None, gt=0.0)
    stiffness: float | None = option("stiffness relative to the others", None, gt=0.0)

    @pydantic.model_validator(mode="after")
    def _check_place(self):
        if (self.body is None) == (self.beam is None):
            raise ValueError("a defect needs either a body or a beam")
        every = ("mass", "inertia", "stiffness")
        given = {name for name in every if getattr(self, name) is not None}
        expected = {"mass", "inertia"} if self.beam is None else {"stiffness"}
        if not given or given - expected:
            raise ValueError(
                f"{', '.join(sorted(given)) or 'nothing'} is given for a "
                f"{'body' if self.beam is None else 'beam'}; allowed: "
                f"{' and '.join(sorted(expected))}"
            )
        return self


class BeamChainKind(SystemKind):
    """Bodies (deflection and rotation) joined by massless Euler-Bernoulli beams."""

    name = "beam_chain"
    roles = frozenset({Role.CHAIN})

    @functools.cached_property
    def options(self) -> type[Table]:
        """The model of its config table."""
        given = {
            "kind": (Literal["beam_chain"], Field(description="the kind of system")),
            "bodies": (
                int,
                Field(default=256, ge=3, le=1_000_000, description="number of bodies"),
            ),
            "ends": (
                Literal["periodic", "free", "clamped", "hinged"],
                Field(default="periodic", description="boundary conditions"),
            ),
            "defects": (
                list[Defect],
                Field(
                    default=[],
                    max_length=10_000,
                    description="bodies and beams that differ from the others",
                    json_schema_extra={
                        "allowed": "tables with body and mass or "
                        "inertia, or with beam and stiffness"
                    },
                ),
            ),
        }
        return nested_model(self.name, catalogue()[self.name], given)

    def default(self) -> Any:
        """Return the system with default values."""
        systems = library("systems")
        return systems.BeamChain(256, 1.0)

    def declared(self, options: Any) -> Mapping[str, Declared]:
        """Return the declaration of each parameter, by path, including defects."""
        found = dict(catalogue()[self.name])
        for defect in options.defects:
            what = "body" if defect.beam is None else "beam"
            place = getattr(defect, what)
            for name in ("mass", "inertia", "stiffness"):
                factor = getattr(defect, name)
                if factor is not None:
                    words = f"{name} of {what} {place} relative to the others"
                    found[f"{name}_factors.{place}"] = Declared(
                        factor, "", words, Range(above=0.0)
                    )
        return found

    def build(self, options: Any) -> Any:
        """Build the system of a config."""
        systems = library("systems")
        chain = systems.BeamChain(options.bodies, 1.0, options.ends, **_factors(options))
        given = options.model_dump(exclude={"kind", "bodies", "ends", "defects"})
        return systems.replace(chain, flattened(given))


def _factors(options) -> dict[str, np.ndarray]:
    """Return the factors of a chain's bodies and beams, if not all 1."""
    beams = options.bodies + {"periodic": 0, "clamped": 1}.get(options.ends, -1)
    sizes = {"mass": options.bodies, "inertia": options.bodies, "stiffness": beams}
    found = {}
    for defect in options.defects:
        place = defect.body if defect.beam is None else defect.beam
        for name, size in sizes.items():
            factor = getattr(defect, name)
            if place >= (beams if defect.beam is not None else options.bodies):
                what = "body" if defect.beam is None else "beam"
                raise ValueError(f"defects: {what} = {place} is not in the chain")
            if factor is not None:
                found.setdefault(f"{name}_factors", np.ones(size))[place] = factor
    return found
