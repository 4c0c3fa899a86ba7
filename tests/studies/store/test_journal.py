"""Checked against: files changed by hand, byte by byte."""

import pytest

from jaxvib.studies.store.journal import Journal, damaged


@pytest.fixture
def journal(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).write_bytes(name.encode() * 5)
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append("one", tmp_path, ["first"])
    journal.append("two", tmp_path, ["first", "second"])
    return journal


def test_commits_come_back_in_order(journal, tmp_path):
    steps = [commit.step for commit in journal.read()]
    assert steps == ["one", "two"]
    assert not any(damaged(commit, tmp_path) for commit in journal.read())


def test_no_journal_has_no_commits(tmp_path):
    assert Journal(tmp_path / "none.jsonl").read() == []


def test_every_single_flipped_bit_of_a_file_is_noticed(journal, tmp_path):
    path = tmp_path / "second"
    content = path.read_bytes()
    two = journal.read()[1]
    for position in range(8 * len(content)):
        changed = bytearray(content)
        changed[position // 8] ^= 1 << position % 8
        path.write_bytes(changed)
        assert damaged(two, tmp_path) == [path]


def test_a_missing_file_is_noticed(journal, tmp_path):
    (tmp_path / "first").unlink()
    assert [damaged(commit, tmp_path) for commit in journal.read()] == [
        [tmp_path / "first"], [tmp_path / "first"],
    ]  # fmt: skip


def test_a_half_written_last_line_does_not_count(journal):
    content = journal.path.read_bytes()
    first = content.index(b"\n") + 1
    for end in range(first, len(content)):
        journal.path.write_bytes(content[:end])
        assert [commit.step for commit in journal.read()] == ["one"]


def test_a_damaged_line_is_named(journal):
    content = bytearray(journal.path.read_bytes())
    content[20] ^= 1
    journal.path.write_bytes(content)
    with pytest.raises(OSError, match="line 1 is damaged"):
        journal.read()


def test_rewriting_keeps_the_given_text(journal):
    two = journal.read()[1]
    journal.rewrite([two])
    assert journal.read() == [two]
