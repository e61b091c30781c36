"""Every node's cases.jsonl: an answer leads to the named actions, and each of them is valid."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from langgraph.runtime import Runtime

from alfred.dispatch.prefilter import Prefilter
from alfred.engine.action import Action, action_id
from alfred.engine.executor import parse_arguments
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState, group
from alfred.graphs.job_domain import DOMAIN
from alfred.inputs.reader import read_input
from alfred.models.scripted import ScriptedModel
from alfred.nodes.capture_experience import capture_experience_node
from alfred.nodes.extract_job import extract_job_node
from alfred.nodes.generate_resume import generate_resume_node
from alfred.nodes.record_application import record_application_node
from alfred.store.address import Address
from tests.job_world import KINDS, NOW, REGISTRY, World, act, open_job_world, posting_batch

NODES = {
    "extract_job": extract_job_node,
    "capture_experience": capture_experience_node,
    "record_application": record_application_node,
    "generate_resume": generate_resume_node,
}
PREFILTER = Prefilter(REGISTRY.manifests.values())
Case = dict[str, Any]


def read_cases() -> list[Any]:
    found: list[Any] = []
    for name in NODES:
        lines = (DOMAIN.nodes / name / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        for case in map(json.loads, lines):
            found.append(pytest.param(name, case, id=f"{name}: {case['name']}"))
    return found


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[World]:
    async with open_job_world(database) as opened:
        yield opened


def experience(told: dict[str, Any]) -> Action:
    return act("record_experience", raw_text=told["summary"], **told)


def earlier_actions(case: Case) -> list[Action]:
    """Make the actions that other nodes of the turn have proposed before."""
    actions: list[Action] = []
    for index, item in enumerate(case.get("earlier", [])):
        made = posting_batch() if item == "posting" else [experience(item)]
        for action in made:
            action["id"] = action_id(uuid4(), "earlier", 0, index)
        actions += made
    return actions


def state_of(case: Case) -> AlfredState:
    given: SkillInput = read_input(
        case["input"], filename=case.get("filename"), received_at=NOW, timezone="UTC"
    )
    return {
        "input": given,
        "matched": [candidate.name for candidate in PREFILTER.candidates(given)],
        "pending_actions": group("earlier", 0, 0, earlier_actions(case)),
    }


async def run(world: World, name: str, case: Case) -> tuple[dict[str, Any], AlfredState, int]:
    await world.commit(*map(experience, case.get("stored", [])))
    model = ScriptedModel([json.dumps(case["answer"])] if case["answer"] is not None else [])
    state = state_of(case)
    context = await world.begin_turn(model, state["input"]["language"])
    config: Any = {"metadata": {"langgraph_step": 1}}
    update = await NODES[name](state, config, Runtime(context=context))
    return update, state, model.calls


def test_every_node_of_the_domain_loads_and_has_cases_in_both_languages() -> None:
    assert REGISTRY.problems == ()
    assert {m.name for m in REGISTRY.manifests.values() if m.domain == "job"} == set(NODES)
    for name in NODES:
        cases = [param.values[1] for param in read_cases() if param.values[0] == name]
        languages = {state_of(case)["input"]["language"] for case in cases}
        assert len(cases) >= 6
        assert languages == {"zh", "en"}


@pytest.mark.parametrize(("name", "case"), read_cases())
async def test_a_case_renders_its_actions_and_they_are_valid(
    world: World, name: str, case: Case
) -> None:
    update, state, calls = await run(world, name, case)
    actions: list[Action] = update["pending_actions"][name]["values"]
    errors: list[str] = update["errors"][name]["values"]
    assert [action["kind"] for action in actions] == case["actions"], errors
    assert calls == (case["answer"] is not None)
    assert len(errors) == case.get("errors", 0), errors
    missing = {str(i): action["missing"] for i, action in enumerate(actions) if action["missing"]}
    assert missing == case.get("missing", {})
    for index, expected in case.get("args", {}).items():
        args = actions[int(index)]["args"]
        assert {name: args.get(name) for name in expected} == expected
    if "extracted" in case:
        assert update["extracted"][name]["values"] == case["extracted"]
    for action in actions:
        if not action["missing"]:
            parse_arguments(KINDS[action["kind"]], action["args"])
    if actions and not missing:
        batch = [*state["pending_actions"]["earlier"]["values"], *actions]
        outcomes = await world.dry_run(*batch)
        assert [(outcome.status, outcome.problem) for outcome in outcomes] == [
            ("ready", "") for _ in batch
        ]
