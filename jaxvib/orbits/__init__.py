"""Periodic motion: shooting, monodromy, Floquet multipliers, continuation."""

from .bifurcation import BifurcationPoint as BifurcationPoint
from .bifurcation import bifurcation_point as bifurcation_point
from .branch import Branch as Branch
from .continuation import continue_orbit as continue_orbit
from .continuation import continue_orbits as continue_orbits
from .continuation import switch_branch as switch_branch
from .periodic_orbit import PeriodicOrbit as PeriodicOrbit
from .periodic_orbit import periodic_orbit as periodic_orbit
from .regimes import orbit_traces as orbit_traces
from .regimes import regimes as regimes
