"""Content of `study.json`: metadata of the results and what they depend on."""

from ..analyses.kinds import ANALYSES
from ..store.store_metadata import fingerprint, git_state, versions
from .study import Study


def record(study: Study, device: str) -> dict:
    """Return the record of a study computed on a device."""
    analysis = ANALYSES[study.analysis.kind]
    share = {} if study.share is None else {"share": str(study.share)}
    return {
        "title": study.title,
        "analysis": study.analysis.kind,
        "system": study.system.kind,
        "config": study.resolved(),
        "samples": study.samples,
        "chunk": study.run.chunk,
        "grid": study.grid,
        "coordinates": list(study.paths) or analysis.coordinates(study.analysis),
        "axes": study.axes,
        "evidence": study.run.evidence,
        "versions": versions(),
        "fingerprint": fingerprint(device),
        "git": git_state(),
        **share,
    }
