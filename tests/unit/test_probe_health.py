"""Health checks of real local servers: that nothing answers is what was to be found out."""

from __future__ import annotations

import gzip
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from alfred.errors import ProbeFailed
from alfred.probes.http_health import HealthSettings, HealthTarget, HttpHealth
from alfred.probes.probe import Window
from alfred.probes.toolbox import misfit
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.monitored import free_port

Serve = Callable[[Answer], LocalServer]


async def check(url: str, *, answer_s: float = 5.0) -> str:
    target = HealthTarget(url=url)
    probe = HttpHealth(HealthSettings(targets={"checkout": target}, answer_s=answer_s))
    now = datetime.now(UTC)
    finding = await probe.look({}, Window(start=now - timedelta(hours=1), end=now))
    await probe.aclose()
    assert len(finding.lines) == 1
    return re.sub(r"\d+ ms", "N ms", finding.lines[0])


async def test_an_answer_is_told_with_its_status_and_first_words(serve: Serve) -> None:
    site = serve(lambda _: Reply(status=503, body=b'{"pool": "exhausted",\n "waiting": 31}'))
    told = await check(site.url + "/healthz?token=abcdef123")
    assert told == 'checkout: status 503 after N ms, body: "{"pool": "exhausted", "waiting": 31}"'


async def test_a_target_that_does_not_listen_is_a_finding() -> None:
    told = await check(f"http://127.0.0.1:{free_port()}/")
    assert told == "checkout: no answer: All connection attempts failed"


async def test_a_target_that_hangs_is_a_finding(serve: Serve) -> None:
    def silence(_: Asked) -> Reply:
        time.sleep(0.4)
        return Reply()

    told = await check(serve(silence).url, answer_s=0.1)
    assert told == "checkout: no answer within 0.1 s"


async def test_redirects_are_followed_within_the_host_alone(serve: Serve) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/":
            return Reply(status=302, headers={"Location": "/live"})
        if asked.path == "/circle":
            return Reply(status=302, headers={"Location": "/circle"})
        if asked.path == "/away":
            return Reply(status=302, headers={"Location": "http://elsewhere.invalid/login?next=1"})
        return Reply(body=b"ok")

    url = serve(answer).url
    assert await check(url) == 'checkout: status 200 after N ms, body: "ok"'
    away = await check(url + "/away")
    assert away == (
        "checkout: status 302 after N ms,"
        " a redirect to http://elsewhere.invalid/login, not followed"
    )
    assert "the last of more than 3 redirects" in await check(url + "/circle")


async def test_only_the_beginning_of_a_long_body_is_read(serve: Serve) -> None:
    sent: list[int] = []

    def pieces() -> Iterator[bytes]:
        for _ in range(200):
            sent.append(1)
            yield b"a" * 200_000

    told = await check(serve(lambda _: Reply(pieces=pieces())).url)
    assert told.endswith('aaa…"')
    assert len(sent) < 200


async def test_a_body_that_is_no_text_does_no_harm(serve: Serve) -> None:
    told = await check(serve(lambda _: Reply(body=b"\x00\xff\x1b[2Jdone")).url)
    assert told == 'checkout: status 200 after N ms, body: "� [2Jdone"'


async def test_all_targets_are_asked_unless_one_is_named(serve: Serve) -> None:
    site = serve(lambda asked: Reply(body=asked.method.encode()))
    targets = {
        "pay": HealthTarget(url=site.url),
        "search": HealthTarget(url=site.url, method="HEAD"),
    }
    probe = HttpHealth(HealthSettings(targets=targets))
    now = datetime.now(UTC)
    window = Window(start=now, end=now)
    every = await probe.look({}, window)
    one = await probe.look({"target": "pay"}, window)
    await probe.aclose()
    assert [line.split(":")[0] for line in every.lines] == ["pay", "search"]
    assert [line.split(":")[0] for line in one.lines] == ["pay"]
    assert misfit(probe, {"target": "http://169.254.169.254/"}) != ""


def test_no_targets_are_a_mistake_of_the_settings() -> None:
    with pytest.raises(ProbeFailed, match="0 web addresses are configured"):
        HttpHealth(HealthSettings(targets={}))


async def test_a_body_that_stalls_does_not_hide_that_an_answer_came(stalling: str) -> None:
    told = await check(stalling)
    assert told == "checkout: status 200 after N ms, its body does not end within 2 s"


@pytest.fixture
def stalling() -> Iterator[str]:
    """Serve an answer whose body never ends."""
    done = threading.Event()

    class Stalls(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"2\r\nok\r\n")
            done.wait(30)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stalls)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    done.set()
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_packed_body_is_not_unpacked(serve: Serve) -> None:
    reply = Reply(body=gzip.compress(b"ok" * 1_000), headers={"Content-Encoding": "gzip"})
    assert (
        await check(serve(lambda _: reply).url) == "checkout: status 200 after N ms, a packed body"
    )
