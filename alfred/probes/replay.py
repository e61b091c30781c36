"""Replays the recorded calls of a case: the tools of a diagnosis without anything to connect to.

A recording is a folder with two files.

`specs.yaml` lists the tools under `tools`, each with
    name         what the tool is called
    kind         alerts, metrics, logs, changes, state, health, database, guidance or other
    description  one short sentence for the model that plans
    is_primary   whether it sees the thing itself; true where left out
    parameters   the JSON Schema of its arguments; none where left out

`calls.jsonl` holds one call a line, an object with
    tool         the name of one of the tools
    arguments    what it was asked; {} where left out
    asked        the question in words
    where        the source, without credentials
    lines        the answer, a list of texts; [] where left out
    outcome      ok, empty, failed, timeout or refused; ok or empty by `lines` where left out
    error        the sentence of a call that failed
    start, end   the time that the answer covers, ISO 8601 with a zone; may be left out
    truncated    whether there was more; false where left out
    first_look   true for the call that is made before any model; at most one a tool

A question that was not recorded fails with a sentence. It is never "empty", which would be
evidence of absence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, field_validator, model_validator

from alfred.engine.mistake import did_you_mean
from alfred.errors import ProbeFailed
from alfred.probes.arguments import check_schema
from alfred.probes.closed_fields import Closed, read_closed, read_closed_yaml, refused
from alfred.probes.probe import Finding, Window
from alfred.probes.tool_call import Kind, Outcome
from alfred.probes.toolbox import Toolbox

SPECS_FILE = "specs.yaml"
CALLS_FILE = "calls.jsonl"
CODE = "probe.recording"
NO_ARGUMENTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
MAX_CALLS = 2_000
NOT_RECORDED = "This question was not recorded, so nothing is known about it."

Name = Annotated[str, Field(min_length=1, max_length=100)]


class ToolSpec(Closed):
    """What a recorded tool was."""

    name: Name
    kind: Kind
    description: Annotated[str, Field(min_length=1)]
    is_primary: bool = True
    parameters: dict[str, Any] = Field(default_factory=lambda: dict(NO_ARGUMENTS))

    @field_validator("parameters")
    @classmethod
    def _is_schema_of_an_object(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return check_schema(schema)


class RecordedCall(Closed):
    """One call as it was made and answered."""

    tool: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    asked: Annotated[str, Field(min_length=1)]
    where: str = ""
    lines: tuple[str, ...] = ()
    outcome: Outcome = "ok"
    error: str = ""
    start: str | None = None
    end: str | None = None
    truncated: bool = False
    first_look: bool = False

    @field_validator("start", "end")
    @classmethod
    def _has_a_zone(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                moment = None
            if moment is None or moment.tzinfo is None:
                raise ValueError(f"'{text}' is no time with a zone, as in 2026-03-02T14:00:00Z.")
        return text

    @model_validator(mode="after")
    def _agrees_with_its_outcome(self) -> RecordedCall:
        if (self.outcome == "ok") != bool(self.lines):
            raise ValueError(
                f"the outcome is {self.outcome}, but there are {len(self.lines)} lines."
            )
        if self.outcome in ("failed", "refused") and not self.error:
            raise ValueError(f"the outcome is {self.outcome}, but error says nothing.")
        return self


class _Specs(Closed):
    tools: Annotated[tuple[ToolSpec, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The tools of a case and the calls that were made of them."""

    specs: Sequence[ToolSpec]
    calls: Sequence[RecordedCall]

    def toolbox(self) -> Toolbox:
        """Return the tools, answering from the recording."""
        return Toolbox(
            [
                ReplayProbe(spec, [call for call in self.calls if call.tool == spec.name])
                for spec in self.specs
            ]
        )

    def without(self, *tools: str) -> Recording:
        """Drop tools with all their calls, as if they had never been configured."""
        return Recording(
            specs=[spec for spec in self.specs if spec.name not in tools],
            calls=[call for call in self.calls if call.tool not in tools],
        )

    def failing(self, *tools: str, error: str = "probe.unreachable: Nothing answers.") -> Recording:
        """Let every call of some tools fail, of all tools where none is named."""
        return replace(
            self,
            calls=[
                _answered(call, outcome="failed", error=error, lines=(), truncated=False)
                if not tools or call.tool in tools
                else call
                for call in self.calls
            ],
        )

    def swapped(self, other: Recording) -> Recording:
        """Ask the questions of this recording and answer with what another one's tools said.

        Each call gets the answer of the other's call of the same tool, taken in turn; where the
        other has none, of the same kind of tool. A call with neither is dropped.
        """
        kinds = {spec.name: spec.kind for spec in other.specs}
        own = {spec.name: spec.kind for spec in self.specs}
        taken: dict[str, int] = {}
        calls: list[RecordedCall] = []
        for call in self.calls:
            answers = [c for c in other.calls if c.tool == call.tool]
            answers = answers or [c for c in other.calls if kinds[c.tool] == own[call.tool]]
            if answers:
                turn = taken.get(call.tool, 0)
                taken[call.tool] = turn + 1
                answer = answers[turn % len(answers)]
                kept = {"tool", "arguments", "first_look"}
                fields = answer.model_dump(exclude=kept)
                calls.append(_answered(call, **fields))
        return replace(self, calls=calls)


class ReplayProbe:
    """One recorded tool."""

    timeout_s = 10.0

    def __init__(self, spec: ToolSpec, calls: Sequence[RecordedCall]) -> None:
        self.name = spec.name
        self.kind: Kind = spec.kind
        self.description = spec.description
        self.is_primary = spec.is_primary
        self.parameters: Mapping[str, Any] = spec.parameters
        self._calls = calls

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        """Answer as the source did when it was asked the same, or the nearest to it.

        The answer's `asked` is what was asked then. Errors: what was recorded; `probe.answer`
        where nothing like it was.
        """
        del window
        call = nearest(self._calls, arguments)
        if call is None:
            raise ProbeFailed("probe.answer", NOT_RECORDED, hint="Ask another tool.")
        if call.outcome == "timeout":
            raise TimeoutError
        if call.outcome in ("failed", "refused"):
            raise _failure(call)
        return Finding(
            asked=call.asked,
            where=call.where,
            lines=call.lines,
            start=_moment(call.start),
            end=_moment(call.end),
            truncated=call.truncated,
        )

    async def first_look(
        self, window: Window, scope: Mapping[str, str]
    ) -> Mapping[str, Any] | None:
        """Return the arguments of the call that was made first, if one was."""
        del window, scope
        return next((call.arguments for call in self._calls if call.first_look), None)

    async def aclose(self) -> None:
        """Nothing is held."""


def nearest(calls: Sequence[RecordedCall], arguments: Mapping[str, Any]) -> RecordedCall | None:
    """Find the call that asked the same; else the nearest one that asked nothing different.

    A call is near where one side's arguments are all among the other's, with like values; case
    and spaces make no difference. The nearest shares most arguments, then leaves fewest to one
    side alone, then came first.
    """
    given = {name: value for name, value in arguments.items() if value not in (None, "")}
    for call in calls:
        if call.arguments == arguments:
            return call
    alike: list[tuple[int, int, int]] = []
    for index, call in enumerate(calls):
        shared = given.keys() & call.arguments.keys()
        is_part = len(shared) == min(len(given), len(call.arguments))
        if is_part and all(_like(given[name], call.arguments[name]) for name in shared):
            alone = len(given.keys() ^ call.arguments.keys())
            alike.append((-len(shared), alone, index))
    return calls[min(alike)[2]] if alike else None


def read_recording(folder: Path) -> Recording:
    """Read a recording from its folder.

    Errors: `probe.recording` with file, line and remedy.
    """
    specs = read_closed_yaml(_read(folder / SPECS_FILE), SPECS_FILE, _Specs, CODE).tools
    names = [spec.name for spec in specs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise refused(SPECS_FILE, [f"tools: {twice[0]!r} is listed twice."], CODE)
    calls: list[RecordedCall] = []
    for number, call in _recorded_calls(folder / CALLS_FILE):
        file = f"{CALLS_FILE}, line {number}"
        if call.tool not in names:
            raise refused(file, [f"tool: unknown. {did_you_mean(call.tool, names)}"], CODE)
        if call.first_look and any(c.tool == call.tool and c.first_look for c in calls):
            raise refused(file, [f"first_look: {call.tool!r} already has one."], CODE)
        calls.append(call)
    return Recording(specs=specs, calls=calls)


def save_recording(
    folder: Path, specs: Sequence[ToolSpec], calls: Sequence[Mapping[str, Any]]
) -> None:
    """Write the calls of a run, ToolCalls as `tool_trace` holds them, so that they replay.

    `specs` come from `specs_of`. Calls of tools that are not among them are left out, as are ids,
    digests and rounds; those of round 0 become the first look. The folder is made; files of an
    earlier recording in it are replaced.
    """
    names = {spec.name for spec in specs}
    lines: list[str] = []
    for call in calls:
        if call["tool"] not in names or call["outcome"] == "refused":
            continue  # it never reached a source
        fields = {name: call[name] for name in RecordedCall.model_fields if name in call}
        fields["asked"] = fields["asked"] or f"{call['tool']} {json.dumps(call['arguments'])}"
        fields["first_look"] = call.get("round") == 0
        kept = RecordedCall.model_validate_json(json.dumps(fields))
        lines.append(json.dumps(kept.model_dump(), ensure_ascii=False))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CALLS_FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    tools = [spec.model_dump() for spec in specs]
    # JSON is YAML too, and reads back as exactly what was written.
    text = json.dumps({"tools": tools}, ensure_ascii=False, indent=2)
    (folder / SPECS_FILE).write_text(f"{text}\n", encoding="utf-8")


def specs_of(toolbox: Toolbox) -> list[ToolSpec]:
    """Describe the tools of a live run for its recording."""
    return [
        ToolSpec(
            name=probe.name,
            kind=probe.kind,
            description=probe.description,
            is_primary=probe.is_primary,
            parameters=dict(probe.parameters),
        )
        for probe in toolbox.probes
    ]


def _answered(call: RecordedCall, **answer: Any) -> RecordedCall:
    return call.model_copy(update=answer)


def _failure(call: RecordedCall) -> ProbeFailed:
    """Rebuild the error that was recorded, so that its sentence is the same again."""
    code, separator, message = call.error.partition(": ")
    if separator and code in ProbeFailed.codes:
        return ProbeFailed(code, message)
    fallback = "probe.refused" if call.outcome == "refused" else "probe.unreachable"
    return ProbeFailed(fallback, call.error)


def _like(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    return bool(one == other)


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _recorded_calls(path: Path) -> Iterator[tuple[int, RecordedCall]]:
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip():
            continue
        if number > MAX_CALLS:
            raise refused(CALLS_FILE, [f"there are more than {MAX_CALLS:,} lines."], CODE)
        file = f"{CALLS_FILE}, line {number}"
        try:
            value = json.loads(line)
        except ValueError as exc:
            raise refused(file, ["not JSON; write one object a line."], CODE) from exc
        yield number, read_closed(_with_outcome(value), file, RecordedCall, CODE)


def _with_outcome(value: Any) -> Any:
    """Say "empty" for a call without lines that does not say how it ended."""
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    ended = "ok" if fields.get("lines") else "empty"
    return {"outcome": ended, **fields}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as exc:
        raise refused(str(path), ["there is no such file."], CODE) from exc
    except UnicodeDecodeError as exc:
        raise refused(str(path), [f"not UTF-8 (byte {exc.start})."], CODE) from exc
    except OSError as exc:
        raise refused(str(path), [f"it cannot be read: {exc.strerror}."], CODE) from exc
