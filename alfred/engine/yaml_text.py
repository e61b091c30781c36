"""YAML without surprises: plain JSON values, no duplicate keys, no aliases, no hidden booleans."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from alfred.engine.mistake import Mistake, field_path

Steps = tuple[str | int, ...]

MAX_CHARS = 256 * 1024
MAX_DEPTH = 40

_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]{1,2})?")
_REFUSED = {
    "timestamp": "expected text, found a date; quote it.",
    "merge": "found '<<', a merge; write the fields out, or quote it.",
    "value": "expected text, found '='; quote it.",
}


@dataclass
class YamlDocument:
    """A document as JSON values, the mistakes found on the way, and the line of every field."""

    value: Any = None
    mistakes: list[Mistake] = field(default_factory=list[Mistake])
    lines: dict[Steps, int] = field(default_factory=dict[Steps, int])


def read_yaml(text: str) -> YamlDocument:
    """Read one YAML document from valid Unicode text.

    What YAML 1.1 and 1.2 read differently (`no`, `on`, `017`, `1:30`, `2026-01-31`) is a mistake
    that asks for quotes, wherever it stands, since the other reading would be silent.
    Errors: none; mistakes are in the document, and a syntax error leaves no value.
    """
    document = YamlDocument()
    if len(text) > MAX_CHARS:
        document.mistakes.append(_unreadable(f"the file has more than {MAX_CHARS:,} characters."))
        return document
    try:
        root = yaml.CSafeLoader(text).get_single_node()
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line = mark.line + 1 if mark else None
        what = exc.problem or exc.context or "wrong syntax"
        place = f"line {line}, column {mark.column + 1}: " if mark else ""
        document.mistakes.append(_unreadable(f"not YAML, {place}{what}.", line))
    except yaml.YAMLError as exc:
        document.mistakes.append(_unreadable(f"not YAML: {str(exc).splitlines()[0]}."))
    else:
        if root is None:
            document.mistakes.append(_unreadable("the file is empty."))
        else:
            document.value = _Reader(document).read(root, ())
    return document


def _unreadable(message: str, line: int | None = None) -> Mistake:
    return Mistake(field="", message=message, code="manifest.unreadable", line=line)


class _Reader:
    def __init__(self, document: YamlDocument) -> None:
        self._document = document
        self._seen: set[int] = set()

    def read(self, node: yaml.Node, steps: Steps) -> Any:
        line = node.start_mark.line + 1
        self._document.lines[steps] = line
        if id(node) in self._seen:
            return self._refuse(steps, line, "found an alias; write the value out.")
        self._seen.add(id(node))
        if len(steps) > MAX_DEPTH:
            return self._refuse(steps, line, f"nested more than {MAX_DEPTH} levels deep.")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, steps)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*steps, i)) for i, item in enumerate(node.value)]
        return self._scalar(node, steps, line)

    def _mapping(self, node: yaml.MappingNode, steps: Steps) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(steps, line, "a field's name is a list or has fields itself.")
                continue
            name = str(key_node.value)
            here = (*steps, name)
            if not key_node.tag.endswith(":str"):
                kind = key_node.tag.removeprefix(_TAG)
                self._refuse(
                    here, line, f"expected text as a field's name, found {kind}; quote it."
                )
            if name in fields:
                first = self._document.lines[here]
                self._refuse(here, line, f"given twice, on lines {first} and {line}.")
                continue
            fields[name] = self.read(value_node, here)
            self._document.lines[here] = line
        return fields

    def _scalar(self, node: yaml.Node, steps: Steps, line: int) -> Any:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        value: Any = None
        if kind == "str":
            value = text
        elif kind == "bool" and text.lower() in ("true", "false"):
            value = text.lower() == "true"
        elif kind == "int" and _INTEGER.fullmatch(text):
            value = int(text)
        elif kind == "float" and _FLOAT.fullmatch(text):
            value = float(text)
        elif kind != "null":
            self._refuse(steps, line, _complaint(kind, text))
        return value

    def _refuse(self, steps: Steps, line: int, message: str) -> None:
        self._document.mistakes.append(Mistake(field=field_path(steps), message=message, line=line))


def _complaint(kind: str, text: str) -> str:
    if kind == "bool":
        return f"expected text, found a boolean; quote it: '{text}'."
    if kind in ("int", "float"):
        return f"{text} is no plain decimal number; write it as one, or quote it."
    return _REFUSED.get(kind, f"found the tag '{kind}'; remove it.")
