"""What a function takes from around it, and whether that is still what it was."""

import copyreg
import io
import pickle
import types
from typing import Any, NamedTuple

import jax
import numpy as np

PROTOCOL = 4  # of pickle; the next one takes arrays' memory out of its bytes
# What is replaced and not changed in place, or is looked at apart from what holds it.
_FIXED = (
    type
    | types.FunctionType
    | types.BuiltinFunctionType
    | types.ModuleType
    | property
    | staticmethod
    | classmethod
    | jax.Array
)
_CONTAINERS = list | dict | set | bytearray | np.ndarray
_NOTHING = object()


class State(NamedTuple):
    """What an object holds just now: what changes in place, and the rest by identity.

    `changing`: `None` if that cannot be told.
    """

    changing: bytes | None
    fixed: list[Any]

    @classmethod
    def of(cls, what: Any) -> "State":
        """Return the state of a container, an object or a class."""
        if isinstance(what, type):  # but for what it says of itself
            said = vars(what).items()
            what = {k: v for k, v in said if callable(v) or not k.startswith("__")}
        buffer = io.BytesIO()
        pickler = _StatePickler(buffer)
        try:
            pickler.dump(what)
        except Exception:  # whatever somebody's class has thought of
            return cls(None, [])
        return cls(buffer.getvalue(), pickler.fixed)

    def is_of(self, what: Any) -> bool:
        """Return whether an object is known to be in this state."""
        now = State.of(what)
        return (
            now.changing is not None
            and now.changing == self.changing
            and len(now.fixed) == len(self.fixed)
            and all(new is old for new, old in zip(now.fixed, self.fixed, strict=True))
        )


class Taken(NamedTuple):
    """A global or an enclosed variable that a function takes: where, and what it was.

    `state`: of a container; others' objects are looked at wherever they are met.
    """

    where: dict[str, Any] | types.CellType
    name: str
    value: Any
    state: State | None

    @classmethod
    def now(cls, where: dict[str, Any] | types.CellType, name: str) -> "Taken":
        """Return what is there just now."""
        value = _found(where, name)
        state = State.of(value) if isinstance(value, _CONTAINERS) else None
        return cls(where, name, value, state)

    def is_the_same(self) -> bool:
        """Return whether the function would take the same now."""
        if _found(self.where, self.name) is not self.value:
            return False
        return self.state is None or self.state.is_of(self.value)


def reduced(what: Any) -> Any:
    """Return how pickle takes an object apart; raises where it cannot be."""
    by_table = copyreg.dispatch_table.get(type(what))
    return what.__reduce_ex__(PROTOCOL) if by_table is None else by_table(what)


class _StatePickler(pickle.Pickler):
    """Pickles what changes in place; the rest, such as a lock or a file, is `fixed`."""

    def __init__(self, buffer):
        super().__init__(buffer, PROTOCOL)
        self.fixed: list[Any] = []

    def persistent_id(self, obj):
        if not isinstance(obj, _FIXED):
            return None
        self.fixed.append(obj)
        return len(self.fixed)

    def reducer_override(self, obj):
        try:
            return reduced(obj)
        except Exception:
            self.fixed.append(obj)
            return str, ("fixed",)


def _found(where: dict[str, Any] | types.CellType, name: str) -> Any:
    if isinstance(where, dict):
        return where.get(name, _NOTHING)
    try:
        return where.cell_contents
    except ValueError:  # not given yet, or deleted
        return _NOTHING
