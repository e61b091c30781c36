"""Under which addresses a server is reached, and which pages are its own."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from alfred.errors import AccessRefused

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where browsers find the server.

    On the loopback address only its names count as hosts: a page elsewhere whose name was made to
    lead here is refused. Behind a proxy, `proxied` is the one origin that the proxy serves.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    is_encrypted: bool = False
    proxied: str | None = None

    @property
    def is_secure(self) -> bool:
        """Say whether browsers speak to it by HTTPS, so that cookies may ask for that."""
        return self.is_encrypted or (self.proxied or "").startswith("https://")

    @property
    def url(self) -> str:
        """The address to open, without a slash at its end."""
        if self.proxied:
            return self.proxied
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{name}:{self.port}"

    def knows_host(self, header: str) -> bool:
        """Say whether a request that names this host is meant for this server."""
        if self.proxied:
            return header.lower() == urlsplit(self.proxied).netloc
        return not is_loopback(self.host) or _name_of(header) in {*LOOPBACK_NAMES, self.host}

    def owns(self, origin: str, host: str) -> bool:
        """Say whether a page of this origin is one of ours; `host` is the request's header."""
        if self.proxied:
            return origin == self.proxied
        return origin == f"{'https' if self.is_encrypted else 'http'}://{host}"


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches an address."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def make_site(host: str, port: int, *, is_encrypted: bool, proxied: str | None) -> Site:
    """Describe where the server is reached.

    Errors: `access.exposed` for an address beyond the machine without encryption or a proxy.
    """
    if not (is_loopback(host) or is_encrypted or proxied):
        raise AccessRefused(
            "access.exposed",
            f"{host} can be reached from other machines, and nothing would be encrypted.",
            hint="Give --tls-cert and --tls-key, or --behind-proxy https://NAME.",
        )
    return Site(host=host, port=port, is_encrypted=is_encrypted, proxied=proxied)


def _name_of(header: str) -> str:
    """Take the name out of a `Host` header."""
    with suppress(ValueError):
        return urlsplit(f"//{header}").hostname or ""
    return ""
