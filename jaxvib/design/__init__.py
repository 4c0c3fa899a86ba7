"""Gradient-based design optimisation, model fitting and sensitivity analysis."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .beam_measures import beam_measure as beam_measure
    from .beam_measures import placement_measure as placement_measure
    from .bifurcation_measures import bifurcation_measure as bifurcation_measure
    from .bifurcation_measures import stable_range_measure as stable_range_measure
    from .branch_maximum import BranchMaximum as BranchMaximum
    from .branch_maximum import branch_maximum as branch_maximum
    from .branch_maximum import branch_maximum_measure as branch_maximum_measure
    from .chain_measures import Packet as Packet
    from .chain_measures import RandomSplit as RandomSplit
    from .chain_measures import energy_share_measure as energy_share_measure
    from .chain_measures import packet_measure as packet_measure
    from .fitting import Fit as Fit
    from .fitting import fit as fit
    from .front import Front as Front
    from .front import pareto_front as pareto_front
    from .front_search import simplex_lattice as simplex_lattice
    from .goal import Goal as Goal
    from .history import Design as Design
    from .likelihood import Likelihood as Likelihood
    from .likelihood import Record as Record
    from .likelihood import likelihood as likelihood
    from .linear_measures import natural_frequency_measure as natural_frequency_measure
    from .linear_measures import peaks_measure as peaks_measure
    from .linear_measures import response_measure as response_measure
    from .linear_measures import white_noise_measure as white_noise_measure
    from .measure import EvaluationLostError as EvaluationLostError
    from .measure import Measure as Measure
    from .measure import change_measure as change_measure
    from .measure import over as over
    from .measure import parameter_measure as parameter_measure
    from .optimise import evaluated as evaluated
    from .optimise import optimise as optimise
    from .orbit_measures import contact_impulse as contact_impulse
    from .orbit_measures import orbit_measure as orbit_measure
    from .problem import Limit as Limit
    from .problem import Problem as Problem
    from .sensitivity import LocalSensitivity as LocalSensitivity
    from .sensitivity import SobolIndices as SobolIndices
    from .sensitivity import local_sensitivity as local_sensitivity
    from .sensitivity import sobol_indices as sobol_indices
    from .settings import SearchSettings as SearchSettings
    from .smoothness import Notice as Notice
    from .smoothness import notice as notice
    from .tuned_mass_damper import optimal_absorber as optimal_absorber
    from .variables import Variable as Variable
    from .verification import RangeVerification as RangeVerification
    from .verification import verify_stable_range as verify_stable_range
    from .worst_case import WorstCase as WorstCase
    from .worst_case import worst_over_box as worst_over_box
else:
    export_lazily(__name__)
