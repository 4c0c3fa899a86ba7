"""Checked against: the store's own numbers, and what a page must not have to be offline."""

import base64
import dataclasses
import html
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from jaxvib.reports import write_report
from jaxvib.reports.header import head
from jaxvib.reports.packing import page_content
from jaxvib.reports.page import page
from jaxvib.reports.report import _in_chosen_units, check_comparable, pictures_of
from jaxvib.studies.store.finished_study import read_run

from . import small_studies
from .conftest import AMPLITUDES, FREQUENCIES

ROOT = Path(__file__).parents[2]
KINDS = {"svg", "pdf", "png", "csv"}
LINKED = {"map_report": {"csv"}, "drawn_report": {"svg", "pdf", "csv"}}


def names(*directories):
    return [
        picture.name for picture in pictures_of([read_run(each) for each in directories])
    ]


def test_a_map_study_has_every_picture(map_study):
    assert names(map_study) == [
        "regimes", "peak_force", "stability", "contacts", "closed_share",
        "amplitude_curves", "orbit",
    ]  # fmt: skip


def test_a_sweep_of_one_path_has_curves(sweep_study):
    assert names(sweep_study) == [
        "amplitude", "largest_multiplier", "max_contact_force", "regimes", "orbit"
    ]  # fmt: skip


def test_curves_break_where_the_regime_changes(sweep_study):
    run = read_run(sweep_study)
    changes = 0
    for picture in pictures_of([run])[:3]:
        for line in picture.charts[0].layers:
            kinds = list(zip(run.field("periods"), run.field("contacts"), strict=True))
            known = np.isfinite(line.y)
            joined = known[1:] & known[:-1]
            pairs = zip(line.samples[:-1], line.samples[1:], joined, strict=True)
            assert all(kinds[a] == kinds[b] for a, b, both in pairs if both)
            own = run.field(picture.charts[0].x.path)[line.samples[known]]
            np.testing.assert_array_equal(line.x[known], own)
            changes += len(line.x) - run.size
    assert changes


def test_random_samples_are_scattered(random_study):
    assert names(random_study) == ["regimes", "stability", "peak_force", "orbit"]


@pytest.mark.slow  # draws the pictures of two runs, 6 s
def test_two_runs_are_compared_in_one_report(map_study, other_map_study, tmp_path):
    first = shutil.copytree(map_study, tmp_path / "first")
    assert "changes" in names(map_study, other_map_study)
    text = write_report(first, other_map_study).read_text("utf-8")
    assert "<th scope='col'>first</th><th scope='col'>second</th>" in text
    assert "<th scope='row'>failed</th><td>1</td><td>1</td>" in text


def test_eight_runs_are_compared_in_one_light_report(map_study, other_map_study, tmp_path):
    studies = [
        shutil.copytree((map_study, other_map_study)[i % 2], tmp_path / f"study {i}")
        for i in range(8)
    ]
    found = names(*studies)
    assert [name for name in found if name.startswith("changes")] == [
        f"changes_{i}" for i in range(1, 8)
    ]
    report = write_report(*studies)
    text = report.read_text("utf-8")
    assert len(text.encode()) < 3e6
    assert text.count("<th scope='col'>study ") >= 8
    assert len(re.findall("data-chart='", text)) == 5 * 8 + 2 * 7 + 1
    with pytest.raises(ValueError, match="9 studies; allowed: at most 8"):
        write_report(*studies, map_study)


def test_of_three_runs_each_line_is_the_colour_of_its_run(sweep_study):
    runs = [read_run(sweep_study)] * 3
    (amplitude, *_) = pictures_of(runs)
    lines = amplitude.charts[0].layers
    assert [(line.colour, line.style) for line in lines] == [
        (run, style) for run in range(3) for style in ("solid", "dash")
    ]
    (amplitude, *_) = pictures_of(runs[:2])
    lines = amplitude.charts[0].layers
    assert [(line.colour, line.style) for line in lines] == [
        (freedom, style) for style in ("solid", "dash") for freedom in range(2)
    ]


def test_grids_of_other_long_paths_are_refused(map_study, sweep_study):
    with pytest.raises(ValueError, match="paths of several values"):
        check_comparable([read_run(map_study), read_run(sweep_study)])


def test_runs_over_other_paths_are_refused(map_study, random_study):
    run = read_run(random_study)
    run.study["coordinates"] = ["gap"]
    with pytest.raises(ValueError, match=r"'gap'.* cannot be compared"):
        check_comparable([read_run(map_study), run])


def test_every_picture_is_a_file_too_if_asked_for(map_report, drawn_report):
    for report, kinds in ((map_report, {"csv"}), (drawn_report, KINDS)):
        assert {path.name for path in (report.parent / "pictures").iterdir()} == {
            f"{name}.{kind}" for name in names(report.parent) for kind in kinds
        }
    folder = drawn_report.parent / "pictures"
    for name in names(drawn_report.parent):
        width = float(
            re.search(r'width="([\d.]+)pt"', (folder / f"{name}.svg").read_text())[1]
        )
        assert round(width * 25.4 / 72) in (90, 140, 190)  # mm: columns of journals


@pytest.mark.parametrize("kind", LINKED)
def test_the_page_carries_its_files(kind, request):
    report = request.getfixturevalue(kind)
    carried = re.findall(r"data-file='([^']*)'>([^<]*)<", report.read_text("utf-8"))
    assert len(carried) == len(LINKED[kind]) * len(names(report.parent))
    for name, text in carried:
        beside = (report.parent / "pictures" / name).read_bytes()
        assert zlib.decompress(base64.b64decode(text)) == beside


MATPLOTLIB = """
import contextlib, pathlib, sys
from jaxvib.cli import main
study, folder = sys.argv[1:]
for words in (
    ["report", study],
    ["run", "tower_response", "--set", "analysis.points=51", "--out", folder],
    ["report", folder, "--pictures"],
):
    with contextlib.suppress(SystemExit):
        main(words)
    files = pathlib.Path(folder).glob("pictures/frequency_response.*")
    kinds = sorted(path.suffix for path in files)
    print("matplotlib" in sys.modules, *kinds, file=sys.stderr)
"""


@pytest.mark.slow  # two runs and their pictures in a process of their own, 6 s
def test_matplotlib_is_imported_only_for_picture_files(map_study, tmp_path):
    study = shutil.copytree(map_study, tmp_path / map_study.name)
    done = subprocess.run(
        [sys.executable, "-c", MATPLOTLIB, study, tmp_path / "run"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr.splitlines() == ["False", "False .csv", "True .csv .pdf .png .svg"]


def test_a_page_that_would_be_too_heavy_leaves_files_beside_it(map_study, monkeypatch):
    run = read_run(map_study)
    pictures = pictures_of([run])
    drawn = np.random.default_rng(0).bytes(400_000)  # no compression helps
    files = {"a.csv": b"1,2", **{f"{i}.svg": drawn for i in range(9)}}
    text = page(pictures, [run], files).html
    assert len(text.encode()) < 3e6
    assert "data-file='a.csv'" in text
    assert 0 < text.count(".svg'>") < 9


def test_failed_and_undecided_samples_are_listed_with_their_command(map_study, map_report):
    run = read_run(map_study)
    text = map_report.read_text("utf-8")
    short = np.flatnonzero(run.failed | np.isin(run.field("result"), [22]))
    assert f"Failed and undecided samples of first: {len(short)}" in text
    for sample in short:
        assert f"<th scope='row'>{sample}</th>" in text
        assert f"<code>jaxvib sample first {sample}</code>" in text


def test_chosen_units_are_those_of_the_page(map_study, tmp_path):
    run = read_run(shutil.copytree(map_study, tmp_path / "first"))
    run.study["config"]["output"]["units"] = ["kN", "Hz", "mm"]
    contents = page_content(
        [_in_chosen_units(each, run) for each in pictures_of([run])], [run]
    )
    (maps,) = (each for each in contents["pictures"] if each.name == "peak_force")
    assert maps.charts[0].x.label == "load frequency (Hz)"
    np.testing.assert_allclose(
        maps.charts[0].layers[0].x, FREQUENCIES / (2 * np.pi), rtol=1e-15
    )
    assert maps.charts[0].layers[0].paint.label == "peak contact force (kN)"
    (curves,) = (each for each in contents["pictures"] if each.name == "amplitude_curves")
    assert curves.choice.options[-1] == "load amplitude 0.5 kN"
    assert contents["units"]["m"] == ("mm", 1e3)
    amplitude, frequency = contents["runs"][0]["paths"]
    assert (amplitude["unit"], frequency["unit"]) == ("kN", "Hz")
    np.testing.assert_array_equal(amplitude["values"].values[:1], AMPLITUDES[:1])  # in SI


@pytest.mark.slow  # draws all pictures again, 3 s
def test_the_report_is_the_same_bytes_each_time_and_needs_no_xarray(
    drawn_report, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "xarray", None)
    first = drawn_report.parent
    again = shutil.copytree(first, tmp_path / first.name)
    for path in [again / "report.html", *(again / "pictures").iterdir()]:
        path.unlink()
    write_report(again, pictures=True)
    for path in [drawn_report, *(first / "pictures").iterdir()]:
        assert path.read_bytes() == (again / path.relative_to(first)).read_bytes()


def test_picture_files_of_an_earlier_report_stay_but_are_not_linked(drawn_report, tmp_path):
    again = shutil.copytree(drawn_report.parent, tmp_path / drawn_report.parent.name)
    files = sorted((again / "pictures").iterdir())
    before = [path.read_bytes() for path in files]
    text = write_report(again).read_text("utf-8")
    assert [path.read_bytes() for path in files] == before
    assert "pictures/regimes.csv" in text
    assert "pictures/regimes.svg" not in text


@pytest.mark.parametrize("kind", LINKED)
def test_the_page_is_small_and_names_no_other_file(kind, request):
    report = request.getfixturevalue(kind)
    text = report.read_text("utf-8")
    assert len(text.encode()) < 3e6
    assert "default-src 'none'" in text
    head = text[: text.index('id="data"')]
    sources = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", head)
    local = [source for source in sources if source.startswith("pictures/")]
    assert set(sources) - set(local) == {"#pictures", "#sample"}
    assert set(local) == {
        f"pictures/{name}.{end}" for name in names(report.parent) for end in LINKED[kind]
    }
    assert all((report.parent / source).is_file() for source in local)


def test_the_head_counts_the_samples_of_the_store(map_study, map_report):
    run = read_run(map_study)
    text = map_report.read_text("utf-8")
    periodic = 100 * np.mean(run.field("result") == 0)
    assert f"<dt>periodic</dt><dd>{periodic:.3g} %</dd>" in text
    assert "<dt>failed</dt><dd>1</dd>" in text
    unsettled = int((run.field("result") == 22).sum())
    assert f"<dt>undecided</dt><dd>{unsettled}</dd>" in text
    assert html.escape("1 failed: Newton's method did not converge") in text
    assert "<dt>error bars</dt><dd>yes</dd>" in text


def test_the_head_tells_the_largest_force_and_where_it_is(map_study, map_report):
    run = read_run(map_study)
    worst = int(np.nanargmax(run.field("max_contact_force")))
    force, *place = (
        float(run.field(name)[worst])
        for name in ("max_contact_force", "load.amplitude", "load.frequency")
    )
    words = f"contact force {force:.4g} N at load.amplitude = {place[0]:.5g} N, "
    words += f"load.frequency = {place[1]:.5g} rad/s"
    assert f"<th scope='row'>worst</th><td>{words}</td>" in map_report.read_text("utf-8")


def test_the_share_of_time_in_contact_is_drawn(map_study):
    run = read_run(map_study)
    (picture,) = (p for p in pictures_of([run]) if p.name == "closed_share")
    cells = picture.charts[0].layers[0]
    known = np.isfinite(cells.values)
    shares = (run.field("contact_duration") / run.field("period"))[cells.samples]
    np.testing.assert_array_equal(cells.values[known], shares[known])
    assert known.any()
    assert 0 <= shares.min() < 0.2


@pytest.mark.parametrize(
    ("version", "kind", "contact", "warned"),
    [
        ("0.1.0", "continuation", "hard", True),
        ("0.2.0", "continuation", "hard", False),
        ("0.10.1", "continuation", "hard", False),
        ("0.1.0", "continuation", "hertz", False),
        ("0.1.0", "periodic_orbit", "hard", False),
    ],
)
def test_branches_of_hard_stops_before_version_0_2_are_to_be_computed_again(
    map_study, version, kind, contact, warned
):
    run = read_run(map_study)
    config = {"system": {"contacts": {"wall": {"contact": contact}}},
              "analysis": {"kind": kind}}  # fmt: skip
    study = run.study | {"versions": {"jaxvib": version}, "config": config}
    text = head([dataclasses.replace(run, study=study)])
    assert f"<dt>computed by</dt><dd>jaxvib {version}</dd>" in text
    assert ("compute it again" in text) == warned


def test_words_of_a_config_stay_words(tmp_path):
    title = "</title><script>alert('a')</script> & <b>$data</b>"
    study = small_studies.write_map_study(tmp_path / "<i>&", FREQUENCIES, AMPLITUDES, title)
    run = read_run(study)
    whole = page(pictures_of([run, run]), [run, run]).html
    assert html.escape(title, quote=True) in whole
    assert "&lt;i&gt;&amp;" in whole
    assert "<script>alert" not in whole
    assert "<i>&" not in whole


def test_a_damaged_or_missing_study_is_named(map_study, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        write_report(tmp_path / "nothing")
    damaged = shutil.copytree(map_study, tmp_path / "damaged")
    chunk = next((damaged / "results.zarr" / "contacts" / "c").rglob("0"))
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"\0")
    with pytest.raises(OSError, match="contacts"):
        write_report(damaged)


def test_a_report_is_put_in_its_place_at_once_and_follows_no_link(map_report, tmp_path):
    study = shutil.copytree(map_report.parent, tmp_path / map_report.parent.name)
    before = (study / "report.html").read_bytes()
    (tmp_path / "mine").write_text("mine")
    picture = sorted((study / "pictures").iterdir())[0]
    for file in (study / "report.html", picture):
        file.unlink()
        file.symlink_to(tmp_path / "mine")
    write_report(study)
    assert (tmp_path / "mine").read_text() == "mine"
    assert (study / "report.html").read_bytes() == before
    assert not picture.is_symlink()
    shutil.rmtree(study / "pictures")
    (tmp_path / "folder").mkdir()
    (study / "pictures").symlink_to(tmp_path / "folder")
    with pytest.raises(OSError, match="is a link, not a folder"):
        write_report(study)
    assert list((tmp_path / "folder").iterdir()) == []
