"""The job domain's graph, on real LangGraph and PostgreSQL with a scripted model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from alfred.dispatch.prefilter import Prefilter
from alfred.engine.state import AlfredState, read_errors, read_events, read_pending_actions
from alfred.graphs.job import build_job_graph
from alfred.inputs.reader import read_input
from alfred.models.scripted import ScriptedModel
from alfred.store.address import Address
from tests.job_world import NOW, REGISTRY, World, open_job_world

POSTING = "纸鸢工作室招聘插画师，工作地点杭州。任职要求：熟练使用画笔。"
READ = {
    "company": "纸鸢工作室",
    "title": "插画师",
    "location": "杭州",
    "requirements": [{"kind": "skill", "text": "熟练使用画笔"}],
}
TOLD = {"experiences": [{"summary": "画过三本绘本"}]}
RESUME = {"lines": [{"section": "experience", "text": "画过三本绘本", "sources": [1]}]}


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[World]:
    async with open_job_world(database) as opened:
        yield opened


async def run(world: World, text: str, model: ScriptedModel) -> AlfredState:
    given = read_input(text, filename=None, received_at=NOW, timezone="UTC")
    matched = [c.name for c in Prefilter(REGISTRY.manifests.values()).candidates(given)]
    context = await world.begin_turn(model, given["language"])
    graph: Any = build_job_graph().compile()
    return await graph.ainvoke(
        {"input": given, "matched": matched}, {"recursion_limit": 10}, context=context
    )


def answers_by_node(request: Any) -> str:
    """Answer as the node's prompt asks; the order of parallel nodes is not fixed."""
    system = request.messages[0].content
    if "求职抽取" in system:
        return json.dumps(READ)
    if "经历记录" in system:
        return json.dumps(TOLD)
    if "投递记录" in system:
        return json.dumps({"status": "applied", "channel": None, "applied_on": None})
    return json.dumps(RESUME)


async def test_a_plain_posting_costs_one_model_call(world: World) -> None:
    model = ScriptedModel([json.dumps(READ)])
    state = await run(world, POSTING, model)
    assert model.calls == 1
    kinds = [action["kind"] for action in read_pending_actions(state)]
    assert kinds == ["upsert_company", "upsert_job_posting", "link_requirement"]
    assert read_errors(state) == []


async def test_an_own_experience_costs_one_model_call(world: World) -> None:
    model = ScriptedModel([json.dumps(TOLD)])
    state = await run(world, "我曾画过三本绘本。", model)
    assert model.calls == 1
    assert [action["kind"] for action in read_pending_actions(state)] == ["record_experience"]


async def test_applying_records_the_application_and_writes_a_resume_from_what_was_told(
    world: World,
) -> None:
    model = ScriptedModel([answers_by_node] * 4)
    state = await run(world, f"我想投这个职位：{POSTING}我曾画过三本绘本。", model)
    actions = read_pending_actions(state)
    assert read_errors(state) == []
    assert {event["node"] for event in read_events(state)} == {
        "extract_job",
        "capture_experience",
        "record_application",
        "generate_resume",
    }
    assert model.calls == 4
    kinds = [action["kind"] for action in actions]
    assert kinds[:3] == ["upsert_company", "upsert_job_posting", "link_requirement"]
    assert set(kinds[3:5]) == {"record_experience", "record_application"}
    assert kinds[5:] == ["create_document_version"]
    outcomes = await world.commit(*actions)
    assert [outcome.status for outcome in outcomes] == ["ready"] * 6
    assert (await world.rows("application"))[0]["status"] == "saved"
    (version,) = await world.rows("document_version")
    assert version["markdown"] == "# 简历\n\n## 经历\n\n- 画过三本绘本"
    (line,) = await world.rows("document_line")
    assert line["source_id"] == (await world.rows("experience"))[0]["id"]


async def test_who_has_applied_already_is_written_no_resume(world: World) -> None:
    model = ScriptedModel([answers_by_node] * 3)
    state = await run(world, f"我已经投了这个职位：{POSTING}我曾画过三本绘本。", model)
    kinds = [action["kind"] for action in read_pending_actions(state)]
    assert "record_application" in kinds
    assert "create_document_version" not in kinds
    (application,) = [a for a in read_pending_actions(state) if a["kind"] == "record_application"]
    assert application["args"]["status"] == "applied"
