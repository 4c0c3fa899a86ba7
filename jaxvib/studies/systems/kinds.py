"""Registry of the systems that a config can name."""

from .assembly import AssemblyKind
from .base import SystemKind
from .beam_chain import BeamChainKind
from .beam_with_bodies import BeamWithBodiesKind
from .elastic_impact import ElasticImpactKind
from .impact_assembly import ImpactAssemblyKind
from .two_body_impact import TwoBodyImpactKind

_SYSTEMS: tuple[SystemKind, ...] = (
    TwoBodyImpactKind(),
    BeamChainKind(),
    AssemblyKind(),
    ImpactAssemblyKind(),
    ElasticImpactKind(),
    BeamWithBodiesKind(),
)
SYSTEMS = {kind.name: kind for kind in _SYSTEMS}
