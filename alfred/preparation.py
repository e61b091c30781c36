"""The database as this Alfred needs it: found or started, with its roles and its schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from alfred.engine.domain import Domain
from alfred.errors import StoreFailed
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.location import locate
from alfred.store.migrate import expected_revisions, is_current, migrate, read_revisions
from alfred.store.roles import provision

Say = Callable[[str], None]


def prepare_database(settings: Settings, domains: Sequence[Domain], say: Say) -> Address:
    """Find or start the database and bring its schema up to date.

    The embedded one is provisioned and migrated without asking; an external one only by
    `alfred db migrate`, since other hosts may use it.
    Errors: `StoreFailed`; `store.not_migrated` for an external database that is not current.
    """
    address = locate(settings, say)
    expected = expected_revisions(domains)
    try:
        if is_current(read_revisions(address), expected):
            return address
    except StoreFailed:
        if not address.embedded:
            raise
    if not address.embedded:
        raise StoreFailed(
            "store.not_migrated",
            f"The schema of {address} is not the one this Alfred needs.",
            hint="Run `alfred db migrate`.",
        )
    say("Setting up the database…")
    migrate_database(address, domains)
    return address


def migrate_database(address: Address, domains: Sequence[Domain]) -> list[str]:
    """Create roles and missing tables; return the revisions that were added."""
    provision(address)
    return migrate(address, domains)
