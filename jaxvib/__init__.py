"""Massive parameter studies and gradient-based design of vibrating, impacting systems."""

import importlib
from types import ModuleType

from .foundation.environment import use_enough_threads, use_float64
from .foundation.gc_pause import gc_paused
from .foundation.suggestions import unknown_key

use_float64()
use_enough_threads()

__version__ = "0.2.0"

# Public names, grouped by the subpackage that defines them; `systems` exports all of
# its names here. Other names are reached through their subpackage, such as
# `jaxvib.branches.find_branches`. Subpackages are imported lazily, so that
# `import jaxvib` and `jaxvib --help` stay fast.
_VERBS = {
    "branches": (
        "bifurcation_point",
        "continue_equilibrium",
        "continue_orbit",
        "switch_branch",
    ),
    "design": (),
    "dynamics": ("flow", "propagate", "simulate"),
    "ensemble": ("Reason", "map_samples", "reason"),
    "kernels": ("kernel",),
    "modes": (
        "beam_eigenvalues",
        "elastic_structure",
        "frequency_response",
        "natural_frequencies",
        "natural_modes",
    ),
    "orbits": (
        "basins",
        "bifurcation_diagram",
        "equilibrium",
        "lyapunov_exponents",
        "periodic_orbit",
        "static_equilibrium",
    ),
    "programs": (),
    "reports": ("live_page",),
    "studies": ("open_study", "sweep"),
    "systems": (),
    "transients": (
        "fragility_curve",
        "response",
        "response_covariance",
        "responses",
        "shock_spectrum",
    ),
}
_FOLDER = {verb: folder for folder, verbs in _VERBS.items() for verb in verbs}


def __getattr__(name: str):
    with gc_paused():  # imports leave no garbage
        return _found(name)


def _found(name: str):
    if name in _VERBS:
        return _subpackage(name)
    if name in _FOLDER:
        return getattr(_subpackage(_FOLDER[name]), name)
    if name == "__all__":
        return sorted([*_VERBS, *_FOLDER, *_systems()])
    if name.startswith("_"):
        raise AttributeError(f"module 'jaxvib' has no attribute {name!r}")
    if name in _systems():
        return getattr(_subpackage("systems"), name)
    raise AttributeError(unknown_key("name in jaxvib", name, __dir__()), name=name)


def __dir__() -> list[str]:
    return sorted([*_VERBS, *_FOLDER, *_systems(), "__version__"])


def _systems() -> list[str]:
    """Return the public names of `jaxvib.systems`."""
    return _subpackage("systems").__all__


def _subpackage(name: str) -> ModuleType:
    return importlib.import_module(f".{name}", __name__)
