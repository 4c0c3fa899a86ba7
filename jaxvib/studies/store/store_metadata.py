"""Attributes that describe a store to other programs."""

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ensemble import Reason

Attributes = Mapping[str, "str | list[int]"]

_VERDICTS = {-1: "undecided", 0: "unstable", 1: "stable"}


def flags(name: str, dtype: np.dtype) -> dict[str, Any]:
    """Return the meaning of an array's codes as attributes, if it has codes.

    `flag_values` and `flag_meanings` follow the CF conventions (3.5): a list, and words
    without blanks in the same order.
    """
    if not np.issubdtype(dtype, np.signedinteger):
        return {}
    own = name.rpartition(".")[2]
    if own in ("result", "ends"):
        return _flags(_reasons())
    return _flags(_VERDICTS) if own == "stable" else {}


def long_name(name: str, description: str = "") -> dict[str, str]:
    """Return the label of an array in plots, by the CF conventions (3.2)."""
    return {"long_name": description or name.replace(".", " ").replace("_", " ")}


# Matches a table of a config's text, to remove the output folder.
_OUTPUT = re.compile(r"^\n?\[output\]\n(?:[^\[\n].*\n|\n)*", re.MULTILINE)


def about(record: Mapping, config: str) -> dict[str, Any]:
    """Return the attributes of the results as a whole.

    `config` is the text of the study's config without the output folder, `seed` that of
    its random samples; `versions`, `fingerprint`, `axes` (names along an axis, such as
    the components of a state) and `grid` (the swept paths and their numbers of values,
    the first one slowest, to reshape the samples) are JSON.
    """
    run = record["config"].get("run")
    seed = run.get("seed") if isinstance(run, dict) else None
    known = {key: record[key] for key in ("title", "analysis", "system", "evidence")}
    texts = {key: record[key] for key in ("versions", "fingerprint", "axes", "grid")}
    return {
        "Conventions": "CF-1.11",
        **known,
        "config": _OUTPUT.sub("", config),
        **{key: json.dumps(value) for key, value in texts.items() if value},
        **({} if seed is None else {"seed": str(seed)}),
        **{f"names_of_{axis}": ", ".join(names) for axis, names in record["axes"].items()},
    }


def _flags(meanings: Mapping[int, str]) -> dict[str, Any]:
    words = [meaning.replace(" ", "_") for meaning in meanings.values()]
    return {"flag_values": list(meanings), "flag_meanings": " ".join(words)}


@functools.cache
def _reasons() -> dict[int, str]:
    return {int(code): code.name.lower() for code in Reason}
