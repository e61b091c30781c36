"""The cases of the incident note: what a diagnosis found leads to a note, word for word by code."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.runtime import Runtime

from alfred.engine.action import Action
from alfred.engine.canonical import digest
from alfred.engine.executor import parse_arguments
from alfred.engine.state import AlfredState, group
from alfred.graphs.diagnosis.domain import DOMAIN
from alfred.inputs.reader import read_input
from alfred.models.scripted import ScriptedModel
from alfred.nodes.incident_note import incident_note_node
from alfred.store.address import Address
from tests.diagnosis_records import KINDS, DiagnosisWorld, begun, open_diagnosis_world
from tests.job_world import NOW

NODE = "incident_note"
Case = dict[str, Any]


def read_cases() -> list[Any]:
    lines = (DOMAIN.nodes / NODE / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(case, id=case["name"]) for case in map(json.loads, lines)]


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[DiagnosisWorld]:
    async with open_diagnosis_world(database) as opened:
        yield opened


def state_of(case: Case, attempt: int = 0) -> AlfredState:
    return {
        "input": read_input(case["input"], filename=None, received_at=NOW, timezone="UTC"),
        "attempt": attempt,
        "extracted": group("diagnose", attempt, 1, case["diagnosis"]),
    }


def corrected(case: Case, update: dict[str, Any]) -> AlfredState:
    """Make the state in which the node is asked again with the case's words."""
    (action,) = update["pending_actions"][NODE]["values"]
    state = state_of(case, attempt=1)
    state["answers"] = update["answers"]
    state["correction"] = {
        "attempt": 1,
        "words": [case["correction"]],
        "shown": [
            {
                "id": action["id"],
                "number": 1,
                "node": NODE,
                "kind": action["kind"],
                "is_rejected": False,
                "is_needed": False,
                "args": action["args"],
                "proposed": action["args"],
            }
        ],
        "discarded": [],
        "restored": [],
        "rest": case["correction"],
        "unclear": [],
        "concerned": [NODE],
    }
    return state


async def run(world: DiagnosisWorld, case: Case) -> tuple[dict[str, Any], ScriptedModel]:
    given = state_of(case)
    language = given["input"]["language"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    await world.record(
        begun(world.turn_id, question=case["input"], language=language, scope=case["scope"])
    )
    answers = [json.dumps(case["answer"])] if case["answer"] is not None else []
    model = ScriptedModel(answers)
    runtime = Runtime(context=world.context(model, language))
    config: Any = {"metadata": {"langgraph_step": 2}}
    update = await incident_note_node(given, config, runtime)
    assert model.calls == 0
    if "correction" in case:
        update = await incident_note_node(corrected(case, update), config, runtime)
    return update, model


def test_the_cases_are_in_both_languages_and_find_everything_that_can_be_found() -> None:
    cases = [param.values[0] for param in read_cases()]
    assert {state_of(c)["input"]["language"] for c in cases} == {"zh", "en"}  # pyright: ignore[reportTypedDictNotRequiredAccess]
    assert {c["diagnosis"].get("finding") for c in cases} == {
        *("cause", "hypotheses", "no_fault", "not_established"),
        None,
    }


@pytest.mark.parametrize("case", read_cases())
async def test_a_case_leads_to_its_note(world: DiagnosisWorld, case: Case) -> None:
    update, model = await run(world, case)
    actions: list[Action] = update["pending_actions"][NODE]["values"]
    assert update["errors"][NODE]["values"] == []
    assert [action["kind"] for action in actions] == case["actions"]
    assert model.calls == (case["answer"] is not None)
    for action in actions:
        args = action["args"]
        expected = case.get("args", {})
        assert {name: args.get(name) for name in expected} == expected
        held = {name: leaf["support"] for name, leaf in action["evidence"].items()}
        assert case.get("evidence", {}).items() <= held.items()
        for words in case.get("body", []):
            assert words in args["body"]
        assert action["missing"] == []
        parse_arguments(KINDS[action["kind"]], args)
        (outcome,) = await world.dry_run(action)
        assert (outcome.status, outcome.problem) == ("ready", "")


async def test_the_note_of_a_repeated_run_is_the_same_note(world: DiagnosisWorld) -> None:
    case = read_cases()[0].values[0]
    first, _ = await run(world, case)
    again, _ = await run(world, case)
    assert digest(first["pending_actions"]) == digest(again["pending_actions"])


async def test_the_title_rests_on_the_lines_of_the_evidence_that_is_cited(
    world: DiagnosisWorld,
) -> None:
    update, _ = await run(world, read_cases()[0].values[0])
    (action,) = update["pending_actions"][NODE]["values"]
    assert action["evidence"]["cause"]["quote"] == "E2: 09:10 deploy 7f3a: pool_size 10 -> 5"
    assert action["evidence"]["title"]["quote"] == (
        "E2: 09:10 deploy 7f3a: pool_size 10 -> 5 … E1: p99 2.4 s at 09:12"
    )
