"""docs/tutorial.md, built from an empty folder: its files, its commands, what they print."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from psycopg.rows import dict_row

from alfred.engine.database import Role
from alfred.engine.tables import METADATA
from alfred.settings import Settings
from alfred.store.location import locate
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.packages import install, newcomer
from tests.postgres import short_home
from tests.shell import PENDING, Shell, completion

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "expenses"
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"(?:\*\*`([^`\n]+)`\*\*\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
_VARYING = re.compile(r"\b[0-9a-f]{8}\b|open until \d{4}-\d\d-\d\d")
MADE_UP = {"receipt.txt"}
"""Files of the page that are input and no part of the example."""


@dataclass(frozen=True)
class Block:
    """One fenced block: a file, commands, or what the commands before it print."""

    kind: Literal["file", "commands", "output"]
    text: str
    name: str = ""


def blocks() -> Iterator[Block]:
    for name, language, text in _BLOCK.findall(PAGE):
        if name:
            yield Block("file", text, name)
        else:
            yield Block("commands" if language == "sh" else "output", text)


def example_files() -> dict[str, str]:
    return {
        path.relative_to(EXAMPLE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(EXAMPLE.rglob("*"))
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


def test_every_file_of_the_example_is_on_the_page_word_for_word() -> None:
    told = {block.name: block.text for block in blocks() if block.kind == "file"}
    files = {name: text for name, text in example_files().items() if text}
    assert {name: text for name, text in told.items() if name not in MADE_UP} == files


def test_the_example_has_fewer_than_150_lines_besides_yaml_and_test() -> None:
    code = [text for name, text in example_files().items() if name.endswith(".py")]
    tests = [text for name, text in example_files().items() if name.startswith("tests/")]
    assert sum(t.count("\n") for t in code) - sum(t.count("\n") for t in tests) < 150


def test_no_file_of_alfred_names_the_example() -> None:
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "alfred").rglob("*"))
        if path.suffix in (".py", ".yaml", ".txt")
        if re.search(r"alfred_expenses|\bread_receipt\b|record_expense", path.read_text("utf-8"))
    ]
    assert naming == []


ANSWERS: dict[str, dict[str, Any]] = {
    "Green Fork": {
        "merchant": "Green Fork",
        "amount": 18.4,
        "currency": "$",
        "day": "2 March 2026",
        "category": "food",
        "payer": "Alder Labs",
    },
    "松果文具": {
        "merchant": "松果文具",
        "amount": 1236,
        "currency": None,
        "day": "2026年2月27日",
        "category": "supplies",
        "payer": None,
    },
}
"""What a model answers, by a word of the text it was asked about."""


@dataclass
class Reader:
    """Somebody who follows the page, in a folder and with a home of their own."""

    folder: Path
    site: Path
    shell: Shell
    printed: str = ""

    def follow(self, block: Block) -> None:
        if block.kind == "file":
            path = self.folder / block.name
            path.write_text(block.text, encoding="utf-8")
        elif block.kind == "commands":
            self.printed = ""
            for line in block.text.splitlines():
                self.run(line)
        else:
            missing = [
                line for line in masked(block.text).splitlines() if line not in masked(self.printed)
            ]
            assert not missing, (missing, self.printed)

    def run(self, line: str) -> None:
        if line.startswith("cd "):
            self.folder /= line.removeprefix("cd ")
        elif line == "pip install -e .":
            install(self.folder, self.site)
        elif line.startswith("pip install "):
            assert "alfred-engine" in line  # what this test runs on
        else:
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=self.folder,
                env=self.shell.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            wanted = PENDING if line.startswith("alfred capture") else 0
            assert done.returncode == wanted, (line, done.stdout, done.stderr)
            self.printed += done.stdout


def masked(text: str) -> str:
    return _VARYING.sub("…", text)


@pytest.fixture
def reader(tmp_path: Path, serve: Callable[[Answer], LocalServer]) -> Generator[Reader]:
    def reply(asked: Asked) -> Reply:
        words = asked.json()["messages"][-1]["content"]
        (answer,) = (answer for word, answer in ANSWERS.items() if word in words)
        return Reply(kind="text/event-stream", body=completion(answer))

    empty = tmp_path / "afternoon"
    empty.mkdir()
    with short_home() as home:
        shell = newcomer(home, tmp_path / "site", f"{serve(reply).url}/v1#scripted")
        path = f"{Path(sys.executable).parent}{os.pathsep}{shell.environment['PATH']}"
        shell = replace(shell, environment={**shell.environment, "PATH": path})
        yield Reader(empty, tmp_path / "site", shell)


def test_the_page_leads_from_an_empty_folder_to_reviewed_receipts(reader: Reader) -> None:
    for block in blocks():
        reader.follow(block)

    address = locate(Settings(home=Path(reader.shell.environment["ALFRED_HOME"])))
    with psycopg.connect(address.admin_dsn(), row_factory=dict_row) as connection:
        stored = connection.execute("SELECT * FROM expense ORDER BY spent_on").fetchall()
        forced = connection.execute(
            "SELECT relrowsecurity AND relforcerowsecurity AS forced FROM pg_class"
            " WHERE relname = 'expense'"
        ).fetchone()
    assert [(str(row["amount"]), row["merchant"], row["claimed_from"]) for row in stored] == [
        ("1236.00", "松果文具", None),
        ("18.40", "Green Fork", "Alder Labs"),
    ]
    assert forced == {"forced": True}
    with psycopg.connect(address.dsn(Role.READER), autocommit=True) as connection:
        assert connection.execute("SELECT FROM expense").fetchall() == []
        with pytest.raises(psycopg.errors.Error):
            connection.execute("DELETE FROM expense")

    columns = {row["name"] for row in table_columns(address.admin_dsn())}
    declared = json.loads(reader_columns(reader))
    assert columns == set(declared)


def table_columns(dsn: str) -> list[dict[str, Any]]:
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return connection.execute(
            "SELECT column_name AS name FROM information_schema.columns"
            " WHERE table_name = 'expense'"
        ).fetchall()


def reader_columns(reader: Reader) -> str:
    """Ask the installed package which columns its table declares."""
    code = (
        "import json; from alfred_expenses.tables import EXPENSE;"
        "print(json.dumps([column.name for column in EXPENSE.columns]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=reader.shell.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_the_examples_table_is_unknown_where_its_package_is_not_installed() -> None:
    assert "expense" not in METADATA.tables
