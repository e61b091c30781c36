"""The lock that installations go by holds what pyproject.toml pins, and what that needs."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[2]


def locked() -> dict[str, str]:
    """Read the version of each package that constraints.txt names."""
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def pinned(*extras: str) -> dict[str, Requirement]:
    """Read the direct dependencies, with those of the extras."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"]]
    for extra in extras:
        texts += project["optional-dependencies"][extra]
    return {canonicalize_name(wanted.name): wanted for wanted in map(Requirement, texts)}


def test_the_lock_has_every_direct_dependency_at_the_version_that_is_pinned() -> None:
    lock = locked()
    wanted_here = pinned("embedded", "dev", "bench")
    direct = {name: str(wanted.specifier) for name, wanted in wanted_here.items()}
    assert direct == {name: f"=={lock.get(name)}" for name in direct}


def test_the_lock_has_whatever_a_dependency_needs_on_this_machine() -> None:
    """Those of `make setup`: what only the benchmarks need may not be installed."""
    lock = locked()
    seen: set[tuple[str, str]] = set()
    installed = pinned("embedded", "dev").items()
    queue = [(name, extra) for name, w in installed for extra in ("", *w.extras)]
    while queue:
        name, extra = queue.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for text in distribution(name).requires or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                target = canonicalize_name(wanted.name)
                queue += [(target, inner) for inner in ("", *wanted.extras)]
    assert {name for name, _ in seen} - set(lock) <= {"setuptools", "pip"}


def test_the_lock_names_a_package_once() -> None:
    text = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    names = [canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)]
    assert len(names) == len(set(names)) > 100
