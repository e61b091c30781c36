"""Make a case file for `alfred eval extract_job` of a folder of postings with an index.

The folder holds `index.jsonl`, one posting a line: `id`, `lang`, `text_file`, sometimes
`html_file`, `gold` (field to the words, a list of them, or null) and `gold_in_text` (which fields
the text really shows). Of a posting that is there as a saved page the page is read, since that is
what a person would hand in.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

FIELDS = ("company", "title", "location")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE")
    parser.add_argument("--texts", action="store_true", help="take the text of pages as well")
    options = parser.parse_args()
    lines = (options.data / "index.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case_of(json.loads(line), options.data, texts=options.texts) for line in lines]
    options.to.write_text(
        "".join(f"{json.dumps(case, ensure_ascii=False)}\n" for case in cases), encoding="utf-8"
    )
    print(f"{len(cases)} cases written to {options.to}")


def case_of(row: dict[str, Any], folder: Path, *, texts: bool) -> dict[str, Any]:
    """Write one row of the index as a case; of several values all are expected."""
    name = "html_file" if row.get("html_file") and not texts else "text_file"
    gold: dict[str, Any] = row["gold"]
    return {
        "id": row["id"],
        "lang": row["lang"],
        name: str((folder / row[name]).resolve()),
        "expect": {field: gold.get(field) for field in FIELDS if field in gold},
        "gold_in_text": {field: bool(row["gold_in_text"].get(field, False)) for field in FIELDS},
    }


if __name__ == "__main__":
    main()
