"""The kinds of studies, one module each: `KIND` is found in every one of this folder."""

import importlib
import pkgutil
from collections.abc import Iterator

from ...systems.base import SystemKind
from ...systems.kinds import SYSTEMS as SYSTEMS
from ..study_kind import StudyKind


def _found() -> Iterator[StudyKind]:
    for module in pkgutil.iter_modules(__path__):
        name = f"{module.name}.kind" if module.ispkg else module.name
        yield importlib.import_module(f"{__name__}.{name}").KIND


ANALYSES = {kind.name: kind for kind in _found()}


def analyses_of(system: SystemKind) -> list[str]:
    """Return the analyses for a kind of system, most specific first."""
    fitting = [kind for kind in ANALYSES.values() if kind.needs <= system.roles]
    return [kind.name for kind in sorted(fitting, key=lambda kind: not kind.needs)]
