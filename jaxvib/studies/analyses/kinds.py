"""Registry of the systems and analyses that a config can name."""

from ..systems.assembly import AssemblyKind
from ..systems.base import SystemKind
from ..systems.beam_chain import BeamChainKind
from ..systems.beam_with_bodies import BeamWithBodiesKind
from ..systems.elastic_impact import ElasticImpactKind
from ..systems.impact_assembly import ImpactAssemblyKind
from ..systems.two_body_impact import TwoBodyImpactKind
from .base import AnalysisKind
from .basins.kind import BasinsKind
from .beam_eigenvalues.kind import BeamEigenvaluesKind
from .bifurcation_diagram.kind import BifurcationDiagramKind
from .chain_motion.kind import ChainMotionKind
from .continuation.kind import ContinuationKind
from .design.kind import DesignKind
from .energy_split.kind import EnergySplitKind
from .fit.kind import FitKind
from .fragility.kind import FragilityKind
from .frequency_response.kind import FrequencyResponseKind
from .integrity_curves.kind import IntegrityCurvesKind
from .linear_motion.kind import LinearMotionKind
from .natural_modes.kind import NaturalModesKind
from .noise_response.kind import NoiseResponseKind
from .pareto_front.kind import FrontKind
from .periodic_orbit.kind import PeriodicOrbitKind
from .response.kind import ResponseKind
from .sensitivity.kind import SensitivityKind
from .shock_spectrum.kind import ShockSpectrumKind

_SYSTEMS: tuple[SystemKind, ...] = (
    TwoBodyImpactKind(),
    BeamChainKind(),
    AssemblyKind(),
    ImpactAssemblyKind(),
    ElasticImpactKind(),
    BeamWithBodiesKind(),
)
_ANALYSES: tuple[AnalysisKind, ...] = (
    PeriodicOrbitKind(),
    ContinuationKind(),
    BifurcationDiagramKind(),
    BasinsKind(),
    IntegrityCurvesKind(),
    ResponseKind(),
    NoiseResponseKind(),
    FragilityKind(),
    ShockSpectrumKind(),
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


def analyses_of(system: SystemKind) -> list[str]:
    """Return the analyses for a kind of system, most specific first."""
    fitting = [kind for kind in ANALYSES.values() if kind.needs <= system.roles]
    return [kind.name for kind in sorted(fitting, key=lambda kind: not kind.needs)]
