"""The systems and analyses that a config can name: one line for each kind."""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from ..config.catalogue import Declared
from ..config.document import Document
from ..config.tables import Table
from ..store.fields import Variable
from ..systems.assembly import AssemblyKind
from ..systems.beam_chain import BeamChainKind
from ..systems.beam_with_bodies import BeamWithBodiesKind
from ..systems.impact_assembly import ImpactAssemblyKind
from ..systems.two_body_impact import TwoBodyImpactKind
from .basins.kind import BasinsKind
from .beam_eigenvalues.kind import BeamEigenvaluesKind
from .bifurcation_diagram.kind import BifurcationDiagramKind
from .chain_motion.kind import ChainMotionKind
from .continuation.kind import ContinuationKind
from .cost import Cost
from .design.kind import DesignKind
from .energy_split.kind import EnergySplitKind
from .fit.kind import FitKind
from .frequency_response.kind import FrequencyResponseKind
from .linear_motion.kind import LinearMotionKind
from .natural_modes.kind import NaturalModesKind
from .pareto_front.kind import FrontKind
from .periodic_orbit.kind import PeriodicOrbitKind
from .sensitivity.kind import SensitivityKind


class SystemKind(Protocol):
    """A kind of system: what a config may set in it, and how it is built."""

    name: str

    @property
    def analyses(self) -> tuple[str, ...]:
        """The kinds of analysis that go with it."""

    def options(self) -> type[Table]:
        """Return the table that a config gives; its defaults are the usual values."""

    def read(self, document: Document):
        """Return the checked table of a config. **Raises:** `ValueError`."""

    def default(self):
        """Return the system with the usual values, whose parameters can be swept.

        Of a kind whose parameters a config makes up: its parts, by name.
        """

    def declared(self, options) -> Mapping[str, Declared]:
        """Return what is declared of each parameter of a config's system, by path."""

    def axes(self, options) -> Mapping[str, list[str]]:
        """Return names along the axes of its results, by axis."""

    def variation(self, options) -> str:
        """Return a change worth trying, as `--set` takes it."""

    def build(self, options):
        """Return the system of a config's table."""


class AnalysisKind(Protocol):
    """A kind of analysis: its options, and what it computes of a system.

    **Fields:** `sampled`: whether it is done for each sample of a sweep (`True`), once
    for the system (`False`) or either (`None`); `groups`: what it stores beside the
    results, by name, with the names of the coordinates in there; `counts`: whether
    `compute` is told the `number` of all samples; `remembers`: whether it is given a
    memory to go on from.
    """

    name: str
    groups: Mapping[str, tuple[str, ...]]

    @property
    def sampled(self) -> bool | None:
        """Whether it is done for each sample, once, or either."""

    def options(self) -> type[Table]:
        """Return the table that a config gives."""

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for options that do not go with the system.

        **Arguments:** `values`: of its parameters, by path, as far as they are known;
        `declared`: what it declares of each path; `system`: once it has been built.
        """

    def coordinates(self, options) -> list[str]:
        """Return which results are coordinates, where there is no sweep."""

    def compute(
        self, system, samples: Mapping[str, np.ndarray], options, run, progress: Callable
    ) -> dict[str, Variable]:
        """Return the results, `result` (reason codes) among them, of some samples."""

    def cost(self, options, run) -> Cost:
        """Return what it takes, for each sample and in all."""

    def group(
        self, name: str, system, values, study, read: Callable, /
    ) -> dict[str, Variable]:
        """Return a group; `read(name)` gives the stored results of all samples."""

    def summary(self, read: Callable, study) -> list[str]:
        """Return at most six lines about the results."""


_SYSTEMS: tuple[SystemKind, ...] = (
    TwoBodyImpactKind(),
    BeamChainKind(),
    AssemblyKind(),
    ImpactAssemblyKind(),
    BeamWithBodiesKind(),
)
_ANALYSES: tuple[AnalysisKind, ...] = (
    PeriodicOrbitKind(),
    ContinuationKind(),
    BifurcationDiagramKind(),
    BasinsKind(),
    DesignKind(),
    FrontKind(),
    SensitivityKind(),
    FitKind(),
    EnergySplitKind(),
    ChainMotionKind(),
    NaturalModesKind(),
    FrequencyResponseKind(),
    LinearMotionKind(),
    BeamEigenvaluesKind(),
)
SYSTEMS = {kind.name: kind for kind in _SYSTEMS}
ANALYSES = {kind.name: kind for kind in _ANALYSES}
