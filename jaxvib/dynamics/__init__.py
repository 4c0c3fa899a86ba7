"""Time: the flow of a system, and what is watched along it."""

from .chain_energy import beam_shapes as beam_shapes
from .chain_energy import energy_field as energy_field
from .chain_energy import equilibrium_split as equilibrium_split
from .chain_energy import kinetic_split as kinetic_split
from .chain_ensemble import ensemble_split as ensemble_split
from .chain_lanes import step_chains as step_chains
from .chain_motion import chain_fields as chain_fields
from .chain_motion import chain_motion as chain_motion
from .chain_motion import energy_statistics as energy_statistics
from .chain_starts import kick as kick
from .chain_starts import random_velocities as random_velocities
from .chain_starts import wave_packet as wave_packet
from .chain_stepping import CubicGround as CubicGround
from .chain_stepping import Stop as Stop
from .chain_stepping import step_chain as step_chain
from .chain_tiles import step_long_chain as step_long_chain
from .flow import Trajectory as Trajectory
from .flow import flow as flow
from .flow import simulate as simulate
from .module_energies import module_energies as module_energies
from .propagation import propagate as propagate
