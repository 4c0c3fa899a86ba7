"""What a kind of system is: how to write one, its roles, and what holds for most."""

import abc
import enum
from collections.abc import Mapping
from typing import Any, ClassVar

from ..config.catalogue import Declared, catalogue
from ..config.document import Document
from ..config.tables import validated


class Role(enum.Enum):
    """What a system is to an analysis: a `System`, a `Linear`, a beam or a chain."""

    PERIODIC = "loads that repeat, so that it can have periodic motions"
    DRIVEN = "bodies that any loads move, for a time"
    LINEAR = "linear throughout, with matrices of its own"
    MODULES = "a linear part that is overlaid from modules"
    BEAM = "a beam that carries bodies"
    CHAIN = "a chain of bodies joined by beams"


class SystemKind(abc.ABC):
    """A kind of system: what a config may set in it, and how it is built.

    **To write one**, subclass this class in a file of its own and give it a line in
    `analyses/kinds.py`; `python -m jaxvib.studies.run.write_catalogue` then writes down
    what its parameters declare. The file is imported when any config is read, so that it
    must not import JAX: what it needs of `jaxvib.systems` it gets by `library`.

    **Fields:** `name`: as a config gives it; `options`: the table that a config gives,
    whose defaults are the usual values; `roles`: which analyses go with it;
    `colliding_pair`: whether it is drawn as two bodies, one in the other.
    """

    name: ClassVar[str]
    roles: ClassVar[frozenset[Role]]
    options: Any
    colliding_pair: ClassVar[bool] = False

    def read(self, document: Document) -> Any:
        """Return the checked table of a config. **Raises:** `ValueError`."""
        return validated(self.options, document.tables["system"], "system", document)

    def schema(self) -> dict:
        """Return the JSON schema of the table that a config gives."""
        return self.options.model_json_schema()

    def refuse_transients(self, options, document: Document) -> None:  # noqa: B027
        """Raise `ValueError` for loads that do not repeat, of an analysis that needs it."""

    def refuse_loads(self, options, document: Document) -> None:
        """Raise `ValueError` for loads that change, of an analysis that allows none."""
        raise ValueError(
            f"{document.where('system')}: a {self.name} is moved by a load that changes; "
            "allowed: bodies under constant loads, such as an impact_assembly"
        )

    @abc.abstractmethod
    def default(self):
        """Return the system with the usual values, whose parameters can be swept.

        Of a kind whose parameters a config makes up: its parts, by name.
        """

    def declared(self, options) -> Mapping[str, Declared]:
        """Return what is declared of each parameter of a config's system, by path."""
        return catalogue()[self.name]

    def axes(self, options) -> Mapping[str, list[str]]:
        """Return names along the axes of its results, by axis."""
        return {}

    def modules(self, table: Mapping) -> dict[str, Mapping]:
        """Return the modules of a config's table, by name, of a system that has some."""
        return {}

    @abc.abstractmethod
    def variation(self, options) -> str:
        """Return a change worth trying, as `--set` takes it."""

    @abc.abstractmethod
    def build(self, options):
        """Return the system of a config's table."""
