"""Periodic orbits, their stability, equilibria, attractors and basins."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .attractors import Attractors as Attractors
    from .basins import Basins as Basins
    from .basins import attractors as attractors
    from .basins import basins as basins
    from .basins import basins_engine as basins_engine
    from .basins import state_grid as state_grid
    from .crossings import FieldSection as FieldSection
    from .diagram import BifurcationDiagram as BifurcationDiagram
    from .diagram import bifurcation_diagram as bifurcation_diagram
    from .equilibrium import Equilibrium as Equilibrium
    from .equilibrium import equilibrium as equilibrium
    from .integrity_curves import IntegrityCurves as IntegrityCurves
    from .integrity_curves import integrity_curves as integrity_curves
    from .limit_cycle import DriftingCycle as DriftingCycle
    from .limit_cycle import LimitCycle as LimitCycle
    from .lyapunov import LyapunovExponents as LyapunovExponents
    from .lyapunov import Section as Section
    from .lyapunov import lyapunov_exponents as lyapunov_exponents
    from .lyapunov import poincare_section as poincare_section
    from .orbit import DriftingOrbit as DriftingOrbit
    from .periodic_orbit import PeriodicOrbit as PeriodicOrbit
    from .periodic_orbit import periodic_orbit as periodic_orbit
    from .regimes import regimes as regimes
    from .regimes import transient_engine as transient_engine
    from .robustness import BasinEntropy as BasinEntropy
    from .robustness import Robustness as Robustness
    from .robustness import basin_entropy as basin_entropy
    from .robustness import robustness as robustness
    from .settings import SettlingSettings as SettlingSettings
    from .smallest_shock import Shock as Shock
    from .smallest_shock import smallest_shock as smallest_shock
    from .static_equilibrium import StaticEquilibrium as StaticEquilibrium
    from .static_equilibrium import gaps_from_equilibrium as gaps_from_equilibrium
    from .static_equilibrium import static_equilibrium as static_equilibrium
    from .trajectories import contact_work_rates as contact_work_rates
    from .trajectories import orbit_trajectories as orbit_trajectories
else:
    export_lazily(__name__)
