"""Which addresses a link may lead to: those of the public internet, and no others."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_GLOBAL_IPV6 = ip_network("2000::/3")
"""The only IPv6 addresses in public use. Mapped, NAT64 and link-local ones lie outside."""

_NOT_PUBLIC = tuple(
    ip_network(text)
    for text in str.split(
        """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
        192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
        198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
        168.63.129.16/32
        2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
        """
    )
)
"""Special by registry, whatever the installed Python knows of them; 168.63.129.16 is a cloud's own
server inside its machines, and 2001::/23 and 2002::/16 carry IPv4 addresses within them."""


class AddressGuard:
    """Tells public addresses from the ones of this machine, its network and its cloud.

    `allowed` names exact pairs of address and port that are let through all the same. It is for
    whoever composes an Alfred, as tests do with a server of their own; no setting reaches it.
    """

    def __init__(self, allowed: Collection[tuple[str, int]] = ()) -> None:
        self._allowed = frozenset((ip_address(address), port) for address, port in allowed)

    def permits(self, address: str, port: int) -> bool:
        """Say whether a connection may be made; what is not an address at all is not public."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return (parsed, port) in self._allowed or is_public(parsed)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Say whether an address belongs to the public internet.

    An IPv6 address that carries an IPv4 address within it (mapped, 6to4, Teredo, NAT64) never
    does: where it leads is decided by a translator that nobody here has checked.
    """
    if address.version == 6 and address not in _GLOBAL_IPV6:
        return False
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
