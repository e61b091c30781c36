"""A call of a tool as it is kept: what was asked, where, what came back, and its digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from alfred.engine.canonical import digest

Outcome = Literal["ok", "empty", "failed", "timeout", "refused"]
"""
ok       something came back
empty    it was asked and there is nothing: negative evidence
failed   the source did not answer, or not in its own language
timeout  the source did not answer in time
refused  it was not asked: the tool is unknown, an argument wrong, a write, or asked before
"""

Kind = Literal[
    "alerts", "metrics", "logs", "changes", "state", "health", "database", "guidance", "other"
]
"""What a tool looks at. `guidance` (runbooks, past incidents) advises and is never evidence."""


class ToolCall(TypedDict):
    """One call, plain JSON, as `tool_trace` holds it and a model is shown it.

    `id` is "E1", "E2", … over the whole run, and what facts cite. `start` and `end` bound the data
    in time, as ISO 8601; None where the tool knows no time. `lines` are the answer, secrets
    masked, one thing said a line. `where` names the source without credentials. `round` is 0 for
    the first look, 1 for the plan, 2 for the second round. `digest` covers everything that was
    asked and came back, and neither `id` nor `milliseconds`.
    """

    id: str
    tool: str
    kind: Kind
    arguments: dict[str, Any]
    asked: str
    where: str
    start: str | None
    end: str | None
    outcome: Outcome
    error: str
    lines: list[str]
    truncated: bool
    round: int
    milliseconds: int
    digest: str


_UNSEALED = ("id", "round", "milliseconds", "digest")


def seal(call: Mapping[str, Any]) -> str:
    """Return the digest of a call: SHA-256 over what was asked and what came back."""
    return digest({name: value for name, value in call.items() if name not in _UNSEALED})


def is_sealed(call: Mapping[str, Any]) -> bool:
    """Say whether a call still is what it was when it was made."""
    return call.get("digest") == seal(call)


def next_id(trace: Sequence[Mapping[str, Any]]) -> str:
    """Name the call that follows those of a trace."""
    return f"E{len(trace) + 1}"


def is_same_call(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two calls ask the same of the same tool."""
    return one.get("tool") == other.get("tool") and one.get("arguments") == other.get("arguments")
