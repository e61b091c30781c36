"""What nobody has to ask for: expired proposals, forgotten turns, reminders that are due."""

from __future__ import annotations

import logging
from datetime import timedelta

from alfred.app import App
from alfred.engine.turn import turns_due
from alfred.engine.turn_event import tell_due
from alfred.errors import AccessRefused, AlfredError
from alfred.queue.entrance import enqueue_forgotten, is_news, members
from alfred.server.hall import Hall
from alfred.worker.turn_run import find_user

log = logging.getLogger("alfred")

UNTOUCHED_FOR = timedelta(seconds=30)
"""A turn that is younger is on its way: whoever stored it runs it or lets it wait."""


class Sweep:
    """Looks after every user that a worker knows of."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    async def run(self, timestamp: int) -> None:
        """Look after everybody once; what stops one user stops no other.

        `timestamp` is when this was due, in seconds since 1970.
        """
        for user_id in await members(self._hall.pools):
            try:
                user = await find_user(self._hall, user_id)
                await self.look_after(self._hall.app_of(user))
            except AccessRefused:
                log.info("User %s is gone.", user_id, extra={"action": "sweep.gone"})
            except AlfredError as error:
                log.warning("%s: %s", user_id, error.code, extra={"action": "sweep.fail"})

    async def look_after(self, app: App) -> None:
        """Close a user's expired proposals, let their due turns wait, tell what is due today."""
        await app.approvals.expire_due(app.user_id)
        before = app.now() - UNTOUCHED_FOR
        due = await turns_due(app.database, app.user_id, received_before=before)
        await enqueue_forgotten(app.database, app.user_id, due)
        await self._tell_reminders(app)

    async def _tell_reminders(self, app: App) -> None:
        async with app.reading() as connection:
            cursor = await connection.execute(
                "SELECT id, due_on FROM reminder WHERE done_at IS NULL AND due_on <= %s"
                " ORDER BY due_on, id",
                (app.now().date(),),
            )
            rows = await cursor.fetchall()
        for row in rows:
            if await is_news(app.database, app.user_id, row["id"], row["due_on"]):
                await tell_due(app.database, app.user_id, row["id"])
