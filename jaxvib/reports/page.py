"""The HTML report: one self-contained file without network requests."""

import base64
import html
import string
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..studies.pictures.picture import Cells, Picture, Share
from ..studies.store.finished_study import Run, readable
from .header import foot, head
from .live.page import panel_scripts, worker
from .live.study import live_of
from .packing import pack, page_content
from .parts import escaped, inline, policy, scripts, text_of, version

_SCRIPTS = (
    "theme.js",
    "data.js",
    "words.js",
    "charts.js",
    "player.js",
    "bodies.js",
    "motion.js",
    "sample.js",
    "slices.js",
    "scene.js",
    "beam.js",
)
_PLOTLY = "vendor/plotly-cartesian.min.js"
_LINKED = ("svg", "pdf", "csv")
_HEAVIEST = 3_000_000  # bytes of a page, accepted by most mail servers


class Page(NamedTuple):
    """A page as HTML, and why it has no live motion; "" if it has one or needs none."""

    html: str
    no_live: str


def page(
    pictures: Sequence[Picture],
    runs: Sequence[Run],
    files: Mapping[str, bytes] | None = None,
) -> Page:
    """Return the page.

    `files`: data and picture files by name, linked below their picture. They are
    embedded, smallest first, up to a total size that can be sent by mail.
    """
    live, no_live = _live_content(runs)
    plotly, script = inline(_PLOTLY), scripts(_scripts(live))
    files = files or {}
    figures = [
        _FIGURES[each.view](each, number, runs, _links(each, files))
        for number, each in enumerate(pictures)
    ]
    shown = list(zip(pictures, figures, strict=True))
    content = page_content(pictures, runs) | {"live": live}
    data = base64.b64encode(pack(content)).decode()
    explored = "".join(figure for picture, figure in shown if picture.explorable)
    note = f"<p class='note'>No live motion: {escaped(no_live)}.</p>" * bool(no_live)
    panel = _live(live) if live else note
    others = "".join(
        figure
        for picture, figure in shown
        if not picture.explorable and picture.view != "motion"
    )
    others = f'<div class="others">{others}</div>'
    text = string.Template(text_of("page.html")).substitute(
        policy=policy(plotly, script),
        version=version(),
        title=html.escape(runs[0].study["title"]),
        style=text_of("page.css") + (text_of("live.css") if live else ""),
        head=head(runs),
        explored=explored,
        motion="".join(figure for picture, figure in shown if picture.view == "motion"),
        # The live motion follows the charts whose samples it opens.
        below="\n".join([panel, others] if explored else [others, panel]),
        sample=_sample(runs),
        foot=foot(runs),
        data=data,
        files=_embedded_files(files, _HEAVIEST - len(plotly) - len(data) - 200_000),
        plotly=plotly,
        script=script,
        worker=worker() if live else "",
    )
    return Page(text, no_live)


def _live_content(runs: Sequence[Run]) -> tuple[dict[str, Any] | None, str]:
    """Return the content of the live panel, or None and why there is none."""
    if len(runs) > 1:
        return None, ""
    try:
        return live_of(runs[0]), ""
    except ValueError as error:
        return None, str(error)


def _scripts(live: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the page's scripts; the last one starts it."""
    panel = (*panel_scripts(live), "live_study.js") if live else ()
    return (*_SCRIPTS, *panel, "page.js")


def _embedded_files(files: Mapping[str, bytes], most: int) -> str:
    """Return files as elements that the page's script unpacks, up to a total size."""
    packed = {
        name: base64.b64encode(zlib.compress(content, 9)).decode()
        for name, content in files.items()
        if name.rpartition(".")[2] in _LINKED
    }
    carried = []
    for name, text in sorted(packed.items(), key=lambda each: len(each[1])):
        most -= len(text)
        if most < 0:
            break
        kind = "application/octet-stream"
        carried.append(f"<script type='{kind}' data-file='{escaped(name)}'>{text}</script>")
    return "".join(carried)


def _live(content: Mapping[str, Any]) -> str:
    """Return the section that computes motions in the page."""
    stored = content["stored"]
    number = stored["number"] if stored else 0
    what = "orbits" if content["duration"] is None else "motions"
    prove = (
        "<p class='proof'><button type='button' class='prove'>Prove</button> "
        f"<output>recomputes {number} stored {what} here and compares them</output></p>"
    )
    about = (
        "Motions at any values of the parameters, computed in this page. A sample clicked "
        "in a chart above opens here."
    )
    return (
        "<section class='live-study' id='live' aria-labelledby='live-title'>"
        f"<h2 id='live-title'>Live motion</h2><p class='about'>{about}</p>"
        "<button type='button' class='begin'>Start</button>"
        f"<div class='opened' hidden>{prove if number else ''}"
        f"{text_of('live_panel.html')}</div></section>"
    )


def _sample(runs: Sequence[Run]) -> str:
    """Return the section that shows one sample and how to reproduce it."""
    if not runs[0].sampled:
        return ""
    options = "".join(
        f"<option value='{i}'>{escaped(run.name)}</option>" for i, run in enumerate(runs)
    )
    picked = f"<label>study <select class='of'>{options}</select></label>"
    texts = {
        "command": "Command to recompute it and compare with the stored result",
        "python": "Python code",
        "config": "Config",
    }
    blocks = "".join(
        f"<details{' open' * (name == 'command')}><summary>{words}</summary>"
        f"<button type='button' class='copy' data-copy='{name}'>Copy</button>"
        f"<pre tabindex='0' role='region' aria-label='{words}' class='{name}'></pre>"
        "</details>"
        for name, words in texts.items()
    )
    return (
        "<section class='sample' id='sample' aria-labelledby='sample-title'>"
        "<h2 id='sample-title'>One sample</h2>"
        f"<p class='picks'>{picked if len(runs) > 1 else ''}"
        "<label>sample number <input class='number' type='number' step='1'></label>"
        "<button type='button' class='orbit' hidden>Show its orbit</button></p>"
        f"<p class='findings' aria-live='polite'></p>{blocks}</section>"
    )


def _charts_figure(picture: Picture, number: int, runs: Sequence[Run], links: str) -> str:
    alt = f"{picture.alt.rstrip('.')}."
    hint = " Arrow keys move between orbits." if picture.explorable else ""
    layers = [layer for chart in picture.charts for layer in chart.layers]
    low = "" if any(isinstance(layer, Cells) for layer in layers) else " low"
    stacked = " stacked" if picture.stacked else ""
    charts = "".join(
        f"<div class='chart{low}' role='img' tabindex='0' data-chart='{i}' "
        f"aria-label='{escaped(alt + chart.ranges() + hint)}'></div>"
        for i, chart in enumerate(picture.charts)
    )
    return (
        f"<figure class='picture' id='{picture.name}' data-picture='{number}'>"
        f"<figcaption><h2>{escaped(picture.title)}</h2><p>{escaped(picture.text)}</p></figcaption>"
        f"<div class='charts{stacked}'>{charts}</div>{_slices(picture) or _slider(picture)}"
        f"{_legend(picture.shares, runs)}{links}</figure>"
    )


def _motion_figure(picture: Picture, number: int, runs: Sequence[Run], links: str) -> str:
    return (
        f"<aside class='motion' aria-label='{escaped(picture.title)}' "
        f"data-picture='{number}'>"
        f"<h2>{escaped(picture.title)}</h2>"
        "<p class='where' aria-live='polite'></p>"
        "<svg class='stage' viewBox='0 0 460 132' role='img' "
        "aria-label='The bodies of this orbit, moving'></svg>"
        "<div class='player'><button class='play' type='button'>Play</button>"
        "<input type='range' min='0' max='1' step='any' value='0' aria-label='Time'>"
        "<output></output><select aria-label='Speed'>"
        "<option value='1'>real time</option>"
        "<option value='0.5' selected>1/2 speed</option>"
        "<option value='0.1'>1/10 speed</option><option value='0.02'>1/50 speed</option>"
        "</select></div>"
        "<p class='picks'><label>show <select class='alone' "
        "aria-label='Bodies in the phase plane'></select></label></p><div class='charts'>"
        "<div class='chart' role='img' aria-label='Phase plane: velocity over displacement "
        "of each body'></div>"
        "<div class='chart' role='img' aria-label='Contact force over time'></div></div>"
        "<button class='nearer' type='button'></button>"
        "<dl class='measures'></dl>"
        "<button class='to-live' type='button' hidden>Change its parameters live</button>"
        f"{links}<p class='files'><a href='#sample'>Its config, Python code "
        "and the command to recompute it</a></p></aside>"
    )


def _scene_figure(picture: Picture, number: int, runs: Sequence[Run], links: str) -> str:
    assert picture.scene is not None, "a picture that is shown as a scene has one"
    picks = "".join(
        f"<label>{escaped(label)} <select class='pick' aria-label='{escaped(label)}'>"
        + "".join(
            f"<option value='{i}'>{escaped(o)}</option>" for i, o in enumerate(options)
        )
        + "</select></label>"
        for label, options in picture.scene.picks.items()
    )
    return (
        f"<figure class='picture scene' id='{picture.name}' data-picture='{number}'>"
        f"<figcaption><h2>{escaped(picture.title)}</h2><p>{escaped(picture.text)}</p></figcaption>"
        f"<div class='picks'>{picks}</div>"
        f"<svg class='stage' viewBox='0 0 920 300' role='img' "
        f"aria-label='{escaped(picture.alt)}'></svg>"
        "<div class='player'><button class='play' type='button'>Play</button>"
        "<input type='range' min='0' max='1' step='any' value='0' aria-label='Time'>"
        "<output></output><select class='speed' aria-label='Speed'>"
        "<option value='1' selected>normal</option><option value='0.5'>1/2 speed</option>"
        f"<option value='0.1'>1/10 speed</option></select></div>{links}</figure>"
    )


_FIGURES = {"charts": _charts_figure, "motion": _motion_figure, "scene": _scene_figure}


_HATCHES = {"": "", "/": "rising", "\\": "falling", "x": "crossed", "-": "level",
            "|": "upright", "+": "level upright"}  # fmt: skip


def _slider(picture: Picture) -> str:
    if picture.choice is None:
        return ""
    last = len(picture.choice.options) - 1
    return (
        f"<label class='slider'><input type='range' min='0' max='{last}' step='1' "
        f"value='{last // 2}' aria-label='{escaped(picture.choice.label)}'>"
        f"<output>{escaped(picture.choice.options[last // 2])}</output></label>"
    )


def _slices(picture: Picture) -> str:
    if picture.slices is None:
        return ""
    axes = picture.slices.axes
    words = "".join(
        f"<option value='{escaped(axis.path)}'>{escaped(readable(axis.path))}</option>"
        for axis in axes
    )
    sides = ("across", "up")[: 1 + bool(picture.charts[0].y.path)]
    picks = "".join(
        f"<label>{side} <select class='pick' aria-label='{side}'>{words}</select></label>"
        for side in sides
    )
    sliders = "".join(
        "<label class='standing' hidden><input type='range' min='0' "
        f"max='{len(options) - 1}' step='1' value='0' "
        f"aria-label='{escaped(readable(axis.path))}'><output></output></label>"
        for axis, options in zip(axes, picture.slices.options, strict=True)
    )
    return f"<div class='slices'><p class='picks'>{picks}</p>{sliders}</div>"


def _legend(shares: Sequence[Share], runs: Sequence[Run]) -> str:
    if not shares:
        return ""
    items = "".join(
        f"<li><button type='button' aria-pressed='false' data-name='{escaped(share.name)}'>"
        f"<i class='{_HATCHES[share.hatch]}' style='background-color:{share.colour}'></i>"
        f"{escaped(share.name)} "
        f"<span>{' | '.join(map(str, share.counts))}</span></button></li>"
        for share in shares
    )
    names = " | ".join(escaped(run.name) for run in runs)
    note = f"<li class='runs'>samples of {names}</li>" if len(shares[0].counts) > 1 else ""
    return f"<ul class='legend'>{items}{note}</ul>"


def _links(picture: Picture, files: Mapping[str, bytes]) -> str:
    """Return the links to those files of a picture that were written."""
    names = {kind: f"{picture.name}.{kind}" for kind in _LINKED}
    links = " · ".join(
        f"<a href='pictures/{name}' download='{name}' "
        f"aria-label='{escaped(picture.title)} as {kind.upper()}'>{kind.upper()}</a>"
        for kind, name in names.items()
        if name in files
    )
    return f"<p class='files'>{links}</p>"
