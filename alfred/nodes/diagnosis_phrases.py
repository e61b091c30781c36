"""The sentences that code says about a diagnosis, in the language of the question."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, cast

from alfred.engine.yaml_text import read_yaml

_FILE = Path(__file__).with_name("diagnosis_phrases.yaml")


def phrase(language: Literal["zh", "en"], name: str, **values: object) -> str:
    """Say one sentence; `values` fill its places, and are never read as a pattern themselves."""
    return _phrases()[name][language].format(**values)


@cache
def _phrases() -> dict[str, dict[str, str]]:
    document = read_yaml(_FILE.read_text(encoding="utf-8"))
    return cast("dict[str, dict[str, str]]", document.value)
