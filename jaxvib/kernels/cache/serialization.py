"""Serialisation of lowered functions as plain data, checked when read.

A line of JSON is followed by the program's compressed text, which is not needed where its
machine code is kept, and not decompressed then.
"""

import dataclasses
import importlib
import json
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..lower.lowering import Program, Signature, Traced

# Users' classes may change before the next process.
_LIBRARIES = ("jaxvib", "jax", "equinox", "diffrax")
_INVALID = (
    ArithmeticError, AttributeError, ImportError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


def serialize(traced: Traced) -> bytes | None:
    """Serialise a lowered function; `None` if its results are not plain data."""
    program = traced.program
    try:
        header: dict[str, Any] = {
            "results": _node(traced.results),
            "reason": traced.reason,
            "width": program and program.width,
            "inputs": program and program.signature.inputs,
            "workspace": program and program.workspace,
            "key": program and program.key,
        }
        packed = program.packed if program else b""
        content = json.dumps(header).encode() + b"\n" + packed
    except _INVALID:
        return None
    return content if _equal(deserialize(content), traced) else None


def deserialize(content: bytes) -> Traced | None:
    """Deserialise a lowered function; `None` for invalid bytes."""
    try:
        return _traced(content)
    except _INVALID:
        return None


def _traced(content: bytes) -> Traced:
    line, _, packed = content.partition(b"\n")
    header = json.loads(line)
    results, reason, width = _tree(header["results"]), header["reason"], header["width"]
    if width is None:
        return Traced(None, results, _require_type(str, reason))
    outputs = tuple((each.shape, each.dtype.name) for each in jax.tree.leaves(results))
    inputs = tuple(
        (_shape(shape), _require_type(str, kind)) for shape, kind in header["inputs"]
    )
    signature, workspace = (
        Signature(inputs, outputs),
        _require_type(int, header["workspace"]),
    )
    key = _require_type(str, header["key"])
    program = Program(packed, _require_type(int, width), signature, workspace, key)
    return Traced(program, results, _require_type(str, reason))


def _equal(one: Traced | None, other: Traced) -> bool:
    return (
        one is not None
        and (one.program, one.reason) == (other.program, other.reason)
        and jax.tree.structure(one.results) == jax.tree.structure(other.results)
        and jax.tree.leaves(one.results) == jax.tree.leaves(other.results)
    )


# A pytree of shapes as JSON: every node is a list that begins with its type.


def _node(tree: Any) -> list:
    if tree is None or type(tree) in (bool, int, float, str):
        return ["constant", tree]
    if isinstance(tree, jax.ShapeDtypeStruct):
        return ["array", tree.shape, tree.dtype.name, tree.weak_type]
    if type(tree) in (tuple, list):
        return [type(tree).__name__, *map(_node, tree)]
    if type(tree) is dict:
        return [
            "dict",
            *([_require_type(str, key), _node(value)] for key, value in tree.items()),
        ]
    kind = type(tree)
    values = [_node(getattr(tree, name)) for name in _fields(kind)]
    return ["class", kind.__module__, kind.__qualname__, *values]


def _tree(node: Any) -> Any:
    what, *parts = _require_type(list, node)
    if what == "constant":
        return parts[0]
    if what == "array":
        shape, kind, weak = parts
        return jax.ShapeDtypeStruct(
            _shape(shape), np.dtype(_require_type(str, kind)), weak_type=weak
        )
    if what == "dict":
        return {_require_type(str, key): _tree(value) for key, value in parts}
    if what == "class":
        module, name, *values = parts
        return _instance(_class(module, name), [_tree(value) for value in values])
    return {"tuple": tuple, "list": list}[what](_tree(part) for part in parts)


def _class(module: Any, name: Any) -> type:
    if _require_type(str, module).partition(".")[0] not in _LIBRARIES:
        raise ValueError(f"{module} may change")
    found: Any = importlib.import_module(module)
    for part in _require_type(str, name).split("."):
        found = getattr(found, part)
    return _require_type(type, found)


def _fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a named tuple or of an equinox module."""
    if issubclass(kind, eqx.Module):
        return tuple(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, tuple):
        return kind._fields
    raise TypeError(f"{kind} is not a named tuple or an equinox module")


def _instance(kind: Any, values: list) -> Any:
    pairs = zip(_fields(kind), values, strict=True)
    if issubclass(kind, tuple):
        return kind._make(value for _, value in pairs)
    instance = object.__new__(kind)  # as equinox does, without `__init__`
    for name, value in pairs:
        object.__setattr__(instance, name, value)
    return instance


def _shape(numbers: Any) -> tuple[int, ...]:
    return tuple(_require_type(int, number) for number in numbers)


def _require_type(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value
