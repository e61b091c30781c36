"""The git history of the demonstration's service: harmless commits, and one that breaks it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

CONFIG = "config/checkout.toml"
SCHEMA = "schema/orders.sql"
RECEIPT = "templates/receipt.txt"

_CONFIG = """\
[database]
pool_size = 20
wait_timeout_ms = 2000

[baskets]
# Kept for "order again"; the oldest go first.
max_entries = 500
"""
_SCHEMA = """\
CREATE TABLE orders (
    id bigint PRIMARY KEY,
    customer_id bigint NOT NULL,
    placed_at timestamptz NOT NULL
);
CREATE INDEX orders_by_customer ON orders (customer_id);
"""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One change: whole files, by path, as they are after it."""

    subject: str
    author: str
    files: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A commit that breaks the service, and the alerts that tell of it."""

    commit: Commit
    alerts: tuple[str, ...]


_PAST = (
    (
        timedelta(days=12),
        Commit(
            subject="Serve checkout from its own service",
            author="Ines Falk",
            files={CONFIG: _CONFIG, SCHEMA: _SCHEMA, "README.md": "Takes orders.\n"},
        ),
    ),
    (
        timedelta(days=3),
        Commit(
            subject="Thank the customer on the receipt",
            author="Teo Marsh",
            files={RECEIPT: "Thank you for your order {order}.\n"},
        ),
    ),
    (
        timedelta(hours=20),
        Commit(
            subject="Say on the receipt when the order ships",
            author="Teo Marsh",
            files={RECEIPT: "Thank you for your order {order}. It ships on {day}.\n"},
        ),
    ),
    (
        timedelta(hours=2),
        Commit(
            subject="Name the owners of the service",
            author="Ines Falk",
            files={"README.md": "Takes orders. Ask the payments team.\n"},
        ),
    ),
    (
        timedelta(minutes=25),
        Commit(
            subject="Translate the receipt into Danish",
            author="Bo Lindqvist",
            files={"templates/receipt.da.txt": "Tak for din ordre {order}.\n"},
        ),
    ),
)

FAULTS: Mapping[str, Fault] = {
    "pool": Fault(
        commit=Commit(
            subject="Use fewer database connections during the move",
            author="Bo Lindqvist",
            files={CONFIG: _CONFIG.replace("pool_size = 20", "pool_size = 2")},
        ),
        alerts=("CheckoutErrors", "CheckoutLatencyHigh"),
    ),
    "slow_query": Fault(
        commit=Commit(
            subject="Drop an index nobody seems to need",
            author="Bo Lindqvist",
            files={SCHEMA: "".join(_SCHEMA.partition(");\n")[:2])},
        ),
        alerts=("CheckoutLatencyHigh",),
    ),
    "leak": Fault(
        commit=Commit(
            subject="Keep every basket for the new reorder page",
            author="Bo Lindqvist",
            files={CONFIG: _CONFIG.replace("max_entries = 500", "max_entries = 0")},
        ),
        alerts=("CheckoutMemoryGrows",),
    ),
}


def make_history(repository: Path, now: datetime) -> None:
    """Make the repository of a healthy service, with commits of the last twelve days."""
    repository.mkdir(parents=True)
    _git(repository, "init", "--quiet", "--initial-branch=main")
    for age, commit in _PAST:
        add_commit(repository, commit, now - age)


def add_commit(repository: Path, commit: Commit, moment: datetime) -> str:
    """Write and commit the files of a change; return the short hash."""
    for path, text in commit.files.items():
        (repository / path).parent.mkdir(exist_ok=True)
        (repository / path).write_text(text, encoding="utf-8")
    _git(repository, "add", "--all")
    address = f"{commit.author.lower().replace(' ', '.')}@shop.example"
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (
            ("NAME", commit.author),
            ("EMAIL", address),
            ("DATE", moment.isoformat()),
        )
    }
    _git(repository, "commit", "--quiet", "--message", commit.subject, **who)
    return _git(repository, "rev-parse", "--short", "HEAD").strip()


def _git(repository: Path, *arguments: str, **variables: str) -> str:
    """Run git without anything of the user's own: configuration, hooks, signing, a repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", "-C", str(repository), *arguments],  # noqa: S607
        env={**kept, **alone, **variables},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
