"""What a node.yaml says: identity, match rules, division, prompt, answer schema and actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, Self

import jsonschema_rs
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    model_validator,
)

from alfred.engine.answer import AnswerValidator
from alfred.engine.canonical import digest
from alfred.engine.skill_input import Modality
from alfred.engine.template import Template
from alfred.errors import GraphInvalid

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Text = Annotated[str, StringConstraints(pattern=r"\S")]


def _scalar(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise ValueError("expected text, a number or a boolean; write a list as {{ [a, b] }}")
    return value


class KindSignature(Protocol):
    """What a manifest has to know about a kind of action to check its arguments."""

    @property
    def argument_names(self) -> frozenset[str]: ...

    @property
    def required_arguments(self) -> frozenset[str]: ...

    @property
    def reference_arguments(self) -> frozenset[str]:
        """Arguments that are bound to an earlier action where the manifest gives none."""
        ...

    @property
    def is_automatic(self) -> bool:
        """Whether it is recorded without a review, and so proposed by no node."""
        ...


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Match(_Part):
    """When the node is a candidate for an input, judged without a model (L1)."""

    keywords: tuple[Text, ...] = ()
    url_patterns: tuple[Text, ...] = ()
    modalities: tuple[Modality, ...] = ("text", "link")
    priority: Annotated[int, Field(ge=0, le=100)] = 50


class Chunking(_Part):
    """How a long input is divided. Units: `max_chars` and `overlap` in code points."""

    enabled: bool = False
    strategy: Literal["none", "by_section", "fixed"] = "none"
    max_chars: Annotated[int, Field(ge=200, le=200_000)] | None = None
    overlap: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _fits(self) -> Chunking:
        if self.enabled and self.strategy == "none":
            raise ValueError("enabled, but strategy is none; use by_section or fixed")
        if self.strategy == "fixed" and self.max_chars is None:
            raise ValueError("strategy fixed needs max_chars")
        if self.strategy != "fixed" and (self.max_chars is not None or self.overlap):
            raise ValueError("max_chars and overlap have no effect unless strategy is fixed")
        if self.max_chars is not None and self.overlap >= self.max_chars:
            raise ValueError("overlap must be smaller than max_chars")
        return self


class Items(_Part):
    """How several items of what the node reads are told apart in one input.

    `record` is the schema.org type of which each record of a page is an item. `labels` are words
    that name a field at the beginning of a line, synonyms together; `signs` are words that
    announce an item. Where these do not decide, `question` is the instruction to a model, and
    `identity` names the fields of the answer that tell items apart; each item states the first.
    """

    record: Text | None = None
    labels: tuple[tuple[Text, ...], ...] = ()
    signs: tuple[Text, ...] = ()
    identity: tuple[Name, ...] = ()
    question: Text | None = None


class Prompt(_Part):
    """The two messages to the model; templates over `PROMPT_NAMES`."""

    system: Text
    user: Text


class ActionEntry(_Part):
    """One entry of `actions`: a kind, its arguments as templates, once or for each item."""

    kind: Text
    args: dict[str, Annotated[Any, AfterValidator(_scalar)]] = {}
    for_each: Text | None = None
    as_: Annotated[Name | None, Field(alias="as")] = None


@dataclass(frozen=True, kw_only=True)
class ActionTemplate:
    """A compiled entry of `actions`. `variable` names the item of `for_each` in `args`."""

    kind: str
    args: Mapping[str, Template]
    for_each: Template | None = None
    variable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What a manifest is turned into at load, once."""

    system: Template
    user: Template
    actions: tuple[ActionTemplate, ...]
    answers: AnswerValidator = field(compare=False)
    inputs: jsonschema_rs.Validator | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PartialSchema:
    """An answer's schema without the fields that need not be asked for, compiled."""

    schema: Mapping[str, Any]
    validator: AnswerValidator


class Manifest(_Part):
    """A node.yaml without mistakes; only `load_manifest` makes complete ones.

    A step of a machine says in `input_schema` what part of the state it is given; one that asks no
    model has no `prompt`.
    """

    name: Name
    domain: Name
    version: Annotated[int, Field(ge=1)]
    description: Text
    match: Match = Match()
    chunking: Chunking = Chunking()
    items: Items = Items()
    prompt: Prompt | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any]
    actions: tuple[ActionEntry, ...] = ()

    _compiled: Compiled | None = PrivateAttr(default=None)
    _digest: str | None = PrivateAttr(default=None)
    _partial: dict[frozenset[str], PartialSchema] = PrivateAttr(
        default_factory=dict[frozenset[str], "PartialSchema"]
    )

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied._digest, copied._partial = None, {}
        return copied

    @property
    def digest(self) -> str:
        """SHA-256 of the content: comments, layout and the order of top fields don't count.

        The order of a schema's properties does, since the model reads them in that order.
        """
        if self._digest is None:
            self._digest = digest(self.model_dump_json(by_alias=True, exclude_defaults=True))
        return self._digest

    @property
    def compiled(self) -> Compiled:
        """The templates and the validator of this manifest."""
        assert self._compiled is not None, "a manifest comes from load_manifest"
        return self._compiled

    def schema_without(self, names: Iterable[str]) -> Mapping[str, Any] | None:
        """Return the answer's schema without some of its fields; None where no field is left."""
        properties: dict[str, Any] = self.output_schema.get("properties", {})
        dropped = frozenset(names) & frozenset(properties)
        if not dropped:
            return self.output_schema
        partial = self._partial.get(dropped)
        if partial is None:
            left = {name: sub for name, sub in properties.items() if name not in dropped}
            required = [name for name in self.output_schema.get("required", []) if name in left]
            schema = {**self.output_schema, "properties": left, "required": required}
            partial = PartialSchema(schema, AnswerValidator(schema))
            self._partial[dropped] = partial
        return partial.schema if partial.schema["properties"] else None

    def validator_of(self, schema: Mapping[str, Any]) -> AnswerValidator:
        """Return the validator of the answer's schema, or of what `schema_without` made of it."""
        if schema is self.output_schema:
            return self.compiled.answers
        known = (each.validator for each in self._partial.values() if each.schema is schema)
        return next(known, None) or AnswerValidator(schema)

    def check_input(self, view: Mapping[str, Any]) -> None:
        """Refuse a part of the state that is not what this step reads.

        Errors: `graph.input` with the place and what is wrong there.
        """
        inputs = self.compiled.inputs
        problem = next(inputs.iter_errors(dict(view)), None) if inputs is not None else None
        if problem is not None:
            where = "/".join(map(str, problem.instance_path)) or "input"
            raise GraphInvalid("graph.input", f"{self.name} was given {where}: {problem.message}.")

    def with_compiled(self, compiled: Compiled) -> Manifest:
        """Return the manifest with what was compiled from it."""
        complete = self.model_copy()
        complete._compiled = compiled
        return complete
