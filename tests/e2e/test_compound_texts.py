"""Texts and pages with several postings: each becomes a group of actions of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from alfred.app import App
from alfred.engine.action import referenced
from alfred.engine.amendment import Edit
from alfred.engine.decision_rules import Verdict
from alfred.engine.language_model import ModelRequest
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.errors import ReviewRefused
from alfred.models.provider import open_model
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from alfred.store.address import Address
from tests.conftest import ModelFile
from tests.shell import PENDING, Shell
from tests.world import capture, count, look, open_world

ZH = "青藤科技诚聘后端工程师，工作地点香港。\n任职要求：\n1. 熟悉 Python\n2. 熟悉 Go"
EN = "Lumen Kites is hiring a Wind Tunnel Engineer in Berlin.\nYou hold a degree in physics."
BOTH = f"{ZH}\n\n{EN}\n"
READ: dict[str, dict[str, Any]] = {
    "后端工程师": {
        "company": "青藤科技",
        "title": "后端工程师",
        "location": "香港",
        "requirements": [{"text": "熟悉 Python"}, {"text": "熟悉 Go"}],
    },
    "Wind Tunnel Engineer": {
        "company": "Lumen Kites",
        "title": "Wind Tunnel Engineer",
        "location": "Berlin",
        "requirements": [{"text": "a degree in physics"}],
    },
    "前端工程师": {
        "company": "青藤科技",
        "title": "前端工程师",
        "location": "杭州",
        "requirements": [{"text": "熟悉 CSS"}],
    },
}
ONE_EMPLOYER = (
    "青藤科技招聘\n\n职位一：后端工程师\n地点：香港\n熟悉 Python\n熟悉 Go\n\n"
    "职位二：前端工程师\n地点：杭州\n熟悉 CSS\n"
)


def honest(request: ModelRequest) -> str:
    """Read the one posting that is asked about, or say where postings begin."""
    words = request.messages[-1].content
    assert request.schema is not None
    if "items" in request.schema["properties"]:
        choices = request.schema["properties"]["items"]["items"]["properties"]["begins"]["enum"]
        items = [
            {"begins": choice, "title": title, "company": read["company"]}
            for choice in choices
            for title, read in READ.items()
            if title in choice
        ]
        return json.dumps({"items": items})
    told = [read for title, read in READ.items() if title in words]
    return json.dumps(told[0])


def model_of(answer: Callable[[ModelRequest], str] = honest) -> ScriptedModel:
    return ScriptedModel([answer] * 20)


def groups_of(proposal: Proposal) -> dict[str, list[ProposedAction]]:
    groups: dict[str, list[ProposedAction]] = {}
    for action in proposal.actions:
        groups.setdefault(action.node, []).append(action)
    return groups


def kinds(actions: list[ProposedAction]) -> list[str]:
    return [action.kind for action in actions]


def verdicts(proposal: Proposal, **by_group: Verdict) -> dict[UUID, Verdict]:
    named = {name.replace("__", "/"): verdict for name, verdict in by_group.items()}
    return {action.id: named[action.node] for action in proposal.actions}


async def test_two_postings_in_two_languages_become_two_groups_that_both_commit(
    database: Address, settings: Settings
) -> None:
    model = model_of()
    async with open_world(database, settings, model) as app:
        proposal = await capture(app, BOTH)
        groups = groups_of(proposal)
        assert list(groups) == ["extract_job", "extract_job/2"]
        assert model.calls == 3
        posting = ["upsert_company", "upsert_job_posting"]
        assert kinds(groups["extract_job"]) == [*posting, "link_requirement", "link_requirement"]
        assert kinds(groups["extract_job/2"]) == [*posting, "link_requirement"]
        for actions in groups.values():
            own = {str(action.id) for action in actions}
            linked = [a.args["posting"] for a in actions if a.kind == "link_requirement"]
            assert {referenced(posting) for posting in linked} == {str(actions[1].id)} <= own
        assert all(action.is_tickable for action in proposal.actions)
        assert_quoted(proposal, BOTH)
        await decide(
            app, proposal, verdicts(proposal, extract_job="approve", extract_job__2="approve")
        )
        assert (await app.settle(proposal.id)).outcome == "committed"
    assert count(database, "job_posting", app.user_id) == 2
    assert count(database, "job_requirement", app.user_id) == 3


def assert_quoted(proposal: Proposal, text: str) -> None:
    for action in proposal.actions:
        for evidence in action.evidence.values():
            for span in evidence["spans"]:
                assert text[span["start"] : span["end"]] in evidence["quote"]


async def decide(app: App, proposal: Proposal, said: dict[UUID, Verdict]) -> None:
    await app.approvals.decide(proposal.id, said, seen=proposal.digest, actor=app.actor)


async def test_the_first_group_can_be_rejected_as_a_whole_and_the_second_approved(
    database: Address, settings: Settings
) -> None:
    async with open_world(database, settings, model_of()) as app:
        proposal = await capture(app, BOTH)
        await decide(
            app, proposal, verdicts(proposal, extract_job="reject", extract_job__2="approve")
        )
        assert (await app.settle(proposal.id)).outcome == "committed"
    query = "SELECT title FROM job_posting WHERE user_id = %s"
    assert look(database, query, [app.user_id]) == [{"title": "Wind Tunnel Engineer"}]
    assert count(database, "organization", app.user_id) == 1


async def test_an_employer_of_two_postings_is_made_once_and_neither_group_needs_the_other(
    database: Address, settings: Settings
) -> None:
    model = model_of()
    async with open_world(database, settings, model) as app:
        proposal = await capture(app, ONE_EMPLOYER)
        assert model.calls == 2, "a label that counts needs no model to be understood"
        groups = groups_of(proposal)
        first, second = groups["extract_job"], groups["extract_job/2"]
        assert [action.args["name"] for action in (first[0], second[0])] == ["青藤科技"] * 2
        made, found = first[0].effects[0], second[0].effects[0]
        assert (made["operation"], found["operation"]) == ("create", "none")
        assert made["row"] == found["row"]
        own = {action.id for action in second}
        assert all(set(action.depends_on) <= own for action in second)
        said = verdicts(proposal, extract_job="reject", extract_job__2="approve")
        with pytest.raises(ReviewRefused) as refused:
            await decide(app, proposal, said)
        # Nobody approves what was not shown: the second group now makes the employer itself.
        assert refused.value.code == "review.changed"
        again = await app.approvals.load(app.user_id, proposal.id)
        left = {action.id: "approve" for action in again.in_state("pending")}
        assert set(left) == own
        await decide(app, again, dict.fromkeys(left, "approve"))
        assert (await app.settle(proposal.id)).outcome == "committed"
    query = "SELECT title FROM job_posting WHERE user_id = %s"
    assert look(database, query, [app.user_id]) == [{"title": "前端工程师"}]
    assert count(database, "organization", app.user_id) == 1


async def test_an_edit_of_one_group_leaves_the_other_as_it_is(
    database: Address, settings: Settings
) -> None:
    async with open_world(database, settings, model_of()) as app:
        proposal = await capture(app, ONE_EMPLOYER)
        company = groups_of(proposal)["extract_job"][0].id
        edited = await app.approvals.amend(
            proposal.id,
            {company: Edit(args={"name": "青藤教育"})},
            seen=proposal.digest,
            actor=app.actor,
        )
    named = [a.args["company_name"] for a in edited.actions if a.kind == "upsert_job_posting"]
    assert named == ["青藤教育", "青藤科技"]


async def test_a_correction_of_one_group_asks_about_that_posting_alone(
    database: Address, settings: Settings
) -> None:
    def answer(request: ModelRequest) -> str:
        properties = (request.schema or {})["properties"]
        if "about" in properties:
            labels: list[str] = properties["about"]["items"]["enum"]
            return json.dumps({"about": [label for label in labels if label.endswith("posting 2")]})
        if "苏州" in request.messages[-1].content:
            return json.dumps({"location": "苏州"})
        return honest(request)

    model = model_of(answer)
    async with open_world(database, settings, model) as app:
        first = await capture(app, ONE_EMPLOYER)
        words = "第二个岗位的工作地点是苏州"
        standing = await app.correct(first.id, words, seen=first.digest)
    assert standing.proposal is not None
    places = [
        (action.node, action.args["location"])
        for action in standing.proposal.actions
        if action.kind == "upsert_job_posting"
    ]
    assert places == [("extract_job", "香港"), ("extract_job/2", "苏州")]
    assert model.calls == 4
    before, after = groups_of(first), groups_of(standing.proposal)
    assert [a.args for a in after["extract_job"][:2]] == [a.args for a in before["extract_job"][:2]]


async def test_a_posting_that_cannot_be_read_keeps_the_other_and_is_told_by_its_words(
    database: Address, settings: Settings
) -> None:
    def broken(request: ModelRequest) -> str:
        is_first = "后端工程师" in request.messages[-1].content
        asks_where = "items" in (request.schema or {})["properties"]
        return "no" if is_first and not asks_where else honest(request)

    async with open_world(database, settings, model_of(broken)) as app:
        proposal = await capture(app, BOTH)
    assert list(groups_of(proposal)) == ["extract_job/2"]
    (notice,) = proposal.notices
    assert notice.startswith("1 of 2 (“青藤科技诚聘后端工程师")
    assert "can't be used" in notice


async def test_where_it_cannot_be_told_the_text_is_read_as_one_and_said(
    database: Address, settings: Settings
) -> None:
    def undecided(request: ModelRequest) -> str:
        return "no" if "items" in (request.schema or {})["properties"] else honest(request)

    async with open_world(database, settings, model_of(undecided)) as app:
        proposal = await capture(app, BOTH)
    assert list(groups_of(proposal)) == ["extract_job"]
    assert proposal.notices[0].startswith("It could not be told whether the text holds several")


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        # A small model takes every candidate for a posting; code keeps what it can be.
        (f"{ZH}\n\n青藤科技正在招聘，工作地点香港。", ["后端工程师", "后端工程师"]),
        (f"{EN}\n\nLumen Kites is hiring kindly people.", ["Wind Tunnel Engineer", None]),
        (f"{ZH}\n\nQingteng Tech is hiring a backend engineer.", ["后端工程师", "后端工程师"]),
    ],
)
async def test_a_paragraph_that_states_no_posting_of_its_own_belongs_to_the_one_above(
    database: Address, settings: Settings, text: str, titles: list[str | None]
) -> None:
    def eager(request: ModelRequest) -> str:
        properties = (request.schema or {})["properties"]
        if "items" not in properties:
            return honest(request)
        choices = properties["items"]["items"]["properties"]["begins"]["enum"]
        pairs = zip(choices, titles, strict=True)
        return json.dumps({"items": [{"begins": c, "title": t, "company": None} for c, t in pairs]})

    model = model_of(eager)
    async with open_world(database, settings, model) as app:
        proposal = await capture(app, text)
    assert list(groups_of(proposal)) == ["extract_job"]
    assert model.calls == 2


async def test_who_applies_to_both_postings_gets_an_application_for_each(
    database: Address, settings: Settings
) -> None:
    def answer(request: ModelRequest) -> str:
        if "投递记录" in request.messages[0].content:
            return json.dumps({"status": "saved", "channel": None, "applied_on": None})
        return honest(request)

    async with open_world(database, settings, model_of(answer)) as app:
        proposal = await capture(app, f"我想投下面两个职位。\n\n{ONE_EMPLOYER}")
    postings = [a for a in proposal.actions if a.kind == "upsert_job_posting"]
    applications = [a for a in proposal.actions if a.kind == "record_application"]
    assert len(postings) == 2
    assert [referenced(a.args["posting"]) for a in applications] == [str(p.id) for p in postings]
    assert {a.evidence["posting"]["support"] for a in applications} == {"given"}


async def test_a_repeated_run_finds_the_same_groups_and_pays_nothing(
    database: Address, settings: Settings
) -> None:
    model = model_of()
    async with open_world(database, settings, model) as app:
        proposal = await capture(app, BOTH)
        again = await app.advance(proposal.turn_id)
    assert again.proposal is not None
    assert [a.id for a in again.proposal.actions] == [a.id for a in proposal.actions]
    assert model.calls == 3
    query = "SELECT instance, node, outcome FROM trace_event WHERE turn_id = %s AND node = %s"
    events = look(database, query, [proposal.turn_id, "extract_job"])
    assert {event["instance"] for event in events} == {"extract_job", "extract_job/2"}
    assert {event["outcome"] for event in events} == {"COMPLETED"}


def record(title: str, place: str, address: str) -> str:
    value = {
        "@context": "https://schema.org",
        "@type": "JobPosting",
        "title": title,
        "hiringOrganization": {"@type": "Organization", "name": "North Pier Trust"},
        "jobLocation": {"@type": "Place", "address": {"addressLocality": place}},
        "skills": f"{title} skills",
        "url": address,
    }
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


PAGE = (
    '<html><head><title>Openings</title><link rel="canonical" href="https://pier.example/jobs">'
    + record("Lighthouse Keeper", "Galway", "https://pier.example/jobs/1")
    + record("Harbour Pilot", "Sligo", "https://pier.example/jobs/2")
    + "</head><body><h1>Openings</h1><p>We look after the lights of the coast.</p></body></html>"
)


async def test_a_page_with_two_records_becomes_two_groups_without_a_model(
    database: Address, settings: Settings
) -> None:
    model = ScriptedModel([])
    async with open_world(database, settings, model) as app:
        received = await app.receive(PAGE.encode(), source="openings.html")
        assert received.standing is not None
        proposal = received.standing.proposal
        assert proposal is not None
        turn = await app.load_turn(proposal.turn_id)
        text = app.intake.read_turn(turn)["text"]
    assert model.calls == 0
    groups = groups_of(proposal)
    assert list(groups) == ["extract_job", "extract_job/2"]
    told = [
        {name: actions[1].args.get(name) for name in ("title", "location", "url")}
        for actions in groups.values()
    ]
    assert told == [
        {"title": "Lighthouse Keeper", "location": "Galway", "url": "https://pier.example/jobs/1"},
        {"title": "Harbour Pilot", "location": "Sligo", "url": "https://pier.example/jobs/2"},
    ]
    assert proposal.notices == []
    assert_quoted(proposal, text)
    starts = [
        {
            span["start"]
            for action in actions
            for e in action.evidence.values()
            for span in e["spans"]
        }
        for actions in groups.values()
    ]
    assert max(starts[0]) < min(starts[1]), "each group rests on its own record"


def test_the_preview_heads_each_group_with_its_first_words(
    shell_with: Callable[..., Shell], tmp_path: Path
) -> None:
    saved = tmp_path / "openings.html"
    saved.write_text(PAGE, encoding="utf-8")
    shell = shell_with({})
    shown = shell.run("capture", "--no-review", str(saved), code=PENDING).stdout
    heads = [line for line in shown.splitlines() if line.startswith("──")]
    assert heads == [
        "── 1 of 2: Lighthouse Keeper, Galway ──",
        "── 2 of 2: Harbour Pilot, Sligo ──",
    ]
    document = shell.json("review", "--show", code=PENDING)
    assert {action["node"] for action in document["actions"]} == {"extract_job", "extract_job/2"}


@pytest.mark.model
async def test_a_real_model_reads_each_of_two_postings_by_itself(
    database: Address, settings: Settings, small_model: ModelFile
) -> None:
    home = small_model.path.parent.parent
    real = open_model(replace(settings, home=home, model=f"embedded:{small_model.model.name}"))
    try:
        async with open_world(database, settings, real) as app:
            proposal = await capture(
                app,
                "公司：青藤科技\n职位：后端工程师\n地点：香港\n要求：熟悉 Python\n\n"
                "公司：云帆网络\n职位：前端工程师\n地点：杭州\n要求：熟悉 TypeScript\n",
            )
    finally:
        await real.aclose()
    groups = groups_of(proposal)
    assert list(groups) == ["extract_job", "extract_job/2"]
    assert [actions[0].args["name"] for actions in groups.values()] == ["青藤科技", "云帆网络"]
