"""Checked against: what Python itself calls printable, and lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.foundation.text import check_name, printable, safe_text


@given(st.text())
def test_control_characters_are_escaped_and_other_text_is_kept(text):
    shown = printable(text)
    assert shown.isprintable()
    assert (shown == text) == text.isprintable()


@given(st.text(min_size=1, max_size=5), st.integers(1, 100_000))
def test_no_message_is_endless(text, times):
    shown = safe_text(text * times)
    assert shown.isprintable()
    assert len(shown) <= 4000
    assert max(map(len, shown.split(" "))) <= 200


@pytest.mark.parametrize(
    "name", ["a", "load.amplitude", "ground-cart", "x" * 100, "Körper 1"]
)
def test_names_are_names(name):
    check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "/a",
        "a\\b",
        "a\0b",
        "a\x1b[31m",
        "a\nb",
        "\u202egnp",
        "x" * 101,
    ],
)
def test_names_that_leave_the_folder_are_refused(name):
    with pytest.raises(ValueError, match=r"the name .*; allowed: 1 to 100 printable"):
        check_name(name)
