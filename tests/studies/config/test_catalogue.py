"""Checked against: what the systems themselves declare."""

import json
import subprocess
import sys

import pytest

from jaxvib.studies.analyses.kinds import SYSTEMS
from jaxvib.studies.config import catalogue
from jaxvib.studies.run.write_catalogue import declared_now
from jaxvib.studies.systems.assembly import module_tables
from jaxvib.studies.systems.impact_assembly import part_tables
from jaxvib.studies.systems.part_units import fields_of


def test_the_catalogue_is_what_the_systems_declare():
    # If not: python -m jaxvib.studies.run.write_catalogue
    assert json.loads(catalogue.FILE.read_text()) == declared_now()


@pytest.mark.parametrize("kind", SYSTEMS.values(), ids=SYSTEMS)
def test_every_parameter_can_be_set_and_is_described(kind):
    from jaxvib.studies.config.tables import leaves

    settable = set(leaves(kind.options))
    if kind.name == "assembly":  # one table for each module
        settable |= {
            f"{n}.{leaf}" for n, t in module_tables().items() for leaf in leaves(t)
        }
    known = catalogue.catalogue()[kind.name]
    if kind.name == "impact_assembly":  # one table for each contact and load
        settable |= {f"{n}.{leaf}" for n, t in part_tables().items() for leaf in leaves(t)}
        known = {
            f"{name}.{path}": entry
            for name in part_tables()
            for path, entry in fields_of(name, turned=False).items()
        }
    if kind.name == "elastic_impact":
        settable |= {"linear.frequencies"}  # by the beam or the modules
    for path, declared in known.items():
        assert path in settable
        assert declared.description


def test_reading_a_config_needs_no_jax():
    heavy = "{'jax', 'equinox', 'xarray', 'zarr', 'scipy', 'pandas', 'matplotlib'}"
    code = (
        "import sys, jaxvib.cli, jaxvib.studies.run.study; "
        f"print({heavy} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
