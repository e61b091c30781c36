"""What a user takes along: everything, exactly, whole or not at all."""

from __future__ import annotations

import base64
import io
import json
import re
import stat
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from alfred.app import App
from alfred.engine.command import Wanted
from alfred.engine.decision_rules import Verdict
from alfred.engine.tables import METADATA
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.export_file import is_replaceable, new_file, new_folder, write_csv, write_json
from alfred.store.snapshot import LEFT_OUT
from alfred.testing import ScriptedModel
from tests.shell import Shell
from tests.world import capture, look, open_world, settings_for

TEXT = '灯塔书店招聘："Data Engineer", Leeds\n会 SQL，\r\n\tand 100 % more; =1+1'
ANSWER: dict[str, Any] = {
    "company": "灯塔书店",
    "title": "Data Engineer",
    "location": "Leeds",
    "deadline": None,
    "user_intent": None,
    "requirements": [{"kind": "skill", "text": "SQL", "importance": "must"}],
}
READ: dict[str, Callable[[Any], Any]] = {
    "uuid": UUID,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "bytes": base64.b64decode,
    "list": lambda ids: [UUID(each) for each in ids],
}


@pytest.fixture
async def app(database: Address, settings: Settings) -> AsyncGenerator[App]:
    """A user with a posting, an application that was set by a command, and one that waits."""
    async with open_world(database, settings, ScriptedModel([json.dumps(ANSWER)])) as opened:
        proposal = await capture(opened, TEXT)
        verdicts: dict[UUID, Verdict] = {action.id: "approve" for action in proposal.actions}
        seen = proposal.digest
        await opened.approvals.decide(proposal.id, verdicts, seen=seen, actor=opened.actor)
        await opened.settle(proposal.id)
        (posting,) = look(
            database, "SELECT id FROM job_posting WHERE user_id = %s", [opened.user_id]
        )
        args = {"posting": str(posting["id"]), "status": "saved"}
        await opened.propose_actions("set", [Wanted(kind="record_application", args=args)])
        yield opened


async def exported(app: App) -> dict[str, Any]:
    out = io.StringIO()
    async with app.snapshot() as snapshot:
        counts = await write_json(snapshot, {"user": {"id": str(app.user_id)}}, out)
    document = json.loads(out.getvalue())
    assert {name: len(table["rows"]) for name, table in document["tables"].items()} == counts
    return document


def restored(table: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Read a plain row back by the types that the export names."""
    return {
        name: value if value is None else READ.get(table["columns"][name], lambda v: v)(value)
        for name, value in row.items()
    }


def stored(database: Address, table: str, user_id: UUID) -> list[dict[str, Any]]:
    return look(database, f"SELECT * FROM {table} WHERE user_id = %s", [user_id])


async def test_every_row_comes_back_exactly_by_the_types_that_are_named(
    app: App, database: Address
) -> None:
    document = await exported(app)
    assert document["alfred_export"] == 1
    filled: set[str] = set()
    for name, table in document["tables"].items():
        back = [restored(table, row) for row in table["rows"]]
        own = [row for row in back if row["user_id"] == app.user_id]
        expected = stored(database, name, app.user_id)
        assert sorted(own, key=repr) == sorted(expected, key=repr), name
        filled |= {name} if own else set()
    assert {"chat_message", "turn", "proposal", "action", "ledger_entry", "receipt"} <= filled
    assert {"job_posting", "job_requirement", "organization", "event", "fact"} - filled <= {"fact"}
    words = {row["text"] for row in document["tables"]["chat_message"]["rows"]}
    assert words == {TEXT.replace("\r\n", "\n"), "set"}


async def test_every_table_is_exported_or_left_out_for_a_reason(app: App) -> None:
    document = await exported(app)
    assert set(document["tables"]) | set(LEFT_OUT) == set(METADATA.tables)
    assert all(LEFT_OUT.values())


async def test_of_what_everybody_shares_only_what_is_referred_to_comes_along(app: App) -> None:
    tables = (await exported(app))["tables"]
    assert [row["name"] for row in tables["skill"]["rows"]] == ["SQL"]
    assert tables["location"]["rows"] == tables["skill_alias"]["rows"] == []


async def test_nothing_of_another_user_is_in_it(
    app: App, database: Address, tmp_path: Path
) -> None:
    async with open_world(database, settings_for(tmp_path), ScriptedModel([])) as stranger:
        document = await exported(stranger)
    assert {len(table["rows"]) for table in document["tables"].values()} == {0}


async def test_what_is_written_meanwhile_is_not_in_it(app: App, database: Address) -> None:
    async with app.snapshot() as snapshot:
        (posting,) = [t for t in snapshot.tables() if t.name == "job_posting"]
        assert len([row async for row in snapshot.rows(posting)]) == 1
        look(
            database,
            "UPDATE job_posting SET title = 'Later' WHERE user_id = %s RETURNING id",
            [app.user_id],
        )
        assert [row["title"] async for row in snapshot.rows(posting)] == ["Data Engineer"]


async def test_rows_are_written_as_they_come_and_never_all_held(
    app: App, database: Address
) -> None:
    look(
        database,
        "INSERT INTO event (user_id, id, kind, subject, body, occurred_at)"
        " SELECT %s, gen_random_uuid(), 'noted', 'me', jsonb_build_object('a', repeat('x', 2000)),"
        " now() FROM generate_series(1, 15000) RETURNING 1 AS one",
        [app.user_id],
    )

    class Counting(io.TextIOBase):
        written = 0

        def write(self, text: str, /) -> int:
            self.written += len(text)
            return len(text)

    out = Counting()
    tracemalloc.start()
    try:
        async with app.snapshot() as snapshot:
            await write_json(snapshot, {}, out)  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert out.written > 30_000_000
    assert peak < 10_000_000


async def test_csv_tells_a_missing_value_from_an_empty_one_and_keeps_every_character(
    app: App, tmp_path: Path
) -> None:
    document = await exported(app)
    async with app.snapshot() as snapshot:
        with new_folder(tmp_path / "mine") as folder:
            await write_csv(snapshot, {"alfred": "1"}, folder)
    contents = json.loads((tmp_path / "mine" / "export.json").read_text(encoding="utf-8"))
    for name, table in document["tables"].items():
        described = contents["tables"][name]
        assert described["columns"] == table["columns"]
        lines = read_csv((tmp_path / "mine" / described["file"]).read_bytes().decode())
        assert lines[0] == list(table["columns"])
        assert [dict(zip(table["columns"], line, strict=True)) for line in lines[1:]] == [
            as_cells(table["columns"], row) for row in table["rows"]
        ], name
        assert described["rows"] == len(table["rows"])


def as_cells(columns: dict[str, str], row: dict[str, Any]) -> dict[str, str | None]:
    cells: dict[str, str | None] = {}
    for name, kind in columns.items():
        value = row[name]
        if value is not None and kind in ("json", "list", "boolean"):
            value = json.dumps(value, ensure_ascii=False)
        cells[name] = value if value is None else str(value)
    return cells


def read_csv(text: str) -> list[list[str | None]]:
    """Read quoted cells; a cell without quotes is a missing value."""
    lines: list[list[str | None]] = [[]]
    for cell, end in re.findall(r'("(?:[^"]|"")*"|)(,|\r\n)', text):
        lines[-1].append(cell[1:-1].replace('""', '"') if cell else None)
        if end == "\r\n":
            lines.append([])
    return lines[:-1]


def break_off(path: Path) -> None:
    """Write half of an export and meet a full disk."""
    if path.is_dir():
        with new_folder(path) as unfinished:
            (unfinished / "a.csv").write_text("half")
            raise OSError("full")
    with new_file(path) as out:
        out.write("half")
        raise OSError("full")


def test_what_breaks_off_leaves_the_earlier_export_and_nothing_else(tmp_path: Path) -> None:
    file, folder = tmp_path / "mine.json", tmp_path / "mine"
    file.write_text("earlier")
    folder.mkdir()
    (folder / "a.csv").write_text("earlier")
    with pytest.raises(OSError, match="full"):
        break_off(file)
    with pytest.raises(OSError, match="full"):
        break_off(folder)
    assert file.read_text() == (folder / "a.csv").read_text() == "earlier"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine", "mine.json"]


def test_only_a_folder_that_holds_an_export_alone_may_be_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    assert is_replaceable(folder)
    (folder / "export.json").write_text('{"tables": {"a": {"file": "a.csv"}}}')
    (folder / "a.csv").write_text("")
    assert is_replaceable(folder)
    (folder / "thesis.odt").write_text("")
    assert not is_replaceable(folder)
    for broken in ("", "[]", '{"tables": []}', '{"tables": {"a": 1}}'):
        (folder / "export.json").write_text(broken)
        assert not is_replaceable(folder)


def test_the_command_refuses_to_overwrite_and_says_what_it_wrote(
    app: App, shell_with: Callable[..., Shell], tmp_path: Path
) -> None:
    shell = Shell({**shell_with("").environment, "ALFRED_USER": app.settings.user})
    file, folder = tmp_path / "mine.json", tmp_path / "mine"
    told = shell.json("export", "--to", str(file))
    assert (told["to"], told["rows"]["job_posting"]) == (str(file), 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["user"]["name"] == app.settings.user
    assert document["tables"]["job_posting"]["rows"][0]["title"] == "Data Engineer"
    assert "add --force" in shell.run("export", "--to", str(file), code=2).stderr
    shell.run("export", "--to", str(file), "--force")
    assert "rows of" in shell.run("export", "--format", "csv", "--to", str(folder)).stdout
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "thesis.odt").write_text("mine")
    refused = shell.run("export", "--format", "csv", "--to", str(folder), "--force", code=2)
    assert "holds other things" in refused.stderr
    assert (folder / "thesis.odt").read_text() == "mine"
    assert "Make it first" in shell.run("export", "--to", str(tmp_path / "a/b"), code=2).stderr


def test_without_a_place_the_document_goes_to_standard_output(
    app: App, shell_with: Callable[..., Shell]
) -> None:
    shell = Shell({**shell_with("").environment, "ALFRED_USER": app.settings.user})
    document = json.loads(shell.run("export").stdout)
    assert len(document["tables"]["proposal"]["rows"]) == 2
    assert json.loads(shell.run("export", "--format", "json-resume").stdout)["work"] == []
    assert "needs --to" in shell.run("export", "--format", "csv", code=2).stderr
