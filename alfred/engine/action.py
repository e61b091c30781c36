"""Actions: the atomic writes that nodes propose and only the executor runs."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, TypedDict, cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from alfred.engine.canonical import canonical, derive_id
from alfred.engine.evidence import Evidence

if TYPE_CHECKING:
    from sqlalchemy import Table

    from alfred.engine.database import Row
    from alfred.engine.writer import Writer


class Action(TypedDict):
    """A proposed write, plain JSON, as `pending_actions` holds it.

    `node` is the node instance that proposes it: the node's name, and "/2" for its second item.
    `args` may hold references to earlier actions: `{"$ref": action_id}`. `origins` says from which
    JSON pointer of the node's answer an argument was copied as a whole, so that a correction of the
    value reaches every action that uses it. `evidence` has one entry per argument that came from
    the source. `missing` lists required arguments that the source does not state.
    """

    id: str
    node: str
    kind: str
    args: dict[str, Any]
    origins: dict[str, str]
    evidence: dict[str, Evidence]
    missing: list[str]


def action_id(turn_id: object, instance: str, attempt: int, ordinal: int) -> str:
    """Derive an action's id, so that a repeated run proposes the same actions."""
    return str(derive_id("action", turn_id, instance, attempt, ordinal))


def reference(target: str) -> dict[str, str]:
    """Refer to the row that an earlier action of the same proposal makes or finds."""
    return {"$ref": target}


def referenced(value: Any) -> str | None:
    """Return the action id that an argument refers to, if it is a reference.

    A `$ref` that holds no id is an object like any other, which no argument model takes.
    """
    if type(value) in _SCALARS or not isinstance(value, Mapping):
        return None
    if len(value) != 1 or "$ref" not in value:  # pyright: ignore[reportUnknownArgumentType]
        return None
    target = cast("Mapping[str, Any]", value)["$ref"]
    if not isinstance(target, str):
        return None
    try:
        return str(UUID(target))
    except ValueError:
        return None


_SURROGATE = re.compile("[\ud800-\udfff]")
_SCALARS = frozenset({str, int, float, bool, NoneType})


def replace_references(value: Any, replace: Callable[[str], Any]) -> Any:
    """Copy a value with each reference in it, however deep, replaced by what `replace` gives."""
    if type(value) in _SCALARS:
        return value
    if (target := referenced(value)) is not None:
        return replace(target)
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return {
            name: item if type(item) in _SCALARS else replace_references(item, replace)
            for name, item in fields.items()
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [replace_references(item, replace) for item in items]
    return value


def references(value: Any) -> set[str]:
    """Collect the ids of all actions that a value refers to, however deep."""
    found: set[str] = set()
    replace_references(value, found.add)
    return found


def unstorable(text: str) -> str:
    """Say why PostgreSQL could not store a text; nothing where it can."""
    if "\x00" in text:
        return "contains a NUL character, which can't be stored"
    if _SURROGATE.search(text):
        return "contains half of a surrogate pair, which is not valid Unicode"
    return ""


def _storable(text: str) -> str:
    if reason := unstorable(text):
        raise ValueError(reason)
    return text


@dataclass(frozen=True)
class text:  # noqa: N801 - reads as a word: Annotated[str, text(200)]
    """Annotate a text argument: trimmed, not empty, at most `max_chars` code points, storable."""

    max_chars: int

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        bounded = core_schema.str_schema(
            strip_whitespace=True, min_length=1, max_length=self.max_chars
        )
        return core_schema.no_info_after_validator_function(_storable, bounded)


@dataclass(frozen=True)
class verbatim:  # noqa: N801 - reads as a word: Annotated[str, verbatim(400)]
    """Annotate a text argument that is kept as it is: untrimmed, may be empty, storable."""

    max_chars: int

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        bounded = core_schema.str_schema(max_length=self.max_chars)
        return core_schema.no_info_after_validator_function(_storable, bounded)


@dataclass(frozen=True)
class bounded_json:  # noqa: N801 - reads as a word: Annotated[dict[str, Any], bounded_json(4000)]
    """Annotate a JSON argument: at most `max_chars` when written down, its texts storable."""

    max_chars: int

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._require_storable, handler(source))

    def _require_storable(self, value: Any) -> Any:
        written = canonical(value)
        if len(written) > self.max_chars:
            raise ValueError(f"has {len(written)} characters as JSON, at most {self.max_chars} fit")
        _require_texts(value)
        return value


def _require_texts(value: Any) -> None:
    if isinstance(value, str):
        _storable(value)
    elif isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        for name, item in fields.items():
            _storable(name)
            _require_texts(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            _require_texts(item)


class Arguments(BaseModel):
    """The arguments of an action kind: closed, strict, bounded."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def describe(error: ValidationError) -> str:
    """Say in one line which arguments do not fit, and why."""
    parts = (
        f"{'/'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return "; ".join(parts)


Handler = Callable[["Writer", Any], Awaitable["Row"]]
LockKeys = Callable[[Any], Iterable[str]]


@dataclass(frozen=True, kw_only=True)
class ActionKind:
    """One kind of write, one to one with a function of `services/`.

    `binds` maps an argument to the kind of an earlier action: where the argument is absent, it
    refers to the latest such action of the same node instance. `locks` gives the keys to lock,
    within the user's rows; without it the kind locks all rows of the user. `called` are the nouns
    by which people name what it writes, in any language; without them the last word of the kind's
    name. A kind that `appends` to tables is automatic: it is recorded without a review, adds rows
    to these append-only tables and can do nothing else.
    """

    arguments: type[Arguments]
    handler: Handler
    binds: Mapping[str, str] = field(default_factory=dict[str, str])
    locks: LockKeys | None = None
    name: str = ""
    called: tuple[str, ...] = ()
    appends: tuple[Table, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.handler.__name__)  # type: ignore[attr-defined]
        object.__setattr__(self, "called", self.called or (self.name.rpartition("_")[2],))

    @property
    def is_automatic(self) -> bool:
        return bool(self.appends)

    @property
    def argument_names(self) -> frozenset[str]:
        return frozenset(self.arguments.model_fields)

    @property
    def required_arguments(self) -> frozenset[str]:
        fields = self.arguments.model_fields.items()
        return frozenset(name for name, info in fields if info.is_required())

    @property
    def reference_arguments(self) -> frozenset[str]:
        return frozenset(self.binds)


RowId = UUID
"""An argument of this type names a row: by its id, or by a reference to an earlier action."""
