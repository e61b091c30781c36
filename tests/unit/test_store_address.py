"""Addresses: what a URL means, and how the roles' passwords follow from it."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.settings import Settings
from alfred.store.address import parse_url
from alfred.store.location import locate

URL = "postgresql://ada:s%40cret@db.example:6543/alfred?sslmode=verify-full"


def test_url_gives_host_port_user_database_and_options():
    parts = conninfo_to_dict(parse_url(URL, key="unused").admin_dsn())
    assert parts["host"] == "db.example"
    assert parts["port"] == "6543"
    assert parts["user"] == "ada"
    assert parts["password"] == "s@cret"
    assert parts["dbname"] == "alfred"
    assert parts["sslmode"] == "verify-full"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+psycopg"])
def test_other_usual_names_of_the_scheme_mean_the_same(scheme: str):
    other = URL.replace("postgresql", scheme, 1)
    assert parse_url(other, key="") == parse_url(URL, key="")


def test_neither_text_nor_repr_of_an_address_shows_a_secret():
    address = parse_url(URL, key="unused")
    for shown in (str(address), repr(address), address.visible_dsn("/run/passfile")):
        assert "s@cret" not in shown
        assert "s%40cret" not in shown
        assert address.password_of(Role.WRITER) not in shown
    assert "db.example:6543" in str(address)


def test_role_password_is_derived_from_the_urls_password():
    address = parse_url(URL, key="unused")
    expected = hmac.new(b"s@cret", b"alfred_reader", hashlib.sha256).hexdigest()
    parts = conninfo_to_dict(address.dsn(Role.READER))
    assert parts["user"] == "alfred_reader"
    assert parts["password"] == expected
    assert len({address.password_of(role) for role in Role}) == len(Role)


def test_two_hosts_with_the_same_url_derive_the_same_passwords():
    assert parse_url(URL, key="a").dsn(Role.OWNER) == parse_url(URL, key="b").dsn(Role.OWNER)


def test_url_without_password_uses_a_key_that_is_kept_in_home(tmp_path: Path):
    url = "postgresql://ada@db.example/alfred"
    settings = Settings(home=tmp_path / "home", database_url=url)
    first, second = locate(settings), locate(settings)
    assert first == second
    assert first.password is None
    key_file = tmp_path / "home" / "database.key"
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert first.secret == key_file.read_bytes()
    assert len(first.secret) == 64
    assert "password" not in conninfo_to_dict(first.admin_dsn())
    other = locate(Settings(home=tmp_path / "other", database_url=url))
    assert other.password_of(Role.OWNER) != first.password_of(Role.OWNER)


def test_url_with_password_creates_no_key(tmp_path: Path):
    locate(Settings(home=tmp_path / "home", database_url=URL))
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("mysql://ada:hunter2@db/alfred", "'mysql'"),
        ("hunter2", "postgresql://"),
        ("host=db password=hunter2", "postgresql://"),
        ("postgresql://ada:hunter2@db:port/alfred", "port"),
        ("postgresql://ada:hunter2@db:99999/alfred", "port"),
        ("postgresql://ada:hunter2@[::1/alfred", "cannot parse"),
        ("postgresql://ada:hunter2@db/alfred?sllmode=require", "sllmode"),
        ("postgresql://ada:hunter2@db", "names no database"),
        ("postgresql://ada:hunter2/x@db/alfred", "must be escaped"),
        ("postgresql://ada:1/hunter2@db/alfred", "must be escaped"),
        ("postgresql://ada:1@hunter2@db/alfred", "must be escaped"),
    ],
)
def test_wrong_url_is_refused_with_a_reason_and_without_the_password(url: str, word: str):
    with pytest.raises(StoreFailed) as caught:
        parse_url(url, key="")
    assert caught.value.code == "store.url"
    assert word in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "postgresql://USER:PASSWORD@HOST" in caught.value.hint
