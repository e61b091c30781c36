"""Asks git for what changed, so that nothing a repository configures is run or fetched."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from alfred.errors import ProbeFailed
from alfred.probes.command_output import CommandOutput, run_command

MAX_BYTES = 1_000_000
MAX_COMMITS = 60
CONFIGURATION = (
    *("*.yaml", "*.yml", "*.json", "*.toml", "*.ini", "*.conf", "*.cfg", "*.env", "*.properties"),
    *("*.tf", "*.tfvars", "Dockerfile", "requirements*.txt"),
)
"""Files whose changed values are told with a commit, without being asked for."""

_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"),
    *("-c", "protocol.allow=never", "-c", "log.showSignature=false", "-c", "diff.renames=true"),
    *("--no-pager", "--no-replace-objects"),
)
_NO_PROGRAMS = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature")
_BEGIN, _END = "\x1e", "\x1f"
_FORMAT = f"--format=tformat:{_BEGIN}%H{_END}%cI{_END}%an{_END}%s"
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)")
_SETTING = re.compile(r"\s*[-+*]?\s*[\"']?([\w./-]{1,80})[\"']?\s*[:=]\s*(.+?)\s*,?\s*")


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One commit: `files` with lines added and removed, None for what is no text."""

    id: str
    time: datetime
    author: str
    subject: str
    files: Sequence[tuple[str, int | None, int | None]] = ()


@dataclass
class Hunk:
    """One changed place of a file; `inside` is the heading above it, as git finds it."""

    file: str
    inside: str
    removed: list[str] = field(default_factory=list[str])
    added: list[str] = field(default_factory=list[str])

    def sentences(self) -> Iterator[str]:
        """Say what changed: `key: old -> new` for settings, otherwise the lines themselves."""
        place = f"{self.file}, in {self.inside}" if self.inside else self.file
        left = list(self.added)
        for line in self.removed:
            partner = next((new for new in left if _name(new) == _name(line) != ""), None)
            if partner is None:
                yield f"{place}: - {line.strip()}"
                continue
            left.remove(partner)
            yield f"{place}: {_name(line)}: {_value(line)} -> {_value(partner)}"
        for line in left:
            yield f"{place}: + {line.strip()}"


@dataclass(frozen=True)
class Repository:
    """A configured repository: its working tree, or a bare one."""

    name: str
    path: Path

    async def commits(self, since: datetime, until: datetime) -> tuple[list[Commit], bool]:
        """List the commits of HEAD in a time, newest first; True where there are more."""
        output = await self._ask(
            *("log", f"--max-count={MAX_COMMITS + 1}", f"--since={since.isoformat()}"),
            *(f"--until={until.isoformat()}", "--numstat", _FORMAT, *_NO_PROGRAMS, "HEAD", "--"),
        )
        found = list(_commits(output.text))
        return found[:MAX_COMMITS], output.truncated or len(found) > MAX_COMMITS

    async def changed_values(self, commit: str, *, all_files: bool) -> tuple[list[str], bool]:
        """Say what a commit changed, of configuration files alone or of all files."""
        paths = () if all_files else tuple(f":(glob)**/{name}" for name in CONFIGURATION)
        output = await self._ask(
            *(
                "show",
                "--unified=0",
                "--format=",
                "--submodule=short",
                "--diff-merges=first-parent",
            ),
            *(*_NO_PROGRAMS, commit, "--", *paths),
        )
        return [s for hunk in _hunks(output.text) for s in hunk.sentences()], output.truncated

    async def commit(self, name: str) -> Commit | None:
        """Find a commit by the beginning of its hash; None where there is none."""
        output = await self._run(
            *("log", "--max-count=1", "--numstat", _FORMAT, *_NO_PROGRAMS, name, "--")
        )
        if output.code == 128 and _is_unknown(output.error):
            return None
        self._check(output)
        return next(_commits(output.text), None)

    async def _ask(self, *arguments: str) -> CommandOutput:
        output = await self._run(*arguments)
        self._check(output)
        return output

    async def _run(self, *arguments: str) -> CommandOutput:
        if not self.path.is_dir():
            raise ProbeFailed("probe.unreachable", f"{self.name}: {self.path} is no folder.")
        return await run_command(
            command_line(self.path, arguments),
            max_bytes=MAX_BYTES,
            env={**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(self.path.parent)},
        )

    def _check(self, output: CommandOutput) -> None:
        if output.code in (0, None) or "bad revision 'HEAD'" in output.error:
            return  # the latter is a repository without commits
        if "not a git repository" in output.error:
            message = f"{self.name}: {self.path} is not a git repository."
            hint = "Name the folder that holds .git, not one inside it."
            raise ProbeFailed("probe.unreachable", message, hint=hint)
        raise ProbeFailed("probe.unreachable", f"{self.name}: git says: {output.complaint}")


def command_line(path: Path, arguments: Sequence[str]) -> list[str]:
    """Write the command: only reading, no hooks, filters, pagers or programs of the repository."""
    git = shutil.which("git") or "git"
    return [git, *_SAFE, "-c", f"safe.directory={path}", "-C", str(path), *arguments]


def _is_unknown(error: str) -> bool:
    return "bad revision" in error or "bad object" in error or "is ambiguous" in error


def _commits(text: str) -> Iterator[Commit]:
    for block in text.split(_BEGIN)[1:]:
        head, _, rest = block.partition("\n")
        fields = head.split(_END, 3)
        if len(fields) < 4:
            continue  # cut off in the middle
        yield Commit(
            id=fields[0],
            time=datetime.fromisoformat(fields[1]),
            author=fields[2],
            subject=fields[3],
            files=[file for line in rest.splitlines() if (file := _file(line))],
        )


def _file(line: str) -> tuple[str, int | None, int | None] | None:
    added, _, rest = line.partition("\t")
    removed, _, name = rest.partition("\t")
    if not name:
        return None
    return name, _count(added), _count(removed)


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _hunks(text: str) -> Iterator[Hunk]:
    name, hunk = "", None
    for line in text.splitlines():
        if line.startswith("diff --git "):
            if hunk:
                yield hunk
            name, hunk = line.rpartition(" b/")[2], None
        elif match := _HUNK.match(line):
            if hunk:
                yield hunk
            hunk = Hunk(name, match[1].strip(" :{"))
        elif hunk and line.startswith("-"):
            hunk.removed.append(line[1:])
        elif hunk and line.startswith("+"):
            hunk.added.append(line[1:])
        elif hunk is None and line.startswith("Binary files "):
            yield Hunk(name, "", added=["(not text)"])
    if hunk:
        yield hunk


def _name(line: str) -> str:
    match = _SETTING.fullmatch(line)
    return match[1] if match else ""


def _value(line: str) -> str:
    match = _SETTING.fullmatch(line)
    return match[2] if match else line.strip()
