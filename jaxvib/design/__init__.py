"""Gradient-based design optimisation, model fitting and sensitivity analysis."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .fitting import Fit as Fit
    from .fitting import fit as fit
    from .front import Front as Front
    from .front import pareto_front as pareto_front
    from .goal import Goal as Goal
    from .likelihood import Likelihood as Likelihood
    from .likelihood import Record as Record
    from .likelihood import likelihood as likelihood
    from .measures.beam import beam_measure as beam_measure
    from .measures.beam import placement_measure as placement_measure
    from .measures.bifurcation import bifurcation_measure as bifurcation_measure
    from .measures.bifurcation import stable_range_measure as stable_range_measure
    from .measures.branch_maximum import BranchMaximum as BranchMaximum
    from .measures.branch_maximum import branch_maximum as branch_maximum
    from .measures.branch_maximum import branch_maximum_measure as branch_maximum_measure
    from .measures.chain import Packet as Packet
    from .measures.chain import RandomSplit as RandomSplit
    from .measures.chain import energy_share_measure as energy_share_measure
    from .measures.chain import packet_measure as packet_measure
    from .measures.linear import natural_frequency_measure as natural_frequency_measure
    from .measures.linear import peaks_measure as peaks_measure
    from .measures.linear import response_measure as response_measure
    from .measures.linear import white_noise_measure as white_noise_measure
    from .measures.measure import EvaluationLostError as EvaluationLostError
    from .measures.measure import Measure as Measure
    from .measures.measure import change_measure as change_measure
    from .measures.measure import over as over
    from .measures.measure import parameter_measure as parameter_measure
    from .measures.orbit import contact_impulse as contact_impulse
    from .measures.orbit import orbit_measure as orbit_measure
    from .optimise import evaluated as evaluated
    from .optimise import optimise as optimise
    from .problem import Limit as Limit
    from .problem import Problem as Problem
    from .searches.front_search import simplex_lattice as simplex_lattice
    from .searches.history import Design as Design
    from .searches.smoothness import Notice as Notice
    from .searches.smoothness import notice as notice
    from .sensitivity import LocalSensitivity as LocalSensitivity
    from .sensitivity import SobolIndices as SobolIndices
    from .sensitivity import local_sensitivity as local_sensitivity
    from .sensitivity import sobol_indices as sobol_indices
    from .settings import SearchSettings as SearchSettings
    from .tuned_mass_damper import optimal_absorber as optimal_absorber
    from .variables import Variable as Variable
    from .verification import RangeVerification as RangeVerification
    from .verification import verify_stable_range as verify_stable_range
    from .worst_case import WorstCase as WorstCase
    from .worst_case import worst_over_box as worst_over_box
else:
    export_lazily(__name__)
