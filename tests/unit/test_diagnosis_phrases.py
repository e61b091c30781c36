"""What code says in a diagnosis is said in both languages."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any, cast

from alfred import nodes
from alfred.engine.yaml_text import read_yaml
from alfred.nodes.diagnosis_phrases import phrase

FOLDER = Path(nodes.__file__).parent
DOCUMENT = read_yaml((FOLDER / "diagnosis_phrases.yaml").read_text(encoding="utf-8"))
PHRASES = cast("dict[str, dict[str, str]]", DOCUMENT.value)


def places_of(pattern: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(pattern) if name}


def test_every_sentence_has_both_languages_with_the_same_places() -> None:
    assert DOCUMENT.mistakes == []
    for name, said in PHRASES.items():
        assert set(said) == {"en", "zh"}, name
        assert places_of(said["en"]) == places_of(said["zh"]), name


def test_every_sentence_is_said_somewhere() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py"))
    built = {f"fallback_{node}" for node in ("planner", "executor", "gatekeeper", "verifier")}
    unused = [name for name in PHRASES if f'"{name}"' not in sources and f"'{name}'" not in sources]
    assert set(unused) <= built | {"fallback_composer", "fallback_other"}


def test_what_fills_a_place_is_never_read_as_a_pattern() -> None:
    values: dict[str, Any] = {"tool": "{error}", "error": "{0} {tool}"}
    assert phrase("en", "missing_source", **values) == "{error} gave no answer: {0} {tool}"
