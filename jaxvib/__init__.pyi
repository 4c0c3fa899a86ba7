"""The public names of jaxvib, for type checkers, editors and `__init__.py`.

Other names are reached through their subpackage, such as `jaxvib.branches.find_branches`.
"""

from . import branches as branches
from . import design as design
from . import dynamics as dynamics
from . import ensemble as ensemble
from . import kernels as kernels
from . import modes as modes
from . import orbits as orbits
from . import programs as programs
from . import reports as reports
from . import studies as studies
from . import systems as systems
from . import transients as transients
from .branches import bifurcation_point as bifurcation_point
from .branches import continue_equilibrium as continue_equilibrium
from .branches import continue_orbit as continue_orbit
from .branches import nonlinear_modes as nonlinear_modes
from .branches import switch_branch as switch_branch
from .dynamics import flow as flow
from .dynamics import propagate as propagate
from .dynamics import simulate as simulate
from .ensemble import Reason as Reason
from .ensemble import map_samples as map_samples
from .ensemble import reason as reason
from .kernels import kernel as kernel
from .modes import beam_eigenvalues as beam_eigenvalues
from .modes import elastic_structure as elastic_structure
from .modes import frequency_response as frequency_response
from .modes import natural_frequencies as natural_frequencies
from .modes import natural_modes as natural_modes
from .orbits import basins as basins
from .orbits import bifurcation_diagram as bifurcation_diagram
from .orbits import equilibrium as equilibrium
from .orbits import lyapunov_exponents as lyapunov_exponents
from .orbits import periodic_orbit as periodic_orbit
from .orbits import static_equilibrium as static_equilibrium
from .reports import live_page as live_page
from .studies import open_study as open_study
from .studies import sweep as sweep
from .systems import *  # noqa: F403
from .transients import fragility_curve as fragility_curve
from .transients import response as response
from .transients import response_covariance as response_covariance
from .transients import responses as responses
from .transients import shock_spectrum as shock_spectrum

__version__: str
