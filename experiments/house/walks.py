"""Count the calls that a datum passes through on two ways through the library.

    python -m experiments.house.walks [--calls]

prints for a `system` on its way through `periodic_orbit`, when its programs are traced
(`first`) and once they are known (`again`), and for a `config` on its way through
`jaxvib run`:

- `calls` of functions of jaxvib (methods and inner functions included) that receive the
  datum as an argument, alone or in a tuple, list or dict;
- `modules` of these functions;
- `returns`: changes, from one of these calls to the next, to a module visited before;
- `arrays`: calls of functions of `foundation.arrays` from other modules, whatever they
  receive.

The datum is recognised by its class: a system whole, or as its leaves or its static
part; a config as a document, a study, or one of its tables. The orbit is that of a
`two_body_impact` from rest, the study is `configs/quick.toml`. With `--calls` all calls
are printed. Other threads are not observed.
"""

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType

import jaxvib as jv
from jaxvib import cli
from jaxvib.foundation import arrays
from jaxvib.studies.config.document import Document
from jaxvib.studies.config.tables import Table
from jaxvib.studies.run.study import Study
from jaxvib.systems.base.system import System

from .sources import PACKAGE

_CONFIG = PACKAGE.parent / "configs" / "quick.toml"


class Walk:
    """The calls of jaxvib's functions that receive one of some classes, in order."""

    def __init__(self, *classes: type):
        self._classes = classes
        self.calls: list[tuple[str, str]] = []  # module and function
        self.arrays = 0

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record the calls of this thread inside the context."""
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)

    def measures(self) -> dict[str, int]:
        """Return the measures by name."""
        modules = [module for module, _ in self.calls]
        changes = [k for k in range(1, len(modules)) if modules[k] != modules[k - 1]]
        return {
            "calls": len(modules),
            "modules": len(set(modules)),
            "returns": sum(modules[k] in modules[:k] for k in changes),
            "arrays": self.arrays,
        }

    def _see(self, frame: FrameType, event: str, _) -> None:
        module = _module(frame)
        if event != "call" or not module:
            return
        if module == arrays.__name__:
            self.arrays += _caller(frame) != module
        if any(self._holds(frame.f_locals.get(name)) for name in _parameters(frame.f_code)):
            self.calls.append((module, frame.f_code.co_qualname))

    def _holds(self, value: object) -> bool:
        if isinstance(value, dict):
            value = tuple(value.values())
        parts = value if isinstance(value, tuple | list) else (value,)
        return any(isinstance(part, self._classes) for part in parts)


def _module(frame: FrameType) -> str:
    """Return the module of a frame, "" if it is not of jaxvib."""
    name = frame.f_globals.get("__name__", "")
    return name if name.partition(".")[0] == "jaxvib" else ""


def _caller(frame: FrameType) -> str:
    """Return the module of jaxvib from which a frame was called, however indirectly."""
    above = frame.f_back
    while above is not None and not _module(above):
        above = above.f_back
    return "" if above is None else _module(above)


def _parameters(code: CodeType) -> tuple[str, ...]:
    """Return the names of the parameters, with those of `*args` and `**kwargs`."""
    more = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + more]


def of_orbit() -> Walk:
    """Return the walk of a system through `periodic_orbit`."""
    walk, system = Walk(System), jv.two_body_impact()
    with walk.recorded():
        jv.periodic_orbit(system)
    return walk


def of_run() -> Walk:
    """Return the walk of a config through `jaxvib run`."""
    walk = Walk(Document, Study, Table)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        command = ["run", str(_CONFIG), "--out", str(Path(folder, "out"))]
        with walk.recorded(), contextlib.suppress(SystemExit):
            cli.main.main(command, standalone_mode=False)
    return walk


WALKS: dict[str, Callable[[], Walk]] = {
    "system, periodic_orbit, first": of_orbit,
    "system, periodic_orbit, again": of_orbit,
    "config, jaxvib run": of_run,
}


def main() -> None:
    """Print the measures of the walks."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # without programs of earlier processes
        for name, walked in WALKS.items():
            walk = walked()
            found = ", ".join(f"{key} {value}" for key, value in walk.measures().items())
            print(f"{name:32}{found}")
            if "--calls" in sys.argv[1:]:
                for module, function in walk.calls:
                    print(f"    {module}.{function}")


if __name__ == "__main__":
    main()
