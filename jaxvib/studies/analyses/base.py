"""Base class for kinds of analyses in configs."""

import abc
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..config.tables import Table
from ..store.fields import Variable
from ..systems.base import Role

Options = TypeVar("Options", bound=Table)


class AnalysisKind(abc.ABC, Generic[Options]):
    """A kind of analysis: its options and its computation.

    **To write one**, make a folder in `analyses/` and add a line to `kinds.py`:

    - `kind.py`: the table of options and a subclass of this class. It is imported when
      any config is read and must not import JAX.
    - `compute.py`: the functions `compute` and `summary`, as described below, and
      `group` if there are `groups`. It is imported when a study is run.
    - `pictures.py`, if there are any: the function `pictures`. It is imported when a
      report is drawn.

    **Fields**, and what reads them:

    | field | meaning | read by |
    |---|---|---|
    | `name` | its name in a config | `kinds.py` |
    | `options` | the model of its table | validation of a config |
    | `needs` | the roles that a system must have | validation; `jaxvib new` |
    | `sampled` | a sweep is required (`True`), refused (`False`) or optional (`None`) | \
validation; `in_one_piece` |
    | `resumable` | it is a search: `compute` takes `remember`, the store of its \
evaluations, and without a sweep its results have no axis `sample` | `run/execute.py`; \
`in_one_piece` |
    | `needs_sample_count` | `compute` takes `number`, the number of all samples | \
`run/computing.py` |
    | `smooth` | fields that vary smoothly where no integer field changes, which a \
refined grid interpolates; without any, a grid is not refined | validation; \
`run/refining.py` |
    | `groups` | groups stored besides the results, with the names of their \
coordinates | `run/execute.py` |
    | `counted` | the noun for its results | `reports/header.py` |
    """

    name: ClassVar[str]
    options: ClassVar[type[Table]]
    sampled: ClassVar[bool | None]
    needs: ClassVar[frozenset[Role]] = frozenset()
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    counted: ClassVar[str] = "samples"
    needs_sample_count: ClassVar[bool] = False
    resumable: ClassVar[bool] = False
    smooth: ClassVar[frozenset[str]] = frozenset()

    @abc.abstractmethod
    def sample_bytes(self, options: Options) -> float:
        """Return the stored bytes per sample."""

    def further_work(self, options: Options) -> str:
        """Return in words what `jaxvib check` tells of work besides the samples."""
        return ""

    def check(
        self, options: Options, values: Mapping, declared: Mapping, system: Any = None
    ) -> None:
        """Raise `ValueError` for options that do not fit the system.

        **Arguments:** `values`: of its parameters, by path, as far as known;
        `declared`: declarations by path; `system`: once it has been built.
        """

    def in_one_piece(self, swept: bool) -> bool:
        """Return whether all results are computed by one call, without samples."""
        return not swept and (self.sampled is False or self.resumable)

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether the config is for an autonomous system."""
        return False

    def coordinates(self, options: Options) -> list[str]:
        """Return the results that are coordinates if there is no sweep."""
        return []

    def axes(self, options: Options) -> dict[str, list[str]]:
        """Return the names along each axis of its results, besides the system's."""
        return {}

    def compute(
        self,
        system: Any,
        samples: Mapping[str, np.ndarray],
        options: Options,
        run: Any,
        progress: Callable[[int], None],
        **more: Any,
    ) -> dict[str, Variable]:
        """Return the results of some samples, including `result` (reason codes)."""
        return self.submodule("compute").compute(
            system, samples, options, run, progress, **more
        )

    def group(
        self, name: str, system: Any, samples: Mapping[str, Any], study: Any, read: Callable
    ) -> dict[str, Variable]:
        """Return a group for some samples.

        `samples[path]` and `read(name)` are values and stored results of all samples,
        read on indexing (`Rows`): index only a few.
        """
        return self.submodule("compute").group(name, system, samples, study, read)

    def summary(self, read: Callable, study: Any) -> list[str]:
        """Return at most six lines about the results."""
        return self.submodule("compute").summary(read, study)

    def pictures(self, runs: Sequence) -> list:
        """Return the pictures of a finished run, or of several compared runs."""
        if not self.has_submodule("pictures"):
            return []
        return self.submodule("pictures").pictures(runs)

    def has_submodule(self, module: str) -> bool:
        """Return whether the kind's folder has a module."""
        return importlib.util.find_spec(self._place_of(module)) is not None

    def submodule(self, module: str) -> ModuleType:
        """Return a module of the kind's folder, imported on first use."""
        return importlib.import_module(self._place_of(module))

    def _place_of(self, module: str) -> str:
        package, _, _ = type(self).__module__.rpartition(".")
        return f"{package}.{module}"
