"""Base class for kinds of systems in configs, and their roles."""

import abc
import enum
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..config.catalogue import Declared, catalogue
from ..config.document import Document
from ..config.quantities import Places
from ..config.tables import validated


class Role(enum.Enum):
    """The role of a system in analyses: a `System`, a `Linear`, a beam or a chain."""

    PERIODIC = "periodic loads, so that periodic motions exist"
    DRIVEN = "bodies under loads of any time history"
    LINEAR = "linear throughout, with system matrices"
    MODULES = "a linear part assembled from modules"
    BEAM = "a beam with attached bodies"
    CHAIN = "a chain of bodies joined by beams"


class SystemKind(abc.ABC):
    """A kind of system: its config table and how to build it.

    **To write one**, subclass this class in a new file and add a line to `kinds.py`
    beside it; then `python -m jaxvib.studies.run.write_catalogue` stores the
    declarations of its parameters. The file is imported when any config is read and
    must not import JAX: use `library` to access `jaxvib.systems`.

    **Fields:** `name`: as in a config; `options`: the model of its table, with the
    usual values as defaults; `roles`: which analyses support it; `colliding_pair`:
    whether it is drawn as two bodies, one inside the other.
    """

    name: ClassVar[str]
    roles: ClassVar[frozenset[Role]]
    options: Any
    colliding_pair: ClassVar[bool] = False

    def read(self, document: Document) -> Any:
        """Return the validated table of a config. **Raises:** `ValueError`."""
        return validated(self.options, document.tables["system"], "system", document)

    def schema(self) -> dict:
        """Return the JSON schema of its table."""
        return self.options.model_json_schema()

    def refuse_transients(self, options: Any, document: Document) -> None:  # noqa: B027
        """Raise `ValueError` for non-periodic loads if periodic ones are needed."""

    def refuse_loads(self, options: Any, document: Document) -> None:
        """Raise `ValueError` for time-dependent loads if constant ones are needed."""
        raise ValueError(
            f"{document.where('system')}: a {self.name} has a time-dependent load; "
            "allowed: bodies under constant loads, such as an impact_assembly"
        )

    @abc.abstractmethod
    def default(self) -> Any:
        """Return the system with the usual values, to declare its parameters.

        If a config defines its parameters: its parts, or their classes, by name.
        """

    def declared(self, options: Any) -> Mapping[str, Declared]:
        """Return the declaration of each parameter of a config's system, by path."""
        return catalogue()[self.name]

    def places(self, options: Any) -> Places:
        """Return what the numbers of an analysis refer to."""
        return Places(self.declared(options))

    def axes(self, options: Any) -> Mapping[str, list[str]]:
        """Return the names along each axis of its results."""
        return {}

    def freedom_units(self, options: Any) -> list[str]:
        """Return the unit of each degree of freedom's displacement."""
        return list(self.build(options).labels.freedom_units)

    def modules(self, table: Mapping) -> dict[str, Mapping]:
        """Return the modules of a config's table, by name, if it has any."""
        return {}

    def variation(self, options: Any) -> str:
        """Return a suggested change, of the first non-zero number, as `--set` takes it."""
        path, entry = next(
            each for each in self.declared(options).items() if each[1].default
        )
        return f"{path}={1.2 * np.asarray(entry.default) / entry.bare:g}"

    @abc.abstractmethod
    def build(self, options: Any) -> Any:
        """Build the system from a config's table."""
