"""Small studies and one browser for all tests of the reports."""

import shutil

import numpy as np
import pytest

from jaxvib.reports import write_report
from tests.studies.analyses.conftest import branch as branch
from tests.studies.analyses.conftest import design as design

from . import small_studies
from .browser import CHROMIUM, MISSING, Browser

FREQUENCIES = np.linspace(5, 8, 8)  # rad/s
AMPLITUDES = np.linspace(100, 500, 6)  # N
FAILED = 5  # the sample that is marked so


@pytest.fixture(scope="session")
def map_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "first"
    return small_studies.write_map_study(
        directory, FREQUENCIES, AMPLITUDES, failed=(FAILED,)
    )


@pytest.fixture(scope="session")
def other_map_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "second"
    return small_studies.write_map_study(directory, FREQUENCIES, AMPLITUDES, failed=(9,))


@pytest.fixture(scope="session")
def random_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "random"
    return small_studies.write_random_study(directory)


@pytest.fixture(scope="session")
def sweep_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "sweep"
    return small_studies.write_map_study(directory, FREQUENCIES, AMPLITUDES[-1:])


GAPS = np.array([0.02, 0.05, 0.08])  # m


@pytest.fixture(scope="session")
def cube_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "cube"
    return small_studies.write_cube_study(directory, GAPS, AMPLITUDES[1:5], FREQUENCIES[:5])


@pytest.fixture(scope="session")
def map_report(map_study):
    return write_report(map_study)


@pytest.fixture(scope="session")
def drawn_report(map_study, tmp_path_factory):
    """Return the report of the map with its picture files."""
    copy = tmp_path_factory.mktemp("drawn") / map_study.name
    return write_report(shutil.copytree(map_study, copy), pictures=True)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip(MISSING)
    window = Browser(tmp_path_factory.mktemp("profile"))
    yield window
    window.close()
