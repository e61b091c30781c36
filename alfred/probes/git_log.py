"""Asks git for what changed, so that nothing a repository configures is run or fetched."""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from alfred.errors import ProbeFailed
from alfred.probes.command_output import CommandOutput, run_command
from alfred.probes.masking import mask_secrets

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
    *("-c", "i18n.logOutputEncoding=UTF-8", "-c", "diff.orderFile=/dev/null"),
    *("--no-pager", "--no-replace-objects"),
)
_NO_PROGRAMS = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature")
_FIELDS = 5
_FORMAT = "--format=tformat:%x00%H%x00%cI%x00%an%x00%s%x00"
"""NUL divides what it cannot stand in: a subject or a name could hold any other character."""
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)")
_SETTING = re.compile(r"[-+*]?[ \t]{0,8}[\"']?([\w./-]{1,80})[\"']?[ \t]{0,40}[:=](.+)")
_READ_CHARS = 2_000
"""How much of a changed line is looked at; far more than is told of one."""


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
        named: dict[str, deque[int]] = {}
        for at, line in enumerate(self.added):
            if name := _setting(line)[0]:
                named.setdefault(name, deque()).append(at)
        taken: set[int] = set()
        for line in self.removed:
            name, value = _setting(line)
            if not (partners := named.get(name)):
                yield f"{place}: - {line[:_READ_CHARS].strip()}"
                continue
            partner = partners.popleft()
            taken.add(partner)
            yield f"{place}: {name}: {value} -> {_setting(self.added[partner])[1]}"
        for at, line in enumerate(self.added):
            if at not in taken:
                yield f"{place}: + {line[:_READ_CHARS].strip()}"


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
                *("--src-prefix=a/", "--dst-prefix=b/"),
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
    # Git compares the folder's real name, where a link leads to it.
    real = path.resolve()
    return [git, *_SAFE, "-c", f"safe.directory={real}", "-C", str(real), *arguments]


def _is_unknown(error: str) -> bool:
    return "bad revision" in error or "bad object" in error or "is ambiguous" in error


def _commits(text: str) -> Iterator[Commit]:
    fields = text.split("\0")[1:]
    for at in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        name, moment, author, subject, files = fields[at : at + _FIELDS]
        try:
            time = datetime.fromisoformat(moment)
        except ValueError:
            continue  # a commit may claim a zone or a year that does not exist
        yield Commit(
            id=name,
            time=time,
            author=author,
            subject=subject,
            files=[file for line in files.split("\n") if (file := _file(line))],
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
    for line in text.split("\n"):
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


def _setting(line: str) -> tuple[str, str]:
    """Read `name: value`, the value without what is secret in it; no name where it is none.

    The value is masked beside its own name: told after an arrow, it would have none.
    """
    match = _SETTING.fullmatch(line[:_READ_CHARS].strip())
    if match is None:
        return "", ""
    value = match[2].strip().removesuffix(",").rstrip()
    masked = mask_secrets(f"{match[1]}: {value}")
    return (match[1], masked.removeprefix(f"{match[1]}: ")) if value else ("", "")
