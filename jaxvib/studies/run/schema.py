"""The JSON schema of configs."""

from collections.abc import Iterable

from ..analyses.kinds import ANALYSES, SYSTEMS
from ..config.samples import Sampling
from ..config.values import Values
from .study import Output, Run, Title


def schema() -> dict:
    """Return the JSON schema of a config; units are under `unit`.

    Numbers may be texts: `5 Hz`, and formulas in systems with variables.
    """
    sampling = Sampling.model_json_schema()
    values = Values.model_json_schema()
    listed = {"type": "array", "items": {"type": "number"}}
    sampling["additionalProperties"] = {
        "description": "path of a parameter, as nested tables or quoted",
        "anyOf": [listed, values],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a jaxvib study",
        "type": "object",
        "additionalProperties": False,
        "required": ["system", "analysis"],
        "properties": {
            **Title.model_json_schema()["properties"],
            "system": _one_of(kind.schema() for kind in SYSTEMS.values()),
            "analysis": _one_of(
                {**kind.options.model_json_schema(), "title": kind.name}
                for kind in ANALYSES.values()
            ),
            "sweep": _inlined(sampling, {}),
            "run": Run.model_json_schema(),
            "output": Output.model_json_schema(),
        },
    }


def _one_of(schemas: Iterable[dict]) -> dict:
    return {"oneOf": [_inlined(schema, {}) for schema in schemas]}


def _inlined(node, definitions: dict):
    # `$ref` is relative to the root of the whole schema, where definitions of a part
    # are missing: they are inlined.
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    definitions = {**definitions, **node.get("$defs", {})}
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        node = {**definitions[name], **{k: v for k, v in node.items() if k != "$ref"}}
    if node.get("type") == "number":
        node = {**node, "type": ["number", "string"]}
    return {k: _inlined(v, definitions) for k, v in node.items() if k != "$defs"}
