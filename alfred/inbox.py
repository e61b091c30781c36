"""What a user sends to a server: kept at once, and left to a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from uuid import UUID

from alfred.app import App, Received
from alfred.engine.command import close_command, is_command
from alfred.engine.database import Connection
from alfred.engine.decision_rules import Verdict
from alfred.engine.proposal import Proposal
from alfred.engine.turn import store_message
from alfred.intake import Given
from alfred.queue.entrance import enqueue_turn, resume_turn


class Inbox:
    """One user's way to the workers."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def post(
        self,
        content: bytes,
        *,
        source: str | None = None,
        domain: str | None = None,
        turn_id: UUID | None = None,
    ) -> Received:
        """Store words as `App.receive` does, and in the same transaction let a worker read them.

        With a `turn_id` that is known already nothing is stored or enqueued. No page is fetched.
        Errors: `queue.full` and `input.unknown_domain`; then nothing is stored.
        """
        given = self._app.intake.given(content, source=source, domain=domain)
        return await self._post(given, turn_id)

    async def post_again(self, turn_id: UUID, *, domain: str | None = None) -> Received:
        """Let a worker do what `App.again` does; errors as there, and `queue.full`."""
        turn = await self._app.load_turn(turn_id)
        return await self._post(self._app.intake.again(turn, domain))

    async def decide(
        self, proposal_id: UUID, verdicts: Mapping[UUID, Verdict], *, seen: str
    ) -> Proposal:
        """Record verdicts; once all are there, write what is approved and let a worker go on.

        Errors: those of `Approvals.decide` and `Approvals.commit`.
        """
        app = self._app
        proposal = await app.approvals.decide(proposal_id, verdicts, seen=seen, actor=app.actor)
        if proposal.state == "pending":
            return proposal
        await app.approvals.commit(app.user_id, proposal_id)
        proposal = await app.approvals.load(app.user_id, proposal_id)
        if is_command(proposal):
            turn = await app.load_turn(proposal.turn_id)
            await close_command(app.database, app.approvals, turn)
        else:
            await resume_turn(app.database, app.user_id, proposal.turn_id)
        return proposal

    async def correct(self, proposal_id: UUID, words: str, *, seen: str) -> Proposal:
        """Record in words what is wrong with a proposal, and let a worker propose anew.

        Errors: those of `Approvals.correct`.
        """
        app = self._app
        corrected = await app.approvals.correct(proposal_id, words, seen=seen, actor=app.actor)
        await resume_turn(app.database, app.user_id, corrected.turn_id)
        return corrected

    async def _post(self, given: Given, turn_id: UUID | None = None) -> Received:
        app = self._app
        await app.enter()
        # A large page takes seconds to read: whoever else is served does not wait for it.
        noted = await asyncio.to_thread(app.intake.note, given, turn_id)
        message, refused = noted.message, noted.refused

        async def enqueue(connection: Connection) -> None:
            if refused is None:
                await enqueue_turn(connection, message.turn_id)

        is_new = await store_message(app.database, message, beside=enqueue)
        if is_new and refused is not None:
            await app.give_up(message.turn_id, refused)
        return Received(turn_id=message.turn_id, standing=None, refused=refused)
