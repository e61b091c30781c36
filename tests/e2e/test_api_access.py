"""Who may: tokens and sessions, other users, other sites, too much and too fast."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import AsyncGenerator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from alfred.errors import StoreFailed
from alfred.server import client_pages, connection, frame
from alfred.server.pace import Pace
from alfred.server.problem import problem_document
from alfred.server.routes import threads
from alfred.store.address import Address
from alfred.store.tokens import create_token
from alfred.store.web_sessions import SESSION_LASTS
from tests.served import Served, approved, open_served, post, proposed, until
from tests.shell import posting
from tests.world import look, settings_for

OPEN = {("get", "/v1/health"), ("post", "/v1/session"), ("get", "/v1/openapi.json")}
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none';"
    " object-src 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


@pytest.fixture(scope="module")
async def served(
    served_database: Address, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    settings = settings_for(tmp_path_factory.mktemp("served"))
    patient = Pace(per_minute=60_000, burst=10_000)
    async with open_served(served_database, settings, strangers=patient) as opened:
        yield opened


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Walk over every address of the API that asks who one is."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if (method, path) not in OPEN:
                yield method, path, operation


async def all_operations(served: Served) -> list[tuple[str, str, dict[str, Any]]]:
    document = (await served.bare().get("/v1/openapi.json")).json()
    found = list(operations(document))
    assert len(found) > 25
    return found


async def ask(
    client: httpx.AsyncClient, method: str, path: str, body: Any = None
) -> tuple[int, str, str]:
    """Ask for at most the beginning of an answer: some are streams without an end."""
    async with client.stream(method.upper(), path, json=body) as answer:
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if kind == "text/event-stream":
            return answer.status_code, kind, ""
        return answer.status_code, kind, (await answer.aread()).decode()


async def test_every_address_refuses_who_shows_nothing_or_something_wrong(
    served: Served,
) -> None:
    user = await served.user()
    made_up = (await served.token(user))[:-4] + "AAAA"
    old = await served.token(user, days=-1)
    revoked = await served.client(user)
    (token,) = [
        row
        for row in (await revoked.get("/v1/tokens")).json()["items"]
        if row["expires_at"] > served.hall.now().isoformat() and row["last_used"]
    ]
    assert (await revoked.delete(f"/v1/tokens/{token['id']}")).status_code == 204
    shown = {
        "access.missing": {},
        "access.invalid": {"Authorization": f"Bearer {made_up}"},
        "access.expired": {"Authorization": f"Bearer {old}"},
        "access.revoked": {"Authorization": revoked.headers["Authorization"]},
    }
    everything = await all_operations(served)
    for code, headers in shown.items():
        client = served.bare(headers)
        for method, path, _ in everything:
            status, kind, body = await ask(client, method, re.sub(r"{\w+}", str(uuid4()), path))
            assert status == 401, (method, path, body)
            assert kind == "application/problem+json"
            assert code in body, (method, path, body)


@pytest.mark.parametrize(
    "given",
    ["Basic bWU6bWU=", "Bearer", "Bearer alfred_x", "bearer \u00e4", "Bearer " + "a" * 4000],
)
async def test_what_is_no_token_is_no_failure_of_the_server(served: Served, given: str) -> None:
    header = {"Authorization": given.encode()}
    answer = await served.bare().get("/v1/me", headers=header)  # type: ignore[arg-type]
    assert answer.status_code == 401, answer.text


async def test_each_address_needs_its_scope_and_no_other_helps(served: Served) -> None:
    user = await served.user()
    needs: dict[str, int] = {}
    for method, path, operation in await all_operations(served):
        (scopes,) = [s for s in operation["security"] for s in [next(iter(s.values()))]][:1]
        (scope,) = scopes
        others = [each for each in ("read", "propose", "decide", "admin") if each != scope]
        client = await served.client(user, others)  # type: ignore[arg-type]
        address = re.sub(r"{\w+}", str(uuid4()), path)
        body = BODIES.get(re.sub(r"{\w+}", "*", path))
        status, _, told = await ask(client, method, address, body)
        assert status == 403, (method, path, told)
        assert "access.scope" in told
        needs[scope] = needs.get(scope, 0) + 1
    assert set(needs) == {"read", "propose", "decide", "admin"}


BODIES: dict[str, Any] = {
    "/v1/messages": {"text": "words"},
    "/v1/turns/*/again": {},
    "/v1/proposals/*/decide": {"digest": "d", "rest": "reject"},
    "/v1/proposals/*/amend": {"digest": "d", "edits": {str(uuid4()): {"name": "mine"}}},
    "/v1/proposals/*/correct": {"digest": "d", "words": "all of it is wrong"},
    "/v1/tokens": {"name": "mine", "scopes": ["read"]},
    "/v1/applications/*/status": {"status": "applied"},
    "/v1/diagnoses": {"question": "Why is checkout slow?"},
    "/v1/diagnoses/*/cancel": None,
    "/v1/alerts": {"alerts": []},
}
"""What is sent to an address that takes something."""


async def test_a_second_user_sees_and_changes_nothing_of_the_first_over_any_address(
    served: Served,
) -> None:
    secret = f"Zephyrine{uuid4().hex[:8]}"
    owner, user = await served.user(), await served.user(f"nosy-{uuid4()}")
    first, second = await served.client(owner), await served.client(user)
    await approved(first, await proposed(first, secret))
    pending = await proposed(first, f"{secret} Two")
    job = (await first.get("/v1/jobs")).json()["items"][0]
    thread = (await first.get("/v1/threads")).json()["items"][0]
    token = (await first.get("/v1/tokens")).json()["items"][0]
    ids = {
        "turn_id": pending["turn"],
        "proposal_id": pending["proposal"],
        "posting_id": job["id"],
        "job_id": job["id"],
        "thread_id": thread["id"],
        "token_id": token["id"],
        "run_id": pending["turn"],
        "name": "job",
    }
    own = [pending["turn"], pending["proposal"], job["id"], thread["id"], token["id"]]
    before = rows_of(served, owner.id)
    walked = 0
    for method, path, _ in await all_operations(served):
        if (method, path) == ("delete", "/v1/session"):
            continue
        address = re.sub(r"{(\w+)}", lambda found: str(ids[found[1]]), path)
        body = BODIES.get(re.sub(r"{\w+}", "*", path))
        status, _, told = await ask(second, method, address, body)
        assert status < 500, (method, address, told)
        assert secret not in told, (method, address)
        leaked = [each for each in own if each in told and each not in address]
        assert not leaked, (method, address)
        if "{" in path and "name" not in path:
            assert status == 404, (method, address, status, told)
        walked += 1
    assert walked > 25
    assert rows_of(served, owner.id) == before
    still = await first.get(f"/v1/proposals/{pending['proposal']}")
    assert still.json()["digest"] == pending["digest"]


def rows_of(served: Served, user_id: Any) -> list[dict[str, Any]]:
    """Read what matters of a user past row security."""
    return look(
        served.hall.pools.address,
        "SELECT id::text, state, resume_due::text FROM turn WHERE user_id = %(user)s"
        " UNION ALL SELECT id::text, state, digest FROM proposal WHERE user_id = %(user)s"
        " UNION ALL SELECT id::text, name, revoked_at::text FROM api_token WHERE user_id = %(user)s"
        " UNION ALL SELECT id::text, kind, state FROM action WHERE user_id = %(user)s ORDER BY 1",
        {"user": user_id},  # type: ignore[arg-type]
    )


async def test_tokens_are_kept_as_digests_and_make_none_that_may_more(served: Served) -> None:
    user = await served.user()
    admin = await served.client(user, ["read", "admin"])
    made = await admin.post("/v1/tokens", json={"name": "脚本", "scopes": ["read"], "days": 7})
    assert made.status_code == 201, made.text
    secret = made.json()["token"]
    assert secret not in (await admin.get("/v1/tokens")).text
    stored = look(served.hall.pools.address, "SELECT t::text AS row FROM api_token t")
    assert stored
    assert not any(secret in row["row"] or secret[40:] in row["row"] for row in stored)
    assert (await served.bare({"Authorization": f"Bearer {secret}"}).get("/v1/turns")).is_success
    more = await admin.post("/v1/tokens", json={"name": "more", "scopes": ["read", "decide"]})
    assert (more.status_code, more.json()["code"]) == (403, "access.scope")
    unknown = await admin.delete(f"/v1/tokens/{uuid4()}")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "access.token")


async def test_a_link_signs_in_once_and_signing_out_ends_the_session(served: Served) -> None:
    user = await served.user()
    link = await served.link(user)
    browser = served.bare({"Origin": served.url})
    answer = await browser.post("/v1/session", json={"link": link})
    cookie = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= set(re.split("; ?", cookie))
    assert answer.json()["user"] == user.name
    me = await browser.get("/v1/me")
    assert me.json()["csrf"] == answer.json()["csrf"]
    again = await served.bare().post("/v1/session", json={"link": link})
    assert (again.status_code, again.json()["code"]) == (401, "access.link")
    stolen = dict(browser.cookies)
    proof = {"X-Alfred-CSRF": me.json()["csrf"]}
    assert (await browser.delete("/v1/session", headers=proof)).status_code == 204
    thief = served.bare()
    thief.cookies.update(stolen)
    late = await thief.get("/v1/me")
    assert (late.status_code, late.json()["code"]) == (401, "access.invalid")


async def test_two_uses_of_a_link_at_once_begin_one_session(served: Served) -> None:
    link = await served.link(await served.user())
    sent = [served.bare().post("/v1/session", json={"link": link}) for _ in range(6)]
    statuses = [answer.status_code for answer in await asyncio.gather(*sent)]
    assert sorted(statuses) == [200, *[401] * 5]


async def test_a_change_by_a_session_needs_its_proof_and_a_page_of_ours(served: Served) -> None:
    user = await served.user()
    browser = await served.browser(user)
    words = {"text": posting("Own Page")[0]}
    assert (await browser.post("/v1/messages", json=words)).status_code == 202
    wrong: list[dict[str, str]] = [
        {"X-Alfred-CSRF": ""},
        {"X-Alfred-CSRF": "0" * 64},
        {"X-Alfred-CSRF": (await (await served.browser(user)).get("/v1/me")).json()["csrf"]},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": served.url.replace("http:", "https:")},
        {"Origin": ""},
    ]
    for headers in wrong:
        answer = await browser.post("/v1/messages", json=words, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "access.forgery"), headers
    assert len((await browser.get("/v1/turns")).json()["items"]) == 1


async def test_another_site_cannot_sign_a_browser_in(served: Served) -> None:
    link = await served.link(await served.user())
    evil = served.bare({"Origin": "https://evil.example"})
    answer = await evil.post("/v1/session", json={"link": link})
    assert (answer.status_code, answer.json()["code"]) == (403, "access.forgery")
    assert (await served.bare().post("/v1/session", json={"link": link})).status_code == 200


async def test_a_session_ends_after_its_days(served: Served) -> None:
    user = await served.user()
    browser = await served.browser(user)
    look_and_change(
        served.hall.pools.address,
        "UPDATE web_session SET expires_at = expires_at - %s WHERE user_id = %s",
        [SESSION_LASTS, user.id],
    )
    late = await browser.get("/v1/me")
    assert (late.status_code, late.json()["code"]) == (401, "access.expired")


async def test_a_link_is_too_old_after_a_quarter_of_an_hour(served: Served) -> None:
    user = await served.user()
    link = await served.link(user)
    look_and_change(
        served.hall.pools.address,
        "UPDATE sign_in_link SET expires_at = now() WHERE user_id = %s",
        [user.id],
    )
    late = await served.bare().post("/v1/session", json={"link": link})
    assert (late.status_code, late.json()["code"]) == (401, "access.link")


def look_and_change(address: Address, statement: str, values: list[Any]) -> None:
    import psycopg

    with psycopg.connect(address.admin_dsn()) as connection:
        connection.execute(statement, values)  # type: ignore[arg-type]


async def test_a_page_elsewhere_whose_name_leads_here_is_refused(served: Served) -> None:
    token = await served.token(await served.user())
    headers = {"Authorization": f"Bearer {token}", "Host": "evil.example"}
    answer = await served.bare().get("/v1/me", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (421, "request.host")
    assert (await served.bare().get("/", headers={"Host": "evil.example"})).status_code == 421
    name = {"Authorization": f"Bearer {token}", "Host": "localhost:1"}
    assert (await served.bare().get("/v1/me", headers=name)).is_success


async def test_every_answer_has_the_headers_that_protect_a_browser(served: Served) -> None:
    client = await served.client()
    for address in ("/v1/health", "/v1/me", "/v1/nothing", "/", "/sign-in", "/assets/none.js"):
        answer = await client.get(address)
        found = {name: answer.headers.get(name) for name in SECURITY_HEADERS}
        assert found == SECURITY_HEADERS, address
        assert "server" not in answer.headers
    assert (await client.get("/v1/me")).headers["cache-control"] == "no-store"


async def test_who_asks_too_fast_is_told_when_to_come_again(
    served_database: Address, tmp_path: Any
) -> None:
    pace = Pace(per_minute=1, burst=5)
    async with open_served(
        served_database,
        settings_for(tmp_path),
        users=pace,
        strangers=Pace(per_minute=1, burst=5),
        has_worker=False,
    ) as served:
        client, other = await served.client(), await served.client()
        answers = [await client.get("/v1/me") for _ in range(7)]
        assert [a.status_code for a in answers] == [*[200] * 5, 429, 429]
        assert answers[-1].json()["code"] == "request.too_many"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert (await other.get("/v1/me")).is_success
        guesses = [await served.bare().get("/v1/me") for _ in range(7)]
        assert [g.status_code for g in guesses][:5] == [401] * 5
        assert guesses[-1].status_code == 429


async def test_a_body_of_100_mb_is_refused_and_its_sender_hears_why(served: Served) -> None:
    client = await served.client()
    size = 100_000_000
    announced = await client.post("/v1/messages", content=bytes(size))
    assert (announced.status_code, announced.json()["code"]) == (413, "request.too_large")

    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(size // 1_000_000):
            yield bytes(1_000_000)

    headers = {"Content-Type": "application/json"}
    for address in ("/v1/messages", "/v1/tokens"):
        unannounced = await client.post(address, content=pieces(), headers=headers)
        assert (unannounced.status_code, unannounced.json()["code"]) == (413, "request.too_large")
    form = await client.post("/v1/messages", files={"file": ("big.txt", bytes(70_000_000))})
    assert form.status_code == 413
    assert (await client.get("/v1/turns")).json()["items"] == []


async def test_large_bodies_are_taken_as_long_as_there_is_room_for_them(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "MAX_HELD_BYTES", 1_500_000)
    client = await served.client()
    for _ in range(2):
        full = await client.post("/v1/messages", json={"text": "x" * 3_000_000})
        assert (full.status_code, full.json()["code"]) == (429, "request.too_many")
        assert int(full.headers["retry-after"]) > 0
        assert (await client.post("/v1/messages", json={"text": "x" * 2_000_000})).is_success


async def test_who_sends_a_large_page_keeps_nobody_else_waiting(served: Served) -> None:
    client, other = await served.client(), await served.client()
    page = b"<html><body>" + b"<p>Acme &amp; others seek an engineer.</p>\n" * 40_000
    intake, began = served.hall.first.intake, time.monotonic()
    intake.note(intake.given(page, source="page.html", domain=None))
    reading_s = time.monotonic() - began
    sending = asyncio.create_task(
        client.post("/v1/messages", files={"file": ("page.html", page)}, timeout=60)
    )
    longest_s = 0.0
    while not sending.done():
        asked = time.monotonic()
        assert (await other.get("/v1/me")).is_success
        longest_s = max(longest_s, time.monotonic() - asked)
        await asyncio.sleep(0.1)
    assert (await sending).status_code == 202
    assert longest_s < reading_s / 2


def test_a_refusal_does_not_tell_where_the_database_is() -> None:
    told = problem_document(
        StoreFailed("store.unreachable", "alfred at db.internal does not answer", hint="Look.")
    )
    assert "db.internal" not in str(told)
    assert told["status"] == 503


async def test_who_is_not_let_in_yet_may_send_no_more_than_a_link(served: Served) -> None:
    answer = await served.bare().post("/v1/session", json={"link": "x" * 20_000})
    assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")


async def test_a_body_that_comes_in_single_bytes_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "PATIENCE_S", 0.6)
    monkeypatch.setattr(frame, "DISCARDED_S", 0.1)
    monkeypatch.setattr(connection, "HEAD_S", 1.0)
    head = "POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n"
    said = await drip(served, head.encode())
    assert said.startswith(b"HTTP/1.1 408")
    assert b"request.too_slow" in said


async def test_a_connection_on_which_no_request_begins_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.6)
    assert await drip(served, b"GET /v1/health HTTP/1.1\r\nHost: local") == b""
    whole = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = await drip(served, whole + b"GET /v1/health HTTP/1.1\r\nX: ")
    assert said.count(b"HTTP/1.1 200") == 1


async def drip(served: Served, beginning: bytes) -> bytes:
    """Send a beginning, then a byte now and then; give what was answered until the end."""
    port = int(served.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        writer.write(beginning)
        while not writer.is_closing():
            await asyncio.sleep(0.1)
            writer.write(b"x")

    sending = asyncio.create_task(send())
    said = b""
    try:
        async with asyncio.timeout(10):
            while piece := await reader.read(10_000):
                said += piece
    except ConnectionResetError:
        return said
    finally:
        sending.cancel()
        writer.close()
    return said


@pytest.mark.parametrize("address", ["/v1/tokens", "/v1/diagnoses", "/v1/messages", "/v1/alerts"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"\\ud800": 1}',
        b'{"name": "\\ud800", "text": "\\ud800", "question": "\\ud800"}',
        b'{"alerts": [{"labels": {"\\ud800": 1}}]}',
        b"[" * 100_000,
        b'{"days": ' + b"9" * 5_000 + b"}",
        b'{"days": NaN}',
        b"\xff\xfe",
        b"\x1f\x8b\x08",
    ],
)
async def test_what_no_text_can_be_is_refused_with_a_document(
    served: Served, address: str, body: bytes
) -> None:
    client = await served.client()
    headers = {"Content-Type": "application/json"}
    answer = await client.post(address, content=body, headers=headers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] in ("request.invalid", "input.alert")


async def test_an_address_that_no_file_can_have_is_a_page_like_any_other(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text("the first page")
    monkeypatch.setattr(client_pages, "FOLDER", tmp_path)
    for address in ("/%00", "/" + "a" * 300, "/..%2f..%2fetc/passwd"):
        answer = await served.bare().get(address)
        assert (answer.status_code, answer.text) == (200, "the first page"), address


async def test_what_breaks_is_answered_and_its_words_stand_in_no_log(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise LookupError("words of a user")

    client = await served.client()
    monkeypatch.setattr(threads, "list_threads", broken)
    with caplog.at_level(logging.INFO):
        answer = await client.get("/v1/threads")
    assert (answer.status_code, answer.json()["code"]) == (500, "server.failed")
    assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert answer.headers["cache-control"] == "no-store"
    assert "LookupError at " in caplog.text
    assert "words of a user" not in caplog.text + answer.text


async def test_who_is_not_let_in_gets_no_body_read(served: Served) -> None:
    answer = await served.bare().post("/v1/messages", content=b"{", headers={"X": "y"})
    assert answer.status_code == 401


async def test_a_client_that_vanishes_in_mid_body_leaves_nothing(served: Served) -> None:
    user = await served.user()
    token = await served.token(user)
    port = int(served.url.rpartition(":")[2])
    head = (
        f"POST /v1/messages HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as vanishing:
        await asyncio.to_thread(vanishing.sendall, head.encode() + b'{"text": "half')
    client = await served.client(user)

    async def answers() -> bool:
        return (await client.get("/v1/turns")).is_success

    await until(answers, "the server goes on")
    assert (await client.get("/v1/turns")).json()["items"] == []


async def test_a_token_is_noted_as_used_once_a_minute(served: Served) -> None:
    user = await served.user()
    client = await served.client(user)
    first = (await client.get("/v1/tokens")).json()["items"][0]["last_used"]
    assert first is not None
    await post(client, " ")
    assert (await client.get("/v1/tokens")).json()["items"][0]["last_used"] == first
    expires_at = served.hall.now() + timedelta(days=1)
    row, _ = await create_token(served.hall.pools, user.id, "new", ["read"], expires_at)
    assert row["used_at"] is None
