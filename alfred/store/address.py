"""Where the database is and how each of the four roles logs in."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from alfred.engine.database import Role
from alfred.errors import StoreFailed

SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
DEFAULTS = {"connect_timeout": "10", "application_name": "alfred"}
URL_HINT = "Use postgresql://USER:PASSWORD@HOST:PORT/DATABASE."


@dataclass(frozen=True, kw_only=True)
class Address:
    """A database and the administrator who provisions it; neither password is ever printed.

    `parameters` are libpq's, without user, password and database. `secret` is what the roles'
    passwords are derived from, so that every host with the same URL reaches the same logins.
    """

    parameters: Mapping[str, str]
    user: str | None
    password: str | None = field(repr=False)
    dbname: str
    secret: bytes = field(repr=False)
    embedded: bool

    def admin_dsn(self) -> str:
        """Return the connection string of the administrator, for provisioning and dumps."""
        return self._dsn(user=self.user, password=self.password)

    def visible_dsn(self, passfile: str | None) -> str:
        """Return the administrator's connection string without password, for a command line."""
        return self._dsn(user=self.user, passfile=passfile)

    def dsn(self, role: Role) -> str:
        """Return the connection string of a role, password included."""
        return self._dsn(user=role.value, password=self.password_of(role))

    def login_of(self, role: Role) -> str:
        """Name the login of a role."""
        return role.value

    def password_of(self, role: Role) -> str:
        """Derive a role's password: HMAC-SHA256 of the role's name under the secret, in hex."""
        return hmac.new(self.secret, role.value.encode(), hashlib.sha256).hexdigest()

    def in_database(self, dbname: str) -> Address:
        """Return the address of another database on the same server."""
        return replace(self, dbname=dbname)

    def __str__(self) -> str:
        host = self.parameters.get("host") or self.parameters.get("hostaddr") or "the local socket"
        port = self.parameters.get("port")
        return f"database {self.dbname!r} at {host}{f':{port}' if port else ''}"

    def _dsn(self, **login: str | None) -> str:
        given = {name: value for name, value in login.items() if value is not None}
        return make_conninfo(**{**DEFAULTS, **self.parameters, **given, "dbname": self.dbname})


def parse_url(url: str, *, key: str) -> Address:
    """Read ALFRED_DATABASE_URL. `key` is this installation's secret, for a URL without password.

    Errors: `store.url`; no message repeats the URL, since it may hold a password.
    """
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES or "://" not in url:
        shown = repr(scheme) if "://" in url and scheme.isidentifier() else "something else"
        raise StoreFailed(
            "store.url",
            f"ALFRED_DATABASE_URL must begin with postgresql://, it begins with {shown}.",
            hint=URL_HINT,
        )
    try:
        parsed = conninfo_to_dict("postgresql" + url[len(scheme) :])
    except psycopg.ProgrammingError as exc:
        # libpq quotes what it does not understand, which may be a piece of the password; only
        # the name of an unknown parameter is safe to repeat.
        said = str(exc).strip()
        why = said if "query parameter" in said else "libpq cannot parse it"
        raise _unreadable(why) from None
    parameters = {name: str(value) for name, value in parsed.items() if value is not None}
    _check_parts(parameters)
    user = parameters.pop("user", None)
    password = parameters.pop("password", None)
    dbname = parameters.pop("dbname", None)
    if not dbname:
        raise _unreadable("it names no database")
    return Address(
        parameters=parameters,
        user=user,
        password=password,
        dbname=dbname,
        secret=(password or key).encode(),
        embedded=False,
    )


def _check_parts(parameters: Mapping[str, str]) -> None:
    """Refuse parts that are what is left of a password with an unescaped character."""
    names = (parameters.get("host", ""), parameters.get("dbname", ""))
    if any("@" in name for name in names) or "/" in parameters.get("dbname", ""):
        raise _unreadable("its user or password has a character that must be escaped")
    for port in filter(None, parameters.get("port", "").split(",")):
        if not (port.isdecimal() and 0 < int(port) < 65_536):
            raise _unreadable("the port is not a number from 1 to 65535")


def _unreadable(why: str) -> StoreFailed:
    return StoreFailed(
        "store.url",
        f"ALFRED_DATABASE_URL is not a PostgreSQL URL: {why}.",
        hint=f"{URL_HINT} Write @, /, :, # and % in a password as %40, %2F, %3A, %23 and %25.",
    )
