"""Checked against: the paths, ranges and values that the systems declare."""

import pytest

from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load

MISTAKES = {
    "an unknown path": (
        'path = "load.amplitude"',
        'path = "load.amplitud"',
        "analysis: unknown parameter 'load.amplitud'; did you mean 'load.amplitude'?",
    ),
    "bounds that leave the value out": (
        "bounds = [50.0, 1000.0]",
        "bounds = [50.0, 60.0]",
        "bounds = [50, 60] do not enclose load.amplitude = 500",
    ),
    "a bound out of range": (
        'path = "load.amplitude" ',
        'path = "load.frequency" ',
        "bounds = [50, 1000] do not enclose load.frequency = 5.8",
    ),
    "one bound": ("[50.0, 1000.0]", "[50.0]", "analysis.bounds = [50.0] is out of range"),
    "an unknown method": ('"arclength"', '"arclenth"', 'did you mean "arclength"?'),
    "no path": ('path = "load.amplitude"', "", "analysis.path is missing; allowed: a par"),
    "a sweep": ("[run]", "[sweep]\ngap = [0.1]\n[run]", "sweep is given; allowed where"),
}


@pytest.mark.parametrize(("wrong", "instead", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_continuation_is_named(tmp_path, wrong, instead, words):
    text = (builtin_studies.folder() / "loading_curve.toml").read_text()
    assert text.count(wrong) == 1
    file = tmp_path / "study.toml"
    file.write_text(text.replace(wrong, instead))
    with pytest.raises(ValueError, match=r"study\.toml, line ") as caught:
        load(file)
    assert words in str(caught.value)


def test_a_value_that_follows_from_others_is_checked_once_the_system_is_built(tmp_path):
    text = (builtin_studies.folder() / "loading_curve.toml").read_text()
    stiffness = text.replace('"load.amplitude"', '"contact.stiffness"')
    file = tmp_path / "study.toml"
    file.write_text(stiffness.replace("bounds = [50.0, 1000.0]", "bounds = [1e6, 1e7]"))
    study = load(file)
    with pytest.raises(ValueError, match=r"do not enclose contact.stiffness = 3\.5"):
        build(study)


@pytest.mark.parametrize(
    ("wrong", "instead", "words"),
    [
        ('"amplitude"', '"ampliude"', 'is not known; allowed: "amplitude", "largest_m'),
        (
            "attached.frequency = [4.0, 8.0]",
            "attached.frequency = [6.0, 8.0]",
            "do not enc",
        ),
        ("variables.attached.frequency", "variables.attached.frequence", "unknown param"),
        ("[4.0, 8.0] ", '[4.0, "8"] ', 'attached.frequency[1] = "8" is not a number'),
        ("[4.0, 8.0] ", "4.0 ", "attached.frequency = 4.0 is not a list"),
    ],
)
def test_a_mistake_in_a_design_is_named(tmp_path, wrong, instead, words):
    text = (builtin_studies.folder() / "first_design.toml").read_text()
    assert text.count(wrong) == 1
    file = tmp_path / "study.toml"
    file.write_text(text.replace(wrong, instead))
    with pytest.raises(ValueError, match=r"study\.toml, line ") as caught:
        load(file)
    assert words in str(caught.value)
