"""The client of probes: it reads, within bounds, and tells no credentials."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from alfred.errors import ProbeFailed
from alfred.probes.source_client import Source, SourceClient, json_object, read_only_client
from tests.conftest import Answer, LocalServer, Reply

Serve = Callable[[Answer], LocalServer]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get"])
async def test_what_is_not_reading_never_reaches_the_network(serve: Serve, method: str) -> None:
    site = serve(lambda _: Reply(body=b"{}"))
    async with read_only_client(5) as client:
        if method == "get":
            assert (await client.request("get", site.url)).status_code == 200
            return
        with pytest.raises(ProbeFailed) as caught:
            await client.request(method, site.url, content=b"x")
    assert caught.value.code == "probe.refused"
    assert site.asked == []


async def test_a_token_is_sent_and_not_told(serve: Serve, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("opensesame-opensesame\n")
    site = serve(lambda _: Reply(body=b"{}"))
    client = SourceClient(Source(name="A source", url=site.url + "/base/", token_file=token))
    await client.get("/api", {"q": "a b&c"})
    await client.aclose()
    assert site.asked[0].headers["authorization"] == "Bearer opensesame-opensesame"
    assert site.asked[0].path == "/base/api?q=a+b%26c"
    assert client.where == f"A source at {site.url}/base"


async def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    source = Source(name="A source", url="http://127.0.0.1:1", token_file=tmp_path / "none")
    with pytest.raises(ProbeFailed, match=r"token file .*none cannot be read"):
        await SourceClient(source).get("/")


@pytest.mark.parametrize("url", ["", "localhost:9090", "ftp://a", "http://", "http://a:port"])
def test_what_is_no_web_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ProbeFailed) as caught:
        SourceClient(Source(name="A source", url=url))
    assert caught.value.code == "probe.settings"
    assert caught.value.message == "The url of A source is not a web address."


async def test_a_redirect_is_not_followed(serve: Serve) -> None:
    elsewhere = serve(lambda _: Reply(body=b"{}"))
    site = serve(lambda _: Reply(status=302, headers={"Location": elsewhere.url}))
    client = SourceClient(Source(name="A source", url=site.url))
    answer = await client.get("/")
    await client.aclose()
    assert answer.status == 302
    assert elsewhere.asked == []


@pytest.mark.parametrize("times", ["gzip", "gzip, gzip", "br"])
async def test_a_packed_answer_is_not_unpacked(serve: Serve, times: str) -> None:
    body = gzip.compress(gzip.compress(b" " * 5_000_000))
    reply = Reply(body=body, headers={"Content-Encoding": times})
    client = SourceClient(Source(name="A source", url=serve(lambda _: reply).url))
    with pytest.raises(ProbeFailed) as caught:
        await client.get("/")
    await client.aclose()
    assert caught.value.code == "probe.answer"
    assert "packed" in caught.value.message


async def test_answers_are_asked_for_unpacked(serve: Serve) -> None:
    site = serve(lambda _: Reply(body=b"{}"))
    client = SourceClient(Source(name="A source", url=site.url))
    assert (await client.get("/")).body == b"{}"
    await client.aclose()
    assert site.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("held", ["open\nsesame", "opensesame\x00", "two words", "offen§", ""])
async def test_a_token_that_cannot_be_one_is_refused_and_not_told(
    tmp_path: Path, held: str
) -> None:
    token = tmp_path / "token"
    token.write_text(held)
    source = Source(name="A source", url="http://127.0.0.1:1", token_file=token)
    with pytest.raises(ProbeFailed, match="cannot be read") as caught:
        await SourceClient(source).get("/")
    assert "sesame" not in str(caught.value) + repr(caught.value.__cause__)


@pytest.mark.parametrize("place", ["pipe", "folder", "/dev/zero"])
async def test_a_token_file_that_is_none_holds_nothing_up(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    source = Source(name="A source", url="http://127.0.0.1:1", token_file=tmp_path / place)
    with pytest.raises(ProbeFailed, match="cannot be read"):
        await SourceClient(source).get("/")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "something that is not JSON"),
        (b"  <html>", "a web page, not JSON"),
        (b"[1]", "JSON that is no object"),
        (b'{"a": "\xff"}', "something that is not JSON"),
        (b"[" * 100_000, "something that is not JSON"),
    ],
)
async def test_what_is_no_json_object_is_told(serve: Serve, body: bytes, what: str) -> None:
    client = SourceClient(Source(name="A source", url=serve(lambda _: Reply(body=body)).url))
    answer = await client.get("/")
    await client.aclose()
    with pytest.raises(ProbeFailed) as caught:
        json_object(answer, client.where)
    assert caught.value.code == "probe.answer"
    assert what in caught.value.message


async def test_a_source_that_breaks_off_is_unreachable(serve: Serve) -> None:
    short = Reply(body=b"{", headers={"Content-Length": "500"})
    client = SourceClient(Source(name="A source", url=serve(lambda _: short).url, timeout_s=5))
    with pytest.raises((ProbeFailed, TimeoutError)) as caught:
        await client.get("/")
    await client.aclose()
    assert isinstance(caught.value, ProbeFailed)
    assert caught.value.code == "probe.unreachable"
    assert isinstance(caught.value.__cause__, httpx.RemoteProtocolError)
