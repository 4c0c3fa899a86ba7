"""Base class for kinds of analyses in configs."""

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
    """A kind of analysis: its options and its computation.

    **To write one**, make a folder in `analyses/` and add a line to `kinds.py`:

    - `kind.py`: the table of options and a subclass of this class. It is imported when
      any config is read and must not import JAX.
    - `compute.py`: the functions `compute` and `summary`, as described below, and
      `group` if there are `groups`. It is imported when a study is run.
    - `pictures.py`: the function `pictures`. It is imported when a report is drawn.

    **Fields:** `name`: as in a config; `options`: the model of its table; `sampled`:
    whether it is computed for each sample of a sweep (`True`), once for the system
    (`False`) or either (`None`); `needs`: the required roles of a system; `groups`: the
    groups stored besides the results, by name, with the names of their coordinates;
    `counted`: the noun for its results in the report; `unbatched`: whether its results
    lack the sample axis if nothing is swept; `needs_sample_count`: whether `compute`
    takes the `number` of all samples; `resumable`: whether it can be resumed, by the
    argument `remember`; `smooth`: fields that vary smoothly where no integer field
    changes, which a refined grid interpolates; without any, a grid is not refined.
    """

    name: ClassVar[str]
    options: ClassVar[type[Table]]
    sampled: ClassVar[bool | None]
    needs: ClassVar[frozenset[Role]] = frozenset()
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    counted: ClassVar[str] = "samples"
    unbatched: ClassVar[bool] = False
    needs_sample_count: ClassVar[bool] = False
    resumable: ClassVar[bool] = False
    smooth: ClassVar[frozenset[str]] = frozenset()

    @abc.abstractmethod
    def sample_bytes(self, options) -> float:
        """Return the stored bytes per sample."""

    def check(  # noqa: B027 - most kinds have nothing to check
        self, options, values: Mapping, declared: Mapping, system=None
    ) -> None:
        """Raise `ValueError` for options that do not fit the system.

        **Arguments:** `values`: of its parameters, by path, as far as known;
        `declared`: declarations by path; `system`: once it has been built.
        """

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether the config is for an autonomous system."""
        return False

    def coordinates(self, options) -> list[str]:
        """Return the results that are coordinates if there is no sweep."""
        return []

    def axes(self, options) -> dict[str, list[str]]:
        """Return the names along each axis of its results, besides the system's."""
        return {}

    def compute(
        self, system, samples: Mapping[str, np.ndarray], options, run, progress, **more
    ) -> dict[str, Variable]:
        """Return the results of some samples, including `result` (reason codes)."""
        return self.submodule("compute").compute(
            system, samples, options, run, progress, **more
        )

    def group(
        self, name: str, system, samples, study, read: Callable
    ) -> dict[str, Variable]:
        """Return a group for some samples.

        `samples[path]` and `read(name)` are values and stored results of all samples,
        read on indexing (`Rows`): index only a few.
        """
        return self.submodule("compute").group(name, system, samples, study, read)

    def summary(self, read: Callable, study) -> list[str]:
        """Return at most six lines about the results."""
        return self.submodule("compute").summary(read, study)

    def pictures(self, runs) -> list:
        """Return the pictures of a finished run, or of several compared runs."""
        return self.submodule("pictures").pictures(runs)

    def submodule(self, module: str) -> ModuleType:
        """Return a module of the kind's folder, imported on first use."""
        package, _, _ = type(self).__module__.rpartition(".")
        return importlib.import_module(f"{package}.{module}")
