"""`alfred db`: the database's life: status, stop, migrate, dump, restore."""

from __future__ import annotations

from pathlib import Path

import click

from alfred.cli.session import console, json_option, print_json, say
from alfred.errors import StoreFailed
from alfred.settings import Settings, read_settings


@click.group("db")
def command() -> None:
    """Status, stop, migrate, dump and restore the database."""


@command.command("status")
@json_option
def status(*, as_json: bool) -> None:
    """Say where the database is, whether it runs and how large it is; starts nothing."""
    from alfred.store.embedded import EmbeddedServer

    settings = read_settings()
    if settings.database_url:
        document = {"embedded": False, **_external(settings)}
    else:
        found = EmbeddedServer(settings.home).status()
        document = {
            "embedded": True,
            "running": found.running,
            "pid": found.pid,
            "version": found.version,
            "data_directory": str(found.data_directory) if found.data_directory else None,
            "bytes": found.size_bytes,
        }
    if as_json:
        print_json(document)
        return
    for name, value in document.items():
        console().print(f"{name.replace('_', ' ')}: {value}", markup=False)


def _external(settings: Settings) -> dict[str, object]:
    from alfred.installed import load_domains
    from alfred.store.location import locate
    from alfred.store.migrate import expected_revisions, is_current, read_revisions

    address = locate(settings)
    found = read_revisions(address)
    expected = expected_revisions(load_domains())
    return {"address": str(address), "running": True, "current": is_current(found, expected)}


@command.command("stop")
def stop() -> None:
    """Stop the embedded server; the next command starts it again."""
    from alfred.store.embedded import EmbeddedServer

    settings = read_settings()
    _embedded_only(settings, "stop")
    stopped = EmbeddedServer(settings.home, progress=say).stop()
    console().print("Stopped." if stopped else "It was not running.")


@command.command("migrate")
def migrate() -> None:
    """Create roles and tables, or bring them up to date."""
    from alfred.installed import load_domains
    from alfred.preparation import migrate_database
    from alfred.store.location import locate

    added = migrate_database(locate(read_settings(), say), load_domains())
    console().print(f"Added: {', '.join(added)}." if added else "Up to date.", markup=False)


@command.command("dump")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Replace FILE if it exists.")
def dump(file: Path, *, replace: bool) -> None:
    """Write the whole database to FILE, readable by you alone."""
    if file.exists() and not replace:
        raise click.UsageError(f"{file} exists. Name another file, or add --replace.")
    from alfred.store.dump import dump as write_dump
    from alfred.store.location import locate

    size = write_dump(locate(read_settings(), say), file)
    console().print(f"{file}: {size:,} bytes.", markup=False)


@command.command("restore")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Replace what the database holds now.")
def restore(file: Path, *, replace: bool) -> None:
    """Fill the database from a dump. One that is not empty is replaced only with --replace."""
    from alfred.store.dump import restore as read_dump
    from alfred.store.location import locate

    read_dump(locate(read_settings(), say), file, replace=replace)
    console().print(f"Restored from {file}.", markup=False)


def _embedded_only(settings: Settings, what: str) -> None:
    if settings.database_url:
        raise StoreFailed(
            "store.embedded_only",
            f"`alfred db {what}` works on the embedded server; ALFRED_DATABASE_URL names another.",
            hint="Unset it, or use the tools of that server.",
        )
