"""A message that is nothing but a link, and what makes a link one that is fetched."""

from __future__ import annotations

import re
from collections.abc import Collection

import httpx

from alfred.errors import InputRefused

MAX_LINK_CHARS = 2_000
SAVE_IT = "Open the link in your browser, save the page, and capture the file."
SCHEMES = {"http": 80, "https": 443}
_LINK = re.compile(r"<?[a-z][a-z0-9+.-]*://\S*", re.IGNORECASE)
_BARE_LINK = re.compile(
    r"(?:www\.[\w-]+\.[\w.-]+|(?:[\w-]+\.)+[a-z]{2,24}(?::\d+)?/)[^\s@]*", re.IGNORECASE
)
_AROUND = "<>。，、；"


def find_link(content: bytes) -> str | None:
    """Return the words of a message that has links and nothing else; None for any other.

    Whether the link is one that can be fetched is for `parse_link` to say.
    """
    if len(content) > 4 * MAX_LINK_CHARS:
        return None
    try:
        text = content.decode().removeprefix("\ufeff").strip()
    except UnicodeDecodeError:
        return None
    words = text.split()
    return text.strip(_AROUND) if words and all(map(_LINK.fullmatch, words)) else None


def is_bare_link(text: str) -> bool:
    """Say whether one word looks like a link whose `https://` was left out."""
    return len(text) <= MAX_LINK_CHARS and _BARE_LINK.fullmatch(text) is not None


def parse_link(text: str) -> httpx.URL:
    """Read a link as a person gave it; any port is taken, since they typed it.

    Errors: `input.address` for several links, another scheme than http or https, a name or
    password in the link, and what is no address.
    """
    count = len(text.split())
    if count != 1:
        raise _refused(
            f"The message has {count} links.", hint="Capture them one at a time, each by itself."
        )
    if len(text) > MAX_LINK_CHARS:
        raise _refused(
            f"The link has {len(text):,} characters; at most {MAX_LINK_CHARS:,} are taken."
        )
    return _checked(text)


def follow(url: httpx.URL, location: str, ports: Collection[int]) -> httpx.URL:
    """Read where a page redirects to; only ports that are usual or were typed are followed.

    Errors: `input.address`.
    """
    try:
        joined = url.join(location)
    except (httpx.InvalidURL, ValueError) as exc:
        raise _refused(f"{url.host} redirects to something that is no address.") from exc
    target = _checked(str(joined)[: 4 * MAX_LINK_CHARS])
    if port_of(target) not in {*SCHEMES.values(), *ports}:
        raise _refused(f"{url.host} redirects to port {target.port} of {target.host}.")
    if url.fragment and not target.fragment:
        return target.copy_with(fragment=url.fragment)
    return target


def port_of(url: httpx.URL) -> int:
    """Return the port that a checked link leads to."""
    return SCHEMES[url.scheme] if url.port is None else url.port


def _checked(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
        host = url.host
    except (httpx.InvalidURL, ValueError) as exc:
        raise _refused(f"The link is no address: {exc}.", hint="Check its spelling.") from exc
    if url.scheme not in SCHEMES:
        raise _refused(f"Links that begin with {url.scheme or 'nothing'}:// are not fetched.")
    # The password must not be repeated on the screen, so the link is not quoted.
    if url.userinfo or "@" in text.split("://", 1)[1].split("/", 1)[0].split("?", 1)[0]:
        raise _refused(
            "The link has a user name or password in it; Alfred sends none to a site.",
            hint="Take it out, or open the link in your browser, save the page, and capture it.",
        )
    if not host or "%" in host or not 0 < port_of(url) < 65_536:
        raise _refused("The link names no host and port that can be reached.")
    return url


def _refused(message: str, hint: str = SAVE_IT) -> InputRefused:
    return InputRefused("input.address", message, hint=hint)
