"""The two-body vibro-impact system in a config."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from ..config.catalogue import catalogue
from ..config.tables import Table, flattened, nested_model, option
from ..resources import library
from .base import Role, SystemKind

_MODULES = ("ground-main", "main-attached")
_WAYS = (
    "stiffness; or youngs_moduli and poissons_ratios with curvature_sum (and "
    "shape_factor) or with curvatures"
)
_Positive = Annotated[float, Field(gt=0.0)]
_Poisson = Annotated[float, Field(gt=-1.0, le=0.5)]


class Contact(Table):
    """Hertz contact, by its stiffness or by materials and geometry."""

    stiffness: float | None = option(
        "Hertz stiffness K of the contact", None, gt=0.0, unit="N/m^1.5",
        allowed="(0, inf) N/m^1.5",
    )  # fmt: skip
    youngs_moduli: list[_Positive] | None = option(
        "Young's moduli of the two bodies", None, min_length=2, max_length=2, unit="Pa",
        allowed="two numbers in (0, inf) Pa",
    )  # fmt: skip
    poissons_ratios: list[_Poisson] | None = option(
        "Poisson's ratios of the two bodies", None, min_length=2, max_length=2, unit="",
        allowed="two numbers in (-1, 0.5]",
    )  # fmt: skip
    curvature_sum: float | None = option(
        "A + B of the local gap A x^2 + B y^2", None, gt=0.0, unit="1/m",
        allowed="(0, inf) 1/m",
    )  # fmt: skip
    shape_factor: float | None = option(
        "q of the contact, 1/pi for a circular one", None, gt=0.0, unit="",
        allowed="(0, inf)",
    )  # fmt: skip
    curvatures: list[_Positive] | None = option(
        "A and B of the local gap A x^2 + B y^2, A <= B: an elliptic contact", None,
        min_length=2, max_length=2, unit="1/m",
        allowed="two ascending numbers in (0, inf) 1/m",
    )  # fmt: skip

    @pydantic.model_validator(mode="after")
    def _check_combination(self):
        given = {
            name for name in type(self).model_fields if getattr(self, name) is not None
        }
        materials = {"youngs_moduli", "poissons_ratios"}
        combinations = (
            set(),
            {"stiffness"},
            {*materials, "curvature_sum"},
            {*materials, "curvature_sum", "shape_factor"},
            {*materials, "curvatures"},
        )
        if given not in combinations:
            raise ValueError(
                f"{', '.join(sorted(given))} cannot be combined; allowed: {_WAYS}"
            )
        if self.curvatures and self.curvatures[0] > self.curvatures[1]:
            raise ValueError(f"curvatures = {self.curvatures} 1/m do not ascend")
        return self

    def law(self) -> Any:
        """Return the contact law, or `None` for the system's default."""
        systems = library("systems")
        if self.stiffness is not None:
            return systems.HertzContact(self.stiffness)
        if self.youngs_moduli is None or self.poissons_ratios is None:
            return None
        first, second = zip(self.youngs_moduli, self.poissons_ratios, strict=True)
        moduli, ratios = zip(first, second, strict=True)
        if self.curvatures is not None:
            smaller, larger = self.curvatures
            return systems.HertzContact.from_curvatures(moduli, ratios, (smaller, larger))
        assert self.curvature_sum is not None, "validated: one of the two"
        shape = {} if self.shape_factor is None else {"shape_factor": self.shape_factor}
        return systems.HertzContact.from_materials(
            moduli, ratios, self.curvature_sum, **shape
        )


class TwoBodyImpactKind(SystemKind):
    """A main body on the ground with an attached body that can hit it."""

    name = "two_body_impact"
    roles = frozenset({Role.PERIODIC, Role.DRIVEN, Role.MODULES})
    colliding_pair = True

    @functools.cached_property
    def options(self) -> type[Table]:
        """The model of its config table."""
        given = {
            "kind": (Literal["two_body_impact"], Field(description="the kind of system")),
            "contact": (Contact, Field(default=Contact())),
        }
        return nested_model("two_body_impact", catalogue()[self.name], given)

    def default(self) -> Any:
        """Return the system with default values."""
        systems = library("systems")
        return systems.two_body_impact()

    def axes(self, options: Any) -> dict[str, list[str]]:
        """Return the names along each axis of its results."""
        system = library("systems").TwoBodyImpact
        return {
            "state": list(system.state_names),
            "freedom": list(system.freedom_names),
            "module": list(_MODULES),
        }

    def modules(self, table: Mapping) -> dict[str, Mapping]:
        """Return the two bodies on their springs, by name."""
        return {name: {"module": "translation_translation"} for name in _MODULES}

    def variation(self, options: Any) -> str:
        """Return a suggested change."""
        return f"attached.mass={1.2 * options.attached.mass:.4g}"

    def build(self, options: Any) -> Any:
        """Build the system of a config."""
        systems = library("systems")
        system = systems.two_body_impact(contact=options.contact.law())
        values = flattened(options.model_dump(exclude={"kind", "contact"}))
        return systems.replace(system, values)
