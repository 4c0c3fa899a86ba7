"""Serialises pictures and runs for the page's script.

The format is zlib: a JSON text preceded by its length (4 bytes, little-endian), then
all arrays, each aligned to 8 bytes. In the JSON an array is
`{"$": [type, offset, shape]}`.
"""

import dataclasses
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drawing import colours
from ..drawing.chosen_units import chosen_unit
from ..studies.analyses.kinds import SYSTEMS
from ..studies.config.toml_writer import key_text, sample_config
from ..studies.pictures.motion import coarse, contact_labels, representative, stored_motions
from ..studies.pictures.picture import Cells, Line, Picture, Scale
from ..studies.pictures.regimes import periodic, sort_by_regime
from ..studies.store.finished_study import Run, readable

_MOST_SAMPLES = 5000  # selectable by number even if no picture shows them
UNITS = ("m", "m/s", "N", "s", "rad/s")  # used in the script's texts
_COLOUR_BITS = 8  # mantissa bits of values shown as colours
_INTEGERS = (np.uint8, np.int8, np.int16, np.int32)


def pack(content: Any) -> bytes:
    """Serialise dictionaries, sequences, dataclasses, strings and arrays to bytes."""
    arrays = _Arrays()
    text = json.dumps(_plain(content, arrays), allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return zlib.compress(struct.pack("<I", len(text)) + text + bytes(arrays.content), 9)


@dataclasses.dataclass(frozen=True)
class Exact:
    """Values kept at full precision, since configs are generated from them."""

    values: np.ndarray


class _Arrays:
    """Concatenated arrays; duplicates are stored once."""

    def __init__(self):
        self.content = bytearray()
        self._places: dict[tuple, int] = {}

    def add(self, array: np.ndarray) -> dict:
        raw = array.tobytes()
        place = self._places.setdefault((array.dtype.str, raw), len(self.content))
        if place == len(self.content):
            self.content += raw + b"\0" * (-len(raw) % 8)
        return {"$": [array.dtype.str[1:], place, list(array.shape)]}


def page_content(pictures: Sequence[Picture], runs: Sequence[Run]) -> dict:
    """Return the data of the page, reduced to the samples that are shown."""
    shown = [_shown(pictures, number, run, len(runs)) for number, run in enumerate(runs)]
    # A branch has one number of periods for all points; a diagram has no stability.
    orbits = runs[0].has("periods") and runs[0].has("stable")
    orbits = orbits and runs[0].field("periods").ndim > 0
    sorting = sort_by_regime(runs) if orbits else None
    samples = []
    for i, run in enumerate(runs):
        samples.append(_samples(run, shown[i]))
        if sorting:
            samples[i] |= _orbits(run, sorting.regimes, sorting.exact[i], shown[i])
            samples[i]["motions"] = _motions(run, shown[i], len(runs))
    return {
        "pictures": [_renumbered(picture, shown) for picture in pictures],
        "runs": samples,
        "lines": colours.LINES,
        "scales": colours.SCALES,
        "units": {unit: chosen_unit(unit, runs[0].chosen_units) for unit in UNITS},
    }


def _shown(pictures: Sequence[Picture], number: int, run: Run, runs: int) -> np.ndarray:
    """Return the sorted samples of a run that the page refers to."""
    layers = [layer for picture in pictures for c in picture.charts for layer in c.layers]
    of_layers = [
        layer.samples.ravel()
        for layer in layers
        if getattr(layer, "samples", None) is not None and layer.run == number
    ]
    motions = stored_motions(run, runs)
    others = [motions["samples"]] if motions else []
    if run.sampled:
        count = len(run.field(run.paths[0]))
        others.append(np.arange(min(count, _MOST_SAMPLES), dtype=np.int32))
    return np.unique(np.concatenate([np.zeros(0, np.int32), *of_layers, *others]))


def _renumbered(picture: Picture, shown: Sequence[np.ndarray]) -> Picture:
    """Return a picture whose samples index those of the page."""

    def renumbered(layer):
        values = {}
        if isinstance(layer, Cells) and isinstance(layer.paint, Scale):
            values["values"] = coarse(layer.values, _COLOUR_BITS)
        if isinstance(layer, Line) and layer.samples is not None:
            values["y"] = coarse(layer.y)
        if getattr(layer, "samples", None) is not None:
            places = np.searchsorted(shown[layer.run], layer.samples)
            values["samples"] = places.astype(np.int32)
        return dataclasses.replace(layer, **values)

    charts = [
        dataclasses.replace(chart, layers=tuple(map(renumbered, chart.layers)))
        for chart in picture.charts
    ]
    scene = picture.scene
    if scene is not None and scene.places is not None and scene.rates is not None:
        scene = dataclasses.replace(
            scene, places=_seen(scene.places), rates=_seen(scene.rates)
        )
    return dataclasses.replace(picture, charts=tuple(charts), scene=scene)


def _seen(values: np.ndarray) -> np.ndarray:
    """Round to the resolution of the stage: about 1/4096 of the largest value."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return values
    step = 2.0 ** (np.floor(np.log2(largest)) - 11)
    return np.round(values / step) * step


def _samples(run: Run, shown: np.ndarray) -> dict:
    """Return the samples' coordinates and the config shared by all."""
    if not run.sampled:
        return {"name": run.name, "paths": []}
    paths = []
    for path in run.paths:
        unit, factor = chosen_unit(run.unit(path), run.chosen_units)
        known = {"path": path, "name": readable(path), "key": key_text(path), "unit": unit}
        values = Exact(run.field(path)[shown])
        paths.append({**known, "factor": factor, "values": values})
    return {
        "name": run.name,
        "place": run.place,
        "config": sample_config(run.study["config"]),
        "numbers": shown if run.chosen is None else run.chosen[shown],
        "paths": paths,
    }


def _orbits(run: Run, regimes: Sequence[str], exact: np.ndarray, shown) -> dict:
    """Return the orbit results shown for each sample."""
    system = SYSTEMS.get(run.study["system"])
    return {
        "pair": system is not None and system.colliding_pair,
        "regimes": regimes,
        "exact": exact[shown],
        "periodic": periodic(run)[shown],
        "stable": run.field("stable")[shown],
        "largest_multiplier": coarse(run.field("largest_multiplier")[shown]),
        "max_contact_force": coarse(run.field("max_contact_force")[shown]),
    }


def _motions(run: Run, shown: np.ndarray, runs: int) -> dict | None:
    stored = stored_motions(run, runs)
    if stored is None:
        return None
    samples = stored["samples"]
    return {
        "samples": np.searchsorted(shown, samples).astype(np.int32),
        "first": representative(run, samples),
        "freedoms": stored["freedoms"],
        "contacts": contact_labels(run, stored["force"].shape[2]),
        "stops": [
            {
                "contact": stop.contact,
                "body": stop.body,
                "side": stop.side,
                "places": stop.places[samples],
            }
            for stop in stored["stops"]
        ],
        # Times keep full precision: a contact can last a thousandth of the motion.
        "times": stored["times"],
        "states": coarse(stored["states"]),
        "force": coarse(stored["force"]),
        "amplitude": coarse(run.field("amplitude")[samples]),
    }


def _plain(value: Any, arrays: _Arrays) -> Any:
    if isinstance(value, Exact):
        return arrays.add(np.asarray(value.values, "<f8"))
    if isinstance(value, np.ndarray):
        return arrays.add(_small(value))
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return _plain({"is": type(value).__name__, **fields}, arrays)
    if isinstance(value, dict):
        return {key: _plain(each, arrays) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _small(values: np.ndarray) -> np.ndarray:
    """Cast to the smallest type sufficient for drawing."""
    if values.dtype == bool:
        return values.astype(np.uint8)
    if np.issubdtype(values.dtype, np.floating):
        return values.astype("<f4")
    kinds = [kind for kind in _INTEGERS if np.array_equal(values.astype(kind), values)]
    return values.astype(kinds[0])
