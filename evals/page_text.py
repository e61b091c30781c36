"""Measure how much of what saved pages say survives in the text that Alfred composes of them.

The folder holds `index.jsonl`, one page a line: `html_file`, `gold` (field to the words, a list
of them, or null) and `gold_in_text` (which fields the page really shows).
"""

from __future__ import annotations

import argparse
import json
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alfred.engine.skill_input import SkillInput
from alfred.inputs.reader import read_input


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--show", action="store_true", help="print the composed texts as well")
    options = parser.parse_args()
    found: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for row in read_index(options.data):
        path = options.data / row["html_file"]
        began = time.perf_counter()
        page = read_input(
            path.read_bytes(),
            filename=path.name,
            received_at=datetime(2026, 1, 1, tzinfo=UTC),
            timezone="UTC",
        )
        milliseconds = (time.perf_counter() - began) * 1000
        marks: list[str] = []
        for field, words in gold_fields(row):
            asked[field] += 1
            places = sections_with(page, words)
            found[field] += bool(places)
            marks.append(f"{field} {'+'.join(places) if places else 'MISSING'}")
        sizes = " ".join(f"{s['name']} {s['end'] - s['start']}" for s in page["sections"])
        print(f"{row['id']:20} {milliseconds:5.0f} ms  [{sizes}]  {', '.join(marks)}")
        if options.show:
            print(page["text"], "\n" + "=" * 100)
    for field, total in asked.items():
        print(f"{field}: {found[field]} of {total}")


def read_index(folder: Path) -> Iterator[dict[str, Any]]:
    """Give the rows of the index that have a page."""
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        if row.get("html_file"):
            yield row


def gold_fields(row: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Give the fields that the page shows, each with its words."""
    for field, shown in row["gold_in_text"].items():
        words = row["gold"].get(field)
        if shown and words:
            yield field, words if isinstance(words, list) else [words]


def sections_with(page: SkillInput, words: list[str]) -> list[str]:
    """Name the sections that hold all of the words."""
    return [
        section["name"]
        for section in page["sections"]
        if all(
            fold(word) in fold(page["text"][section["start"] : section["end"]]) for word in words
        )
    ]


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


if __name__ == "__main__":
    main()
