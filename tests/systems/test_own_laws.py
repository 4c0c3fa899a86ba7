"""Checked against: the page that tells of own laws, run; scipy's motion of its load."""

import ast
import re
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.systems.base.event_form import form_of
from jaxvib.systems.base.law import ContactLaw, is_impulsive, trait

PAGE = Path(__file__).parents[2] / "docs" / "own_laws.md"
RESULTS = {"orbit", "sweep", "state", "slopes"}  # take 12 s to compile


def names_of(page, without=frozenset()):
    """Return the names that a page's code defines, without the assignments to some."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    tree = ast.parse("\n".join(blocks))
    tree.body = [
        each
        for each in tree.body
        if not (isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) in without)
    ]
    names: dict = {}
    exec(compile(tree, page.name, "exec"), names)
    return names


@pytest.fixture(scope="module")
def page():
    return names_of(PAGE, RESULTS)


@pytest.mark.slow  # compiles every result of the page
def test_the_page_has_the_results_that_it_mentions():
    page = names_of(PAGE)
    assert list(page["sweep"]["result"].values) == [0, 0, 0]
    assert np.all(np.diff(page["sweep"]["max_contact_force"].values.ravel()) > 0)
    assert page.keys() > RESULTS
    assert np.all(np.isfinite(page["state"]))


def test_an_own_load_moves_a_body_as_scipy_says(page):
    def rates(t, s):
        push = 6.0 * np.tanh(9.0 * np.cos(4.0 * t) / 6.0)
        stop = 4e3 * max(s[0] - 0.05, 0.0)
        return [s[1], (push - 1.5 * s[1] - 50.0 * s[0] - stop) / 2.0]

    found = solve_ivp(
        rates, (0.0, 2.0), [0.0, 0.3], "DOP853", rtol=1e-11, atol=1e-12, max_step=1e-3
    )
    state = jv.flow(page["system"], [0.0, 0.3], 0.0, 2.0, rtol=1e-10)
    np.testing.assert_allclose(state, found.y[:, -1], atol=1e-7)


@pytest.mark.slow  # compiles derivatives of a flow, 4 s
def test_its_numbers_are_parameters_that_are_differentiated(page):
    path, system = "loads.push.law.limit", page["system"]
    entry = jv.parameters(system)[path]
    assert (entry.unit, entry.description) == ("N", "largest force")

    @jax.jit
    def end(limit):
        moved = jv.replace(system, {path: limit})
        return jv.flow(moved, [0.0, 0.3], 0.0, 0.3, rtol=1e-12)

    slope = jax.jit(jax.jacfwd(end))(6.0)
    difference = (end(6.0 + 1e-3) - end(6.0 - 1e-3)) / 2e-3
    np.testing.assert_allclose(slope, difference, rtol=1e-5)
    with pytest.raises(ValueError, match=r"limit = -1 N is not in \(0, inf\)"):
        jv.replace(system, {path: -1.0})


def test_an_invalid_period_is_refused(page):
    class Wrong(page["ClippedLoad"]):
        def period(self):
            return super().period() / 2

    system = jv.ImpactSystem(
        page["system"].linear, (), (jv.AppliedLoad([1.0], Wrong(9.0, 4.0, 6.0)),)
    )
    with pytest.raises(ValueError, match="does not have f"):
        jv.periodic_orbit(system)


def test_an_own_contact_stores_the_energy_of_its_force(page):
    law = page["soft"].contacts[0].law
    np.testing.assert_allclose(jax.grad(law.energy)(0.013), law.force(0.013), rtol=1e-12)


@pytest.mark.parametrize("base", [(eqx.Module,), (ContactLaw,)])
@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("jump", False, "jumps"),
        ("is_impulsive", False, "impulsive"),
        ("eventform", lambda law: None, "event_form"),
    ],
)
def test_a_misspelt_trait_of_an_own_law_is_named(page, base, name, value, meant):
    soft = page["SofteningContact"]
    own = {"force": soft.force, "energy": soft.energy, "__module__": __name__, name: value}
    law = type("Own", base, own)()
    with pytest.raises(ValueError, match=rf"Own\.{name} is no trait; .* '{meant}'"):
        jv.Contact([1.0], 0.0, law)


def test_an_own_law_has_the_same_traits_with_and_without_the_base_class(page):
    soft = page["SofteningContact"]
    derived = type("Derived", (soft, ContactLaw), {"__module__": __name__})
    for law in (soft(4e3, 0.01), derived(4e3, 0.01)):
        contact = jv.Contact([1.0], 0.0, law)
        assert (trait(contact.law, "jumps"), is_impulsive(contact.law)) == (False, False)
        assert form_of(contact.law) is None
