"""Checked against: what the system says of files, and processes that attack them."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jaxvib
from jaxvib.foundation import cache
from jaxvib.foundation.cache import cache_folder, clear, read_entry, write_entry
from tests.users import newcomer

ROOT = Path(jaxvib.__file__).parents[1]
NAME, CONTENT = "kernels/add.o", bytes(range(256)) * 8
STRANGER = 12345  # a user's number

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")
by_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    return tmp_path / "home" / "cache" / "jaxvib"


@pytest.fixture
def entry(root):
    write_entry(NAME, CONTENT)
    assert read_entry(NAME) == CONTENT
    return root / NAME


def run(code, root, **more):
    """Return what another process says that begins with this cache."""
    environment = newcomer(root.parent, **more)
    return subprocess.run(
        [sys.executable, "-c", f"from jaxvib.foundation.cache import *\n{code}"],
        env=environment | {"PYTHONPATH": str(ROOT)}, cwd=root.parents[2], timeout=60,
        capture_output=True, text=True, check=True,
    )  # fmt: skip


def test_folders_and_files_are_closed_to_others(entry, root):
    for folder in (root.parents[1], root.parent, root, entry.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_a_folder_that_others_could_read_is_closed(root):
    (root / "kernels").mkdir(0o755, parents=True)
    write_entry(NAME, CONTENT)
    assert stat.S_IMODE((root / "kernels").stat().st_mode) == 0o700


def test_an_entry_that_was_given_another_name_is_refused(entry, root):
    shutil.copy(entry, root / "kernels" / "other.o")
    assert read_entry("kernels/other.o") is None
    os.replace(entry, root / "kernels" / "other.o")
    assert read_entry("kernels/other.o") is None
    cache_folder("studies")
    shutil.copy(root / "kernels" / "other.o", root / "studies" / "add.o")
    assert read_entry("studies/add.o") is None


def test_an_entry_with_any_bit_flipped_is_refused(entry):
    whole = entry.read_bytes()
    for place in range(0, len(whole), 7):
        for bit in (0, 7):
            wrong = bytearray(whole)
            wrong[place] ^= 1 << bit
            entry.write_bytes(wrong)
            assert read_entry(NAME) is None
    entry.write_bytes(whole)
    assert read_entry(NAME) == CONTENT


def test_an_entry_that_is_cut_or_longer_is_refused(entry):
    whole = entry.read_bytes()
    for length in (0, 1, 31, 32, 33, len(whole) // 2, len(whole) - 1):
        entry.write_bytes(whole[:length])
        assert read_entry(NAME) is None
    entry.write_bytes(whole + b"\0")
    assert read_entry(NAME) is None


def linked(entry, copy):
    shutil.move(entry, copy)
    entry.symlink_to(copy)


def linked_twice(entry, copy):
    os.link(entry, copy)


def linked_folder(entry, copy):
    shutil.move(entry.parent, copy)
    entry.parent.symlink_to(copy)


def fifo(entry, copy):
    entry.unlink()
    os.mkfifo(entry)


def folder(entry, copy):
    entry.unlink()
    entry.mkdir()


def open_file(entry, copy):
    entry.chmod(0o666)


def given_away(entry, copy):
    os.chown(entry, STRANGER, -1)


@pytest.mark.parametrize(
    "plant",
    [linked, linked_twice, linked_folder, fifo, folder, open_file,
     pytest.param(given_away, marks=by_root)],
)  # fmt: skip
def test_links_and_files_of_others_are_refused(entry, root, tmp_path, plant):
    plant(entry, tmp_path / "copy")
    assert run(f"print(read_entry({NAME!r}))", root).stdout == "None\n"


def test_an_entry_too_large_to_be_one_is_not_read(entry, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", len(CONTENT) - 1)
    assert read_entry(NAME) is None
    entry.unlink()
    write_entry(NAME, CONTENT)
    assert not entry.exists()


def others_write(folder):
    folder.chmod(0o777)


def a_group_writes(folder):
    os.chown(folder, -1, STRANGER)
    folder.chmod(0o770)


def a_stranger_owns(folder):
    os.chown(folder, STRANGER, -1)


ATTACKS = (
    others_write,
    pytest.param(a_group_writes, marks=by_root),
    pytest.param(a_stranger_owns, marks=by_root),
)
# `use_compilation_cache` gives JAX's programs their folder; a child is a worker's process.
USES = f"""
import os, subprocess, sys
from jaxvib.foundation.environment import use_compilation_cache
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
use_compilation_cache()
write_entry({NAME!r}, b"mine")
child = "from jaxvib.foundation import cache; print(cache.read_entry({NAME!r}))"
print(os.environ["JAX_COMPILATION_CACHE_DIR"])
print(cache_folder("kernels"), read_entry({NAME!r}), flush=True)
subprocess.run([sys.executable, "-c", child], check=True)
"""


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("place", ["home", "home/cache", "home/cache/jaxvib", "kernels"])
def test_a_folder_that_others_could_change_is_not_used(
    entry, root, tmp_path, attack, place
):
    place = entry.parent if place == "kernels" else tmp_path / place
    attack(place)
    before = sorted((path, path.stat().st_mtime) for path in root.rglob("*"))
    done = run(USES, root)
    programs, kernels, told = done.stdout.splitlines()
    private, read = kernels.split(" ", 1)
    assert told == read == "b'mine'"
    if place != entry.parent:  # JAX's programs lie beside it
        assert not Path(programs).is_relative_to(root)
        assert sorted((path, path.stat().st_mtime) for path in root.rglob("*")) == before
    assert not Path(private).is_relative_to(root)
    assert not Path(private).exists()  # any more
    assert done.stderr.count("jaxvib: ") == 1
    assert str(place) in done.stderr
    assert entry.stat().st_size == len(CONTENT) + 32


def test_a_sticky_folder_and_a_group_of_the_user_s_own_are_no_others(root, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o1777)
    (tmp_path / "home" / "cache").mkdir()
    import grp
    import pwd

    own = grp.getgrgid(pwd.getpwuid(os.geteuid()).pw_gid)
    if own.gr_name == pwd.getpwuid(os.geteuid()).pw_name and not own.gr_mem:
        (tmp_path / "home" / "cache").chmod(0o770)
    write_entry(NAME, CONTENT)
    assert (root / NAME).exists()


@pytest.mark.parametrize("where", ["root", "kernels"])
def test_clearing_empties_an_open_folder_and_closes_it(entry, root, where):
    opened = root if where == "root" else entry.parent
    opened.chmod(0o777)
    cache._folder.cache_clear()
    assert clear()[0] >= 1
    assert stat.S_IMODE(opened.stat().st_mode) == 0o700
    assert not entry.exists()
    cache._folder.cache_clear()
    write_entry(NAME, CONTENT)
    assert read_entry(NAME) == CONTENT
    assert entry.exists()


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_is_cleared_where_others_could_lead_elsewhere(entry, tmp_path, attack):
    attack(tmp_path / "home")
    with pytest.raises(PermissionError, match=str(tmp_path / "home")):
        clear()
    assert entry.exists()


def test_of_two_writers_each_reader_sees_one_whole_entry(root):
    code = """
import sys
for turn in range(200):
    write_entry("kernels/one", sys.argv[1].encode() * 100_000)
"""
    write_entry("kernels/one", b"0" * 100_000)
    environment = newcomer(root.parent) | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", f"from jaxvib.foundation.cache import *\n{code}"]
    writers = [subprocess.Popen([*command, digit], env=environment) for digit in "12"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        content = read_entry("kernels/one")
        assert content is not None
        assert content == content[:1] * 100_000
        seen.add(content[:1])
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen >= {b"1", b"2"}
    assert [path.name for path in (root / "kernels").iterdir()] == ["one"]


@pytest.mark.parametrize("bytes_", [0, 20, 1000])
def test_a_full_disk_leaves_nothing_behind(root, bytes_):
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes_}, {bytes_}))
write_entry({NAME!r}, bytes(5000))
print(read_entry({NAME!r}))
"""
    assert run(code, root).stdout == "None\n"
    files = {path.name for path in root.rglob("*") if path.is_file()}
    assert files <= {".looked"}
    assert run(
        f"write_entry({NAME!r}, b'x'); print(read_entry({NAME!r}))", root
    ).stdout == ("b'x'\n")


def look_again(root):
    os.utime(root / ".looked", (0, 0))


def aged(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_partial_files_of_a_killed_process_are_removed_later(entry, root):
    old, young = (entry.with_name(name) for name in (".new-1", ".new-2"))
    for path in (old, young):
        path.write_bytes(b"cut o")
    aged(old, 2 * 3600)
    look_again(root)
    write_entry("kernels/next", CONTENT)
    assert not old.exists()
    assert young.exists()


def test_least_recently_used_entries_go_first(root, monkeypatch):
    names = [f"kernels/{number}" for number in range(10)]
    for number, name in enumerate(names):
        write_entry(name, CONTENT)
        aged(root / name, (20 - number) * 86400)
    program = root / "jax-0-jaxlib-0" / "jit_f-cache"  # as another version left them
    program.parent.mkdir()
    program.write_bytes(CONTENT)
    aged(program, 30 * 86400)
    assert read_entry(names[0]) == CONTENT  # used just now
    monkeypatch.setattr(cache, "MOST", 5 * (len(CONTENT) + 32))
    look_again(root)
    write_entry("kernels/new", CONTENT)
    kept = {path.name for path in (root / "kernels").iterdir()}
    assert kept == {"new", "0", "9", "8", "7"}
    assert not program.exists()


def test_a_process_that_writes_much_looks_before_the_hour_is_over(root, monkeypatch):
    monkeypatch.setattr(cache, "MOST", 20 * (len(CONTENT) + 32))
    for number in range(200):
        write_entry(f"kernels/{number}", CONTENT)
    assert len(list((root / "kernels").iterdir())) <= 20 + 20 / 16 + 1


def test_entries_unused_for_90_days_are_removed(entry, root):
    write_entry("kernels/used", CONTENT)
    aged(entry, 91 * 86400)
    aged(root / "kernels" / "used", 91 * 86400)
    assert read_entry("kernels/used") == CONTENT
    look_again(root)
    write_entry("kernels/next", CONTENT)
    assert not entry.exists()
    assert read_entry("kernels/used") == CONTENT


@pytest.mark.parametrize(
    "environment",
    [{"XDG_CACHE_HOME": "cache"}, {"HOME": "."}, {"HOME": ".", "XDG_CACHE_HOME": "."}, {}],
    ids=str,
)
def test_the_cache_is_never_in_the_working_directory(tmp_path, environment):
    """As one that was downloaded, with a cache in it that says how to go on."""
    known = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    code = "from jaxvib.foundation.cache import *; print(cache_folder('kernels'))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=known | environment, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    folder = Path(done.stdout.strip())
    assert folder.is_absolute()
    assert not folder.is_relative_to(tmp_path)
    assert not list(tmp_path.iterdir())
