"""A probe that reads PostgreSQL's statistics views, in a read-only transaction it never commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import psycopg
from psycopg import AsyncConnection, IsolationLevel, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from alfred.errors import ProbeFailed
from alfred.probes.database_questions import EXTENSION, MAX_ROWS, QUESTIONS, Row
from alfred.probes.probe import Finding, Window
from alfred.probes.said import say_count, say_text
from alfred.probes.tool_call import Kind

HIDDEN = "<insufficient privilege>"
_SEARCH_PATH = "pg_catalog"
"""Nothing that a user of the database may have put beside PostgreSQL's own is ever called."""
_WHERE_EXTENSION = """
    SELECT quote_ident(nspname) || '.' || extname AS view
    FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
    WHERE extname = %s
"""


@dataclass(frozen=True, kw_only=True)
class DatabaseSettings:
    """Which server to ask; `dsn` is a libpq connection string or URL and is never printed."""

    dsn: str = field(repr=False)
    timeout_s: float = 10.0


class DatabaseStatistics:
    """`database`: one of a fixed list of questions about sessions, locks, statements and tables."""

    name = "database"
    kind: Kind = "database"
    description = "PostgreSQL now: activity, locks, slow statements, tables, connections, settings."
    is_primary = True
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"question": {"type": "string", "enum": list(QUESTIONS)}},
        "required": ["question"],
        "additionalProperties": False,
    }

    def __init__(self, settings: DatabaseSettings) -> None:
        self.timeout_s = settings.timeout_s
        try:
            told = conninfo_to_dict(settings.dsn)
        except psycopg.ProgrammingError:
            # libpq quotes what it does not understand, which may be a piece of the password.
            raise ProbeFailed(
                "probe.settings",
                "The dsn of postgresql is not a connection string.",
                hint="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
            ) from None
        host = told.get("host") or told.get("hostaddr") or "the local socket"
        port = f":{told['port']}" if told.get("port") else ""
        self.where = f"PostgreSQL database {told.get('dbname') or 'of the login'} at {host}{port}"
        statement_ms = max(int(settings.timeout_s * 900), 1)
        # Also what libpq sends while it connects is held to reading; a dsn's own options go first.
        held = f"-c default_transaction_read_only=on -c statement_timeout={statement_ms}"
        held += f" -c search_path={_SEARCH_PATH}"
        self._dsn = make_conninfo(
            settings.dsn,
            options=f"{told.get('options') or ''} {held}".strip(),
            application_name="alfred",
            client_encoding="UTF8",
            connect_timeout=max(int(settings.timeout_s), 2),
        )

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        question = QUESTIONS[str(arguments["question"])]
        rows, moment = await self._ask(question.statement)
        hidden = any(row.get("query") == HIDDEN for row in rows)
        remark = " Statements of other users are hidden: grant pg_monitor." if hidden else ""
        lines = tuple(question.tell(row) for row in rows[:MAX_ROWS])
        counted = say_count(len(lines), "row") if lines else "none"
        return Finding(
            asked=f"{question.searched}, at {moment:%Y-%m-%dT%H:%M:%SZ}: {counted}.{remark}",
            where=self.where,
            lines=lines,
            start=moment,
            end=moment,
            truncated=len(rows) > MAX_ROWS,
        )

    async def _ask(self, statement: str) -> tuple[list[Row], datetime]:
        try:
            connect = AsyncConnection[dict[str, Any]].connect
            connection = await connect(self._dsn, row_factory=dict_row)
        except psycopg.OperationalError as exc:
            raise ProbeFailed(
                "probe.unreachable",
                f"{self.where} does not let Alfred in: {_first_line(exc)}.",
                hint="Check that it runs, and the dsn in the tools file.",
            ) from exc
        try:
            return await _read(connection, statement)
        except errors.UndefinedTable as exc:
            raise ProbeFailed(
                "probe.query",
                f"{self.where} has no pg_stat_statements.",
                hint="Load it (shared_preload_libraries) and CREATE EXTENSION pg_stat_statements.",
            ) from exc
        except errors.QueryCanceled as exc:
            raise TimeoutError(f"{self.where} did not answer in time.") from exc
        except UnicodeError as exc:
            message = f"{self.where} answers in bytes that are no text; its encoding is not known."
            raise ProbeFailed("probe.answer", message) from exc
        except psycopg.Error as exc:
            raise ProbeFailed(
                "probe.query", f"{self.where} refuses the question: {_first_line(exc)}."
            ) from exc
        finally:
            await connection.close()

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""


async def _read(
    connection: AsyncConnection[dict[str, Any]], statement: str
) -> tuple[list[Row], datetime]:
    """Read at most one row more than is told; closing the connection rolls back."""
    await connection.set_read_only(True)
    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
    await connection.execute(f"SET LOCAL search_path = {_SEARCH_PATH}")
    clock = await (await connection.execute("SELECT clock_timestamp() AS now")).fetchone()
    if EXTENSION in statement:
        found = await (await connection.execute(_WHERE_EXTENSION, [EXTENSION])).fetchone()
        statement = statement.replace(EXTENSION, found["view"] if found else EXTENSION)
    cursor = await connection.execute(
        f"SELECT * FROM ({statement}) AS answer LIMIT {MAX_ROWS + 1}".encode()  # noqa: S608
    )
    rows = cast("list[Row]", await cursor.fetchall())
    moment = cast("datetime", clock["now"]) if clock else datetime.now(UTC)
    return rows, moment.astimezone(UTC)


def _first_line(error: psycopg.Error) -> str:
    said = error.diag.message_primary or str(error)
    return say_text(said.strip().split("\n")[0], 200).rstrip(".")
