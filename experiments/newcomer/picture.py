"""Draw the animated picture of the README from a finished regime map.

    python experiments/newcomer/picture.py results/regime_map docs/two_bodies.svg

The picture is a single animated SVG file that follows the light or dark scheme of the
page: the map of regimes, and the two bodies at a few of its samples, in real time and
to scale, with their orbits in the phase plane.
"""

import argparse
import html
import itertools
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from jaxvib.studies.pictures.motion import stored_motions
from jaxvib.studies.pictures.regimes import sort_by_regime
from jaxvib.studies.pictures.swept_planes import planes
from jaxvib.studies.store.finished_study import read_run

SCENE = 4.0  # s
FRAME = 1 / 25  # s
SPARK = 0.25  # s that a contact, which lasts a millisecond, stays lit
WANTED = ("period 1 with 1 contact", "period 2 with 2 contacts", "period 5", "chaotic")

MAP = {"x": 62, "y": 16, "width": 330, "height": 312}
STAGE = {"x": 440, "y": 84, "width": 440, "floor": 190, "main": 96, "attached": 74}
PLANE = {"x": 440, "y": 216, "width": 440, "height": 150}

STYLE = """
  :root {
    --ink: #1b2127; --muted: #59646e; --spark: #d0342c;
    --main: #1a6fc4; --attached: #b85300; --on: #ffffff;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --ink: #e5e9ec; --muted: #9ba7b1; --spark: #ff8a80;
      --main: #6db3ff; --attached: #ff9d4d; --on: #10151a;
    }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--muted); }
  .head { font-size: 17px; font-weight: 650; fill: var(--ink); }
  .body { font-weight: 600; fill: var(--on); text-anchor: middle; }
  .line { fill: none; stroke: var(--muted); stroke-width: 1.5;
    vector-effect: non-scaling-stroke; }
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="folder of a finished regime map")
    parser.add_argument("picture", type=Path, help="SVG file to write")
    arguments = parser.parse_args()
    run = read_run(arguments.study)
    (plane,), sorting = planes([run]), sort_by_regime([run])
    scenes = chosen_scenes(run, sorting)
    drawing = [*map_of(plane, sorting), *moving(run, plane, sorting, scenes)]
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    arguments.picture.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 384" role="img">'
        "<title>Two bodies colliding, and the map of their regimes</title>"
        f"<style>{STYLE}</style>{''.join(drawing)}</svg>\n",
        "utf-8",
    )
    print(f"{arguments.picture}: {arguments.picture.stat().st_size / 1e3:.0f} kB")


def chosen_scenes(run, sorting):
    """Return (sample, trace) of one stored motion in each of the wanted regimes."""
    motions = stored_motions(run, 1)
    names = np.array(sorting.classes.names)[sorting.members[0]][motions["samples"]]
    scenes = []
    for wanted in WANTED:
        traces = np.flatnonzero(np.char.startswith(names, wanted))
        if traces.size:
            trace = traces[len(traces) // 2]
            scenes.append((int(motions["samples"][trace]), course(motions, trace)))
    return scenes


def course(motions, trace):
    """Return times, displacements and velocities (p, 2) each, and contact force (p,).

    Between two stored times the motion is the cubic that has the displacements and the
    velocities at both.
    """
    times, states = motions["times"][trace], motions["states"][trace]
    force = motions["force"][trace, :, 0]
    cubic = CubicHermiteSpline(times, states[:, :2], states[:, 2:])
    fine = np.unique(np.concatenate([times, np.arange(0, times[-1], 0.02)]))
    return fine, cubic(fine), cubic(fine, 1), np.interp(fine, times, force)


def map_of(plane, sorting):
    """Draw the map: one path per class, of runs of equal cells; axes with units."""
    classes = sorting.classes
    (cells,) = plane.cells(sorting.members[0], classes)
    rows, columns = cells.values.shape
    width, height = MAP["width"] / columns, MAP["height"] / rows
    paths = [[] for _ in classes.colours]
    for row in range(rows):
        edges = np.flatnonzero(np.diff(cells.values[row], prepend=-1, append=-1))
        top = MAP["y"] + MAP["height"] - (row + 1) * height
        for start, end in itertools.pairwise(edges):
            x, long = MAP["x"] + start * width, (end - start) * width
            place = f"M{x:.2f} {top:.2f}h{long:.2f}v{height:.2f}h{-long:.2f}z"
            paths[cells.values[row, start]].append(place)
    for colour, pieces in zip(classes.colours, paths, strict=True):
        yield f'<path fill="{colour}" shape-rendering="crispEdges" d="{"".join(pieces)}"/>'
    bottom = MAP["y"] + MAP["height"]
    for value in np.arange(np.ceil(cells.x[0]), cells.x[-1] + 1e-9):
        x = on_map(plane, value, cells.y[0])[0]
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>'
    for value in np.arange(200, cells.y[-1] + 1e-9, 200):
        y = on_map(plane, cells.x[0], value)[1]
        yield f'<text x="{MAP["x"] - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    middle = MAP["x"] + MAP["width"] / 2
    yield f'<text x="{middle}" y="{bottom + 40}" text-anchor="middle">'
    yield "load frequency, rad/s</text>"
    turned = f'transform="translate(18 {MAP["y"] + MAP["height"] / 2}) rotate(-90)"'
    yield f'<text {turned} text-anchor="middle">load amplitude, N</text>'


def on_map(plane, x, y):
    """Return where a value of each axis lies in the drawing: at the middle of its cell."""
    shares = []
    for path, value in ((plane.x_path, x), (plane.y_path, y)):
        values = plane.run.along(path)
        step = values[1] - values[0]
        shares.append((value - values[0] + step / 2) / (values[-1] - values[0] + step))
    return MAP["x"] + shares[0] * MAP["width"], MAP["y"] + (1 - shares[1]) * MAP["height"]


def moving(run, plane, sorting, scenes):
    """Draw all that moves: ring, words, bodies, orbits, one scene after the other."""
    films = [film(course) for _, course in scenes]
    clock = np.concatenate([i * SCENE + times for i, (times, *_) in enumerate(films)])
    places, speeds = (np.concatenate([f[i] for f in films]) for i in (1, 2))
    sparks = np.concatenate([f[3] for f in films])
    total = SCENE * len(scenes)
    scale = stage_scale(places)
    yield from bodies(places, sparks, clock, total, scale)
    axis = plane_axes(places, speeds)
    for i, (sample, (_, x, v, _)) in enumerate(scenes):
        lines = "".join(
            f'<path fill="none" stroke="var(--{name})" stroke-width="1.6" '
            f'd="{polyline(axis, x[:, body], v[:, body])}"/>'
            for body, name in enumerate(("main", "attached"))
        )
        words = scene_words(run, sorting, sample)
        at = on_map(
            plane, *(run.field(path)[sample] for path in (plane.x_path, plane.y_path))
        )
        ring = "".join(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="8" fill="none" '
            f'stroke="{colour}" stroke-width="{width}"/>'
            for colour, width in (("#000000", 4.5), ("#ffffff", 2))
        )
        yield f"<g>{seen(i, len(scenes), total)}{lines}{words}{ring}</g>"
    for body, name in enumerate(("main", "attached")):
        dots = [
            f"{px:.1f} {py:.1f}"
            for px, py in zip(*axis(places[:, body], speeds[:, body]), strict=True)
        ]
        steps = translated(dots, clock, total)
        yield f'<circle r="5" fill="var(--{name})">{steps}</circle>'
    bottom = PLANE["y"] + PLANE["height"]
    yield (
        f'<text x="{PLANE["x"] + PLANE["width"] / 2}" y="{bottom + 14}" '
        'text-anchor="middle">velocity over displacement of each body</text>'
    )


def film(course):
    """Return one scene's times, displacements, velocities and sparks, frame by frame.

    Contacts' own times are frames too, so that the bodies meet and do not cross.
    """
    times, x, v, force = course
    period = times[-1]
    peaks = times[1:-1][(force[1:-1] > force[:-2]) & (force[1:-1] >= force[2:])]
    rounds = np.arange(int(SCENE / period) + 1) * period
    met = (rounds[:, None] + peaks).ravel()
    frames = np.unique(np.concatenate([np.arange(0, SCENE, FRAME), met, met + 1e-3]))
    frames = frames[frames < SCENE - 1e-3]
    folded = np.mod(frames, period)
    columns = [np.interp(folded, times, column) for column in (*x.T, *v.T)]
    since = frames[:, None] - np.concatenate([[-np.inf], met])
    latest = np.where(since >= 0, since, np.inf).min(axis=1)
    sparks = np.clip(1 - latest / SPARK, 0, 1)
    return frames, np.stack(columns[:2], -1), np.stack(columns[2:], -1), sparks


def stage_scale(places):
    """Return displacement to pixels: the facing sides meet when the bodies touch."""
    room = STAGE["width"] - 60 - STAGE["main"] - STAGE["attached"] - 12
    scale = room / (places.max() - places.min())
    origin = STAGE["x"] + 60 + STAGE["main"] - scale * places.min()
    return lambda place: origin + scale * place


def bodies(places, sparks, clock, total, scale):
    """Draw ground, springs, bodies and the spark where they meet."""
    floor, left = STAGE["floor"], STAGE["x"]
    right = left + STAGE["width"]
    yield f'<path class="line" d="M{left} {STAGE["y"] + 14}V{floor}H{right}"/>'
    face, other = scale(places[:, 0]), scale(places[:, 1])
    back, middle = face - STAGE["main"], other + STAGE["attached"] / 2
    yield spring(np.full_like(back, left), back, floor - 34, clock, total)
    hook = face - STAGE["main"] / 2
    yield spring(hook, middle, floor - 88, clock, total)
    for name, left_side, height in (("main", back, 66), ("attached", other, 46)):
        wide = STAGE[name]
        yield (
            f"<g>{translated([f'{x:.1f} {floor}' for x in left_side], clock, total)}"
            f'<path class="line" d="M{wide / 2} {-height}V-88"/>'
            f'<rect y="{-height}" width="{wide}" height="{height}" rx="4" '
            f'fill="var(--{name})"/>'
            f'<text class="body" x="{wide / 2}" y="-10">{name}</text></g>'
        )
    opacity = animate("opacity", [f"{spark:.2f}" for spark in sparks], clock, total)
    at = translated([f"{x:.1f} {floor - 24}" for x in face], clock, total)
    yield f'<g>{at}<circle r="13" fill="var(--spark)" opacity="0">{opacity}</circle></g>'


def spring(start, end, y, clock, total):
    """Draw a spring of changing length: a zigzag of unit length, moved and stretched."""
    zigzag = "M0 0h.06" + "l.02 -7l.04 14l.02 -7" * 11 + "h.06"
    shift = translated([f"{x:.1f} {y}" for x in start], clock, total)
    lengths = [f"{long:.1f} 1" for long in end - start]
    stretch = animate("transform", lengths, clock, total, kind="scale")
    return f'<g>{shift}<g>{stretch}<path class="line" d="{zigzag}"/></g></g>'


def plane_axes(places, speeds):
    """Return the map from displacement and velocity to the phase plane's pixels."""
    low, high = (
        np.array([places, speeds]).min((1, 2)),
        np.array([places, speeds]).max((1, 2)),
    )

    def axis(x, v):
        across = PLANE["x"] + 10 + (x - low[0]) / (high[0] - low[0]) * (PLANE["width"] - 20)
        down = PLANE["y"] + (high[1] - v) / (high[1] - low[1]) * PLANE["height"]
        return across, down

    return axis


def polyline(axis, x, v):
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(*axis(x, v), strict=True))


def scene_words(run, sorting, sample):
    """Return the scene's two lines of words: the regime, and where it is."""
    member = sorting.members[0][sample]
    name, colour = sorting.classes.names[member], sorting.classes.colours[member]
    frequency, amplitude = run.field("load.frequency"), run.field("load.amplitude")
    force = run.field("max_contact_force")[sample]
    where = f"{amplitude[sample]:.0f} N at {frequency[sample]:.2f} rad/s"
    where += f", peak contact force {force / 1e3:.0f} kN"
    x, y = STAGE["x"], STAGE["y"] - 48
    return (
        f'<rect x="{x}" y="{y - 13}" width="15" height="15" rx="3" fill="{colour}" '
        'stroke="#88888888"/>'
        f'<text class="head" x="{x + 24}" y="{y}">{html.escape(name)}</text>'
        f'<text x="{x + 24}" y="{y + 22}">{where}</text>'
    )


def seen(scene, scenes, total):
    """Return the animation that shows an element in its own scene only."""
    values = ["1" if i == scene else "0" for i in range(scenes)]
    clock = SCENE * np.arange(scenes)
    return animate("opacity", values, clock, total, mode="discrete")


def translated(values, clock, total):
    return animate("transform", values, clock, total, kind="translate")


def animate(attribute, values, clock, total, kind="", mode="linear"):
    """Return an endless animation through values at times; the last one is held."""
    ends = ([*values, values[-1]], [*clock, total]) if mode == "linear" else (values, clock)
    times = ";".join(f"{time / total:.5f}".rstrip("0").rstrip(".") for time in ends[1])
    element, what = ("animateTransform", f' type="{kind}"') if kind else ("animate", "")
    return (
        f'<{element} attributeName="{attribute}"{what} dur="{total:g}s" '
        f'repeatCount="indefinite" calcMode="{mode}" keyTimes="{times}" '
        f'values="{";".join(ends[0])}"/>'
    )


if __name__ == "__main__":
    main()
