"""`alfred user`: more users than the first, and the links by which they sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from alfred.cli.session import json_option, print_json, run_with_app

if TYPE_CHECKING:
    from alfred.app import App

URL = "http://127.0.0.1:8765"
MAX_NAME_CHARS = 100


@click.group("user")
def command() -> None:
    """Add users of the server, and sign them in."""


@command.command("add")
@click.argument("name", metavar="NAME")
@json_option
def add_command(name: str, *, as_json: bool) -> None:
    """Make a user known under a NAME, who sees nothing of the others; a repeat changes nothing."""
    require_name(name)

    async def work(app: App) -> None:
        other = app.for_user(name)
        await other.enter()
        if as_json:
            print_json({"id": other.user_id, "name": name})
        else:
            click.echo(f"{name} is known. Sign in with: alfred user link {name}")

    run_with_app(work)


@command.command("link")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--url", default=URL, show_default=True, help="Where the server is reached.")
@json_option
def link_command(name: str | None, url: str, *, as_json: bool) -> None:
    """Make a link by which a user signs in once, within a quarter of an hour; you by default."""

    async def work(app: App) -> None:
        other = app if name is None else app.for_user(name)
        if name is None:
            await other.enter()
        await require_known(other)
        link = await sign_in_url(other, url.rstrip("/"))
        if as_json:
            print_json({"user": other.settings.user, "link": link})
        else:
            click.echo(link)

    run_with_app(work)


def require_name(name: str) -> None:
    """Refuse what names nobody and nothing; errors: a usage error."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME_CHARS:
        raise click.BadParameter(
            f"{name!r} is no name: give up to {MAX_NAME_CHARS} characters that can be shown.",
            param_hint="NAME",
        )


async def require_known(app: App) -> None:
    """Refuse a user whom nobody added; errors: `access.user`."""
    from alfred.errors import AccessRefused

    async with app.reading() as connection:
        cursor = await connection.execute("SELECT FROM alfred_user")
        if await cursor.fetchone() is None:
            name = app.settings.user
            raise AccessRefused(
                "access.user",
                f"There is no user {name!r}.",
                hint=f"Make one with: alfred user add {name}",
            )


async def sign_in_url(app: App, url: str) -> str:
    """Make the address that signs a user in; browsers send what stands behind its # nowhere."""
    from alfred.store.web_sessions import make_link

    link = await make_link(app.database, app.user_id, app.now())
    return f"{url}/sign-in#link={link}"
