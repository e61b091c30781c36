"""`alfred token`: what programs show to be let in by the server."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from alfred.cli.session import console, json_option, print_json, run_with_app, say, short
from alfred.cli.user import require_name

if TYPE_CHECKING:
    from alfred.app import App
    from alfred.engine.database import Row
    from alfred.store.tokens import Scope

SCOPES = ("read", "propose", "decide", "admin")


@click.group("token")
def command() -> None:
    """Make, list and revoke bearer tokens of the server."""


@command.command("create")
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(SCOPES),
    help="What it may; may repeat: read, propose, decide, admin.",
)
@click.option("--days", default=90, show_default=True, type=click.IntRange(1, 366))
@json_option
def create_command(name: str, scopes: tuple[Scope, ...], days: int, *, as_json: bool) -> None:
    """Make a token for what NAME says, and print it: it is shown this once.

    `read` looks, `propose` sends words and alerts, `decide` writes what is proposed, `admin` makes
    and revokes tokens.
    """
    require_name(name)

    async def work(app: App) -> None:
        from alfred.store.tokens import create_token

        await app.enter()
        expires_at = app.now() + timedelta(days=days)
        row, secret = await create_token(app.database, app.user_id, name, scopes, expires_at)
        if as_json:
            print_json({**row, "token": secret})
        else:
            say(f"Token {short(row['id'])} may {', '.join(row['scopes'])} for {days} days.")
            click.echo(secret)

    run_with_app(work)


@command.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List tokens, the newest first, also those that let in no more."""

    async def work(app: App) -> None:
        from alfred.store.tokens import list_tokens

        rows = await list_tokens(app.database, app.user_id)
        if as_json:
            print_json({"tokens": rows})
            return
        if not rows:
            say("There is no token: alfred token create NAME --scope read")
        for row in rows:
            console().print(_line(row, app.now()), markup=False, soft_wrap=True)

    run_with_app(work)


@command.command("revoke")
@click.argument("token", metavar="TOKEN")
def revoke_command(token: str) -> None:
    """Let a TOKEN in no more; named by the beginning of its id, or by its name."""

    async def work(app: App) -> None:
        from alfred.store.tokens import list_tokens, revoke_token

        found = _find(await list_tokens(app.database, app.user_id), token)
        await revoke_token(app.database, app.user_id, found, app.now())
        say(f"Token {short(found)} is revoked.")

    run_with_app(work)


def _find(rows: list[Row], typed: str) -> UUID:
    from alfred.errors import AccessRefused

    begins = [row for row in rows if str(row["id"]).startswith(typed.lower())]
    found = [row for row in rows if row["name"] == typed] or begins
    if len(found) != 1:
        many = f"{len(found)} tokens fit" if found else "No token fits"
        raise AccessRefused(
            "access.token", f"{many} {typed!r}.", hint="`alfred token list` shows their ids."
        )
    return found[0]["id"]


def _line(row: dict[str, Any], now: datetime) -> str:
    if row["revoked_at"] is not None:
        state = f"revoked on {row['revoked_at']:%Y-%m-%d}"
    else:
        told = "expired on" if row["expires_at"] <= now else "until"
        state = f"{told} {row['expires_at']:%Y-%m-%d}"
    used = f"used {row['used_at']:%Y-%m-%d %H:%M}" if row["used_at"] else "never used"
    return f"{short(row['id'])}  {row['name']}  ({', '.join(row['scopes'])}; {state}; {used})"
