"""Time integration: the flow of a system and observables along a motion."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .assembly_motion import module_energies as module_energies
    from .chains.energy import beam_shapes as beam_shapes
    from .chains.energy import energy_field as energy_field
    from .chains.energy import equilibrium_split as equilibrium_split
    from .chains.energy import kinetic_split as kinetic_split
    from .chains.ensemble import ensemble_split as ensemble_split
    from .chains.motion import chain_fields as chain_fields
    from .chains.motion import chain_motion as chain_motion
    from .chains.motion import energy_statistics as energy_statistics
    from .chains.starts import kick as kick
    from .chains.starts import random_velocities as random_velocities
    from .chains.starts import wave_packet as wave_packet
    from .chains.stepping import CubicGround as CubicGround
    from .chains.stepping import Stop as Stop
    from .chains.stepping import step_chain as step_chain
    from .contact_histories import ContactHistories as ContactHistories
    from .contact_histories import contact_histories as contact_histories
    from .energy_balance import EnergyBalance as EnergyBalance
    from .energy_balance import energy_balance as energy_balance
    from .flow import Trajectory as Trajectory
    from .flow import flow as flow
    from .flow import simulate as simulate
    from .measures import mean_element_power as mean_element_power
    from .measures import mean_friction_power as mean_friction_power
    from .propagation import propagate as propagate
else:
    export_lazily(__name__)
