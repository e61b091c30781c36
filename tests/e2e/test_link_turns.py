"""A message that is a link, from the words to the stored row: kept first, fetched once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alfred.app import user_id_of
from alfred.engine.context import Progress, Told
from alfred.engine.turn import turns_due
from alfred.inputs.address_guard import AddressGuard
from alfred.inputs.link_fetcher import LinkFetcher
from alfred.inputs.linked_page import Fetch
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from alfred.store.address import Address
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.shell import PENDING, REFUSED_INPUT, Shell, posting
from tests.world import look, open_world

Serve = Callable[[Answer], LocalServer]
ROOT = Path(__file__).parents[2]
TEXT, ANSWER = posting("Kestrel Looms")
PAGE = f"<html><head><title>Join us</title></head><body><p>{TEXT}</p></body></html>".encode("gbk")
KIND = "text/html; charset=gbk"


def fetch_from(site: LocalServer) -> Fetch:
    port = int(site.url.rsplit(":", 1)[1])
    return LinkFetcher(guard=AddressGuard([("127.0.0.1", port)])).fetch


def model(*answers: dict[str, Any]) -> ScriptedModel:
    return ScriptedModel([json.dumps(answer) for answer in answers])


def job_page(asked: Asked) -> Reply:
    if asked.path == "/old":
        return Reply(status=301, headers={"Location": "/job?id=1"})
    if asked.path == "/job?id=1":
        return Reply(kind=KIND, body=PAGE)
    return Reply(status=404)


def fetched(site: LocalServer) -> int:
    return sum(asked.path == "/job?id=1" for asked in site.asked)


def messages(database: Address, settings: Settings) -> list[dict[str, Any]]:
    return look(
        database,
        "SELECT m.text, m.link, m.source, m.original, m.media_type, m.modality, t.state, t.outcome"
        " FROM chat_message m JOIN turn t ON t.user_id = m.user_id AND t.message_id = m.id"
        " WHERE m.user_id = %s ORDER BY t.created_at",
        [user_id_of(settings.user)],
    )


async def test_a_link_leads_to_a_proposal_and_the_row_keeps_where_the_page_was(
    database: Address, settings: Settings, serve: Serve
) -> None:
    site = serve(job_page)
    seen: list[Told] = []
    async with open_world(
        database, settings, model(ANSWER), fetch=fetch_from(site), seen=seen
    ) as app:
        received = await app.receive(f"{site.url}/old\n".encode())
        assert received.standing is not None
        assert received.standing.proposal is not None
        assert Progress(text=f"Fetching {site.url}/old …") in seen
        proposal = received.standing.proposal
        turn = await app.load_turn(received.turn_id)
        (span,) = proposal.actions[1].evidence["title"]["spans"]
        assert turn.text[span["start"] : span["end"]] == "Data Engineer"
        await app.approvals.decide(
            proposal.id,
            {action.id: "approve" for action in proposal.actions},
            seen=proposal.digest,
            actor=app.actor,
        )
        await app.settle(proposal.id)
    (kept,) = messages(database, settings)
    assert kept["link"] == f"{site.url}/old"
    assert kept["source"] == f"{site.url}/job?id=1"
    assert bytes(kept["original"]) == PAGE
    assert (kept["media_type"], kept["modality"], kept["state"]) == (KIND, "link", "done")
    (row,) = look(
        database, "SELECT url FROM job_posting WHERE user_id = %s", [user_id_of(settings.user)]
    )
    assert row["url"] == f"{site.url}/job?id=1"


async def test_the_words_are_stored_before_anything_is_fetched(
    database: Address, settings: Settings, serve: Serve
) -> None:
    stored: list[dict[str, Any]] = []

    def noting(asked: Asked) -> Reply:
        stored.extend(messages(database, settings))
        return job_page(asked)

    site = serve(noting)
    async with open_world(database, settings, model(ANSWER), fetch=fetch_from(site)) as app:
        await app.receive(f"{site.url}/job?id=1".encode())
    assert stored[0]["text"] == stored[0]["link"] == f"{site.url}/job?id=1"
    assert (stored[0]["original"], stored[0]["state"]) == (None, "running")


async def test_a_fetch_that_was_cut_off_is_done_by_the_next_process(
    database: Address, settings: Settings, serve: Serve
) -> None:
    reached, release = threading.Event(), threading.Event()

    def slowly(asked: Asked) -> Reply:
        reached.set()
        release.wait(30)
        return job_page(asked)

    site = serve(slowly)
    async with open_world(database, settings, model(), fetch=fetch_from(site)) as app:
        receiving = asyncio.create_task(app.receive(f"{site.url}/job?id=1".encode()))
        await asyncio.to_thread(reached.wait, 30)
        receiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving
        assert len(await turns_due(app.database, app.user_id)) == 1
    release.set()
    async with open_world(database, settings, model(ANSWER), fetch=fetch_from(site)) as app:
        (standing,) = await app.drain()
        assert standing.proposal is not None
    assert len(messages(database, settings)) == 1


async def test_another_try_after_a_failed_model_reads_the_page_that_is_kept(
    database: Address, settings: Settings, serve: Serve
) -> None:
    site = serve(job_page)
    async with open_world(database, settings, model(), fetch=fetch_from(site)) as app:
        failed = await app.receive(f"{site.url}/old".encode())
        assert failed.standing is not None
        assert failed.standing.state == "failed"
    async with open_world(database, settings, model(ANSWER), fetch=fetch_from(site)) as app:
        again = await app.again(failed.turn_id)
        assert again.standing is not None
        assert again.standing.proposal is not None
        turn = await app.load_turn(again.turn_id)
        given = app.intake.read_turn(turn)
    assert fetched(site) == 1
    first, second = messages(database, settings)
    same = ("text", "link", "source", "original", "media_type", "modality")
    assert [first[name] for name in same] == [second[name] for name in same]
    assert given["url"] == f"{site.url}/job?id=1"
    assert given["text"] == turn.text


async def test_a_link_that_led_to_no_page_is_fetched_anew_by_another_try(
    database: Address, settings: Settings, serve: Serve
) -> None:
    is_down = [True]

    def answer(asked: Asked) -> Reply:
        return Reply(status=503) if is_down[0] and "job" in asked.path else job_page(asked)

    site = serve(answer)
    async with open_world(database, settings, model(ANSWER), fetch=fetch_from(site)) as app:
        failed = await app.receive(f"{site.url}/job?id=1".encode())
        assert failed.refused is not None
        assert failed.refused.code == "input.site_busy"
        is_down[0] = False
        again = await app.again(failed.turn_id)
        assert again.standing is not None
        assert again.standing.proposal is not None
    first, second = messages(database, settings)
    assert (first["original"], first["state"], first["outcome"]) == (None, "failed", "failed")
    assert bytes(second["original"]) == PAGE


async def test_the_same_link_again_is_a_new_turn_with_the_page_as_it_is_now(
    database: Address, settings: Settings, serve: Serve
) -> None:
    site = serve(job_page)
    async with open_world(database, settings, model(ANSWER, ANSWER), fetch=fetch_from(site)) as app:
        first = await app.receive(f"{site.url}/old".encode())
        second = await app.receive(f"{site.url}/old".encode())
        assert first.turn_id != second.turn_id
        assert second.standing is not None
        assert second.standing.proposal is not None
    assert fetched(site) == 2


async def test_a_page_that_is_nothing_but_a_link_is_not_followed(
    database: Address, settings: Settings, serve: Serve
) -> None:
    inner = serve(lambda _: Reply(kind=KIND, body=PAGE))

    def answer(asked: Asked) -> Reply:
        if asked.path != "/job":
            return Reply(status=404)
        return Reply(kind="text/plain", body=f"{inner.url}/job".encode())

    site = serve(answer)
    async with open_world(database, settings, model(ANSWER, ANSWER), fetch=fetch_from(site)) as app:
        received = await app.receive(f"{site.url}/job".encode())
        await app.again(received.turn_id)
    assert inner.asked == []
    assert [message["text"] for message in messages(database, settings)] == [
        f"{inner.url}/job",
        f"{inner.url}/job",
    ]


async def test_a_link_that_stands_in_a_text_or_in_a_saved_page_is_not_fetched(
    database: Address, settings: Settings, serve: Serve
) -> None:
    site = serve(job_page)
    saved = f'<html><body><img src="{site.url}/a.png"><p>{TEXT}</p></body></html>'
    async with open_world(database, settings, model(ANSWER, ANSWER), fetch=fetch_from(site)) as app:
        await app.receive(f"{TEXT} Apply: {site.url}/job?id=1".encode())
        await app.receive(saved.encode(), source="saved.html")
    assert site.asked == []


async def test_what_cannot_be_read_is_refused_with_the_link_kept_and_the_page_not(
    database: Address, settings: Settings, serve: Serve
) -> None:
    login = b'<html><body><input type="password"></body></html>'
    site = serve(lambda asked: Reply(status=404) if "robots" in asked.path else Reply(body=login))
    html = serve(
        lambda asked: (
            Reply(status=404) if "robots" in asked.path else Reply(kind="text/html", body=login)
        )
    )
    for server, code in ((site, "input.unsupported"), (html, "input.login")):
        async with open_world(database, settings, model(), fetch=fetch_from(server)) as app:
            received = await app.receive(f"{server.url}/job".encode())
            assert received.refused is not None
            assert received.refused.code == code
    for message in messages(database, settings):
        assert message["text"] == message["link"]
        assert (message["original"], message["state"]) == (None, "failed")
        assert message["outcome"] == "refused"


async def test_the_trace_tells_the_fetch_without_the_address(
    database: Address, settings: Settings, serve: Serve
) -> None:
    site = serve(job_page)
    async with open_world(database, settings, model(ANSWER), fetch=fetch_from(site)) as app:
        good = await app.receive(f"{site.url}/old".encode())
        bad = await app.receive(f"{site.url}/none".encode())
    for turn_id, end in ((good.turn_id, "COMPLETED FETCHED"), (bad.turn_id, "FAILED INPUT_NOT_F")):
        rows = look(
            database, "SELECT * FROM trace_event WHERE turn_id = %s ORDER BY step, at", [turn_id]
        )
        assert rows[0]["node"] == "fetch"
        assert f"{rows[0]['outcome']} {rows[0]['reason']}".startswith(end)
        assert "127.0.0.1" not in repr(rows)


async def test_without_a_fetcher_of_its_own_alfred_reaches_no_server_of_this_machine(
    database: Address, settings: Settings, serve: Serve
) -> None:
    site = serve(job_page)
    async with open_world(database, settings, model()) as app:
        received = await app.receive(f"{site.url}/job?id=1".encode())
    assert received.refused is not None
    assert received.refused.code == "input.private_address"
    assert site.asked == []


def linked(site: LocalServer, *arguments: str) -> list[str]:
    """Write the command of an `alfred` that may fetch from a server of the test."""
    port = site.url.rsplit(":", 1)[1]
    return [sys.executable, "-m", "tests.linked_alfred", port, *arguments]


def run_linked(
    shell: Shell, site: LocalServer, *arguments: str, words: bytes = b""
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        linked(site, *arguments),
        cwd=ROOT,
        env=shell.environment,
        input=words,
        capture_output=True,
        check=False,
        timeout=120,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def test_the_command_says_that_it_fetches_and_shows_the_proposal(
    shell_with: Callable[..., Shell], serve: Serve
) -> None:
    site = serve(job_page)
    shell = shell_with(ANSWER)
    done = run_linked(shell, site, "capture", f"{site.url}/old")
    assert done.returncode == PENDING
    assert f"Fetching {site.url}/old …" in done.stderr
    assert "Kestrel Looms" in done.stdout
    shell.run("review", "--yes")
    (row,) = shell.json("job", "list")["postings"]
    assert row["company"] == "Kestrel Looms"
    piped = run_linked(shell, site, "capture", "-", "--json", words=f"{site.url}/old\n".encode())
    assert piped.returncode == PENDING
    assert json.loads(piped.stdout)["source"] == f"{site.url}/job?id=1"
    assert fetched(site) == 2


def test_the_command_ends_with_a_sentence_and_says_how_to_try_again(
    shell_with: Callable[..., Shell], serve: Serve
) -> None:
    site = serve(lambda asked: Reply(status=404 if "robots" in asked.path else 502))
    shell = shell_with("never asked")
    done = run_linked(shell, site, "capture", f"{site.url}/job")
    assert done.returncode == REFUSED_INPUT
    assert "alfred: input.site_busy: 127.0.0.1 answered with status 502." in done.stderr
    assert "Your words are kept" in done.stderr
    assert "alfred capture --again" in done.stderr
    assert "--again" in shell.run("pending").stdout


@pytest.mark.parametrize(
    ("argument", "code", "words"),
    [
        ("http://localhost/job", "input.private_address", "not on the public internet"),
        ("https://me:pw@jobs.example/1", "input.address", "user name or password"),
        ("www.jobs.example/1.html", "input.address", "capture https://www.jobs.example/1.html"),
    ],
)
def test_the_command_refuses_a_link_it_does_not_fetch_with_the_reason(
    shell_with: Callable[..., Shell], argument: str, code: str, words: str
) -> None:
    refused = shell_with("never asked").run("capture", argument, code=REFUSED_INPUT)
    assert f"alfred: {code}: " in refused.stderr
    assert words in refused.stderr
    assert ("Fetching" in refused.stderr) == (code == "input.private_address")


def test_a_killed_command_leaves_its_page_to_the_next_one(
    shell_with: Callable[..., Shell], serve: Serve
) -> None:
    asked_model, release = threading.Event(), threading.Event()

    def hanging(_: Asked) -> Reply:
        asked_model.set()
        release.wait(60)
        return Reply(status=500)

    site, stuck = serve(job_page), serve(hanging)
    shell = shell_with(ANSWER)
    with subprocess.Popen(
        linked(site, "capture", f"{site.url}/old"),
        cwd=ROOT,
        env={**shell.environment, "ALFRED_MODEL": f"{stuck.url}/v1#stuck"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        reached = asked_model.wait(120)
        process.kill()
    release.set()
    assert reached
    done = run_linked(shell, site, "review", "--show")
    assert "Continuing turn" in done.stderr
    assert "Kestrel Looms" in done.stdout
    assert fetched(site) == 1
