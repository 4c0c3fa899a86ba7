"""Assembly of mass, damping and stiffness matrices from modules."""

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..foundation.arrays import is_concrete, to_jax
from ..foundation.suggestions import did_you_mean, unknown_key
from ..foundation.text import truncate
from .base.freedoms import is_ground
from .base.roles import Linear
from .modules.module import ROTATION, Module, entries
from .symmetry import SINGULAR

_LARGEST_CHECKED = 500  # degrees of freedom; above, a dense check costs too much
_PLACES = {"first", "second", "carrier", "freedom"}  # static fields that hold names


class Assembled(Linear):
    r"""A system $M \ddot q + D \dot q + C q = f$ assembled from modules.

    Matrices are computed from the modules' parameters on request and never stored, so
    that each entry can be swept or differentiated. **Fields:** `modules`; `names`: of
    the degrees of freedom, in order of first appearance; `fixed`: those held at zero,
    like the ground.

    >>> tower.names
    ('first', 'roof')
    >>> tower.stiffness.tolist()
    [[900.0, -300.0], [-300.0, 300.0]]
    """

    modules: tuple[Module, ...]
    names: tuple[str, ...] = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True, default=())

    @property
    def mass(self) -> Float[Array, "n n"]:
        """The mass matrix M."""
        return self._dense("kinetic")

    @property
    def damping(self) -> Float[Array, "n n"]:
        """The damping matrix D."""
        return self._dense("dissipation")

    @property
    def stiffness(self) -> Float[Array, "n n"]:
        """The stiffness matrix C."""
        return self._dense("potential")

    def __check_init__(self) -> None:
        _check_bodies(self)
        _check_masses(self)

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C)."""
        return self.mass, self.damping, self.stiffness

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom."""
        return self.names

    def sparse_matrices(self) -> tuple[Any, ...]:
        """Return (M, D, C) as SciPy sparse arrays, for large systems."""
        from scipy.sparse import coo_array

        size = len(self.names) + 1
        groups = list(_groups(self))
        found = []
        for part in ("kinetic", "dissipation", "potential"):
            rows, columns, values = _triplets(groups, part)
            whole = coo_array((values, (rows, columns)), shape=(size, size)).tocsc()
            found.append(whole[1:, 1:])
        return tuple(found)

    def strain_rows(self) -> tuple[Float[Array, " s"], Float[Array, "s n"]] | None:
        r"""Return weights $w$ and rows $R$ with $C = R^T \mathrm{diag}(w) R$.

        The rows keep digits that C loses to rounding: low frequencies are accurate.
        `None` if a module is standing (inverted); its weights may be negative.
        """
        if not all(module.semidefinite for module in self.modules):
            return None
        return self.square_rows("potential")[:2]

    def square_rows(self, part: str) -> tuple[Any, ...]:
        """Return the quadratic forms of all modules' energies: weights, rows, owners.

        `part` is `"potential"`, `"kinetic"` or `"dissipation"`; `owners`, (squares,),
        are positions in `modules`. Weights of standing bodies may be negative.
        """
        weights, entries, owners = self._squares(part)
        return weights, to_jax(_scattered(*entries)[:, 1:]), owners

    def sparse_strains(self) -> tuple[Any, ...] | None:
        """Return `strain_rows` with the rows as a SciPy sparse array."""
        from scipy.sparse import coo_array

        if not all(module.semidefinite for module in self.modules):
            return None
        weights, (place, coefficients, shape), _ = self._squares("potential")
        rows = coo_array((np.asarray(coefficients), place), shape=shape).tocsc()
        return np.asarray(weights), rows[:, 1:]

    def _squares(self, part: str):
        """Return weights, rows as arguments of `_scattered`, and owners."""
        weights, rows, columns, coefficients, owners = [], [], [], [], []
        count = 0
        for template, places, members in _groups(self):
            for weight, row in getattr(template, part)():
                own_places = np.arange(count, count + len(places))
                count += len(places)
                weights.append(weight)
                owners.append(members)
                for column, coefficient in zip(places.T, row, strict=True):
                    if not isinstance(coefficient, int):
                        rows.append(own_places)
                        columns.append(column)
                        coefficients.append(coefficient + 0 * weight)
        none = [np.zeros(0, int)]
        place = np.concatenate(rows or none), np.concatenate(columns or none)
        entries = place, _join(coefficients), (count, len(self.names) + 1)
        return to_jax(_join(weights)), entries, np.concatenate(owners or none)

    def rotations(self) -> np.ndarray:
        """Return which degrees of freedom are rotations, shape (n,)."""
        kinds = {
            name: kind
            for module in self.modules
            for name, kind in zip(module.freedoms, module.kinds, strict=True)
        }
        return np.array([kinds[name] == ROTATION for name in self.names])

    def module_names(self) -> tuple[str, ...]:
        """Return the modules' unique names on parameter paths."""
        seen = collections.Counter()
        names = []
        for module in self.modules:
            seen[module.name] += 1
            count = seen[module.name]
            names.append(module.name if count == 1 else f"{module.name}-{count}")
        return tuple(names)

    def added(self, *modules: Module) -> "Assembled":
        """Return the system with additional modules."""
        return assemble([*self.modules, *modules], self.fixed)

    def removed(self, *names: str) -> "Assembled":
        """Return the system without some modules, by their names on parameter paths.

        The matrices are those of a system assembled without them, bit for bit.
        **Raises:** `ValueError` for an unknown module, with a suggestion.
        """
        known = self.module_names()
        for name in names:
            if name not in known:
                raise ValueError(unknown_key("module", name, known))
        kept = zip(self.modules, known, strict=True)
        modules = [module for module, name in kept if name not in names]
        there = {name for module in modules for name in module.freedoms}
        return assemble(modules, [name for name in self.fixed if name in there])

    def _dense(self, part: str):
        size = len(self.names) + 1  # row and column 0 are the ground, dropped below
        rows, columns, values = _triplets(_groups(self), part)
        return to_jax(_scattered((rows, columns), values, (size, size))[1:, 1:])


def assemble(modules: Sequence[Module], fixed: Sequence[str] = ()) -> Assembled:
    """Assemble modules into one system, in any order.

    Each module is added to the rows and columns of its degrees of freedom; those of
    `"ground"` and the `fixed` ones are dropped. A body with several degrees of freedom
    has names like `cart.x`, `cart.angle`. **Raises:** `ValueError` naming the module if
    it connects a degree of freedom to itself, uses a rotation as a translation or vice
    versa, names a body instead of one of its degrees of freedom, or a degree of freedom
    without mass; if there is no module; if the mass matrix is singular. `TypeError` for
    anything but a list of modules.
    **Source:** Pavlov, Lilkova-Markova, Evlogiev and Ivanova.

    >>> cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=8.0)
    >>> jv.assemble([cart]).names
    ('cart',)
    """
    for module in [modules] if isinstance(modules, Module | str) else modules:
        if module is modules or not isinstance(module, Module):
            shown, kind = truncate(repr(module), 60), type(module).__name__
            raise TypeError(
                f"modules: {shown} is of type {kind}; allowed: a list of modules"
            )
    if not modules:
        raise ValueError("modules = [] is empty; allowed: one module or more")
    kinds: dict[str, tuple[str, str]] = {}
    for module in modules:
        _check_freedoms(module)
        for name, kind in zip(module.freedoms, module.kinds, strict=True):
            if is_ground(name):
                continue
            known, where = kinds.setdefault(name, (kind, module.name))
            if known != kind:
                raise ValueError(
                    f"module {module.name!r} uses {name!r} as a {kind}; it is a "
                    f"{known} in module {where!r}"
                )
    for name in fixed:
        if name not in kinds:
            raise ValueError(unknown_key("degree of freedom in fixed", name, kinds))
    free = tuple(name for name in kinds if name not in fixed)
    if not free:
        raise ValueError("fixed lists every degree of freedom; allowed: one free or more")
    return Assembled(tuple(modules), free, tuple(dict.fromkeys(fixed)))


def _groups(system):
    """Yield the modules of each type as one module of stacked parameters, with indices.

    Indices are (modules, freedoms) positions in the assembly, 0 for the ground; the
    last item holds the positions of the modules themselves.
    """
    position = {name: i + 1 for i, name in enumerate(system.names)}
    groups: dict[tuple, list] = {}
    for number, module in enumerate(system.modules):
        groups.setdefault(_type_of(module), []).append(number)
    for numbers in groups.values():
        members = [system.modules[number] for number in numbers]
        places = np.array([[position.get(name, 0) for name in m.freedoms] for m in members])
        flat = [jax.tree.leaves(member) for member in members]
        stacked = [_stack(column) for column in zip(*flat, strict=True)]
        structure = jax.tree.structure(members[0])
        yield jax.tree.unflatten(structure, stacked), places, np.array(numbers)


def _type_of(module) -> tuple[Any, ...]:
    key: list = [type(module)]
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        if not field.metadata.get("static", False):
            key.append(None if value is None else np.shape(value))
        elif field.name not in _PLACES:
            key.append(value)
    return tuple(key)


def _stack(values):
    if not is_concrete(values):
        return jnp.stack([jnp.asarray(value) for value in values])
    return np.stack([np.asarray(value) for value in values])


def _triplets(groups, part: str):
    """Return rows, columns and values of one matrix, with duplicates to be summed."""
    rows, columns, values = [], [], []
    for template, places, _ in groups:
        found = list(entries(getattr(template, part)()).items())
        if part == "dissipation":
            for weight, (i, j) in template.gyroscopic():
                found += [((i, j), weight), ((j, i), -weight)]
        for (i, j), value in found:
            rows.append(places[:, i])
            columns.append(places[:, j])
            values.append(value)
    if not values:
        none = np.zeros(0, int)
        return none, none, np.zeros(0)
    return np.concatenate(rows), np.concatenate(columns), _join(values)


def _join(values):
    values = values or [np.zeros(0)]
    traced = not is_concrete(values)
    return jnp.concatenate(values) if traced else np.concatenate(values)


def _scattered(place, values, shape):
    """Scatter-add values into an array of zeros."""
    if isinstance(values, np.ndarray):
        total = np.zeros(shape, values.dtype)
        np.add.at(total, place, values)
        return total
    return jnp.zeros(shape, values.dtype).at[place].add(values)


def _check_freedoms(module) -> None:
    names = module.freedoms
    moving = [name for name in names if not is_ground(name)]
    if len(set(moving)) < len(moving) or not moving:
        raise ValueError(f"module {module.name!r} joins a body to itself")
    bad = [name for name in names if not name or name != name.strip()]
    if bad:
        raise ValueError(
            f"module {module.name!r} has a degree of freedom {bad[0]!r}; allowed: a name "
            "without spaces at its ends"
        )


def _check_bodies(system) -> None:
    motions = collections.defaultdict(list)
    for name in system.names:
        body, dot, _ = name.partition(".")
        if dot:
            motions[body].append(name)
    for module in system.modules:
        for name in module.freedoms:
            if name in motions:
                raise ValueError(
                    f"module {module.name!r} acts on the body {name!r}; allowed: one of "
                    f"its degrees of freedom, {', '.join(motions[name])}"
                )


def _check_masses(system) -> None:
    rows, columns, values = _triplets(_groups(system), "kinetic")
    if not isinstance(values, np.ndarray):
        return  # traced: no concrete values
    size = len(system.names) + 1
    on_diagonal = rows == columns
    diagonal = np.bincount(rows[on_diagonal], values[on_diagonal], minlength=size)[1:]
    massive = [n for n, m in zip(system.names, diagonal, strict=True) if m > 0]
    if len(massive) < len(system.names):
        name = next(n for n in system.names if n not in set(massive))
        module = next(m.name for m in system.modules if name in m.freedoms)
        hint = did_you_mean(name, massive)
        raise ValueError(
            f"module {module!r} acts on {name!r}, which has no mass in any module{hint}"
        )
    if not on_diagonal.all() and size <= _LARGEST_CHECKED:
        _check_regular(system, rows, columns, values, diagonal)


def _check_regular(system, rows, columns, values, diagonal) -> None:
    size = len(system.names) + 1
    mass = np.zeros((size, size))
    np.add.at(mass, (rows, columns), values)
    scale = 1 / np.sqrt(diagonal)
    lowest, vectors = np.linalg.eigh(mass[1:, 1:] * scale * scale[:, None])
    if lowest[0] > SINGULAR:
        return
    components = np.abs(vectors[:, 0])
    names = [
        n
        for n, h in zip(system.names, components, strict=True)
        if h > 0.3 * components.max()
    ]
    modules = [m.name for m in system.modules if set(m.freedoms) & set(names)]
    raise ValueError(
        f"modules {', '.join(map(repr, modules))}: the mass matrix is singular for a "
        f"motion of {', '.join(map(repr, names))}"
    )
