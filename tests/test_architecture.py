"""Checked against: the sources themselves, read as text; nothing of jaxvib is imported."""

import graphlib
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from experiments.house import imports, measures, sources

ROOT = Path(__file__).parents[1]
ROOT_NAMES = {
    ".ci", ".github", ".gitattributes", ".gitignore", "CHANGELOG.md", "CITATION.cff",
    "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "GOVERNANCE.md", "LICENSE", "README.md",
    "RELEASING.md", "SECURITY.md", "SUPPORT.md", "codemeta.json", "configs", "docs",
    "experiments", "jaxvib", "llms.txt", "mkdocs.yml", "packaging", "pylock.toml",
    "pyproject.toml", "tests",
}  # fmt: skip
BINARY_FORMATS = {".gif", ".ico", ".npy", ".npz", ".png", ".woff2"}

# A folder imports from the floors below it only. The modules at the top of the package
# that belong to no floor are the ground; among themselves they may import each other.
FLOORS = (
    ("", "foundation", "citation"),
    ("drawing",),
    ("kernels",),
    ("linalg",),
    ("systems", "ensemble"),
    ("dynamics", "modes"),
    ("orbits", "transients", "programs"),
    ("branches",),
    ("design",),
    ("studies",),
    ("reports",),
    ("session",),
    ("cli",),
    ("__main__",),
)  # fmt: skip
# The kernels could be a library of their own.
ROOMS_OF_KERNELS = (
    ("ir",),
    ("lower",),
    ("cpu",),
    ("cache", "export"),
    ("gpu",),
    ("calls",),
)
ROOMS_OF_BRANCHES = (
    ("equations",),
    ("tracing",),
    ("results",),
    ("problems",),
)
ROOMS_OF_ORBITS = (
    ("shooting",),
    ("searches",),
    ("samples",),
)
ROOMS_OF_STUDIES = (
    ("config", "store"),
    ("pictures", "systems"),
    ("analyses",),
    ("run",),
)

LONGEST_MODULE = 500  # lines
LONGEST_FUNCTION = 80  # lines
MOST_ARGUMENTS = 8
MOST_MODULES = 20  # in a folder
MECHANICS = {
    "beam", "contact", "contacts", "displacement", "force", "forces", "friction", "impact",
    "impacts", "mass", "masses", "mechanics", "motion", "motions", "orbit", "orbits",
    "oscillator", "spring", "springs", "stiffness", "velocity", "vibration",
}  # fmt: skip
FEWEST_WORDS = 3  # of a reason; fewer name a unit, or repeat the name

MORE_ARGUMENTS = {
    # A system is called with one argument for each of its physical parameters.
    "systems.structures.beam.BeamWithBodies.__init__": 12,
    "systems.two_bodies.two_body_impact": 9,
    # The period is an argument of its own, as in `periodic_orbit` and `basins`.
    "orbits.lyapunov.lyapunov_exponents": 9,
}
# Import statements inside functions, of our own modules and of others.
LAZY_IMPORTS = {
    "__main__": 1,
    "cli": 18,
    "design": 2,
    "drawing": 8,
    "dynamics": 2,
    "ensemble": 2,
    "foundation": 5,
    "kernels": 2,
    "reports": 5,
    "session": 7,
    "studies": 18,
    "systems": 4,
}


def by_folder(module):
    return sources.folder(module)


def by_room_of(folder):
    def by_room(module):
        parts = module.split(".")
        return parts[1] if parts[0] == folder and len(parts) > 2 else None

    return by_room


@pytest.mark.parametrize(
    ("floors", "place"),
    [
        (FLOORS, by_folder),
        (ROOMS_OF_KERNELS, by_room_of("kernels")),
        (ROOMS_OF_BRANCHES, by_room_of("branches")),
        (ROOMS_OF_ORBITS, by_room_of("orbits")),
        (ROOMS_OF_STUDIES, by_room_of("studies")),
    ],
)
def test_imports_run_downwards(floors, place):
    height = {name: number for number, floor in enumerate(floors) for name in floor}
    places = {place(module) for module in sources.modules()} - {None}
    assert places == set(height)
    ground = FLOORS[0]
    for link in sources.imports():
        above, below = place(link.importer), place(link.imported)
        if None in (above, below) or above == below or {above, below} <= set(ground):
            continue
        assert height[above] > height[below], f"{link.importer} imports {link.imported}"


def test_kernels_know_no_mechanics():
    below = {
        sources.folder(link.imported)
        for link in sources.imports()
        if sources.folder(link.importer) == "kernels"
    }
    assert below == {"kernels", "foundation"}
    texts = [path.read_text() for path in (sources.PACKAGE / "kernels").rglob("*.py")]
    words = set(re.findall("[a-z]+", " ".join(texts).lower()))
    assert "lanes" in words
    assert not MECHANICS & words


def test_no_file_of_the_repository_is_ignored():
    # Such a file is missing in wheels.
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not done.stdout


def test_no_folder_has_many_modules():
    folders = Counter(path.parent for path in sources.modules().values())
    assert max(folders.values()) <= MOST_MODULES


def test_no_imports_go_in_a_circle():
    imported: dict[str, set[str]] = {}
    for link in sources.imports():
        imported.setdefault(link.importer, set()).add(link.imported)
    assert set(graphlib.TopologicalSorter(imported).static_order()) <= set(
        sources.modules()
    )


def test_laws_are_known_by_their_methods_and_not_by_their_classes():
    assert measures.classes_of_laws(sources.PACKAGE) == 0


def test_no_module_is_longer_than_its_reader_has_patience():
    lengths = {
        name: len(path.read_text().splitlines()) for name, path in sources.modules().items()
    }
    assert len(lengths) > 200
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE}


def check(found: dict[str, int], most: int, exceptions: dict[str, int]):
    """Raise unless all are at most `most`, and the exceptions needed and not greater."""
    over = {place: number for place, number in found.items() if number > most}
    worse = {place: n for place, n in over.items() if n > exceptions.get(place, most)}
    assert not worse, f"over {most}: {worse}"
    assert not exceptions.keys() - over.keys(), (
        "no exception any more: take it from the list"
    )


def test_functions_are_short():
    found = {function.place: function.lines for function in sources.functions()}
    assert len(found) > 1000
    check(found, LONGEST_FUNCTION, {})


def test_functions_take_few_arguments():
    found = {function.place: function.arguments for function in sources.functions()}
    check(found, MOST_ARGUMENTS, MORE_ARGUMENTS)


def test_imports_inside_functions_grow_no_more():
    found = Counter(sources.folder(module) for module in sources.lazy_statements())
    assert not {name: n for name, n in found.items() if n > LAZY_IMPORTS.get(name, 0)}


def test_every_number_that_a_module_names_has_its_reason_beside_it():
    found = {number.place: number.reason for number in sources.numbers()}
    assert len(found) > 300
    assert found["dynamics.chains.motion.FINE"].startswith("a step times the highest")
    assert not [place for place, why in found.items() if len(why.split()) < FEWEST_WORDS]


def test_the_imports_are_drawn_as_they_are():
    found = imports.PAGE.read_text(encoding="utf-8")
    assert found.count("mermaid") == 2
    assert found == imports.page(), "run `python -m experiments.house.imports`"


def test_every_spelling_of_an_import_is_seen():
    found = set(sources.imports())
    for importer, imported in [
        ("systems", "systems.contacts.contact"),  # from .contact import
        (
            "systems.contacts.contact",
            "foundation.quantity",
        ),  # from ..foundation.quantity import
        ("session", "foundation.command.signals"),  # from .foundation import
    ]:
        assert sources.Import(importer, imported, False) in found
    assert any(link.lazy for link in found)


def tracked_files():
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if found.returncode:
        pytest.skip("needs git and a clone")
    return [Path(name) for name in found.stdout.decode().split("\0") if name]


def test_the_root_holds_only_names_that_a_reader_expects():
    assert {path.parts[0] for path in tracked_files()} <= ROOT_NAMES


def test_no_compiled_file_is_stored():
    """A file with a null byte that is neither a picture, a font nor an array."""
    paths = [path for path in tracked_files() if path.suffix not in BINARY_FORMATS]
    assert not [path for path in paths if b"\0" in (ROOT / path).read_bytes()]


def test_the_newcomers_page_is_short_and_names_files_that_exist():
    page = (sources.PACKAGE / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", page)
    assert len(page.splitlines()) <= 60
    assert len(named) > 30
    assert [name for name in named if not (sources.PACKAGE / name).exists()] == []
