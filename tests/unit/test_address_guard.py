"""The guard knows the public internet from everything else, whatever form an address has."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.inputs.address_guard import AddressGuard, is_public

PUBLIC = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
NOT_PUBLIC = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "::1", "::"),
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"),
    *("169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "fec0::1"),
    *("100.64.0.1", "100.100.100.200", "100.127.255.255"),
    *("224.0.0.1", "239.1.2.3", "ff02::1", "ff0e::1"),
    *("240.0.0.1", "255.255.255.255", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7"),
    *("203.0.113.9", "192.88.99.1", "168.63.129.16"),
    *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "::8.8.8.8"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"),
    *("2002:7f00:1::", "2002:808:808::", "2001:0:1::1", "2001:20::1", "2001:db8::1"),
    *("3fff::1", "100::1", "5f00::1", "4000::1"),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_public_internet_are_permitted(address: str) -> None:
    assert AddressGuard().permits(address, 443)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_of_machine_network_and_cloud_are_not_permitted(address: str) -> None:
    assert not AddressGuard().permits(address, 443)


@pytest.mark.parametrize("address", ["", "localhost", "127.1", "0x7f.1", "2130706433", "1.1.1.1/0"])
def test_what_is_not_an_address_is_not_permitted(address: str) -> None:
    assert not AddressGuard().permits(address, 443)


def test_an_exception_is_one_address_with_one_port() -> None:
    guard = AddressGuard([("127.0.0.1", 8080)])
    assert guard.permits("127.0.0.1", 8080)
    assert not guard.permits("127.0.0.1", 80)
    assert not guard.permits("127.0.0.2", 8080)
    assert not guard.permits("::ffff:127.0.0.1", 8080)


@given(st.ip_addresses(v=4))
def test_no_address_becomes_public_by_being_carried_in_ipv6(address: IPv4Address) -> None:
    number = int(address)
    for carrier in (
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x0064_FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
        IPv6Address(number),
    ):
        assert not is_public(carrier)


@given(st.ip_addresses())
def test_what_is_permitted_is_global_unicast(address: IPv4Address | IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved
