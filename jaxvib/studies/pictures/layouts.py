"""Layouts of animated systems: bodies on rows, or on a line of beams."""

import itertools

import numpy as np

from ..resources import library

freedoms_of = library("systems.base.freedoms")


def row_layout(modules: dict, names: list[str], turns: np.ndarray) -> dict:
    """Return a layout of rows: one per translation, rods attached to their carriers.

    `level` is the row, `carrier` the degree of freedom that a rod is hinged to (-1 for
    the ground), `sense` 1 for hanging and -1 for standing rods, `links` the pairs
    joined by springs.
    """
    place = {name: i for i, name in enumerate(names)}
    carrier, sense = [-1] * len(names), [1] * len(names)
    links = []
    for name, table in modules.items():
        ends = name.split("-")[:2]
        here = [place.get(end, -1) for end in ends]
        if table["module"] in ("translation_rotation", "rod_on_rod"):
            carrier[here[1]] = here[0]
            sense[here[1]] = -1 if table["standing"] else 1
        elif len(here) == 2 and any(i >= 0 and not turns[i] for i in here):
            links.append(here)
    order = iter(range(len(names)))
    level = [-1 if turn else next(order) for turn in turns]
    for i in range(len(names)):
        above, seen = carrier[i], 0
        while above >= 0 and turns[above] and seen < len(names):
            above, seen = carrier[above], seen + 1
        if turns[i]:
            level[i] = level[above] if above >= 0 else next(order)
    return {
        "kind": "rows",
        "names": names,
        "turns": turns.astype(np.uint8),
        "carrier": carrier,
        "sense": sense,
        "level": level,
        "links": links,
        "rods": bool(turns.any()),
    }


def beam_layout(modules: dict, names: list[str]) -> dict | None:
    """Return a layout of a line of beams, each from its left body to its right one.

    `None` unless all degrees of freedom belong to bodies of one line joined by beams in
    order. `at` are the positions (m); `beams` the four degrees of freedom and two
    positions of each; `bodies` the deflection, slope and position of each.
    """
    beams = [(name, t) for name, t in modules.items() if t["module"] == "beam"]
    if not beams:
        return None
    drawn, places = [], []
    place = {name: i for i, name in enumerate(names)}
    left = beams[0][0].split("-")[0]
    position = 0.0
    at_index = {left: 0}
    places.append(0.0)
    for name, table in beams:
        first, second = name.split("-")[:2]
        if first != left:
            return None
        position += table["length"]
        places.append(position)
        freedoms = [
            place.get(f"{b}.{m}", -1) for b in (first, second) for m in ("y", "angle")
        ]
        drawn.append([*freedoms, len(places) - 2, len(places) - 1])
        at_index[second] = len(places) - 1
        left = second
    covered = {i for beam in drawn for i in beam[:4] if i >= 0}
    if covered != set(range(len(names))):
        return None
    bodies = [
        [place[f"{body}.y"], place[f"{body}.angle"], where]
        for body, where in at_index.items()
        if body != freedoms_of.GROUND
    ]
    return {"kind": "beams", "at": places, "beams": drawn, "bodies": bodies}


def chain_layout(bodies: int, length: float, ends: str) -> dict:
    """Return the layout of a `BeamChain`: y of all bodies, then all angles."""
    walls = ends == "clamped"
    at = length * np.arange(bodies + 2 * walls, dtype=float)
    line = [*([-1] * walls), *range(bodies), *([-1] * walls)]
    beams = [
        [i, bodies + i if i >= 0 else -1, j, bodies + j if j >= 0 else -1, k, k + 1]
        for k, (i, j) in enumerate(itertools.pairwise(line))
    ]
    own = [[i, bodies + i, k] for k, i in enumerate(line) if i >= 0]
    return {"kind": "beams", "at": at.tolist(), "beams": beams, "bodies": own}
