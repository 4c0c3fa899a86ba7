"""Periodic motion: shooting, monodromy, Floquet multipliers, attractors."""

from .attractors import Attractors as Attractors
from .basins import Basins as Basins
from .basins import attractors as attractors
from .basins import basins as basins
from .basins import state_grid as state_grid
from .diagram import BifurcationDiagram as BifurcationDiagram
from .diagram import bifurcation_diagram as bifurcation_diagram
from .lyapunov import LyapunovExponents as LyapunovExponents
from .lyapunov import Section as Section
from .lyapunov import lyapunov_exponents as lyapunov_exponents
from .lyapunov import poincare_section as poincare_section
from .periodic_orbit import PeriodicOrbit as PeriodicOrbit
from .periodic_orbit import periodic_orbit as periodic_orbit
from .regimes import regimes as regimes
from .regimes import transient_engine as transient_engine
from .traces import orbit_traces as orbit_traces
