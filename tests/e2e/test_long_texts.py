"""Texts longer than a model reads at once, through the real graph and database."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from alfred.app import App, user_id_of
from alfred.engine.chunking import MAX_CHUNKS
from alfred.engine.context import FieldRead, Told
from alfred.engine.language_model import ModelRequest
from alfred.engine.proposal import Proposal
from alfred.errors import ModelFailed
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from alfred.store.address import Address
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.shell import PENDING, Shell, completion
from tests.world import capture, look, open_world

CONTEXT = 4096
"""A model that reads some 3,200 Latin characters at once."""
HEAD = (
    "We are hiring.\n\nMarram Ferries looks for a Harbour Planner in Oban. Our boats have sailed"
    " between the islands for a hundred years, and the timetable is older than the quay.\n"
)
PARAGRAPH = (
    "The harbour lies open to the west, so that every timetable is a wager with the wind. Whoever"
    " plans here keeps one eye on the glass and one on the quay, and drinks the tea cold. "
)
SECTIONS = ("Tides", "Ropes", "Charts", "Radio", "Ledger")
SKILLS = {name: f"You know {name.lower()} by heart" for name in SECTIONS}
LONG = HEAD + "\n".join(f"\n## {s}\n\n{SKILLS[s]}. {PARAGRAPH * 14}\n" for s in SECTIONS)
NOTHING: dict[str, Any] = dict.fromkeys(
    ("company", "title", "location", "deadline", "requirements")
)


def text_of(request: ModelRequest) -> str:
    return request.messages[-1].content


def reading(text: str) -> dict[str, Any]:
    """Read as an honest model would: what stands in this piece and nothing else."""
    skills = re.findall(r"You know \w+ by heart", text)
    stated = {"requirements": [{"kind": "skill", "text": skill} for skill in skills]}
    if "Marram" in text:
        stated |= {"company": "Marram Ferries", "title": "Harbour Planner", "location": "Oban"}
    return {**NOTHING, **stated}


def honest(request: ModelRequest) -> str:
    return json.dumps(reading(text_of(request)))


def broken_at(word: str, times: int = 10_000) -> Callable[[ModelRequest], str]:
    """Read honestly, but break the answer wherever a word stands, so many times."""
    left = times

    def read(request: ModelRequest) -> str:
        nonlocal left
        if word in text_of(request) and left:
            left -= 1
            return "I would rather not"
        return honest(request)

    return read


def model_of(answer: Any, **more: Any) -> ScriptedModel:
    return ScriptedModel([answer] * 400, context_tokens=CONTEXT, **more)


def texts(proposal: Proposal) -> list[str]:
    return [a.args["text"] for a in proposal.actions if a.kind == "link_requirement"]


async def propose(database: Address, settings: Settings, model: ScriptedModel) -> Proposal:
    async with open_world(database, settings, model) as app:
        return await capture(app, LONG)


async def test_a_long_text_is_read_section_by_section_and_merged(
    database: Address, settings: Settings
) -> None:
    model = model_of(honest, parallel_calls=3)
    seen: list[Told] = []
    async with open_world(database, settings, model, seen=seen) as app:
        proposal = await capture(app, LONG)
    assert 5 <= model.calls <= 8
    assert texts(proposal) == list(SKILLS.values())
    assert proposal.notices == []
    (posting,) = [a for a in proposal.actions if a.kind == "upsert_job_posting"]
    assert posting.args["company_name"] == "Marram Ferries"
    for action in proposal.actions:
        for evidence in action.evidence.values():
            for span in evidence["spans"]:
                assert LONG[span["start"] : span["end"]] in evidence["quote"]
    asked = [text_of(request) for request in model.requests]
    assert sorted("".join(asked)) == sorted(LONG), "every word is read once"
    assert all(
        request.schema == {**(request.schema or {}), "required": []} for request in model.requests
    )
    read = [event for event in seen if isinstance(event, FieldRead)]
    assert {event.value for event in read} >= set(SKILLS.values())
    for event in read:
        for span in event.evidence["spans"]:
            assert LONG[span["start"] : span["end"]] == event.evidence["quote"]


async def test_a_part_that_fails_is_told_with_its_first_words_and_the_others_stay(
    database: Address, settings: Settings
) -> None:
    proposal = await propose(database, settings, model_of(broken_at("know charts")))
    assert texts(proposal) == [skill for skill in SKILLS.values() if "charts" not in skill]
    (notice,) = proposal.notices
    assert re.match(r"Part \d+a of \d+ was not read \(“## Charts You know charts by", notice)
    assert all(action.is_tickable for action in proposal.actions)


async def test_a_part_that_fails_is_asked_for_again_alone_and_in_halves(
    database: Address, settings: Settings
) -> None:
    # A broken answer is repaired twice; with the fourth call, the half of a part, it is well.
    model = model_of(broken_at("know charts", times=3))
    proposal = await propose(database, settings, model)
    assert texts(proposal) == list(SKILLS.values())
    assert proposal.notices == []
    asked = [text_of(r) for r in model.requests]
    about = [words for words in asked if "know charts" in words]
    assert len(about) == 4
    assert len(about[-1]) < len(about[0])
    others = [words for words in asked if "know charts" not in words]
    assert len(others) == len(set(others)), "no other part is asked for twice"


async def test_where_every_part_fails_nothing_is_proposed_and_the_reason_is_said(
    database: Address, settings: Settings
) -> None:
    model = model_of(ModelFailed("model.refused", "This server refuses."))
    async with open_world(database, settings, model) as app:
        received = await app.receive(LONG.encode())
    assert received.standing is not None
    assert received.standing.proposal is None
    assert any("refuses" in problem for problem in received.standing.problems)


async def test_a_model_that_does_not_answer_is_not_asked_for_every_part(
    database: Address, settings: Settings
) -> None:
    model = model_of(ModelFailed("model.no_key", "There is no key."))
    async with open_world(database, settings, model) as app:
        await app.receive((LONG + f"{PARAGRAPH * 14}\n\n" * 20).encode())
    assert model.calls == 3


async def test_what_an_earlier_turn_was_answered_is_not_asked_for_again(
    database: Address, settings: Settings
) -> None:
    failing = model_of(broken_at("know charts"))
    async with open_world(database, settings, failing) as app:
        first = await capture(app, LONG)
    well = model_of(honest)
    async with open_world(database, settings, well) as app:
        received = await app.again(first.turn_id)
    assert received.standing is not None
    assert received.standing.proposal is not None
    assert texts(received.standing.proposal) == list(SKILLS.values())
    (asked,) = map(text_of, well.requests)
    assert "know charts" in asked


async def test_three_hundred_pages_are_read_in_bounded_parts_and_what_is_left_is_said(
    database: Address, settings: Settings
) -> None:
    pages = (f"On day {day} nothing sailed. {PARAGRAPH * 10}\n\n" for day in range(320))
    book = f"{HEAD}{''.join(pages)}"[:600_000]
    model = ScriptedModel([honest] * 400, context_tokens=8192, parallel_calls=4)
    async with open_world(database, settings, model) as app:
        proposal = await capture(app, book)
    assert 30 <= model.calls <= MAX_CHUNKS
    assert proposal.notices == []
    chinese = "招聘：青藤科技诚聘后端工程师。" + "".join(
        f"第{day}天，港口朝西敞开，船期表总是和风打赌。" for day in range(28_000)
    )
    model = ScriptedModel(['{"company": "青藤科技"}'] * 400, context_tokens=8192)
    async with open_world(database, settings, model) as app:
        proposal = await capture(app, chinese)
    assert model.calls == MAX_CHUNKS
    (notice,) = proposal.notices
    found = re.search(r"([\d,]+) of ([\d,]+) characters were read, up to “第", notice)
    assert found is not None
    read, whole = (int(number.replace(",", "")) for number in found.groups())
    assert read < whole == len(chinese)
    assert read == sum(len(text_of(request)) for request in model.requests)


async def test_what_is_stored_grows_with_the_text_and_no_faster(
    database: Address, settings: Settings
) -> None:
    sizes: list[float] = []
    async with open_world(database, settings, model_of(honest)) as app:
        for pages in (4, 8, 16):
            told = (f"On day {day} nothing sailed. {PARAGRAPH * 10}" for day in range(pages))
            text = HEAD + "\n\n".join(told)
            proposal = await capture(app, text)
            sizes.append(stored_bytes(database, app, proposal.turn_id) / len(text))
    assert max(sizes) == sizes[0] < 8, "bytes of each character, which longer texts lower"


def stored_bytes(database: Address, app: App, turn_id: UUID) -> int:
    """Count everything that a turn left in the database, row by row, as text."""
    of_turn = {
        **dict.fromkeys(("checkpoints", "checkpoint_blobs", "checkpoint_writes"), "thread_id"),
        **dict.fromkeys(("model_call", "proposal", "trace_event"), "turn_id"),
    }
    total = 0
    for table, column in of_turn.items():
        query = f"SELECT sum(length(t::text)) AS n FROM {table} t WHERE {column}::text = %s"
        total += look(database, query, [str(turn_id)])[0]["n"] or 0
    query = (
        "SELECT sum(length(m::text)) AS n FROM chat_message m JOIN turn ON turn.message_id = m.id"
        " AND turn.user_id = m.user_id WHERE turn.id = %s AND m.user_id = %s"
    )
    return total + look(database, query, [turn_id, app.user_id])[0]["n"]


@pytest.fixture
def shell_of(
    shell_with: Callable[..., Shell], serve: Callable[[Answer], LocalServer]
) -> Callable[[Callable[[str], str]], tuple[Shell, LocalServer]]:
    """Make a user whose model answers over real HTTP with a function of what it is to read."""

    def make(answer: Callable[[str], str]) -> tuple[Shell, LocalServer]:
        def reply(asked: Asked) -> Reply:
            words: str = asked.json()["messages"][-1]["content"]
            return Reply(kind="text/event-stream", body=completion(answer(words)))

        server = serve(reply)
        shell = shell_with({})
        return Shell({**shell.environment, "ALFRED_MODEL": f"{server.url}/v1#scripted"}), server

    return make


FILLED = HEAD + "\n".join(f"\n## {s}\n\n{SKILLS[s]}. {PARAGRAPH * 70}\n" for s in SECTIONS)
"""Five parts for a server's model of unknown context, which counts as 8,192 tokens."""


def test_a_kill_between_two_parts_pays_for_none_of_those_before_twice(
    database: Address,
    shell_of: Callable[[Callable[[str], str]], tuple[Shell, LocalServer]],
) -> None:
    running: list[subprocess.Popen[bytes]] = []
    lock = threading.Lock()

    def answer(words: str) -> str:
        with lock:
            if "know ledger" in words and running:
                # The parts before are written down by now, or under way: none of them is lost.
                wait_for_rows(database, shell.user, 3)
                running.pop().send_signal(signal.SIGKILL)
        return json.dumps(reading(words))

    shell, server = shell_of(answer)
    with lock:
        process = subprocess.Popen(
            [sys.executable, "-m", "alfred", "capture", "--no-review", "-"],
            env=shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running.append(process)
    process.communicate(FILLED.encode())
    assert process.returncode == -signal.SIGKILL
    user = [user_id_of(shell.user)]
    kept = look(database, "SELECT instance FROM model_call WHERE user_id = %s", user)
    assert len(kept) >= 3
    before = len(server.asked)
    document = shell.json("review", "--show", code=PENDING)
    parts = look(database, "SELECT instance FROM model_call WHERE user_id = %s", user)
    assert len(server.asked) - before == len(parts) - len(kept) > 0
    linked = [a["args"]["text"] for a in document["actions"] if a["kind"] == "link_requirement"]
    assert linked == list(SKILLS.values())
    assert document["notices"] == []


def wait_for_rows(database: Address, user: str, wanted: int) -> None:
    for _ in range(600):
        rows = look(database, "SELECT 1 FROM model_call WHERE user_id = %s", [user_id_of(user)])
        if len(rows) >= wanted:
            return
        threading.Event().wait(0.05)
    raise AssertionError("the parts before were never written down")


def test_parts_are_asked_for_at_once_and_no_more_than_the_model_takes(
    shell_of: Callable[[Callable[[str], str]], tuple[Shell, LocalServer]],
) -> None:
    together = threading.Barrier(4, timeout=60)
    begun, under_way, most, lock = 0, 0, 0, threading.Lock()

    def answer(words: str) -> str:
        nonlocal begun, under_way, most
        with lock:
            begun += 1
            under_way += 1
            most = max(most, under_way)
            is_early = begun <= 4
        if is_early:
            together.wait()
        with lock:
            under_way -= 1
        return json.dumps(reading(words))

    shell, server = shell_of(answer)
    shell.run("capture", "--no-review", "-", words=FILLED.encode(), code=PENDING)
    assert len(server.asked) > 4
    assert most == 4
