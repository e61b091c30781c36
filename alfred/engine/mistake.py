"""A mistake in a node.yaml: where it is, what is wrong, what to do. All of a file are one error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from alfred.errors import ManifestInvalid


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake. `field` is a path such as `actions[0].args.name`, `line` counts from 1."""

    field: str
    message: str
    hint: str = ""
    code: str = "manifest.invalid"
    line: int | None = None

    def __str__(self) -> str:
        text = f"{self.field}: {self.message}" if self.field else self.message
        return f"{text} {self.hint}" if self.hint else text


def refusal(file: str, mistakes: Sequence[Mistake]) -> ManifestInvalid:
    """Make one error of all mistakes of a file; `details["problems"]` lists them as dicts.

    The code is that of the mistakes where they agree, otherwise `manifest.invalid`.
    """
    codes = {mistake.code for mistake in mistakes}
    code = codes.pop() if len(codes) == 1 else "manifest.invalid"
    problems = [asdict(mistake) for mistake in mistakes]
    if len(mistakes) == 1:
        only = mistakes[0]
        place = f"{file}, {only.field}" if only.field else file
        return ManifestInvalid(
            code, f"{place}: {only.message}", hint=only.hint, file=file, problems=problems
        )
    lines = "".join(f"\n  {mistake}" for mistake in mistakes)
    message = f"{file} has {len(mistakes)} mistakes:{lines}"
    return ManifestInvalid(code, message, file=file, problems=problems)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, or list the known ones where none is near."""
    names = sorted(set(known))
    if near := difflib.get_close_matches(name, names, n=1, cutoff=0.6):
        return f"Did you mean '{near[0]}'?"
    return f"Known: {', '.join(names[:20])}." if names else ""


def field_path(steps: Iterable[str | int]) -> str:
    """Write keys and indexes as people read them: `actions[0].args.name`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def found_type(value: Any) -> str:
    """Name what stands where something else was expected."""
    return _FOUND.get(type(value).__name__, "a number")


_FOUND = {
    "bool": "a boolean",
    "str": "text",
    "list": "a list",
    "dict": "fields",
    "NoneType": "nothing",
}
