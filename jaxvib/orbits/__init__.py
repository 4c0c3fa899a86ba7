"""Periodic orbits, their stability, equilibria, attractors and basins."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .crossings import FieldSection as FieldSection
    from .equilibrium import Equilibrium as Equilibrium
    from .equilibrium import equilibrium as equilibrium
    from .limit_cycle import DriftingCycle as DriftingCycle
    from .limit_cycle import LimitCycle as LimitCycle
    from .lyapunov import LyapunovExponents as LyapunovExponents
    from .lyapunov import Section as Section
    from .lyapunov import lyapunov_exponents as lyapunov_exponents
    from .lyapunov import poincare_section as poincare_section
    from .orbit import DriftingOrbit as DriftingOrbit
    from .periodic_orbit import PeriodicOrbit as PeriodicOrbit
    from .periodic_orbit import periodic_orbit as periodic_orbit
    from .samples.diagram import BifurcationDiagram as BifurcationDiagram
    from .samples.diagram import bifurcation_diagram as bifurcation_diagram
    from .samples.regimes import regimes as regimes
    from .samples.regimes import transient_engine as transient_engine
    from .samples.trajectories import contact_work_rates as contact_work_rates
    from .samples.trajectories import orbit_trajectories as orbit_trajectories
    from .searches.attractors import Attractors as Attractors
    from .searches.basins import Basins as Basins
    from .searches.basins import attractors as attractors
    from .searches.basins import basins as basins
    from .searches.basins import basins_engine as basins_engine
    from .searches.basins import state_grid as state_grid
    from .searches.integrity_curves import IntegrityCurves as IntegrityCurves
    from .searches.integrity_curves import integrity_curves as integrity_curves
    from .searches.robustness import BasinEntropy as BasinEntropy
    from .searches.robustness import Robustness as Robustness
    from .searches.robustness import basin_entropy as basin_entropy
    from .searches.robustness import robustness as robustness
    from .searches.smallest_shock import Shock as Shock
    from .searches.smallest_shock import smallest_shock as smallest_shock
    from .settings import SettlingSettings as SettlingSettings
    from .static_equilibrium import StaticEquilibrium as StaticEquilibrium
    from .static_equilibrium import gaps_from_equilibrium as gaps_from_equilibrium
    from .static_equilibrium import static_equilibrium as static_equilibrium
else:
    export_lazily(__name__)
