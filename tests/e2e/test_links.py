"""Links against real servers: what is fetched, what is refused, and by which name."""

from __future__ import annotations

import gzip
import io
import json
import socket
import ssl
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import UTC, datetime

import pytest
import trustme

from alfred.engine.skill_input import SkillInput
from alfred.errors import InputRefused
from alfred.inputs.address_guard import AddressGuard
from alfred.inputs.link_fetcher import Limits, LinkFetcher
from alfred.inputs.linked_page import FetchedPage, read_fetched
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.raw_site import PAGE, RawSite, Talk, after_robots, http_answer, over_tls

Serve = Callable[[Answer], LocalServer]
RECEIVED = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NO_SUCH = Reply(status=404)
SHORT = Limits(total_s=0.5)


@pytest.fixture
def listen() -> Generator[Callable[[Talk], RawSite]]:
    """Start servers that talk below HTTP."""
    started: list[RawSite] = []

    def start(talk: Talk) -> RawSite:
        started.append(RawSite(talk))
        return started[-1]

    yield start
    for site in started:
        site.close()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def fetcher(*urls: str, **more: object) -> LinkFetcher:
    """Make a fetcher that may reach these servers, and otherwise what every one may."""
    guard = AddressGuard([("127.0.0.1", port_of(url)) for url in urls])
    return LinkFetcher(guard=guard, **more)  # type: ignore[arg-type]


def pages(**answers: Reply) -> Answer:
    """Answer by the last part of the path; what has no answer is not there."""

    def answer(asked: Asked) -> Reply:
        name = asked.path.partition("?")[0].rsplit("/", 1)[-1].replace(".", "_")
        return answers.get(name, NO_SUCH)

    return answer


def html(body: str | bytes, **more: object) -> Reply:
    content = body.encode() if isinstance(body, str) else body
    return Reply(kind="text/html", body=content, **more)  # type: ignore[arg-type]


def to(location: str, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": location})


async def refusal(fetching: LinkFetcher, link: str) -> InputRefused:
    with pytest.raises(InputRefused) as caught:
        await fetching.fetch(link)
    assert caught.value.hint
    assert caught.value.message.endswith(".")
    return caught.value


def read(page: FetchedPage) -> SkillInput:
    return read_fetched(page, received_at=RECEIVED, timezone="UTC")


def names(**hosts: Sequence[str]) -> Callable[[str, int], object]:
    """Resolve `NAME.test` to the addresses given for NAME, in place of the system."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return hosts[host.removesuffix(".test")]

    return resolve


async def test_a_page_is_fetched_after_its_robots_and_read_as_a_page(serve: Serve) -> None:
    site = serve(pages(job=html(PAGE)))
    page = await fetcher(site.url).fetch(f"{site.url}/job?from=mail#top")
    assert page.content == PAGE
    assert page.url == f"{site.url}/job?from=mail#top"
    assert [asked.path for asked in site.asked] == ["/robots.txt", "/job?from=mail"]
    given = read(page)
    assert "Data Engineer" in given["text"]
    assert (given["modality"], given["url"]) == ("link", page.url)


async def test_a_site_learns_who_asks_and_nothing_of_the_person(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = serve(pages(job=html(PAGE, headers={"Set-Cookie": "id=1"}), a=to("/job")))
    fetching = fetcher(site.url)
    await fetching.fetch(f"{site.url}/a")
    await fetching.fetch(f"{site.url}/job")
    for asked in site.asked:
        assert set(asked.headers) == {"host", "user-agent", "accept", "accept-encoding"}
        assert asked.headers["user-agent"].startswith("Alfred/")


async def test_a_proxy_of_the_environment_is_not_used(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, proxy = serve(pages(job=html(PAGE))), serve(pages())
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    await fetcher(site.url).fetch(f"{site.url}/job")
    assert proxy.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_and_the_last_address_kept(serve: Serve, status: int) -> None:
    site = serve(pages(old=to("/new?x=1", status), new=html(PAGE)))
    page = await fetcher(site.url).fetch(f"{site.url}/old")
    assert page.url == f"{site.url}/new?x=1"


@pytest.mark.parametrize(
    "link",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0/",
        "http://localhost/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fe80::1]/",
    ],
)
async def test_a_link_to_this_machine_or_its_network_is_refused(link: str) -> None:
    refused = await refusal(LinkFetcher(), link)
    assert refused.code == "input.private_address"


async def test_a_server_on_this_machine_is_never_asked(serve: Serve) -> None:
    site = serve(pages(job=html(PAGE)))
    refused = await refusal(LinkFetcher(), f"{site.url}/job")
    assert refused.code == "input.private_address"
    assert site.asked == []


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "//[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "https://192.168.0.1/",
    ],
)
async def test_a_redirect_to_this_machine_or_its_network_is_refused(
    serve: Serve, target: str
) -> None:
    site = serve(pages(job=to(target)))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.private_address"


async def test_a_redirect_of_robots_is_guarded_alike(serve: Serve) -> None:
    site = serve(pages(robots_txt=to("http://169.254.169.254/"), job=html(PAGE)))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.private_address"


async def test_a_redirect_to_another_service_of_an_allowed_address_is_refused(
    serve: Serve,
) -> None:
    other = serve(pages(job=html(PAGE)))
    site = serve(pages(job=to(f"{other.url}/job")))
    refused = await refusal(fetcher(site.url, other.url), f"{site.url}/job")
    assert refused.code == "input.address"
    assert other.asked == []


async def test_a_name_that_resolves_to_this_machine_is_refused(serve: Serve) -> None:
    site = serve(pages(job=html(PAGE)))
    port = port_of(site.url)
    fetching = LinkFetcher(resolve=names(inside=["127.0.0.1"]))  # type: ignore[arg-type]
    refused = await refusal(fetching, f"http://inside.test:{port}/job")
    assert refused.code == "input.private_address"
    assert "inside.test, at 127.0.0.1," in refused.message
    assert site.asked == []


async def test_a_name_that_changes_its_answer_is_checked_at_each_connection(serve: Serve) -> None:
    site = serve(pages(job=html(PAGE)))
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(answers)

    fetching = fetcher(site.url, resolve=resolve)
    refused = await refusal(fetching, f"http://rebind.test:{port_of(site.url)}/job")
    assert refused.code == "input.private_address"
    assert [asked.path for asked in site.asked] == ["/robots.txt"]


async def test_a_name_is_resolved_once_for_each_connection(serve: Serve) -> None:
    site = serve(pages(job=html(PAGE)))
    resolved: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        resolved.append(host)
        return ["127.0.0.1"]

    host = f"name.test:{port_of(site.url)}"
    await fetcher(site.url, resolve=resolve).fetch(f"http://{host}/job")
    assert len(resolved) == len(site.asked) == 2
    assert {asked.headers["host"] for asked in site.asked} == {host}


async def test_of_several_addresses_only_the_permitted_ones_are_tried(serve: Serve) -> None:
    site = serve(pages(job=html(PAGE)))
    both = names(mixed=["10.0.0.1", "::1", "127.0.0.1"])
    page = await fetcher(site.url, resolve=both).fetch(f"http://mixed.test:{port_of(site.url)}/job")
    assert page.content == PAGE


async def test_a_name_without_an_address_is_named_as_such() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    refused = await refusal(LinkFetcher(resolve=resolve), "https://nowhere.test/")
    assert refused.code == "input.dns"
    assert refused.retryable


async def test_a_port_where_nobody_listens_is_named_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        url = f"http://127.0.0.1:{once.getsockname()[1]}"
    refused = await refusal(fetcher(url), f"{url}/job")
    assert refused.code == "input.unreachable"


async def test_redirects_in_a_circle_and_without_end_are_refused(serve: Serve) -> None:
    site = serve(
        lambda asked: (
            NO_SUCH
            if asked.path == "/robots.txt"
            else to(f"/{int(asked.path[1:]) + 1}")
            if asked.path[1:].isdigit()
            else to("/circle")
        )
    )
    circle = await refusal(fetcher(site.url), f"{site.url}/circle")
    assert (circle.code, "cookies" in circle.message) == ("input.redirects", True)
    endless = await refusal(fetcher(site.url), f"{site.url}/0")
    assert endless.code == "input.redirects"
    pages_asked = [asked.path for asked in site.asked if asked.path[1:].isdigit()]
    assert len(pages_asked) == Limits().max_redirects + 1


@pytest.mark.parametrize("target", ["/login?next=job", "/users/sign_in", "/account/Login.aspx"])
async def test_a_redirect_to_a_login_is_named_as_such(serve: Serve, target: str) -> None:
    site = serve(pages(job=to(target)))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.login"
    assert all(not asked.path.startswith(target[:4]) for asked in site.asked)


async def test_a_redirect_to_a_host_for_logins_is_named_as_such(serve: Serve) -> None:
    site = serve(pages(job=to("https://passport.jobs.test/x"), old=to("/accounts/new")))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.login"
    followed = await refusal(fetcher(site.url), f"{site.url}/old")
    assert followed.code == "input.not_found"


async def test_a_link_with_such_a_word_of_its_own_may_redirect(serve: Serve) -> None:
    site = serve(pages(old=to("/login/new"), new=html(PAGE)))
    page = await fetcher(site.url).fetch(f"{site.url}/login/old")
    assert page.url == f"{site.url}/login/new"


async def test_a_redirect_to_a_check_for_robots_is_named_as_such(serve: Serve) -> None:
    site = serve(pages(job=to("/security-check/slider")))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.needs_browser"


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, "input.login", False),
        (403, "input.forbidden", False),
        (404, "input.not_found", False),
        (410, "input.not_found", False),
        (418, "input.site_refused", False),
        (429, "input.site_busy", True),
        (500, "input.site_busy", True),
        (503, "input.site_busy", True),
    ],
)
async def test_an_error_of_the_site_is_named_by_its_status(
    serve: Serve, status: int, code: str, retryable: bool
) -> None:
    site = serve(pages(job=html(PAGE, status=status)))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert (refused.code, refused.retryable) == (code, retryable)
    assert str(status) in refused.message


async def test_a_page_that_robots_close_is_not_asked_for(serve: Serve) -> None:
    rules = Reply(kind="text/plain", body=b"User-agent: *\nDisallow: /job\n")
    site = serve(pages(robots_txt=rules, job=html(PAGE), open=html(PAGE), old=to("/job")))
    for path in ("/job", "/old"):
        refused = await refusal(fetcher(site.url), f"{site.url}{path}")
        assert refused.code == "input.robots"
    assert "/job" not in {asked.path for asked in site.asked}
    assert (await fetcher(site.url).fetch(f"{site.url}/open")).content == PAGE


async def test_robots_that_cannot_be_read_close_the_page_and_missing_ones_do_not(
    serve: Serve,
) -> None:
    broken = serve(pages(robots_txt=Reply(status=503), job=html(PAGE)))
    refused = await refusal(fetcher(broken.url), f"{broken.url}/job")
    assert refused.code == "input.robots"
    circle = serve(pages(robots_txt=to("/robots.txt"), job=html(PAGE)))
    assert (await fetcher(circle.url).fetch(f"{circle.url}/job")).content == PAGE


async def test_of_endless_robots_only_the_beginning_is_read(serve: Serve) -> None:
    def lines() -> Iterator[bytes]:
        yield b"User-agent: *\nDisallow: /job\n"
        while True:
            yield b"# and so on\n" * 1_000

    def answer(asked: Asked) -> Reply:
        return Reply(kind="text/plain", pieces=lines()) if "robots" in asked.path else html(PAGE)

    site = serve(answer)
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.robots"
    assert (await fetcher(site.url).fetch(f"{site.url}/open")).content == PAGE


async def test_a_server_that_drips_or_says_nothing_is_given_up(
    serve: Serve, listen: Callable[[Talk], RawSite]
) -> None:
    done = threading.Event()

    def drops() -> Iterator[bytes]:
        while not done.wait(0.02):
            yield b"<p>.</p>"

    def slowly(asked: Asked) -> Reply:
        return NO_SUCH if "robots" in asked.path else Reply(kind="text/html", pieces=drops())

    dripping = serve(slowly)
    silent = listen(after_robots(lambda _: done.wait(30) and None))
    for url in (dripping.url, silent.url):
        refused = await refusal(fetcher(url, limits=SHORT), f"{url}/job")
        assert (refused.code, refused.retryable) == ("input.timeout", True)
    done.set()


async def test_a_page_beyond_the_limit_is_refused_whatever_length_it_announces(
    serve: Serve,
) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"<p>more</p>" * 1_000

    site = serve(
        pages(
            endless=Reply(kind="text/html", pieces=endless()),
            large=html(b"a" * 1_000_001),
            fits=html(b"<p>" + b"a" * 999_990),
        )
    )
    fetching = fetcher(site.url, limits=Limits(max_bytes=1_000_000))
    for name in ("endless", "large"):
        refused = await refusal(fetching, f"{site.url}/{name}")
        assert refused.code == "input.too_large"
        assert "1,000,000" in refused.message
    assert len((await fetching.fetch(f"{site.url}/fits")).content) == 999_993


async def test_a_bomb_is_not_unpacked_beyond_the_limit(serve: Serve) -> None:
    bomb = gzip.compress(bytes(100_000_000), compresslevel=1)
    site = serve(pages(job=html(bomb, headers={"Content-Encoding": "gzip"})))
    fetching = fetcher(site.url, limits=Limits(max_bytes=2_000_000))
    tracemalloc.start()
    try:
        refused = await refusal(fetching, f"{site.url}/job")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.code == "input.too_large"
    assert peak < 20_000_000


async def test_a_packed_page_is_unpacked_also_when_it_comes_in_parts(serve: Serve) -> None:
    packed = {"headers": {"Content-Encoding": "gzip"}}
    parts = gzip.compress(PAGE[:40]) + gzip.compress(PAGE[40:])
    site = serve(pages(whole=html(gzip.compress(PAGE), **packed), parts=html(parts, **packed)))
    for name in ("whole", "parts"):
        assert (await fetcher(site.url).fetch(f"{site.url}/{name}")).content == PAGE


@pytest.mark.parametrize(
    ("coding", "body", "code"),
    [
        ("gzip", b"<p>not packed</p>", "input.unreadable"),
        ("br", b"\x0b\x02\x80", "input.unreadable"),
        ("gzip", gzip.compress(PAGE, mtime=0)[:-12], "input.unreachable"),
    ],
)
async def test_a_page_that_cannot_be_unpacked_is_refused(
    serve: Serve, coding: str, body: bytes, code: str
) -> None:
    site = serve(pages(job=html(body, headers={"Content-Encoding": coding})))
    assert (await refusal(fetcher(site.url), f"{site.url}/job")).code == code


@pytest.mark.parametrize(
    "talk",
    [
        lambda connection: None,
        lambda connection: connection.sendall(http_answer(PAGE)[:-20]),
        lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.9\r\n"),
        lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 500_000),
        lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 100_000),
    ],
    ids=["hangs up", "cut off", "not HTTP", "long header", "many headers"],
)
async def test_a_server_that_breaks_off_or_speaks_no_http_is_named_as_such(
    listen: Callable[[Talk], RawSite], talk: Talk
) -> None:
    site = listen(after_robots(talk))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert (refused.code, refused.retryable) == ("input.unreachable", True)


def certified(*hosts: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a server's TLS with a certificate for these hosts, and a client's that believes it."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*hosts).configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


async def test_tls_is_spoken_with_the_name_while_the_connection_goes_to_the_address(
    listen: Callable[[Talk], RawSite],
) -> None:
    server, client = certified("jobs.test")
    site = listen(over_tls(server, after_robots(lambda c: c.sendall(http_answer(PAGE)))))
    resolve = names(jobs=["127.0.0.1"], other=["127.0.0.1"])
    fetching = fetcher(site.url, resolve=resolve, tls=client)
    page = await fetching.fetch(f"https://jobs.test:{site.port}/job")
    assert page.content == PAGE
    refused = await refusal(fetching, f"https://other.test:{site.port}/job")
    assert refused.code == "input.tls"
    assert "other.test" in refused.message


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    listen: Callable[[Talk], RawSite],
) -> None:
    server, _ = certified("jobs.test")
    site = listen(over_tls(server, after_robots(lambda c: c.sendall(http_answer(PAGE)))))
    fetching = fetcher(site.url, resolve=names(jobs=["127.0.0.1"]))
    refused = await refusal(fetching, f"https://jobs.test:{site.port}/job")
    assert (refused.code, refused.retryable) == ("input.tls", False)
    assert "certificate" in refused.message


async def test_http_on_a_port_that_was_asked_for_tls_is_named_as_such(
    listen: Callable[[Talk], RawSite],
) -> None:
    site = listen(lambda c: c.sendall(http_answer(PAGE)))
    refused = await refusal(fetcher(site.url), f"https://127.0.0.1:{site.port}/job")
    assert refused.code == "input.tls"
    assert "http://" in refused.hint


CHINESE = (
    "<html><body><p>青藤科技诚聘后端工程师，工作地点深圳，要求熟悉分布式系统。</p></body></html>"
)


@pytest.mark.parametrize(
    ("kind", "charset", "meta"),
    [
        ("text/html; charset=gbk", "gbk", ""),
        ("text/html; charset=GB2312", "gb18030", ""),
        ("text/html", "gbk", "gb2312"),
        ("text/html; charset=utf-8", "gbk", "gb2312"),
        ("text/html; charset=utf-8", "gbk", ""),
        ("text/html; charset=iso-8859-1", "gbk", "gbk"),
        ("text/html; charset=gbk", "utf-8", "gbk"),
        ('text/html; charset="big5"', "utf-8-sig", ""),
        ("text/html; charset=no-such", "utf-8", ""),
        ("text/html; charset=utf-16", "utf-16", ""),
    ],
)
async def test_a_page_is_read_in_its_charset_whatever_header_and_page_say(
    serve: Serve, kind: str, charset: str, meta: str
) -> None:
    head = f'<html><head><meta charset="{meta}"></head>' if meta else "<html>"
    body = CHINESE.replace("<html>", head).encode(charset)
    site = serve(pages(job=Reply(kind=kind, body=body)))
    page = await fetcher(site.url).fetch(f"{site.url}/job")
    assert page.content == body
    assert "青藤科技诚聘后端工程师" in read(page)["text"]


async def test_a_charset_that_only_the_header_names_is_believed(serve: Serve) -> None:
    body = "<html><body><p>Инженер данных, Тверь. Нужен опыт.</p></body></html>".encode("koi8-r")
    site = serve(pages(job=Reply(kind="text/html; charset=koi8-r", body=body)))
    page = await fetcher(site.url).fetch(f"{site.url}/job")
    assert "Инженер данных" in read(page)["text"]


async def test_plain_text_is_read_as_it_stands(serve: Serve) -> None:
    words = b"Alder Labs seeks a <b>Data Engineer</b> in Leeds."
    site = serve(pages(job=Reply(kind="text/plain; charset=utf-8", body=words)))
    given = read(await fetcher(site.url).fetch(f"{site.url}/job"))
    assert given["text"].encode() == words
    assert given["url"] == f"{site.url}/job"


def word_document() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        ("application/pdf", b"%PDF-1.7\n", "PDF document"),
        ("text/html", b"%PDF-1.7\n%\xe2\xe3", "PDF document"),
        ("application/octet-stream", b"%PDF-1.7\n%\xe2\xe3", "PDF document"),
        ("application/msword", b"\xd0\xcf\x11\xe0", "Word document"),
        ("application/octet-stream", word_document(), "Word document"),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            word_document(),
            "Word document",
        ),
        ("image/png", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("", b"\x89PNG\r\n\x1a\n", "PNG image"),
        ("application/zip", b"PK\x03\x04", "application/zip"),
        ("application/json", b"{}", "application/json"),
    ],
)
async def test_a_file_behind_a_link_is_named_as_not_yet_supported(
    serve: Serve, kind: str, body: bytes, named: str
) -> None:
    site = serve(pages(job=Reply(kind=kind, body=body)))
    refused = await refusal(fetcher(site.url), f"{site.url}/job")
    assert refused.code == "input.unsupported"
    assert named in refused.message
    assert "not supported yet" in refused.message


LOGIN = '<form><input name=u><input type="PASSWORD" name=p><button>Log in</button></form>'
SHELL = '<head><title>Jobs</title></head><body><div id="root"></div><script src="/a.js"></script>'
RECORD = {"@type": "JobPosting", "title": "Dyer", "hiringOrganization": {"name": "Kestrel Looms"}}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (f"<html><body><h1>Welcome back</h1>{LOGIN}</body></html>", "input.login"),
        (f"<html><body>{LOGIN}</body></html>", "input.login"),
        (f"<html>{SHELL}</body></html>", "input.needs_browser"),
        (f"<html>{SHELL}Loading…</body></html>", "input.needs_browser"),
        (
            f"<html>{SHELL}<noscript>You need to enable JavaScript to run this app.</noscript>"
            "<p>Jobs at Kestrel Looms, find yours here today</p></html>",
            "input.needs_browser",
        ),
        (
            "<html><body><h1>Just a moment</h1>Checking your browser before you go on to the"
            " site.</body></html>",
            "input.needs_browser",
        ),
        ("<html><body><p>请完成安全验证后继续访问</p></body></html>", "input.needs_browser"),
        ("<html><body></body></html>", "input.empty"),
        ("", "input.empty"),
        (" \n ", "input.empty"),
    ],
)
async def test_what_stands_in_the_place_of_a_page_is_named(
    serve: Serve, body: str, code: str
) -> None:
    site = serve(pages(job=Reply(kind="text/html; charset=utf-8", body=body.encode())))
    page = await fetcher(site.url).fetch(f"{site.url}/job")
    with pytest.raises(InputRefused) as caught:
        read(page)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
        f'<html>{SHELL}<script type="application/ld+json">{json.dumps(RECORD)}</script></html>',
        f"<html>{SHELL}<p>{'Kestrel Looms seeks a Dyer. ' * 30}</p>{LOGIN}</body></html>",
        "<html><body><script>a()</script><p>Kestrel Looms is hiring a Dyer.</p></body></html>",
    ],
)
async def test_a_page_that_has_something_to_read_is_no_login_and_no_script(
    serve: Serve, body: str
) -> None:
    site = serve(pages(job=html(body)))
    assert "Kestrel Looms" in read(await fetcher(site.url).fetch(f"{site.url}/job"))["text"]


async def test_a_page_address_is_where_it_was_fetched_and_not_what_the_page_claims(
    serve: Serve,
) -> None:
    body = b'<head><link rel="canonical" href="https://elsewhere.example/"></head>' + PAGE
    site = serve(pages(job=html(body)))
    given = read(await fetcher(site.url).fetch(f"{site.url}/job"))
    assert given["url"] == f"{site.url}/job"
