"""What a kind of analysis is: how to write one, and what holds unless it says more."""

import abc
import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import ClassVar

import numpy as np

from ..config.tables import Table
from ..store.fields import Variable
from ..systems.base import Role


class AnalysisKind(abc.ABC):
    """A kind of analysis: its options, and what it computes of a system.

    **To write one**, make a folder in `analyses/` and give it a line in `kinds.py`:

    - `kind.py`: the table of options and a subclass of this class. It is imported when
      any config is read, so that it must not import JAX.
    - `compute.py`: the functions `compute` and `summary`, as they are described below,
      and `group` where there are `groups`. It is imported once a study is run.
    - `pictures.py`: the function `pictures`. It is imported once a report is drawn.

    **Fields:** `name`: as a config gives it; `options`: the table that a config gives;
    `sampled`: whether it is done for each sample of a sweep (`True`), once for the system
    (`False`) or either (`None`); `needs`: the roles that a system must have; `groups`:
    what it stores beside the results, by name, with the names of the coordinates in
    there; `counted`: what its results are a number of, in the report; `whole`: whether,
    where nothing is swept, its results have no axis of samples; `counts`: whether
    `compute` is told the `number` of all samples; `remembers`: whether it is given a
    memory to go on from, `remember`; `smooth`: the numbers of a sample that change
    smoothly where none of its whole numbers does, so that a refined grid fills them in;
    without any a grid is not refined.
    """

    name: ClassVar[str]
    options: ClassVar[type[Table]]
    sampled: ClassVar[bool | None]
    needs: ClassVar[frozenset[Role]] = frozenset()
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    counted: ClassVar[str] = "samples"
    whole: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    remembers: ClassVar[bool] = False
    smooth: ClassVar[frozenset[str]] = frozenset()

    @abc.abstractmethod
    def sample_bytes(self, options) -> float:
        """Return how much is stored of each sample, bytes."""

    def check(  # noqa: B027 - most kinds have nothing to check
        self, options, values: Mapping, declared: Mapping, system=None
    ) -> None:
        """Raise `ValueError` for options that do not go with the system.

        **Arguments:** `values`: of its parameters, by path, as far as they are known;
        `declared`: what it declares of each path; `system`: once it has been built.
        """

    def of_itself(self, table: Mapping) -> bool:
        """Return whether what a config asks for is of a system that moves itself."""
        return False

    def coordinates(self, options) -> list[str]:
        """Return which results are coordinates, where there is no sweep."""
        return []

    def axes(self, options) -> dict[str, list[str]]:
        """Return names along the axes of its results, by axis, beside the system's."""
        return {}

    def compute(
        self, system, samples: Mapping[str, np.ndarray], options, run, progress, **more
    ) -> dict[str, Variable]:
        """Return the results, `result` (reason codes) among them, of some samples."""
        return self.beside("compute").compute(
            system, samples, options, run, progress, **more
        )

    def group(
        self, name: str, system, samples, study, read: Callable
    ) -> dict[str, Variable]:
        """Return a group of some samples.

        `samples[path]` and `read(name)` are values and stored results of all samples, read
        where they are indexed (`Rows`): those of a few are all that is to be asked for.
        """
        return self.beside("compute").group(name, system, samples, study, read)

    def summary(self, read: Callable, study) -> list[str]:
        """Return at most six lines about the results."""
        return self.beside("compute").summary(read, study)

    def pictures(self, runs) -> list:
        """Return the pictures of a finished run, or of some that are compared."""
        return self.beside("pictures").pictures(runs)

    def beside(self, module: str) -> ModuleType:
        """Return a module of the kind's own folder, imported now if not before."""
        package, _, _ = type(self).__module__.rpartition(".")
        return importlib.import_module(f"{package}.{module}")
