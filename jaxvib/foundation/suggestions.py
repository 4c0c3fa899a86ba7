"""Error messages for unknown names, with suggestions, and for wrong arguments."""

import dataclasses
import difflib
import functools
import inspect
import itertools
import sys
import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .argument_checks import check_argument, check_scalar

# What to write instead of what version 0.1 had, as in docs/from_0_1_to_0_2.md.
_REPLACED = {
    "engine 'stepping'": 'leave out engine, or write "diffrax"',
    "argument of flow() 'precision'": "leave it out: all is computed in float64",
    "name 'step_chains'": "write jax.vmap of propagate",
    "name 'step_long_chain'": "write propagate, which is exact",
    "name 'beam_motion'": "write elastic_structure and response",
    "name 'SteppingEngine'": "write dynamics.engines.DiffraxEngine",
    "name 'Segment'": "write dynamics.engines.Want",
    "name 'Observation'": "write dynamics.engines.Motion",
    "name 'ElasticLaw'": "write systems.base.law.ContactLaw",
    "name 'DampedLaw'": "write systems.base.law.ContactLaw",
    "name 'kanai_tajimi_noise'": "write FilteredNoise.kanai_tajimi",
}
_MOST_COMPARED = 1000  # names: takes a second
_MOST_SHOWN = 200  # names: a finite-element model has thousands
_LONGEST_COMPARED = 200  # characters: the cost is quadratic


def nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `key`, or `None`."""
    known = list(itertools.islice(known, _MOST_COMPARED))
    near = difflib.get_close_matches(key[:_LONGEST_COMPARED], known, n=1, cutoff=0.4)
    return near[0] if near else None


def did_you_mean(key: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name, "" if no known one is close."""
    near = nearest(str(key), known)
    return f"; did you mean {near!r}?" if near else ""


def replaced(kind: str, key: object) -> str | None:
    """Return what to write instead of a name that version 0.1 had, `None` for others."""
    kind = "name" if kind.startswith("name in jaxvib") else kind  # in any subpackage
    return _REPLACED.get(f"{kind} {key!r}")


def unknown_key(kind: str, key: str, known: Iterable[str]) -> str:
    """Return the message for an unknown key, with a suggestion."""
    if instead := replaced(kind, key):
        return f"{kind} {key!r} is no longer there; {instead}"
    near, names = nearest(key, known), sorted(known)
    more = " ..." * (len(names) > _MOST_SHOWN)
    shown = f"known: {', '.join(names[:_MOST_SHOWN])}{more}"
    hint = f"did you mean {near!r}?" if near else shown
    return f"unknown {kind} {key!r}; {hint}"


@functools.cache
def with_nearest_arguments(found: Any) -> Any:
    """Wrap a function so that wrong arguments give helpful messages.

    `two_body_impact(main_mas=1.0)` then suggests `main_mass`, and
    `periodic_orbit("quick")` asks for a system. Anything but a plain function is
    returned unchanged. Cached: the same function gives the same wrapper.
    """
    if not inspect.isfunction(found):
        return found

    @functools.wraps(found)
    def called(*given, **named):
        _check_arguments(found, given, named)
        if "jax" not in sys.modules:
            return found(*given, **named)
        from .entry import call

        return call(found, given, named)

    return called


def _check_arguments(found: Any, given: tuple, named: dict[str, Any]) -> None:
    check_keywords(found, named)
    annotations, scalars, positional = _annotations(found)
    for name, value in [*zip(positional, given, strict=False), *named.items()]:
        if name in annotations:  # not those of `**`
            check_argument(name, value, annotations[name])
        elif name in scalars:
            check_scalar(scalars[name], value)


@functools.cache
def _annotations(found: Any) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Return annotations of arguments, names of scalar quantities, and positional names.

    The numbers of quantities are checked by these themselves.
    """
    kinds, scalars = _parameters(found), {}
    annotations = {name: each.annotation for name, each in kinds.items()}
    if dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            if "range" in field.metadata:
                annotations.pop(field.name, None)
                if is_scalar(field):
                    scalars[field.name] = field.metadata["name"]
            elif field.metadata.get("converter") is tuple:  # hides the annotation
                kind: Any = field.type
                # The keys of a mapping are texts.
                of_texts = typing.get_args(kind)[:1] == (str,)
                annotations[field.name] = kind | Mapping if of_texts else kind
    positional = [
        name for name, each in kinds.items() if each.kind is not each.KEYWORD_ONLY
    ]
    return annotations, scalars, positional


def is_scalar(field: dataclasses.Field) -> bool:
    """Return whether a field is declared as a quantity without axes."""
    kinds = typing.get_args(field.type) or (field.type,)
    return "range" in field.metadata and getattr(kinds[0], "dim_str", None) == ""


def check_keywords(found: Any, named: Iterable[str]) -> None:
    """Raise `TypeError` for unknown argument names of a function or class."""
    for name in named:
        known = _arguments(found)
        if known is not None and name not in known:
            raise TypeError(unknown_key(f"argument of {found.__name__}()", name, known))


class CheckedArguments:
    """Base of classes whose arguments are checked as those of public functions.

    Their class methods are checked too.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if isinstance(method, classmethod) and not name.startswith("_"):
                setattr(cls, name, classmethod(with_nearest_arguments(method.__func__)))

    if not TYPE_CHECKING:  # type checkers read the arguments of `__init__` alone

        def __new__(cls, *given: Any, **named: Any):
            """Create an instance. **Raises:** `TypeError` for a misspelt argument."""
            _check_arguments(cls, given, named)
            return super().__new__(cls)


@functools.cache
def _arguments(found: Any) -> list[str] | None:
    """Return the names of keyword arguments, `None` if any name is accepted."""
    kinds = _parameters(found)
    if any(each.kind is each.VAR_KEYWORD for each in kinds.values()):
        return None
    return [name for name, each in kinds.items() if each.kind is not each.POSITIONAL_ONLY]


def _parameters(found: Any) -> dict[str, inspect.Parameter]:
    called = found.__init__ if isinstance(found, type) else found
    kinds = dict(inspect.signature(called).parameters)
    if isinstance(found, type):
        kinds.pop("self", None)
    return kinds
