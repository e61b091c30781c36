"""A probe that tells recent changes: commits of configured repositories, and deployments."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.deploy_markers import read_markers
from alfred.probes.git_log import Commit, Repository
from alfred.probes.probe import Finding, Window
from alfred.probes.said import say_count, say_text, say_window
from alfred.probes.tool_call import Kind

BEFORE = timedelta(hours=24)
"""How long before the window a change may lie: the cause often does."""
MAX_FILES = 4
MAX_VALUES = 4
MAX_LINES = 40
"""How many lines of one commit are told; a call keeps no more."""
WITH_VALUES = 6
"""How many commits, the newest, are told with the configuration values that they changed."""


@dataclass(frozen=True, kw_only=True)
class ChangeSettings:
    """Where changes are recorded.

    `repositories` maps a name to a git repository's folder. `markers` is a file of deployments,
    one JSON object a line: `{"time", "service", "version", "by"}`.
    """

    repositories: Mapping[str, Path] = field(default_factory=dict[str, Path])
    markers: Path | None = None
    timeout_s: float = 10.0


@dataclass(frozen=True)
class _Told:
    time: datetime
    lines: list[str]


class Changes:
    """`changes`: commits and deployments from a day before the window to its end, newest first."""

    name = "changes"
    kind: Kind = "changes"
    description = "Recent commits with changed settings, and deployments; or one commit's diff."
    is_primary = True

    def __init__(self, settings: ChangeSettings) -> None:
        if not settings.repositories and settings.markers is None:
            message = "Neither repositories nor markers are configured."
            raise ProbeFailed("probe.settings", message, hint="Name one, or drop the section.")
        self.timeout_s = settings.timeout_s
        self._markers = settings.markers
        self._repositories = [Repository(name, p) for name, p in settings.repositories.items()]
        names: dict[str, Any] = {}
        if self._repositories:
            commit = {"type": "string", "pattern": "^[0-9a-f]{7,40}$", "maxLength": 40}
            names = {
                "repository": {"type": "string", "enum": list(settings.repositories)},
                "commit": commit,
            }
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": names,
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        asked = str(arguments.get("repository", ""))
        chosen = [r for r in self._repositories if asked in ("", r.name)]
        if commit := str(arguments.get("commit", "")):
            return await _one_commit(chosen, commit)
        since = window.start - BEFORE
        told, unread, is_cut = await self._all(chosen, since, window.end)
        if not asked and self._markers is not None:
            found, wrong = await asyncio.to_thread(read_markers, self._markers, since, window.end)
            told += [_Told(marker.time, [str(marker)]) for marker in found]
            unread += [wrong] if wrong else []
        told.sort(key=lambda one: one.time, reverse=True)
        where = [f"git repository {r.name}" for r in chosen]
        where += ["deployments"] if not asked and self._markers is not None else []
        searched = Window(start=since, end=window.end)
        return Finding(
            asked=f"changes of {', '.join(where)} {say_window(searched)}",
            where="; ".join([*where, *(f"not read: {why}" for why in unread)]),
            lines=tuple(line for one in told for line in one.lines),
            start=since,
            end=window.end,
            truncated=is_cut or bool(unread),
        )

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> Mapping[str, Any]:
        """All changes: what a service broke on may be another's."""
        return {}

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""

    async def _all(
        self, chosen: list[Repository], since: datetime, until: datetime
    ) -> tuple[list[_Told], list[str], bool]:
        """Ask each repository; one that cannot be read is told, and fails where it is the only."""
        asked = await asyncio.gather(
            *(_tell(repository, since, until) for repository in chosen), return_exceptions=True
        )
        told: list[_Told] = []
        unread: list[ProbeFailed] = []
        is_cut = False
        for answer in asked:
            if isinstance(answer, ProbeFailed):
                unread.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                told += answer[0]
                is_cut |= answer[1]
        if unread and len(unread) == len(chosen):
            raise unread[0]
        return told, [error.message for error in unread], is_cut


async def _tell(
    repository: Repository, since: datetime, until: datetime
) -> tuple[list[_Told], bool]:
    commits, is_cut = await repository.commits(since, until)
    told: list[_Told] = []
    for place, commit in enumerate(commits):
        lines = [_headline(repository, commit)]
        if place < WITH_VALUES and commit.files:
            values, is_more = await repository.changed_values(commit.id, all_files=False)
            lines += _bounded(commit, values, MAX_VALUES)
            is_cut |= is_more or len(values) > MAX_VALUES
        told.append(_Told(commit.time, lines))
    return told, is_cut


async def _one_commit(chosen: list[Repository], name: str) -> Finding:
    for repository in chosen:
        commit = await repository.commit(name)
        if commit is not None:
            values, is_cut = await repository.changed_values(commit.id, all_files=True)
            is_cut |= len(values) > MAX_LINES
            return Finding(
                asked=f"what commit {commit.id[:12]} of {repository.name} changed",
                where=f"git repository {repository.name}",
                lines=(_headline(repository, commit), *_bounded(commit, values, MAX_LINES)),
                start=commit.time,
                end=commit.time,
                truncated=is_cut,
            )
    names = ", ".join(repository.name for repository in chosen)
    return Finding(asked=f"commit {name} in {names}", where=f"git repositories {names}")


def _headline(repository: Repository, commit: Commit) -> str:
    time = commit.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    by = "".join(word[0].upper() for word in commit.author.split() if word[0].isalnum())[:3]
    files = ", ".join(_counted(*file) for file in commit.files[:MAX_FILES])
    more = len(commit.files) - MAX_FILES
    files += f" and {say_count(more, 'more file')}" if more > 0 else ""
    author = f" by {by}" if by else ""
    touched = f" [{files}]" if files else ""
    subject = say_text(commit.subject, 120)
    return f"{time} {repository.name} commit {commit.id[:12]}{author}: {subject}{touched}"


def _counted(name: str, added: int | None, removed: int | None) -> str:
    shown = say_text(name, 80)
    return f"{shown} (not text)" if added is None else f"{shown} +{added} -{removed}"


def _bounded(commit: Commit, values: list[str], most: int) -> list[str]:
    return [f"commit {commit.id[:12]} {say_text(value, 200)}" for value in values[:most]]
