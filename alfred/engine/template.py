"""Templates of node.yaml: compiled at load; a value keeps its type and is never evaluated twice."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any, Final, Literal, cast

from jinja2 import Template as JinjaTemplate
from jinja2 import TemplateError, TemplateSyntaxError, Undefined, UndefinedError, nodes

from alfred.engine.mistake import did_you_mean
from alfred.engine.sandbox import LOOP_FIELDS, Sandbox, forbidden
from alfred.engine.template_path import Mentions, Path, read_mentions
from alfred.errors import ManifestInvalid, TemplateFailed

MAX_SOURCE_CHARS = 50_000
MAX_TEXT_CHARS = 2_000_000
MAX_ITEMS = 10_000


class _Absent(Enum):
    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


Absent = _Absent
ABSENT: Final = _Absent.ABSENT
"""What a template yields when its expression touches a field that is absent or null."""


@dataclass(frozen=True)
class Template:
    """A compiled template.

    `kind`: a lone `{{ expression }}` yields the expression's value with its type, a *text* yields
    text, a *literal* (no Jinja at all, or a YAML number or boolean) yields itself.
    """

    source: str | int | float | bool
    kind: Literal["literal", "expression", "text"]
    mentions: Mentions
    _compiled: JinjaTemplate | None = field(default=None, repr=False, compare=False)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path that the template names, wherever in it."""
        return self.mentions.all

    def pointer(self, bases: Mapping[str, str]) -> str | None:
        """Name the value that a plain path such as `{{ out.a.b }}` copies; None if it is computed.

        `bases` gives the JSON pointer of each variable that holds a part of the answer:
        `{"out": "", "req": "/requirements/3"}`.
        """
        return self.mentions.value.pointer(bases) if self.mentions.value else None

    def pointers(self, bases: Mapping[str, str]) -> tuple[str, ...]:
        """Name every part of the answer that the template reads, as far as it is fixed."""
        found = (path.pointer(bases) for path in self.mentions.all)
        return tuple(dict.fromkeys(pointer for pointer in found if pointer is not None))

    def render(self, variables: Mapping[str, Any]) -> Any:
        """Evaluate with these variables, which are data and never templates.

        Returns plain JSON (the very object that a path names, not a copy), or ABSENT.
        Errors: `template.failed` where the expression does not work on these values.
        """
        if self._compiled is None:
            return self.source
        try:
            if self.kind == "text":
                return self._text(self._compiled, variables)
            return _plain(self._value(self._compiled, variables))
        except UndefinedError:
            return ABSENT
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as exc:
            # The exception's own words may hold the user's; the template is the author's.
            raise TemplateFailed(
                "template.failed",
                f"{self.source} does not work on this answer ({type(exc).__name__}).",
                hint="Test for the field's type in the template, or tighten output_schema.",
                template=self.source,
            ) from exc

    @staticmethod
    def _value(compiled: JinjaTemplate, variables: Mapping[str, Any]) -> Any:
        context = compiled.new_context(dict(variables))
        for _ in compiled.root_render_func(context):
            pass
        return context.vars["result"]

    @staticmethod
    def _text(compiled: JinjaTemplate, variables: Mapping[str, Any]) -> str:
        context = compiled.new_context(dict(variables))
        pieces: list[str] = []
        size = 0
        for piece in compiled.root_render_func(context):
            size += len(piece)
            if size > MAX_TEXT_CHARS:
                raise ValueError("the text is too long")
            pieces.append(piece)
        return "".join(pieces)


def compile_template(
    source: str | int | float | bool, *, names: Collection[str], sandbox: Sandbox
) -> Template:
    """Compile a template that may name the variables `names`.

    Errors: `manifest.template` for wrong syntax, an unknown name or filter, or a construct that
    templates may not use; the message holds no file and no field.
    """
    if not isinstance(source, str) or not any(mark in source for mark in ("{{", "{%", "{#")):
        return Template(source, "literal", Mentions(()))
    if len(source) > MAX_SOURCE_CHARS:
        raise _refuse(f"the template has more than {MAX_SOURCE_CHARS:,} characters.")
    try:
        tree = sandbox.parse(source)
        if construct := forbidden(tree):
            raise _refuse(f"templates may not use {construct}.")
        _check_filters(tree, sandbox)
        expression = _lone_expression(tree)
        mentions = read_mentions(tree, expression)
        _check_names(tree, mentions, names)
        if expression is not None:
            target = nodes.Name("result", "store", lineno=1)
            tree = nodes.Template([nodes.Assign(target, expression, lineno=1)], lineno=1)
        compiled = sandbox.from_string(tree)
    except TemplateSyntaxError as exc:
        raise _refuse(f"line {exc.lineno}: {exc.message}") from exc
    except TemplateError as exc:
        raise _refuse(f"{exc.message}.") from exc
    except RecursionError as exc:
        raise _refuse("the template is nested too deeply.") from exc
    return Template(source, "text" if expression is None else "expression", mentions, compiled)


def _lone_expression(tree: nodes.Template) -> nodes.Expr | None:
    if len(tree.body) == 1 and isinstance(tree.body[0], nodes.Output):
        parts = tree.body[0].nodes
        if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData):
            return parts[0]
    return None


def _check_filters(tree: nodes.Template, sandbox: Sandbox) -> None:
    for kind, known in ((nodes.Filter, sandbox.filters), (nodes.Test, sandbox.tests)):
        for node in tree.find_all(kind):
            if node.name not in known:
                word = "filter" if kind is nodes.Filter else "test"
                raise _refuse(
                    f"no {word} '{node.name}'.",
                    did_you_mean(node.name, filter(str.isidentifier, known)),
                )


def _check_names(tree: nodes.Template, mentions: Mentions, names: Collection[str]) -> None:
    for path in mentions.all:
        if path.root not in names:
            raise _refuse(f"unknown name '{path.root}'.", did_you_mean(path.root, names))
    for node in tree.find_all(nodes.Getattr):
        is_loop = isinstance(node.node, nodes.Name) and node.node.name == "loop"
        if is_loop and "loop" not in names and node.attr not in LOOP_FIELDS:
            raise _refuse(
                f"unknown field 'loop.{node.attr}'.", did_you_mean(node.attr, LOOP_FIELDS)
            )


def _refuse(message: str, hint: str = "") -> ManifestInvalid:
    return ManifestInvalid("manifest.template", message, hint=hint)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | Iterator):
        value = list(islice(iter(cast(Iterator[Any], value)), MAX_ITEMS + 1))
    if value is None:
        return ABSENT
    _check_plain(value)
    return value


def _check_plain(value: Any) -> None:
    """Raise for what JSON cannot hold, and UndefinedError for an absent part."""
    if isinstance(value, Undefined):
        raise UndefinedError("an absent value")
    if isinstance(value, dict):
        for part in cast(dict[str, Any], value).values():
            _check_plain(part)
    elif isinstance(value, list):
        parts = cast(list[Any], value)
        if len(parts) > MAX_ITEMS:
            raise ValueError("the list is too long")
        for part in parts:
            _check_plain(part)
    elif isinstance(value, str):
        if len(value) > MAX_TEXT_CHARS:
            raise ValueError("the text is too long")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("the number is not finite")
    elif not isinstance(value, int | None):
        raise TypeError(f"{type(value).__name__} is not a JSON value")
