"""The tools of a run: named, bounded in time and size, their answers masked and sealed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from alfred.engine.mistake import did_you_mean
from alfred.errors import ProbeFailed
from alfred.probes.arguments import schema_validator, storable
from alfred.probes.masking import mask_lines, mask_secrets
from alfred.probes.probe import Finding, Probe, Window
from alfred.probes.said import without_unseen
from alfred.probes.tool_call import Kind, Outcome, ToolCall, next_id, seal

MAX_LINES = 40
MAX_LINE_CHARS = 400
MAX_CALL_CHARS = 6_000
MAX_NAME_CHARS = 80
MAX_ASKED_CHARS = 2_000
MAX_WHERE_CHARS = 1_000
FIRST_LOOK_S = 1.6
"""How long the first look may take, so that a person sees it within two seconds."""

_TOO_ODD = "they are too long, too deep, or hold a number that is none."


@dataclass(frozen=True)
class Toolbox:
    """The tools that are configured; without any, a diagnosis can say nothing."""

    probes: Sequence[Probe]
    _by_name: dict[str, Probe] = field(default_factory=dict[str, Probe], compare=False)

    def __post_init__(self) -> None:
        for probe in self.probes:
            if probe.name in self._by_name:
                raise ValueError(f"two tools are called {probe.name!r}")
            self._by_name[probe.name] = probe

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Probe | None:
        """Return a tool by name."""
        return self._by_name.get(name)

    def names(self) -> set[str]:
        """Collect the names of sources and services that the tools offer as arguments."""
        return {
            value
            for probe in self.probes
            for argument in probe.parameters.get("properties", {}).values()
            for value in argument.get("enum", ())
            if isinstance(value, str)
        }

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        window: Window,
        trace: Sequence[Mapping[str, Any]],
        *,
        round_: int,
    ) -> ToolCall:
        """Call a tool and keep what came back, whatever it was; `trace` are the calls before.

        Shapes: the answer is bounded by MAX_LINES, MAX_LINE_CHARS and MAX_CALL_CHARS; what is cut
        off makes it `truncated`. Errors: none; a failure is an outcome with its sentence.
        """
        began = time.monotonic()
        probe, given = self.get(name), storable(arguments)
        if probe is None:
            told = _bounded_text(name, MAX_NAME_CHARS)
            hint = did_you_mean(told, self._by_name)
            answer = _Answer("refused", error=f"There is no tool {told!r}. {hint}".strip())
        elif problem := misfit(probe, arguments):
            answer = _Answer("refused", error=problem)
        else:
            answer = await _ask(probe, given or {}, window)
        milliseconds = int((time.monotonic() - began) * 1000)
        return _sealed(probe, name, given or {}, answer, (next_id(trace), round_, milliseconds))

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> list[ToolCall]:
        """Ask every tool that has something to show before any model, all at once.

        A tool that takes longer than FIRST_LOOK_S is told as a time-out.
        """
        asked = await asyncio.gather(*(self._first(probe, window, scope) for probe in self.probes))
        calls: list[ToolCall] = []
        for call in asked:
            if call is not None:
                calls.append({**call, "id": next_id(calls)})
        return calls

    async def _first(
        self, probe: Probe, window: Window, scope: Mapping[str, str]
    ) -> ToolCall | None:
        began = time.monotonic()
        arguments: Mapping[str, Any] | None = {}
        try:
            async with asyncio.timeout(FIRST_LOOK_S):
                arguments = await probe.first_look(window, scope)
                if arguments is None:
                    return None
                answer = await _ask(probe, arguments, window)
        except TimeoutError:
            answer = _Answer("timeout", error=f"No answer within {FIRST_LOOK_S:g} s.")
        except ProbeFailed as error:
            answer = _Answer("failed", error=str(error))
        milliseconds = int((time.monotonic() - began) * 1000)
        given = storable(arguments or {}) or {}
        return _sealed(probe, probe.name, given, answer, ("E0", 0, milliseconds))

    async def aclose(self) -> None:
        """Close every tool."""
        for probe in self.probes:
            await probe.aclose()


@dataclass(frozen=True)
class _Answer:
    outcome: Outcome
    finding: Finding | None = None
    error: str = ""


def misfit(probe: Probe, arguments: Mapping[str, Any]) -> str:
    """Say why a tool does not take these arguments; nothing where it does."""
    given = storable(arguments)
    if given is None:
        return f"{probe.name} does not take these arguments: {_TOO_ODD}"
    problem = next(schema_validator(probe.parameters).iter_errors(given), None)
    if problem is None:
        return ""
    where = "/".join(map(str, problem.instance_path)) or "arguments"
    return f"{probe.name} does not take these arguments: {where}: {problem.message}."


async def _ask(probe: Probe, arguments: Mapping[str, Any], window: Window) -> _Answer:
    try:
        async with asyncio.timeout(probe.timeout_s):
            finding = await probe.look(arguments, window)
    except TimeoutError:
        return _Answer("timeout", error=f"No answer within {probe.timeout_s:g} s.")
    except ProbeFailed as error:
        outcome: Outcome = "refused" if error.code == "probe.refused" else "failed"
        return _Answer(outcome, error=str(error))
    return _Answer("ok" if finding.lines else "empty", finding)


def _sealed(
    probe: Probe | None,
    name: str,
    arguments: Mapping[str, Any],
    answer: _Answer,
    place: tuple[str, int, int],
) -> ToolCall:
    found = answer.finding or Finding(asked="", where="")
    lines, truncated = _bounded(found.lines)
    kind: Kind = probe.kind if probe else "other"
    call: ToolCall = {
        "id": place[0],
        "tool": _bounded_text(name, MAX_NAME_CHARS) or "?",
        "kind": kind,
        "arguments": {key: _masked(value) for key, value in arguments.items()},
        "asked": _bounded_text(found.asked, MAX_ASKED_CHARS),
        "where": _bounded_text(found.where, MAX_WHERE_CHARS),
        "start": _iso(found.start),
        "end": _iso(found.end),
        "outcome": answer.outcome,
        "error": _bounded_text(answer.error, MAX_LINE_CHARS),
        "lines": lines,
        "truncated": truncated or found.truncated,
        "round": place[1],
        "milliseconds": place[2],
        "digest": "",
    }
    call["digest"] = seal(call)
    return call


def _masked(value: Any) -> Any:
    """Mask every text inside an argument, which of a foreign tool may be of any depth."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _masked(inner) for name, inner in fields.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in cast("list[Any]", value)]
    return mask_secrets(value) if isinstance(value, str) else value


def _bounded_text(text: str, max_chars: int) -> str:
    masked = mask_secrets(without_unseen(text)).strip()
    return masked if len(masked) <= max_chars else f"{masked[: max_chars - 1]}…"


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _bounded(found: Sequence[str]) -> tuple[list[str], bool]:
    """Mask each line whole, then cut: a secret that a cut divides would not be recognised.

    A line stays one line and steers no terminal, whatever a source put into it.
    """
    lines: list[str] = []
    chars, is_cut = 0, len(found) > MAX_LINES
    for masked in mask_lines(without_unseen(line).strip() for line in found[:MAX_LINES]):
        is_cut |= len(masked) > MAX_LINE_CHARS
        kept = masked[:MAX_LINE_CHARS]
        if chars + len(kept) > MAX_CALL_CHARS:
            return lines, True
        chars += len(kept)
        lines.append(kept)
    return lines, is_cut
