"""From settings to a database that can be connected to: the embedded one is started if need be."""

from __future__ import annotations

from alfred.settings import Settings
from alfred.store.address import Address, parse_url
from alfred.store.embedded import EmbeddedServer, Progress, silent
from alfred.store.secret_file import read_or_create_secret

KEY_FILE = "database.key"


def locate(settings: Settings, progress: Progress = silent) -> Address:
    """Return where the database is, starting the embedded server where no URL is set.

    `progress` gets a sentence before each step that takes time. Nothing is created in the
    database; `alfred.store.roles.provision` does that.

    Errors: `store.url`; for the embedded server those of `EmbeddedServer.ensure`.
    """
    if settings.database_url is None:
        return EmbeddedServer(settings.home, progress=progress).ensure()
    address = parse_url(settings.database_url, key="")
    if address.password is not None:
        return address
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = read_or_create_secret(settings.home / KEY_FILE)
    return parse_url(settings.database_url, key=key)
