"""The job as Alfred does it: capture, preview, approve every action, commit, end of the run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from alfred.app import App, Ports
from alfred.installed import load_domains
from alfred.settings import Settings
from alfred.store.pools import Pools
from bench.posting import Posting
from bench.variant import Surroundings, Variant


@asynccontextmanager
async def open_reviewed(around: Surroundings, home: Path) -> AsyncGenerator[Variant]:
    """Open one Alfred, as a server would, for one person."""
    settings = Settings(home=home, user="bench", model=f"{around.model_url}#zero")
    async with Pools(around.address) as pools:
        app = App(settings, load_domains(), pools, Ports())

        async def turn(posting: Posting) -> None:
            received = await app.receive(posting.text.encode())
            assert received.standing is not None, received.refused
            proposal = received.standing.proposal
            assert proposal is not None, received.standing.problems
            await app.approvals.decide(
                proposal.id,
                {action.id: "approve" for action in proposal.actions},
                seen=proposal.digest,
                actor=app.actor,
            )
            standing = await app.settle(proposal.id)
            assert standing.outcome == "committed", standing

        try:
            yield Variant(name="alfred", turn=turn, users=(app.user_id,))
        finally:
            await app.aclose()
