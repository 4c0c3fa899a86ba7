"""Contacts on both sides of a play in a config."""

from collections.abc import Mapping
from typing import Any

from ...foundation.expression import Expression
from ...foundation.units import is_quantity, quantity_parts
from ..config.document import Document
from ..config.tables import flattened, shown

_SIDES = ("ahead", "behind")  # as of `jv.backlash`
PLAY = {
    "type": "number",
    "minimum": 0,
    "unit": "m",
    "description": "free travel between two contacts, one on each side, instead of a gap",
}


def with_both_sides(table: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """Return a system's table with two contacts for each one with a `play`.

    `contacts.NAME` becomes `NAME-ahead` and `NAME-behind`, each with half of the play as
    its gap; annular contacts have a clearance on all sides. **Raises:** `ValueError` for
    a play beside a gap, one that is not a number or a formula, or a name in use.
    """
    contacts = table.get("contacts")
    if not isinstance(contacts, Mapping):
        return dict(table)
    found: dict[str, Any] = {}
    for name, entry in contacts.items():
        if not _has_play(entry):
            found[name] = entry
            continue
        path = f"system.contacts.{name}"
        where = f"{document.where(f'{path}.play')}: {path}"
        if "gap" in entry:
            raise ValueError(
                f"{where} has a gap and a play, which is free travel between two "
                "sides; allowed: one of them"
            )
        given = dict(entry)
        gap = _half(given.pop("play"), f"{where}.play")
        for side, place in zip(_SIDES, _both(given.get("at")), strict=True):
            both = f"{name}-{side}"
            if both in contacts:
                raise ValueError(
                    f"{where} has a play: its sides are {' and '.join(_named(name))}, but "
                    f"contacts.{both} is given too; allowed: another name"
                )
            found[both] = {**given, "gap": gap} | ({} if place is None else {"at": place})
    return {**table, "contacts": found}


def refuse_negative_plays(
    table: Mapping[str, Any], contacts: Mapping[str, Any], document: Document
) -> None:
    """Raise `ValueError` for a play whose value is below 0: both sides were preloaded.

    `contacts`: those read from the table with both sides, with their gaps in m.
    """
    for name, entry in (table.get("contacts") or {}).items():
        if not _has_play(entry):
            continue
        play = 2 * contacts[f"{name}-{_SIDES[0]}"].gap
        if play < 0:
            path = f"system.contacts.{name}.play"
            given = shown(entry["play"])
            is_text = isinstance(entry["play"], str)
            found = f"{given}, which is {play:g} m" if is_text else given
            raise ValueError(
                f"{document.where(path)}: {path} = {found}; allowed: [0, inf) m"
            )


def with_plays(tables: list[dict]) -> list[dict]:
    """Return the JSON schemas of contacts, in which a gap may be given as a play."""
    found = []
    for table in tables:
        if "contact" in table["properties"]:
            needed = [key for key in table["required"] if key != "gap"]
            either = [{"required": ["gap"]}, {"required": ["play"]}]
            properties = {**table["properties"], "play": PLAY}
            table = {**table, "properties": properties, "required": needed, "oneOf": either}
        found.append(table)
    return found


def _named(name: str) -> list[str]:
    return [f"{name}-{side}" for side in _SIDES]


def _has_play(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "play" in entry and "contact" in entry


def _half(play: Any, path: str) -> float | str:
    """Return half of a play: a number, a quantity in its unit, or a formula."""
    if isinstance(play, str) and is_quantity(play):
        number, unit = quantity_parts(play)
        return f"{number / 2!r} {unit}"
    if isinstance(play, str):
        try:
            return f"({Expression(play).text}) / 2"
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    if isinstance(play, bool) or not isinstance(play, int | float):
        raise ValueError(f"{path} = {shown(play)}; allowed: [0, inf) m")
    return play / 2


def _both(place: Any) -> tuple[Any, Any]:
    """Return a place and the opposite direction there; what is wrong is refused later."""
    if isinstance(place, str):
        return place, {place: -1.0}
    if not isinstance(place, Mapping):
        return place, place
    opposite: dict[str, float] = {}
    for name, number in flattened(dict(place)).items():
        if not isinstance(number, int | float):
            return place, place
        opposite[name] = -number
    return place, opposite
