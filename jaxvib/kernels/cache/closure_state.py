"""Variables captured by a function, and whether they have changed."""

import copyreg
import io
import pickle
import types
from typing import Any, NamedTuple

import jax
import numpy as np

PROTOCOL = 4  # of pickle; protocol 5 may keep array memory out of the bytes
# Types that are replaced rather than mutated, or that are examined elsewhere.
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
    """The state of an object: mutable content by value, the rest by identity.

    `changing`: `None` if it cannot be determined.
    """

    changing: bytes | None
    fixed: list[Any]

    @classmethod
    def of(cls, what: Any) -> "State":
        """Return the state of a container, an object or a class."""
        if isinstance(what, type):  # without dunder attributes
            attributes = vars(what).items()
            what = {k: v for k, v in attributes if callable(v) or not k.startswith("__")}
        buffer = io.BytesIO()
        pickler = _StatePickler(buffer)
        try:
            pickler.dump(what)
        except Exception:  # raised by a user's class
            return cls(None, [])
        return cls(buffer.getvalue(), pickler.fixed)

    def is_of(self, what: Any) -> bool:
        """Return whether an object is provably in this state."""
        now = State.of(what)
        return (
            now.changing is not None
            and now.changing == self.changing
            and len(now.fixed) == len(self.fixed)
            and all(new is old for new, old in zip(now.fixed, self.fixed, strict=True))
        )


class CapturedVariable(NamedTuple):
    """A captured global or closure variable: its location and its value.

    `state`: that of a container; users' objects are examined where they are met.
    """

    where: dict[str, Any] | types.CellType
    name: str
    value: Any
    state: State | None

    @classmethod
    def now(cls, where: dict[str, Any] | types.CellType, name: str) -> "CapturedVariable":
        """Return the variable with its present value."""
        value = _found(where, name)
        state = State.of(value) if isinstance(value, _CONTAINERS) else None
        return cls(where, name, value, state)

    def is_the_same(self) -> bool:
        """Return whether the captured value is unchanged."""
        if _found(self.where, self.name) is not self.value:
            return False
        return self.state is None or self.state.is_of(self.value)


def reduced(what: Any) -> Any:
    """Return pickle's reduction of an object; raises if there is none."""
    by_table = copyreg.dispatch_table.get(type(what))
    return what.__reduce_ex__(PROTOCOL) if by_table is None else by_table(what)


class _StatePickler(pickle.Pickler):
    """Pickles mutable content; the rest, such as a lock or a file, is `fixed`."""

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
    except ValueError:  # not assigned yet, or deleted
        return _NOTHING
