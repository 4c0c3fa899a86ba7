"""The systems and analyses that a config can name: one line for each kind."""

from .periodic_orbit import PeriodicOrbitKind
from .two_body_impact import TwoBodyImpactKind

SYSTEMS = {kind.name: kind for kind in (TwoBodyImpactKind(),)}
ANALYSES = {kind.name: kind for kind in (PeriodicOrbitKind(),)}
