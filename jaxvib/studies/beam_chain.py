"""The chain of bodies joined by beams in a config."""

from typing import Literal

from pydantic import Field

from .catalogue import catalogue
from .tables import Table, flattened, nested_model, validated


class BeamChainKind:
    """Bodies that shift and turn, joined by Euler-Bernoulli beams without mass."""

    name = "beam_chain"
    analyses = ("energy_split",)

    def options(self) -> type[Table]:
        """Return the table that a config gives for such a system."""
        given = {
            "kind": (Literal["beam_chain"], Field(description="the kind of system")),
            "bodies": (
                int,
                Field(default=256, ge=3, le=1_000_000, description="number of bodies"),
            ),
            "ends": (
                Literal["periodic", "free", "clamped", "hinged"],
                Field(default="periodic", description="what holds the ends"),
            ),
        }
        return nested_model(self.name, catalogue()[self.name], given)

    def read(self, document):
        """Return the checked table of a config."""
        return validated(self.options(), document.tables["system"], "system", document)

    def default(self):
        """Return the system with the values that it has by default."""
        from ..systems import BeamChain

        return BeamChain(256, 1.0)

    def declared(self, options):
        """Return what is declared of each parameter, by path."""
        return catalogue()[self.name]

    def axes(self, options) -> dict[str, list[str]]:
        """Return names along the axes of its results, by axis."""
        return {}

    def variation(self, options) -> str:
        """Return a change worth trying."""
        return "bodies=512"

    def build(self, options):
        """Return the system that a config asks for."""
        from ..systems import BeamChain, replace

        chain = BeamChain(options.bodies, 1.0, options.ends)
        values = flattened(options.model_dump(exclude={"kind", "bodies", "ends"}))
        return replace(chain, values)
