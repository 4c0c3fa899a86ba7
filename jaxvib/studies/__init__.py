"""Studies: config, samples, execution and the result store."""

import importlib

# Lazy: reading a config must not wait for JAX and xarray.
_HOMES = {
    "sweep": "run.sweeping",
    "open_study": "store.dataset",
    "results_of": "run.sample",
}


def __getattr__(name: str):
    if name in _HOMES:
        module = importlib.import_module(f".{_HOMES[name]}", __name__)
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
