"""Checked against: the page on what jaxvib refuses, row by row."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from experiments.house import reference
from jaxvib.studies.run.study import load_text

PAGE = (Path(__file__).parents[1] / "docs" / "refusals.md").read_text("utf-8")
ROWS = {
    cells[1]: cells[3]
    for cells in (re.split(r" ?\| ?", line) for line in PAGE.splitlines())
    if len(cells) > 4 and cells[1] not in ("Not in jaxvib", "---")
}


def field(rate, **parameters):
    return jv.forced_system(
        rate, parameters={"w": 0.7, **parameters}, dimension=2,
        period=lambda p: 2 * jnp.pi / p["w"],
    )  # fmt: skip


def config(table, kind):
    kinds = {"system": "two_body_impact", "analysis": "periodic_orbit"} | {table: kind}
    load_text("\n".join(f'[{name}]\nkind = "{known}"' for name, known in kinds.items()))


def remembers():
    states = []

    def rate(t, x, p):
        states.append(x)
        return [x[1], jnp.cos(p["w"] * t) - x[0] - 0.3 * states[0][0]]

    jv.periodic_orbit(field(rate))


def draws():
    random = np.random.default_rng(0)
    jv.periodic_orbit(field(lambda t, x, p: [x[1], random.normal() - x[0] - 0.1 * x[1]]))


def jumps():
    def rate(t, x, p):
        push = jnp.where(x[0] > 0.2, 0.3, 0.0)
        return [x[1], jnp.cos(p["w"] * t) - x[0] - 0.1 * x[1] - push]

    jv.periodic_orbit(field(rate))


def without_mass():
    links = [("ground", "joint", {}), ("joint", "body", {"mass": 1.0})]
    jv.assemble(
        [jv.TranslationTranslation(*ends, stiffness=1.0, **more) for *ends, more in links]
    )


class WithMemory:
    """A spring that yields: its force depends on the largest elongation so far."""

    largest = 0.0

    def __call__(self, elongation):
        self.largest = max(self.largest, elongation)
        return elongation - self.largest


TRIED = {
    "rigid bodies in space": lambda: config("system", "rigid_bodies"),
    "large rotations": lambda: config("system", "multibody"),
    "delay equations": remembers,
    "differential-algebraic": without_mass,
    "boundary-value": lambda: config("analysis", "boundary_value"),
    "right-hand sides with jumps": jumps,
    "partial differential": lambda: config("system", "plate"),
    "plasticity": lambda: jv.NonlinearSpring([1.0], WithMemory()),
    "stochastic": draws,
    "fractal": lambda: reference.named("fractal_dimension"),
    "continuation in more": lambda: reference.named("branches.bifurcation_surface"),
}
ACCEPTED = ("computing in float32", "deadlines")
SLOW = ("right-hand sides with jumps",)


def test_every_row_of_the_page_is_tried():
    starts = (*TRIED, *ACCEPTED)
    assert len(ROWS) == len(starts)
    assert all(any(row.startswith(start) for row in ROWS) for start in starts)


@pytest.mark.parametrize(
    "start",
    [pytest.param(x, marks=pytest.mark.slow) if x in SLOW else x for x in TRIED],
)
def test_what_is_refused_ends_in_the_error_that_the_page_shows(start):
    (shown,) = (said for row, said in ROWS.items() if row.startswith(start))
    errors = (ValueError, TypeError, AttributeError, RuntimeError, jax.errors.JAXTypeError)
    with pytest.raises(errors) as told:
        TRIED[start]()
    for words in re.findall(r"`(.+?)`", shown):
        assert words in str(told.value)
    assert "`" in shown


def test_float32_is_computed_in_float64():
    assert "float64" in ROWS["computing in float32"]
    spring = jv.TranslationTranslation(
        "ground", "body", mass=np.float32(1.0), stiffness=np.float32(4.0)
    )
    found = jv.natural_frequencies(jv.assemble([spring]))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, 2.0, rtol=1e-14)
