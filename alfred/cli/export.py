"""`alfred export`: everything of yours, in a form that other programs read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from alfred import __version__
from alfred.cli.session import console, json_option, print_json, run_with_app

if TYPE_CHECKING:
    from alfred.app import App

FORMATS = ("json", "csv", "json-resume")


@click.command("export")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="json",
    show_default=True,
    help="One JSON document, a folder of CSV files, or your experience as a JSON Resume.",
)
@click.option(
    "--to", metavar="FILE|DIR", type=click.Path(path_type=Path), help="Where to write it."
)
@click.option("--force", is_flag=True, help="Replace an earlier export.")
@json_option
def command(form: str, to: Path | None, *, force: bool, as_json: bool) -> None:
    """Write everything of yours: messages, postings, applications, experience, facts, decisions.

    JSON goes to standard output unless --to names a FILE; CSV needs a DIR. A file or folder is
    whole or not there, only you can read it, and nothing is replaced without --force.
    """
    if to is None and (form == "csv" or as_json):
        option = "--format csv" if form == "csv" else "--json"
        raise click.UsageError(f"{option} needs --to.")
    if to is not None:
        require_free(to, is_folder=form == "csv", force=force)

    async def work(app: App) -> None:
        counts = await write(app, form, to)
        if to is not None and as_json:
            print_json({"format": form, "to": str(to), "rows": counts})
        elif to is not None:
            rows = sum(counts.values())
            console().print(f"{to}: {rows:,} rows of {len(counts)} tables.", markup=False)

    run_with_app(work)


async def write(app: App, form: str, to: Path | None) -> dict[str, int]:
    """Write the export in its form; return how many rows it has of each table."""
    from alfred.store.export_file import new_file, new_folder, write_csv, write_json

    if form == "json-resume":
        return await _write_resume(app, to)
    heading = {
        "alfred": __version__,
        "exported_at": app.now().isoformat(),
        "user": {"id": str(app.user_id), "name": app.settings.user},
    }
    async with app.snapshot() as snapshot:
        if to is None:
            return await write_json(snapshot, heading, sys.stdout)
        if form == "csv":
            with new_folder(to) as folder:
                return await write_csv(snapshot, heading, folder)
        with new_file(to) as out:
            return await write_json(snapshot, heading, out)


async def _write_resume(app: App, to: Path | None) -> dict[str, int]:
    from alfred.engine.database import Role
    from alfred.services.json_resume import json_resume
    from alfred.services.queries.experience import list_experience
    from alfred.store.export_file import new_file

    async with app.database.transaction(Role.READER, app.user_id) as connection:
        experience = await list_experience(connection, limit=None)
    text = json.dumps(json_resume(experience), ensure_ascii=False, indent=2) + "\n"
    if to is None:
        sys.stdout.write(text)
    else:
        with new_file(to) as out:
            out.write(text)
    return {"experience": len(experience)}


def require_free(to: Path, *, is_folder: bool, force: bool) -> None:
    """Refuse a place where something would be lost, before anything is read.

    Errors: usage, with what to do.
    """
    from alfred.store.export_file import is_replaceable

    what = "folder" if is_folder else "file"
    if not to.absolute().parent.is_dir():
        raise click.UsageError(f"There is no folder {to.absolute().parent}. Make it first.")
    if not to.exists() and not to.is_symlink():
        return
    if to.is_dir() != is_folder:
        raise click.UsageError(f"{to} is there and no {what}. Name another {what}.")
    if is_folder and to.is_symlink():
        raise click.UsageError(f"{to} is a link. Name the folder itself.")
    if not force:
        raise click.UsageError(f"{to} exists. Name another {what}, or add --force.")
    if is_folder and not is_replaceable(to):
        raise click.UsageError(f"{to} holds other things than an export. Name another folder.")
