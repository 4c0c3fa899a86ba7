"""Every key that a config may have, as a JSON schema."""

from ..analyses.kinds import ANALYSES, SYSTEMS
from ..config.samples import Sampling
from ..config.values import Values
from .study import Output, Run, Title


def schema() -> dict:
    """Return the JSON schema of a config; units stand under `unit`."""
    sampling = Sampling.model_json_schema()
    values = Values.model_json_schema()
    listed = {"type": "array", "items": {"type": "number"}}
    sampling["additionalProperties"] = {
        "description": "a parameter's path, its parts as nested tables or quoted",
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
            "system": _one_of(SYSTEMS),
            "analysis": _one_of(ANALYSES),
            "sweep": sampling,
            "run": Run.model_json_schema(),
            "output": Output.model_json_schema(),
        },
    }


def _one_of(kinds) -> dict:
    schemas = [_inlined(kind.options.model_json_schema()) for kind in kinds.values()]
    return {"oneOf": schemas}


def _inlined(schema: dict) -> dict:
    # References would point to the top of the whole schema, where these are not.
    definitions = schema.pop("$defs", {})

    def inline(node):
        if isinstance(node, list):
            return [inline(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            node = {**definitions[name], **{k: v for k, v in node.items() if k != "$ref"}}
        return {key: inline(value) for key, value in node.items()}

    return inline(schema)
