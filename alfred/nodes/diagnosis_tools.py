"""Tools as a model is told of them, and the schema of a call of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alfred.nodes.diagnosis_shapes import mapping
from alfred.probes.probe import Probe


def step_schemas(
    probes: Sequence[Probe], made: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Describe the call of each tool that can be asked something new, as a model has to write it.

    `made` are the calls before. What they leave nothing of is left out, since a small model plans
    what it reads: a choice that was made is no choice any more, and a tool that was asked without
    arguments is offered with them or not at all.
    """
    schemas: list[dict[str, Any]] = []
    for probe in probes:
        asked = [mapping(call, "arguments") for call in made if call.get("tool") == probe.name]
        parameters = _still_open(probe.parameters, asked)
        if parameters is not None:
            schemas.append(_step_schema(probe.name, parameters))
    return schemas


def _step_schema(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "tool": {"const": name},
            "arguments": dict(parameters),
            "expects": {"type": "string", "maxLength": 40},
        },
        "required": ["tool", "arguments", "expects"],
        "additionalProperties": False,
    }


def _still_open(
    parameters: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Narrow a tool's arguments to what was not asked; None where nothing is left."""
    properties: dict[str, Any] = dict(parameters.get("properties", {}))
    required: list[str] = list(parameters.get("required", ()))
    if not asked:
        return dict(parameters)
    if not properties:
        return None
    if {} in asked and not required:
        # One argument has to be given now; the first is the one that a tool is mostly asked by.
        required = [next(iter(properties))]
    if len(properties) == 1 or len(required) == 1:
        (name, *_) = required or list(properties)
        alone = [each[name] for each in asked if set(each) == {name}]
        if choices := properties[name].get("enum"):
            left = [each for each in choices if each not in alone]
            if not left:
                return None
            properties[name] = {**properties[name], "enum": left}
    return {**parameters, "properties": properties, "required": required}


def tool_line(probe: Probe) -> str:
    """Describe a tool to a model in one line: its name, what it sees, its arguments."""
    parameters = probe.parameters
    required: Sequence[str] = parameters.get("required", ())
    arguments = [
        f"{name}{'' if name in required else '?'}{_choices(schema)}"
        for name, schema in parameters.get("properties", {}).items()
    ]
    return f"- {probe.name}({', '.join(arguments)}): {probe.description}"


def _choices(schema: Mapping[str, Any]) -> str:
    listed: Sequence[Any] = schema.get("enum", ())
    if not listed:
        return ""
    shown = [str(each) for each in listed[:12]]
    return f"={'|'.join([*shown, '…'] if len(listed) > len(shown) else shown)}"
