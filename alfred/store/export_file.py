"""A user's rows in files: one JSON document, or a folder of CSV files; whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from alfred.store.snapshot import Snapshot, plain_json

VERSION = 1
"""Of the documents' form; a change that an older reader would misread raises it."""
CONTENTS = "export.json"
"""The file beside the CSV files that says what they hold."""


async def write_json(snapshot: Snapshot, heading: dict[str, Any], out: TextIO) -> dict[str, int]:
    """Write one JSON document as the rows come in; return how many each table has."""
    counts: dict[str, int] = {}
    opening = plain_json({"alfred_export": VERSION, **heading})
    out.write(f'{opening[:-1]}, "tables": {{')
    for table in snapshot.tables():
        columns = plain_json(snapshot.columns(table))
        out.write("," if counts else "")
        out.write(f'\n{plain_json(table.name)}: {{"columns": {columns}, "rows": [')
        counts[table.name] = 0
        async for row in snapshot.rows(table):
            out.write(",\n " if counts[table.name] else "\n ")
            out.write(plain_json(row))
            counts[table.name] += 1
        out.write("]}")
    out.write("\n}}\n")
    return counts


async def write_csv(snapshot: Snapshot, heading: dict[str, Any], folder: Path) -> dict[str, int]:
    """Write a CSV file for each table, and what they hold into `export.json`; return the counts.

    A missing value is nothing at all, an empty text is a pair of quotes; JSON and lists are JSON.
    """
    counts: dict[str, int] = {}
    tables: dict[str, Any] = {}
    for table in snapshot.tables():
        columns = snapshot.columns(table)
        name = f"{table.name}.csv"
        counts[table.name] = 0
        with _private(folder / name) as out:
            out.write(_line(list(columns)))
            async for row in snapshot.rows(table):
                out.write(_line([_cell(row[column], columns[column]) for column in columns]))
                counts[table.name] += 1
        tables[table.name] = {"file": name, "columns": columns, "rows": counts[table.name]}
    with _private(folder / CONTENTS) as out:
        document = {"alfred_export": VERSION, **heading, "tables": tables}
        json.dump(document, out, ensure_ascii=False, indent=2)
        out.write("\n")
    return counts


@contextmanager
def new_file(path: Path) -> Generator[TextIO]:
    """Write a file that takes its place only once it is complete; only its owner may read it."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with _private(unfinished) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.replace(unfinished, path)
    finally:
        with suppress(OSError):  # the error that led here is told
            unfinished.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """Fill a folder that takes its place only once it is complete; an earlier export goes then.

    Whether what stands there may go is for the caller to find out: `is_replaceable`.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    earlier = unfinished.with_name(f"{unfinished.name}.old")
    try:
        unfinished.mkdir(mode=0o700)
        yield unfinished
        if path.exists():
            os.replace(path, earlier)
        os.replace(unfinished, path)
    finally:
        if earlier.exists() and not path.exists():  # the last step failed: put the old one back
            os.replace(earlier, path)
        for left in (unfinished, earlier):
            shutil.rmtree(left, ignore_errors=True)


def is_replaceable(folder: Path) -> bool:
    """Say whether a folder is empty or holds an export and nothing else."""
    names = {each.name for each in folder.iterdir()}
    if not names:
        return True
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        files = {table["file"] for table in contents["tables"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return names == {CONTENTS, *files}


@contextmanager
def _private(path: Path) -> Generator[TextIO]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
        yield out


def _cell(value: Any, kind: str) -> str | None:
    if value is None:
        return None
    if kind in ("json", "list"):
        return plain_json(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _line(cells: list[str] | list[str | None]) -> str:
    quoted = ("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in cells)
    return ",".join(quoted) + "\r\n"
