"""A probe that asks a cluster through `kubectl`: four verbs that read, of kinds without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from alfred.errors import ProbeFailed
from alfred.probes.command_output import CommandOutput, run_command
from alfred.probes.kubernetes_objects import tell_events, tell_object
from alfred.probes.probe import Finding, Window
from alfred.probes.said import say_text, say_time, say_window
from alfred.probes.tool_call import Kind

VERBS = ("get", "describe", "logs", "events")
KINDS = (
    *("pods", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs"),
    *("services", "endpoints", "ingresses", "horizontalpodautoscalers", "persistentvolumeclaims"),
    *("nodes", "resourcequotas"),
)
"""No secrets, no configmaps, which often hold some, and nothing that a plug-in adds."""

NAME = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
MAX_BYTES = 4_000_000
MAX_LOG_LINES = 400
MAX_LINES = 30
MAX_CHARS = 5_000
"""How much is told of texts that grow: the newest lines, within what a call may hold."""

_LOGGED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) ?(.*)")


@dataclass(frozen=True, kw_only=True)
class KubernetesSettings:
    """Which cluster, and which namespaces of it may be asked about.

    Without `context` and `kubeconfig` it is the one that `kubectl` uses by itself.
    """

    namespaces: tuple[str, ...]
    context: str = ""
    kubeconfig: Path | None = None
    timeout_s: float = 10.0
    command: str = "kubectl"


class Kubernetes:
    """`kubernetes`: objects of a kind, one in detail, a pod's log, or events."""

    name = "kubernetes"
    kind: Kind = "state"
    description = "Kubernetes: get or describe objects, logs of a pod, events of a namespace."
    is_primary = True

    def __init__(self, settings: KubernetesSettings) -> None:
        wrong = [name for name in settings.namespaces if not re.fullmatch(NAME, name)]
        if wrong or not settings.namespaces:
            raise ProbeFailed(
                "probe.settings",
                f"{wrong[0]!r} is no namespace." if wrong else "No namespaces are configured.",
                hint="List them under namespaces, as kubectl get namespaces shows them.",
            )
        self._settings = settings
        self.timeout_s = settings.timeout_s
        name = {"type": "string", "pattern": NAME, "maxLength": 253}
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {
                "verb": {"type": "string", "enum": list(VERBS)},
                "kind": {"type": "string", "enum": list(KINDS)},
                "name": name,
                "namespace": {"type": "string", "enum": list(settings.namespaces)},
                "previous": {"type": "boolean"},
            },
            "required": ["verb"],
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        verb, name = str(arguments["verb"]), str(arguments.get("name", ""))
        if verb in ("describe", "logs") and not name:
            message = f"{verb} needs the name of one object."
            raise ProbeFailed("probe.refused", message, hint="Ask with the verb get for names.")
        argv = command_line(self._settings, arguments, window)
        output = await run_command(argv, max_bytes=MAX_BYTES)
        if output.code not in (0, None):
            if "(NotFound)" in output.error:  # the cluster itself says that there is none
                return self._finding(arguments, window, [], is_cut=False)
            raise _failure(output)
        lines, is_cut = _lines(verb, name, output, window)
        return self._finding(arguments, window, lines, is_cut=is_cut or output.truncated)

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""

    def _finding(
        self, arguments: Mapping[str, Any], window: Window, lines: Sequence[str], *, is_cut: bool
    ) -> Finding:
        verb = str(arguments["verb"])
        has_times = verb in ("logs", "events")
        namespace = str(arguments.get("namespace", self._settings.namespaces[0]))
        context = f" of context {self._settings.context}" if self._settings.context else ""
        return Finding(
            asked=_question(arguments) + (f" {say_window(window)}" if has_times else ""),
            where=f"kubernetes namespace {namespace}{context}",
            lines=tuple(lines),
            start=window.start if has_times else None,
            end=window.end if has_times else None,
            truncated=is_cut,
        )


def command_line(
    settings: KubernetesSettings, arguments: Mapping[str, Any], window: Window
) -> list[str]:
    """Write the command of a call whose arguments fit the schema; it runs without a shell."""
    verb, kind = str(arguments["verb"]), str(arguments.get("kind", "pods"))
    name = str(arguments.get("name", ""))
    argv = [settings.command, f"--request-timeout={max(1, int(settings.timeout_s * 0.8))}s"]
    if settings.kubeconfig:
        argv.append(f"--kubeconfig={settings.kubeconfig}")
    if settings.context:
        argv.append(f"--context={settings.context}")
    argv.append(f"--namespace={arguments.get('namespace', settings.namespaces[0])}")
    if verb == "logs":
        argv += ["logs", f"pod/{name}", "--all-containers", "--timestamps"]
        since = f"{window.start.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        argv += [f"--tail={MAX_LOG_LINES}", f"--since-time={since}"]
        return [*argv, "--previous"] if arguments.get("previous") else argv
    if verb == "events":
        argv += ["get", "events", "--output=json"]
        return [*argv, f"--field-selector=involvedObject.name={name}"] if name else argv
    argv += [verb, kind, *([name] if name else [])]
    return [*argv, "--output=json"] if verb == "get" else argv


def _question(arguments: Mapping[str, Any]) -> str:
    verb, name = str(arguments["verb"]), str(arguments.get("name", ""))
    if verb == "logs":
        before = " before its restart" if arguments.get("previous") else ""
        return f"log of pod {name}{before}"
    if verb == "events":
        return f"events of {name}" if name else "events"
    return f"{verb} {' '.join([str(arguments.get('kind', 'pods')), name]).strip()}"


def _failure(output: CommandOutput) -> ProbeFailed:
    text = output.complaint
    hint = "Try the same with kubectl, with the context of the tools file."
    if "Forbidden" in output.error or "forbidden" in output.error:
        hint = "Alfred's user needs the role view in that namespace."
    return ProbeFailed("probe.unreachable", f"kubectl says: {say_text(text)}", hint=hint)


def _lines(verb: str, name: str, output: CommandOutput, window: Window) -> tuple[list[str], bool]:
    if verb == "logs":
        return _logged(output, window)
    if verb == "describe":
        text = [line for line in output.text.split("\n") if line.strip()]
        told, is_cut = _newest(
            [say_text(_indented(line)) for line in text[: MAX_LINES + 1]], keep_first=True
        )
        return told, is_cut
    if output.truncated:
        message = f"kubectl printed more than {MAX_BYTES:,} bytes."
        raise ProbeFailed("probe.too_much", message, hint="Ask for one object by its name.")
    try:
        document = cast("dict[str, Any]", json.loads(output.text))
        items = cast("list[dict[str, Any]]", document.get("items", [document]))
        if verb == "events":
            return _newest(tell_events(items, window))
        told = [line for item in items for line in tell_object(item, window, in_detail=bool(name))]
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError) as exc:
        message = "kubectl printed what is not the JSON of objects."
        raise ProbeFailed("probe.answer", message) from exc
    return told, False


def _logged(output: CommandOutput, window: Window) -> tuple[list[str], bool]:
    """Take the lines within the window; one without a time belongs to the line before."""
    lines: list[str] = []
    is_inside = False
    written = output.text.split("\n")  # alone ends a line; a program may print any other end
    for line in written:
        match = _LOGGED.fullmatch(line)
        moment = _moment(match[1], match[2]) if match else None
        if match is None or moment is None:
            if is_inside and line.strip():
                lines.append(say_text(line))
            continue
        is_inside = window.start <= moment <= window.end
        if is_inside and match[3].strip():
            lines.append(f"{say_time(moment, window)} {say_text(match[3])}")
    kept, is_cut = _newest(lines)
    return kept, is_cut or len(written) > MAX_LOG_LINES


def _moment(time: str, zone: str) -> datetime | None:
    try:
        return datetime.fromisoformat(time + zone.replace("Z", "+00:00"))
    except ValueError:
        return None


def _newest(lines: list[str], *, keep_first: bool = False) -> tuple[list[str], bool]:
    """Keep as many lines as fit, of the end, or of the beginning."""
    kept: list[str] = []
    chars = 0
    for line in lines if keep_first else reversed(lines):
        chars += len(line)
        if len(kept) == MAX_LINES or chars > MAX_CHARS:
            break
        kept.append(line)
    return kept if keep_first else kept[::-1], len(kept) < len(lines)


def _indented(line: str) -> str:
    """Show how deep a line stands, in few characters: `describe` has no other structure."""
    depth = (len(line) - len(line.lstrip())) // 2
    return f"{'· ' * min(depth, 3)}{' '.join(line.split())}"
