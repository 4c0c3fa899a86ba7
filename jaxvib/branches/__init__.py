"""Continuation and bifurcations of periodic orbits and equilibria."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .continuation import continue_orbit as continue_orbit
    from .continuation import continue_orbits as continue_orbits
    from .curves import BifurcationCurve as BifurcationCurve
    from .curves import bifurcation_curves as bifurcation_curves
    from .curves import continue_bifurcation as continue_bifurcation
    from .equations.mode_equations import FreeMotion as FreeMotion
    from .extension import extend_branch as extend_branch
    from .isolas import find_branches as find_branches
    from .nonlinear_modes import NonlinearMode as NonlinearMode
    from .nonlinear_modes import nonlinear_modes as nonlinear_modes
    from .normal_form import NormalForm as NormalForm
    from .normal_form import normal_form as normal_form
    from .phase_resonance import PhaseResonance as PhaseResonance
    from .phase_resonance import phase_resonance as phase_resonance
    from .problems.bifurcation import bifurcation_point as bifurcation_point
    from .problems.cycles import CycleBranch as CycleBranch
    from .problems.equilibria import EquilibriumBranch as EquilibriumBranch
    from .problems.equilibria import continue_equilibrium as continue_equilibrium
    from .results.bifurcation_results import BifurcationPoint as BifurcationPoint
    from .results.bifurcation_results import FieldBifurcation as FieldBifurcation
    from .results.branch import Branch as Branch
    from .results.branch import BranchEvent as BranchEvent
    from .results.check import BranchCheck as BranchCheck
    from .results.pictures import plot_branches as plot_branches
    from .results.pictures import plot_curves as plot_curves
    from .switching import switch_branch as switch_branch
    from .tracing.settings import ContinuationSettings as ContinuationSettings
else:
    export_lazily(__name__)
