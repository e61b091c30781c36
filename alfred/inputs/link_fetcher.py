"""Fetches the page behind a link: guarded, bounded, and named where there is no page to read."""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import httpcore
import httpx

from alfred.errors import InputRefused
from alfred.inputs.address_guard import AddressGuard
from alfred.inputs.decoding import binary_kind, clean_text
from alfred.inputs.guarded_network import GuardedNetwork, Resolve, resolve_by_system
from alfred.inputs.link import SAVE_IT, follow, parse_link, port_of
from alfred.inputs.linked_page import FetchedPage
from alfred.inputs.page_answer import Answer, open_answer
from alfred.inputs.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from alfred.inputs.robots import Robots

LOGIN_WORDS = frozenset(
    ("login", "log-in", "logon", "signin", "sign-in", "authwall", "oauth", "oauth2", "uas")
)
"""Parts of a path at which sites ask who one is; so do hosts that begin with these or the next."""
LOGIN_HOSTS = frozenset(("accounts", "auth", "passport", "sso"))
CHECK_WORDS = frozenset(("captcha", "challenge", "security-check", "verify", "verify-slider"))
"""Parts of a path at which sites ask whether one is a person."""
_READABLE = re.compile(r"text/(?!css|javascript|csv|calendar)[\w.+-]+|application/xhtml\+xml")
_UNTOLD = ("", "application/octet-stream", "binary/octet-stream")
_MEDIA_KINDS = (
    ("application/pdf", "PDF document"),
    ("application/msword", "Word document"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml", "Word document"),
)
_MAX_ROBOTS_REDIRECTS = 5


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much one link may cost.

    Units: seconds from the first question to the last byte, robots.txt and redirects included;
    seconds for one connection; bytes of the page once unpacked.
    """

    total_s: float = 30.0
    connect_s: float = 10.0
    max_bytes: int = 10_000_000
    max_redirects: int = 10


class LinkFetcher:
    """Fetches one page at a time; keeps no connection and no cookie between two.

    A proxy that the environment names is not used: it would resolve names by itself, and so
    connect to what the guard refuses.
    """

    def __init__(
        self,
        *,
        guard: AddressGuard | None = None,
        resolve: Resolve = resolve_by_system,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._network = GuardedNetwork(guard or AddressGuard(), resolve)
        self._tls = tls
        self._limits = limits or Limits()

    async def fetch(self, link: str) -> FetchedPage:
        """Fetch the page that a link leads to.

        Errors: `InputRefused` with a code that says why there is no page.
        """
        url = parse_link(link)
        try:
            async with asyncio.timeout(self._limits.total_s):
                async with httpcore.AsyncConnectionPool(
                    ssl_context=self._tls or httpx.create_ssl_context(),
                    network_backend=self._network,
                ) as pool:
                    return await _Visit(pool, self._limits, url).fetch()
        except TimeoutError as exc:
            raise InputRefused(
                "input.timeout",
                f"{url.host} did not send the whole page within {self._limits.total_s:g} s.",
                hint=f"Try again later. {SAVE_IT}",
            ) from exc


class _Visit:
    """The way from a link to its page: robots.txt first, then redirect by redirect."""

    def __init__(self, pool: httpcore.AsyncConnectionPool, limits: Limits, link: httpx.URL) -> None:
        self._pool = pool
        self._limits = limits
        self._link = link
        self._ports = (port_of(link),)
        self._robots: dict[str, Robots] = {}

    async def fetch(self) -> FetchedPage:
        url = self._link
        seen = {str(url)}
        for _ in range(self._limits.max_redirects + 1):
            await self._ask_robots(url)
            async with self._answer(url) as answer:
                if answer.location is None:
                    return await self._page(answer)
                url = follow(url, answer.location, self._ports)
            self._check_for_detour(url)
            if str(url) in seen:
                raise _redirects(f"{self._link.host} redirects in a circle; it may want cookies.")
            seen.add(str(url))
        limit = self._limits.max_redirects
        raise _redirects(f"{self._link.host} redirects more than {limit} times.")

    def _answer(self, url: httpx.URL) -> AbstractAsyncContextManager[Answer]:
        return open_answer(self._pool, url, connect_s=self._limits.connect_s)

    async def _page(self, answer: Answer) -> FetchedPage:
        _check_status(answer)
        media_type = clean_text(answer.headers.get("content-type", ""))[:200]
        _check_kind(answer, _kind_of_media(media_type))
        content = await answer.read(self._limits.max_bytes)
        _check_kind(answer, binary_kind(content))
        return FetchedPage(url=str(answer.url), media_type=media_type, content=content)

    async def _ask_robots(self, url: httpx.URL) -> None:
        site = str(url.join("/"))
        if site not in self._robots:
            self._robots[site] = Robots(await self._fetch_robots(url.join("/robots.txt")))
        if not self._robots[site].permit(str(url)):
            raise InputRefused(
                "input.robots",
                f"{url.host} asks programs not to fetch this page (robots.txt).",
                hint=SAVE_IT,
            )

    async def _fetch_robots(self, url: httpx.URL) -> bytes:
        """Fetch a site's rules: none where it has no such file, as RFC 9309 reads it."""
        for _ in range(_MAX_ROBOTS_REDIRECTS + 1):
            async with self._answer(url) as answer:
                if answer.location is not None:
                    url = follow(url, answer.location, self._ports)
                    continue
                if answer.status >= 500:
                    raise InputRefused(
                        "input.robots",
                        f"{url.host} cannot say whether programs may fetch the page: its"
                        f" robots.txt ends with status {answer.status}.",
                        hint=f"Try again later. {SAVE_IT}",
                    )
                return (await answer.read_beginning(MAX_ROBOTS_BYTES))[0] if _is_ok(answer) else b""
        return b""

    def _check_for_detour(self, url: httpx.URL) -> None:
        """Refuse a redirect to a login or a check, unless the link itself has such a word in it."""
        words = _words_of(url) - _words_of(self._link)
        if words & (LOGIN_WORDS | LOGIN_HOSTS):
            raise _login(f"{self._link.host} sends whoever is not logged in to {url.host}")
        if words & CHECK_WORDS:
            raise InputRefused(
                "input.needs_browser",
                f"{self._link.host} first checks whether a person is reading.",
                hint=SAVE_IT,
            )


def _is_ok(answer: Answer) -> bool:
    return 200 <= answer.status < 300


def _words_of(url: httpx.URL) -> set[str]:
    """Give the telling parts of an address: those of its path, and how its host begins."""
    path = {part.lower().replace("_", "-") for part in re.split(r"[/.]", url.path)}
    return path - LOGIN_HOSTS | {url.host.split(".")[0].lower()}


def _login(what: str) -> InputRefused:
    return InputRefused("input.login", f"{what}; Alfred does not log in anywhere.", hint=SAVE_IT)


def _redirects(message: str) -> InputRefused:
    return InputRefused("input.redirects", message, hint=SAVE_IT)


def _check_status(answer: Answer) -> None:
    if _is_ok(answer):
        return
    host, status = answer.url.host, answer.status
    if status in (401, 407):
        raise _login(f"{host} shows the page only after a login (status {status})")
    if status in (403, 451):
        raise InputRefused(
            "input.forbidden",
            f"{host} does not hand the page out to Alfred (status {status}); it may want a login,"
            " or a browser.",
            hint=SAVE_IT,
            status=status,
        )
    if status in (404, 410):
        raise InputRefused(
            "input.not_found",
            f"{host} has no such page (status {status}).",
            hint="Check the link; the page may have been taken down.",
            status=status,
        )
    code = "input.site_busy" if status == 429 or status >= 500 else "input.site_refused"
    hint = f"Try again later. {SAVE_IT}" if code == "input.site_busy" else SAVE_IT
    raise InputRefused(code, f"{host} answered with status {status}.", hint=hint, status=status)


def _kind_of_media(media_type: str) -> str | None:
    """Name what a page's media type says it is, where it can be no text."""
    plain = media_type.partition(";")[0].strip().lower()
    if plain in _UNTOLD or _READABLE.fullmatch(plain):
        return None
    known = (kind for beginning, kind in _MEDIA_KINDS if plain.startswith(beginning))
    return next(known, f"file of the type {plain}")


def _check_kind(answer: Answer, kind: str | None) -> None:
    if kind is not None:
        raise InputRefused(
            "input.unsupported",
            f"The link leads to a {kind}; reading such behind a link is not supported yet.",
            hint="Open it, copy its words, and capture those.",
            kind=kind,
            url=str(answer.url),
        )
