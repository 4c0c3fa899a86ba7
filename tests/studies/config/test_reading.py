"""Checked against: `tomllib` where it is safe to ask, and limits of time where not."""

import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.studies.config.document import MAX_BYTES, read
from jaxvib.studies.config.toml_writer import to_toml

HOSTILE = {
    "a dotted key of 10000 parts": (
        b"a" + b".a" * 10_000 + b" = 1",
        "line 1: a key of more",
    ),
    "a header of 100000 parts": (b"\n[" + b"a." * 100_000 + b"a]", "line 2: a key of more"),
    "a quoted dotted key": (
        b'"x y"' + b' . "x y"' * 9999 + b" = 1",
        "line 1: a key of more",
    ),
    "brackets in brackets": (
        b"a = " + b"[" * 100_000,
        "line 1: brackets nested more than 64",
    ),
    "tables in tables": (b"a = " + b"{b = " * 100_000, "line 1: brackets nested more"),
    "bad UTF-8": (b"a = 1\n\nb = '\xff'\n", "line 3: byte 0xff is not UTF-8"),
    "100000 digits": (b"a = " + b"9" * 100_000, "an integer of more than 4300 digits"),
    "100000 hexadecimal digits": (
        b"a = 1\nb.c = [1, 0x" + b"f" * 100_000 + b"]",
        "line 2: b.c is an integer of more than the 64 bits of TOML; allowed: a number",
    ),
    "an integer below": (
        b"a = -9223372036854775809",
        "line 1: a is an integer of more than",
    ),
    "a file of 2 MiB": (b"#" * (2 << 20), f"longer than {MAX_BYTES} bytes"),
    "a word of 1 MiB": (b"a" * (MAX_BYTES - 1), "line 1: not TOML"),
    "quotes without end": (b'"' * 500_000, "line 1: not TOML"),
    "no TOML": (b"a = 1\nb == 2\n", "line 2: not TOML: Invalid value"),
    "a key twice": (b"a = 1\na = 2\n", "line 2: not TOML: Cannot overwrite a value"),
    "a value and a table": (b'a.b = 1\n"a.b.c" = 2\n', "conflicts with"),
    "a path twice": (b'a.b = 1\n"a.b" = 2\n', "a.b is given twice"),
    "a quoted key of 20000 dots": (
        b'a = 1\n"' + b"a." * 20_000 + b'a" = 1',
        "line 2: tables nested more than 64 deep",
    ),
    "quoted dots in dotted keys": (
        b'"' + b"a." * 40 + b'a"."' + b"a." * 40 + b'a" = 1',
        "line 1: tables nested more than 64 deep",
    ),
    "40000 keys": (
        b"".join(b"a%d = 1\n" % i for i in range(40_000)),
        "line 10001: more than 10000 keys",
    ),
    "40000 inline keys": (
        b"a = {" + b",".join(b"a%d = 1" % i for i in range(40_000)) + b"}",
        "line 1: more than 10000 keys",
    ),
    "a slash in a name": (
        b'a = 1\n[modules."../../x"]\nb = 1\n',
        "line 2: .*the name '' is empty",
    ),
    "a backslash in a name": (b"a.'b\\c' = 1\n", r"line 1: a\.b.c: the name .* leads into"),
    "NUL in a name": (b'a.b = {"c\\u0000" = 1}\n', "line 1: .* has a control character"),
    "a long name": (b"a" * 101 + b" = 1", "line 1: .* has 101 characters; allowed: 1 to"),
    "a name in a list": (b'a = [{"b/c" = 1}]', "line 1: .*'b/c' leads into a folder"),
}


@pytest.mark.parametrize(("content", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_at_once(tmp_path, content, message):
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    began = time.process_time()
    with pytest.raises(ValueError, match=message) as caught:
        read(file)
    assert time.process_time() - began < 2
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value)) < 200 + len(str(file))


@pytest.mark.parametrize("name", ["nothing.toml", "."])
def test_missing_files_are_named(tmp_path, name):
    with pytest.raises(ValueError, match="no such file"):
        read(tmp_path / name)


def test_a_byte_order_mark_is_skipped(tmp_path):
    file = tmp_path / "windows.toml"
    file.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert read(file).tables == {"a": 1}


names = st.sampled_from(["a", "b", "load", "x-1", "with space", "é"])
values = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=5),
    st.floats(allow_nan=False, allow_infinity=False), st.lists(st.floats(0, 1), max_size=3),
)  # fmt: skip
tables = st.dictionaries(names, values, max_size=3)
configs = st.dictionaries(
    names, st.one_of(values, st.dictionaries(names, st.one_of(values, tables), min_size=1))
)


@given(configs)
def test_written_values_are_read_back(tables):
    def without_empty(node):
        kept = {k: without_empty(v) if isinstance(v, dict) else v for k, v in node.items()}
        return {k: v for k, v in kept.items() if v != {}}

    assert without_empty(tomllib.loads(to_toml(tables))) == without_empty(tables)


TEXT = """title = "lines"
[system]
main.mass = 1.0   # dotted
"load.phase" = 0.5

[sweep."load.amplitude"]
linspace = [
  1.0,
  2.0,
]
"""


@pytest.fixture
def document(tmp_path):
    file = tmp_path / "lines.toml"
    file.write_text(TEXT)
    return read(file)


@pytest.mark.parametrize(
    ("path", "line"),
    [("title", 1), ("system", 2), ("system.main.mass", 3), ("system.main", 3),
     ("system.load.phase", 4), ("system.gap", 2), ("sweep.load.amplitude", 6),
     ("sweep.load.amplitude.linspace", 7), ("sweep.load.amplitude.values", 6)],
)  # fmt: skip
def test_a_path_stands_on_its_line(document, path, line):
    assert document.where(path) == f"{document.name}, line {line}"


def test_quoted_and_plain_dots_say_the_same(document):
    assert document.tables["system"] == {"main": {"mass": 1.0}, "load": {"phase": 0.5}}
    assert document.tables["sweep"] == {"load": {"amplitude": {"linspace": [1.0, 2.0]}}}


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("2.5", 2.5), ("true", True), ("cpu", "cpu"), ('"cpu"', "cpu"),
     ("[1.0, 2.0]", [1.0, 2.0]), ("{a = 1}", {"a": 1}), ("1\nb = 2", "1\nb = 2")],
)  # fmt: skip
def test_overrides_take_toml_values_or_else_text(document, text, value):
    changed = document.override([f"gap={text}"], ["system"])
    assert changed.tables["system"]["gap"] == value
    assert changed.where("system.gap") == f"--set gap={text}"
    assert "gap" not in document.tables["system"]


@pytest.mark.parametrize(
    "text",
    ["gap", "=1", "a..b=1", ".=1", "a" + ".a" * 99 + "=1", "title.x=1", "a/b=1", "a\0=1"],
)
def test_overrides_of_another_form_are_refused(document, text):
    with pytest.raises(ValueError, match="--set"):
        document.override([text], ["title", "system"])
