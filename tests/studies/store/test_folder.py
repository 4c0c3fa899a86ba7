"""Checked against: a stranger's files beside the folder, which must stay as they are."""

import os

import pytest

from jaxvib.studies.store.folder import Folder

OUTSIDE = [
    "../mine",
    "/etc/passwd",
    "a/../../mine",
    "a//b",
    "",
    "a/",
    "a\\b",
    "a\0b",
    "x" * 300,
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "mine").write_text("mine")
    inside = tmp_path / "folder"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "mine")
    (inside / "linked").symlink_to(tmp_path / "others")
    os.mkfifo(inside / "pipe")
    yield Folder(inside)
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "others" / "mine").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "mine", "others"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_leads_outside(folder, name):
    for action in (folder.read, folder.size, folder.remove, lambda n: folder.write(n, b"")):
        with pytest.raises(ValueError, match="the name"):
            action(name)


@pytest.mark.parametrize("name", ["link", "linked/mine", "pipe", "linked", "nothing"])
def test_only_plain_files_are_read(folder, name):
    with pytest.raises(OSError, match=r"is a (link|special file)|is missing"):
        folder.read(name)
    assert folder.kind("link") == "link"
    assert folder.kind("linked/mine") == ""


def test_a_link_is_replaced_and_not_followed(folder):
    folder.write("link", b"ours")
    assert folder.kind("link") == "file"
    assert folder.read("link") == b"ours"


def test_a_file_is_not_written_below_a_link_or_over_another_kind_of_entry(folder):
    for name in ("linked/mine", "linked/new", "pipe", "linked"):
        if name == "linked":
            (folder.root / name).unlink()
            (folder.root / name).mkdir()
        with pytest.raises(OSError, match=r"is a (link|special file|folder), not a"):
            folder.write(name, b"ours")


def test_a_link_at_the_temporary_name_is_not_written_through(folder):
    (folder.root / "a.new").symlink_to(folder.root.parent / "mine")
    folder.write("a", b"ours")
    assert folder.read("a") == b"ours"
    assert not (folder.root / "a.new").is_symlink()


def test_removing_takes_the_link_alone(folder):
    for name in ("link", "linked/mine", "pipe", "nothing", "nothing/more"):
        folder.remove(name)
    assert list(folder.root.iterdir()) == []


def test_a_write_that_fails_leaves_the_file_before_it(folder, monkeypatch):
    folder.write("a", b"before")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        folder.write("a", b"after")
    assert folder.read("a") == b"before"
    assert folder.kind("a.new") == ""


def test_folders_nested_as_deep_as_can_be_are_removed(tmp_path):
    folder = Folder(tmp_path)
    deep = "a" + "/a" * 1500
    for length in range(1, len(deep) + 1, 2):
        os.mkdir(tmp_path / deep[:length])
    (tmp_path / deep / "file").write_text("x")
    assert folder.files("a") == [f"{deep}/file"]
    folder.remove("a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_longer_than_it_may_be_is_not_read(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1001))
    with pytest.raises(OSError, match="is longer than 1000 bytes"):
        Folder(tmp_path).read("a", 1000)
