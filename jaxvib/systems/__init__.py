"""Systems: elements and force laws, assembly, and the classes of systems."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from ..foundation.quantity import Quantity as Quantity
    from ..foundation.quantity import quantity as quantity
    from .assembly import Assembled as Assembled
    from .assembly import assemble as assemble
    from .base_motion import BaseMotion as BaseMotion
    from .base_motion import StopMotion as StopMotion
    from .base_motion import absolute_states as absolute_states
    from .contacts.annular import AnnularContact as AnnularContact
    from .contacts.backlash import backlash as backlash
    from .contacts.contact import HertzContact as HertzContact
    from .contacts.contact import LinearContact as LinearContact
    from .contacts.contact import RestitutionContact as RestitutionContact
    from .contacts.hunt_crossley import HuntCrossleyContact as HuntCrossleyContact
    from .contacts.kelvin_voigt import KelvinVoigtContact as KelvinVoigtContact
    from .contacts.piecewise import PiecewiseLinearContact as PiecewiseLinearContact
    from .contacts.power import PowerContact as PowerContact
    from .contacts.unilateral import Contact as Contact
    from .derived import Variables as Variables
    from .derived import derived as derived
    from .drift import drifting as drifting
    from .fields import AutonomousSystem as AutonomousSystem
    from .fields import ForcedSystem as ForcedSystem
    from .fields import autonomous_system as autonomous_system
    from .fields import forced_system as forced_system
    from .files.matrix_files import read_matrices as read_matrices
    from .frictions.contact_friction import ContactFriction as ContactFriction
    from .frictions.friction import CoulombFriction as CoulombFriction
    from .impact import AppliedLoad as AppliedLoad
    from .impact import ImpactSystem as ImpactSystem
    from .impact import LinearSystem as LinearSystem
    from .loads import ChirpLoad as ChirpLoad
    from .loads import ConstantLoad as ConstantLoad
    from .loads import FilteredNoise as FilteredNoise
    from .loads import FourierLoad as FourierLoad
    from .loads import HarmonicLoad as HarmonicLoad
    from .loads import PulseLoad as PulseLoad
    from .loads import RampLoad as RampLoad
    from .loads import RecordLoad as RecordLoad
    from .loads import StepLoad as StepLoad
    from .loads import band_limited_noise as band_limited_noise
    from .loads import noise_of_density as noise_of_density
    from .modules.beams import BeamModule as BeamModule
    from .modules.beams import FrameModule as FrameModule
    from .modules.bodies import RodOnRod as RodOnRod
    from .modules.bodies import TranslationRotation as TranslationRotation
    from .modules.bodies import TranslationTranslation as TranslationTranslation
    from .modules.plane import PlaneFrameModule as PlaneFrameModule
    from .modules.rotors import SpinningDisc as SpinningDisc
    from .modules.springs import AngularSpring as AngularSpring
    from .modules.springs import PointInertia as PointInertia
    from .modules.springs import PointMass as PointMass
    from .modules.springs import Spring as Spring
    from .parameters import parameter_at as parameter_at
    from .parameters import parameters as parameters
    from .parameters import replace as replace
    from .springs import FunctionLaw as FunctionLaw
    from .springs import NonlinearSpring as NonlinearSpring
    from .springs import PiecewiseLinearLaw as PiecewiseLinearLaw
    from .springs import PolynomialDamperLaw as PolynomialDamperLaw
    from .springs import PolynomialLaw as PolynomialLaw
    from .states import CoilCircuit as CoilCircuit
    from .states import MaxwellElement as MaxwellElement
    from .states import PiezoelectricCircuit as PiezoelectricCircuit
    from .states import StateElement as StateElement
    from .structures.beam import Beam as Beam
    from .structures.beam import BeamWithBodies as BeamWithBodies
    from .structures.beam import ElasticSupport as ElasticSupport
    from .structures.beam_builders import lumped_masses_on_beam as lumped_masses_on_beam
    from .structures.beam_builders import oscillators_on_beam as oscillators_on_beam
    from .structures.beam_builders import rigid_body_on_beam as rigid_body_on_beam
    from .structures.chain import BeamChain as BeamChain
    from .structures.elastic import ElasticStructure as ElasticStructure
    from .two_bodies import Body as Body
    from .two_bodies import TwoBodyImpact as TwoBodyImpact
    from .two_bodies import two_body_impact as two_body_impact
else:
    export_lazily(__name__)
