"""Upgrades while a proposal waits: it stays readable, and what still holds can be approved."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from alfred.app import App, Ports, user_id_of
from alfred.cli.drift import find_drifts
from alfred.engine.amendment import Edit
from alfred.engine.database import Role
from alfred.engine.decision_rules import Verdict
from alfred.engine.proposal import Proposal
from alfred.errors import ReviewRefused
from alfred.installed import load_domains
from alfred.models.scripted import ScriptedModel
from alfred.services.queries.inbox import list_open_proposals
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.pools import Pools
from tests.shell import PENDING, REFUSED_REVIEW, Shell
from tests.small_domain import (
    ANSWER,
    RENAMED,
    REWORDED,
    STRICTER,
    TAKING_LESS,
    TEXT,
    WANTING_MORE,
    WITH_A_BROKEN_NODE,
    WITHOUT_REMARKS,
    Version,
    forget,
    install,
    uninstall,
)
from tests.world import Clock, capture, count, look

ROOT = Path(__file__).parents[2]
BROKEN = 1
FIRST = Version()
Upgrade = Callable[[Version | None], AbstractAsyncContextManager[App]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def upgrade(
    database: Address, settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Upgrade:
    """Open Alfred with a version of the package, or without it."""
    monkeypatch.syspath_prepend(str(folder))

    @asynccontextmanager
    async def opened(version: Version | None) -> AsyncGenerator[App]:
        if version is None:
            uninstall(folder)
        else:
            install(folder, version)
        forget()
        ports = Ports(clock=Clock(), model=ScriptedModel([json.dumps(ANSWER)] * 4))
        async with Pools(database, max_size=4) as pools:
            yield App(settings, load_domains(), pools, ports)

    return opened


@pytest.fixture
async def proposal(upgrade: Upgrade) -> Proposal:
    """A proposal of two actions that the package's first version has made."""
    async with upgrade(FIRST) as app:
        return await capture(app, TEXT)


def written(database: Address, user: UUID) -> tuple[int, int]:
    """Count the places and remarks of the user."""
    query = "SELECT 1 FROM event WHERE user_id = %s AND kind = 'remark.noted'"
    return count(database, "organization", user), len(look(database, query, [user]))


async def check(app: App) -> tuple[list[str], list[str]]:
    """Return what has changed and what is broken for the one proposal, which is listed."""
    async with app.database.transaction(Role.READER, app.user_id) as connection:
        rows = await list_open_proposals(connection)
    (drift,) = (await find_drifts(app, rows)).values()
    return drift.changes, drift.breaks


async def decide(app: App, proposal: Proposal, *verdicts: Verdict) -> Proposal:
    """Decide the proposal, as it is now, action by action, and write it if all are decided."""
    now = await app.approvals.load(app.user_id, proposal.id)
    chosen = {action.id: verdict for action, verdict in zip(now.actions, verdicts, strict=False)}
    await app.approvals.decide(now.id, chosen, seen=now.digest, actor=app.actor)
    await app.settle(now.id)
    return await app.approvals.load(app.user_id, now.id)


async def edit(app: App, proposal: Proposal, **args: Any) -> Proposal:
    """Edit the first action, as it is now."""
    now = await app.approvals.load(app.user_id, proposal.id)
    edits = {now.actions[0].id: Edit(args=args)}
    return await app.approvals.amend(now.id, edits, seen=now.digest, actor=app.actor)


async def refusal(work: Any) -> ReviewRefused:
    with pytest.raises(ReviewRefused) as caught:
        await work
    return caught.value


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (FIRST, []),
        (REWORDED, ["the node note_sighting has changed since"]),
        (RENAMED, ["the node note_sighting is gone; it was renamed or its package removed"]),
    ],
    ids=["unchanged", "reworded", "renamed"],
)
async def test_a_proposal_whose_node_changed_is_told_of_and_can_be_approved(
    upgrade: Upgrade, proposal: Proposal, database: Address, version: Version, told: list[str]
) -> None:
    async with upgrade(version) as app:
        assert await check(app) == (told, [])
        assert (await app.approvals.load(app.user_id, proposal.id)) == proposal
        assert (await decide(app, proposal, "approve", "approve")).state == "committed"
        assert written(database, app.user_id) == (1, 1)
        assert (await app.load_turn(proposal.turn_id)).outcome == "committed"


async def test_rejecting_is_always_possible_and_shows_what_the_rest_would_do_now(
    upgrade: Upgrade, proposal: Proposal, database: Address
) -> None:
    async with upgrade(WITHOUT_REMARKS) as app:
        rejected = await app.approvals.decide(
            proposal.id, {proposal.actions[1].id: "reject"}, seen=proposal.digest, actor=app.actor
        )
        assert [action.state for action in rejected.actions] == ["pending", "rejected"]
        assert (await decide(app, proposal, "approve")).state == "committed"
        assert written(database, app.user_id) == (1, 0)


async def test_an_action_that_falls_with_another_needs_no_kind(
    upgrade: Upgrade, proposal: Proposal
) -> None:
    async with upgrade(WITHOUT_REMARKS) as app:
        assert (await decide(app, proposal, "reject")).state == "rejected"


async def test_a_node_that_does_not_load_leaves_its_proposal_readable(
    upgrade: Upgrade, proposal: Proposal
) -> None:
    async with upgrade(WITH_A_BROKEN_NODE) as app:
        changes, breaks = await check(app)
        assert changes == ["the node note_sighting can't be loaded; `alfred check` says why"]
        assert len(breaks) == 1
        assert (await app.approvals.load(app.user_id, proposal.id)).actions == proposal.actions
        assert (await decide(app, proposal, "reject", "reject")).state == "rejected"


@pytest.mark.parametrize(
    "change",
    [
        (STRICTER, "name: String should have at most 5 characters", {"name": "Rock"}),
        (WANTING_MORE, "shore: Field required", {"shore": "north"}),
        (TAKING_LESS, "name: Extra inputs are not permitted", {"name": None, "label": "a rock"}),
    ],
    ids=["stricter", "wanting more", "taking less"],
)
async def test_an_action_that_its_kind_takes_no_more_is_named_and_an_edit_makes_it_fit(
    upgrade: Upgrade,
    proposal: Proposal,
    database: Address,
    change: tuple[Version, str, dict[str, Any]],
) -> None:
    version, told, mended = change
    async with upgrade(version) as app:
        _, (broken,) = await check(app)
        assert broken.startswith("action 1 can't be written any more: note_place does not take")
        assert told in broken
        refused = await refusal(decide(app, proposal, "approve", "approve"))
        assert refused.code == "review.outdated"
        assert told in refused.message
        assert written(database, app.user_id) == (0, 0)
        still = await refusal(decide(app, proposal, "approve", "approve"))
        assert still.code == "review.incomplete"
        await edit(app, proposal, **mended)
        assert (await decide(app, proposal, "approve", "approve")).state == "committed"
        assert written(database, app.user_id) == (1, 1)


async def test_an_edit_of_what_fits_no_more_is_refused_until_the_person_has_seen_how_it_stands(
    upgrade: Upgrade, proposal: Proposal
) -> None:
    async with upgrade(STRICTER) as app:
        assert (await refusal(edit(app, proposal, name="Rock"))).code == "review.outdated"
        assert (await edit(app, proposal, name="Rock")).actions[0].is_ready
    async with upgrade(None) as app:
        for _ in range(2):
            assert (await refusal(edit(app, proposal, name="Skerry"))).code == "review.outdated"


async def test_a_package_that_comes_back_can_have_its_proposal_approved(
    upgrade: Upgrade, proposal: Proposal, database: Address
) -> None:
    async with upgrade(None) as app:
        assert (await refusal(decide(app, proposal, "approve"))).code == "review.outdated"
    async with upgrade(FIRST) as app:
        # What was recorded as impossible is looked at anew before anything is written.
        assert (await refusal(edit(app, proposal, name="Kettle Rock"))).code == "review.stale"
        assert (await decide(app, proposal, "approve", "approve")).state == "committed"
        assert written(database, app.user_id) == (1, 1)


async def test_an_approval_that_was_not_written_yet_waits_again_when_its_kind_is_gone(
    upgrade: Upgrade, proposal: Proposal, database: Address
) -> None:
    async with upgrade(FIRST) as app:
        everything: dict[UUID, Verdict] = {action.id: "approve" for action in proposal.actions}
        await app.approvals.decide(proposal.id, everything, seen=proposal.digest, actor=app.actor)
    async with upgrade(WITHOUT_REMARKS) as app:
        refused = await refusal(app.approvals.commit(app.user_id, proposal.id))
        assert refused.code == "review.outdated"
        assert written(database, app.user_id) == (0, 0)
        await app.drain()
        waiting = await app.approvals.load(app.user_id, proposal.id)
        assert [action.state for action in waiting.actions] == ["pending", "pending"]
        assert (await decide(app, proposal, "approve", "reject")).state == "committed"
        assert written(database, app.user_id) == (1, 0)


@pytest.fixture
def line(shell_with: Callable[..., Shell], folder: Path) -> Shell:
    """A user at the command line, for whom a proposal of the first version waits."""
    shell = Shell({**shell_with(ANSWER).environment, "PYTHONPATH": str(folder)})
    install(folder, FIRST)
    shell.run("capture", TEXT, "--no-review", code=PENDING)
    return shell


def check_line(line: Shell, code: int = 0) -> list[str]:
    told = line.json("pending", "--check", code=code)
    (proposal,) = told["proposals"]
    assert told["broken"] == ([proposal["id"]] if code else [])
    sentences: list[str] = told["drift"][proposal["id"]]
    return sentences


def test_the_commands_say_what_the_removal_of_a_package_means_and_let_reject(
    line: Shell, folder: Path, database: Address
) -> None:
    assert check_line(line) == []
    uninstall(folder)
    gone, place, remark = check_line(line, BROKEN)
    assert gone.startswith("the node note_sighting is gone")
    assert "note_place" in place
    assert "note_remark" in remark
    assert "Kettle Rock" in line.run("review", "--show", code=PENDING).stdout
    refused = line.run("review", "--yes", code=REFUSED_REVIEW)
    assert "review.outdated" in refused.stderr
    assert "can't run: No domain registers" in refused.stdout
    line.run("review", "--set", "1.name=Skerry", code=REFUSED_REVIEW)
    assert written(database, user_id_of(line.user)) == (0, 0)
    line.run("review", "--discard-rest")
    assert line.json("trace")["outcome"] == "rejected"
    assert line.run("pending").stdout == "Nothing waits for you.\n"


@pytest.fixture
def renamed_pause(tmp_path: Path) -> Path:
    """A copy of Alfred in which the step that waits for a person has another name."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "alfred", copy / "alfred", ignore=shutil.ignore_patterns("__pycache__"))
    root = copy / "alfred" / "graphs" / "root.py"
    text = root.read_text()
    assert text.count('"review"') >= 3
    root.write_text(text.replace('"review"', '"ask_a_person"'))
    return copy


def test_a_decision_is_carried_out_although_the_step_that_waited_was_renamed(
    line: Shell, folder: Path, renamed_pause: Path, database: Address
) -> None:
    path = os.pathsep.join((str(renamed_pause), str(folder)))
    newer = Shell({**line.environment, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"})
    assert check_line(newer, BROKEN) == ["the graph does not have the step at which its run waits"]
    (waiting,) = newer.json("pending")["proposals"]
    done = newer.run("review", "--yes")
    assert "committed: 2 actions written" in done.stdout
    assert "ended without its graph" in done.stderr
    trace = newer.json("trace")
    assert (trace["state"], trace["outcome"]) == ("done", "committed")
    assert trace["problem"].startswith("review.paused_elsewhere")
    assert newer.run("pending").stdout == "Nothing waits for you.\n"
    newer.run("review", waiting["id"], "--yes")
    assert written(database, user_id_of(line.user)) == (1, 1)
