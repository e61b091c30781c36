"""Finding rows by the beginning of their id, as people type it."""

from __future__ import annotations

import re
from typing import LiteralString
from uuid import UUID

from alfred.app import App
from alfred.engine.database import Role, Row
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.errors import ReviewRefused

_BEGINNING = re.compile("[0-9a-f-]{1,36}")


async def find_turn(app: App, typed: str) -> UUID:
    """Find a turn by a unique beginning of its id, or of its proposal's; `last` is the newest."""
    if typed == "last":
        return await _newest(app, "SELECT id FROM turn ORDER BY created_at DESC LIMIT 1", "turn")
    return await _unique(
        app,
        typed,
        "SELECT id FROM turn WHERE id::text LIKE %(typed)s UNION SELECT turn_id FROM proposal"
        " WHERE id::text LIKE %(typed)s LIMIT 2",
        "turn",
    )


async def find_proposal(app: App, typed: str | None) -> UUID:
    """Find a proposal by a unique beginning of its id; without one, the newest that waits."""
    if typed is None:
        return await _newest(
            app,
            "SELECT id FROM proposal WHERE state IN ('pending', 'approved')"
            " ORDER BY created_at DESC LIMIT 1",
            "proposal that waits",
        )
    return await _unique(
        app, typed, "SELECT id FROM proposal WHERE id::text LIKE %(typed)s LIMIT 2", "proposal"
    )


def find_action(proposal: Proposal, typed: str) -> ProposedAction:
    """Find an action by its number in the proposal or a unique beginning of its id."""
    found = [
        action
        for action in proposal.actions
        if typed == str(action.ordinal) or (len(typed) >= 4 and str(action.id).startswith(typed))
    ]
    if len(found) != 1:
        known = f"1 to {len(proposal.actions)}"
        raise ReviewRefused(
            "review.unknown_action",
            f"The proposal has no action {typed!r}.",
            hint=f"Name one by its number, {known}.",
        )
    return found[0]


async def _newest(app: App, query: LiteralString, what: str) -> UUID:
    async with app.database.transaction(Role.READER, app.user_id) as connection:
        row = await (await connection.execute(query)).fetchone()
    if row is None:
        raise ReviewRefused("review.unknown", f"There is no {what}.", hint="Capture a text first.")
    return row["id"]


async def _unique(app: App, typed: str, query: LiteralString, what: str) -> UUID:
    begin = typed.lower()
    rows: list[Row] = []
    if _BEGINNING.fullmatch(begin):
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            cursor = await connection.execute(query, {"typed": f"{begin}%"})
            rows = await cursor.fetchall()
    if len(rows) != 1:
        many = "more than one" if len(rows) > 1 else "no"
        raise ReviewRefused(
            "review.unknown",
            f"There is {many} {what} {typed!r}.",
            hint="Give more of its id, as `alfred pending` shows it.",
        )
    return rows[0]["id"]
