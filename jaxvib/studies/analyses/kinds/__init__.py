"""The kinds of studies, one module each: `KIND` is found in every one of this folder."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from ...systems.base import SystemKind
from ...systems.kinds import SYSTEMS as SYSTEMS
from ..study_kind import StudyKind


def _found() -> Iterator[StudyKind]:
    for path in sorted(Path(__file__).parent.iterdir()):
        if (path / "kind.py").exists() or (path.suffix == ".py" and path != Path(__file__)):
            name = path.stem if path.suffix else f"{path.name}.kind"
            yield importlib.import_module(f"{__name__}.{name}").KIND


ANALYSES = {kind.name: kind for kind in _found()}


def analyses_of(system: SystemKind) -> list[str]:
    """Return the analyses for a kind of system, most specific first."""
    fitting = [kind for kind in ANALYSES.values() if kind.needs <= system.roles]
    return [kind.name for kind in sorted(fitting, key=lambda kind: not kind.needs)]
