"""Massive parameter studies and gradient-based design of vibrating, impacting systems."""

import importlib

from ._environment import use_enough_threads, use_float64

use_float64()
use_enough_threads()

__version__ = "0.1.0"

# Each public name and the folder it lives in. A folder is imported when one of its
# names is first used, so that `import jaxvib` and `jaxvib --help` stay instant.
_HOMES = {
    "systems": (
        "AngularSpring",
        "AppliedLoad",
        "Assembled",
        "Beam",
        "BeamChain",
        "BeamModule",
        "BeamWithBodies",
        "Body",
        "Contact",
        "ElasticSupport",
        "ForcedSystem",
        "FrameModule",
        "HarmonicLoad",
        "HertzContact",
        "ImpactSystem",
        "LinearContact",
        "LinearSystem",
        "PointInertia",
        "PointMass",
        "RestitutionContact",
        "RodOnRod",
        "Spring",
        "TranslationRotation",
        "TranslationTranslation",
        "TwoBodyImpact",
        "assemble",
        "forced_system",
        "lumped_masses_on_beam",
        "oscillators_on_beam",
        "parameters",
        "replace",
        "rigid_body_on_beam",
        "two_body_impact",
    ),
    "dynamics": (
        "CubicGround",
        "Stop",
        "Trajectory",
        "beam_shapes",
        "chain_fields",
        "chain_motion",
        "energy_field",
        "energy_statistics",
        "ensemble_split",
        "equilibrium_split",
        "flow",
        "kick",
        "kinetic_split",
        "module_energies",
        "propagate",
        "random_velocities",
        "simulate",
        "step_chain",
        "step_chains",
        "step_long_chain",
        "wave_packet",
    ),
    "kernels": ("kernel",),
    "ensemble": ("Reason", "map_samples", "reason"),
    "modes": (
        "beam_eigenvalues",
        "beam_motion",
        "beam_response",
        "beam_spectra",
        "damped_modes",
        "energy_shares",
        "frequency_derivatives",
        "frequency_response",
        "lowest_frequencies",
        "natural_frequencies",
        "natural_modes",
    ),
    "studies": ("open_study", "sweep"),
    "branches": (
        "BifurcationCurve",
        "BifurcationPoint",
        "Branch",
        "BranchEvent",
        "bifurcation_curves",
        "bifurcation_point",
        "continue_bifurcation",
        "continue_orbit",
        "continue_orbits",
        "extend_branch",
        "find_branches",
        "switch_branch",
    ),
    "orbits": (
        "Attractors",
        "Basins",
        "BifurcationDiagram",
        "LyapunovExponents",
        "PeriodicOrbit",
        "attractors",
        "basins",
        "bifurcation_diagram",
        "lyapunov_exponents",
        "periodic_orbit",
        "poincare_section",
        "state_grid",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module 'jaxvib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
