"""`alfred alerts`: takes alerts of a watching system, each of which begins a diagnosis."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from uuid import UUID

import click

from alfred.cli.session import json_option, print_json, run_with_app, say, short

if TYPE_CHECKING:
    from alfred.app import App
    from alfred.diagnoses import AlertTaken, Diagnoses
    from alfred.probes.alerts import Alert


@click.group("alerts")
def command() -> None:
    """Begin diagnoses by alerts."""


@command.command("take")
@click.argument("file", metavar="FILE|-", type=click.File("rb"))
@json_option
def take_command(file: BinaryIO, *, as_json: bool) -> None:
    """Take a notification of Alertmanager from a FILE or standard input (-).

    An alert that fires and was not taken yet becomes a question; `alfred diagnosis list` shows it,
    and `alfred diagnosis resume` answers it. One of the same fingerprint begins nothing twice.
    """
    from alfred.cli.document import taken_document
    from alfred.diagnoses import Diagnoses
    from alfred.probes.alerts import read_notification

    alerts = read_notification(file.read())

    async def work(app: App) -> None:
        taken = await Diagnoses(app).receive(alerts)
        if as_json:
            print_json([taken_document(each) for each in taken])
        else:
            for each in taken:
                click.echo(_line(each))

    run_with_app(work)


@command.command("listen")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=9099, show_default=True, type=click.IntRange(0, 65_535))
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Holds the bearer token that senders must show.",
)
def listen_command(host: str, port: int, token_file: Path | None) -> None:
    """Be the webhook that Alertmanager posts to (/v1/alerts), and answer one question at a time.

    Beyond the loopback address a token is needed. Ctrl-C ends it; a diagnosis that is under way
    goes on at the next start.
    """
    from alfred.server.site import is_loopback

    token = _read_token(token_file) if token_file else None
    if not token and not is_loopback(host):
        raise click.UsageError(f"{host} is not the loopback address: give --token-file.")

    with _listener(host, port) as listener:

        async def work(app: App) -> None:
            from alfred.diagnoses import Diagnoses

            await _serve(Diagnoses(app), listener, token)

        with suppress(KeyboardInterrupt):
            run_with_app(work)


def _read_token(file: Path) -> str:
    """Read a token; an empty one would let in whoever sends none."""
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise click.UsageError(f"{file} holds no token: write one line of ASCII without spaces.")
    return token


def _listener(host: str, port: int) -> socket.socket:
    """Listen at once, so that a port that is taken is told before anything is opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise click.UsageError(f"{host}, port {port}, can't be listened on: {reason}.") from exc


async def _serve(diagnoses: Diagnoses, listener: socket.socket, token: str | None) -> None:
    import uvicorn

    from alfred.server.alert_intake import PATH, make_alert_app
    from alfred.server.connection import Connection
    from alfred.server.site import Site

    waiting: asyncio.Queue[UUID] = asyncio.Queue()
    for run in await diagnoses.open_runs():  # what an earlier process left
        waiting.put_nowait(run["id"])

    async def take(alerts: Sequence[Alert]) -> Sequence[AlertTaken]:
        taken = await diagnoses.receive(alerts)
        for each in taken:
            say(_line(each))
            if each.is_new and each.turn_id is not None:
                waiting.put_nowait(each.turn_id)
        return taken

    host, port = listener.getsockname()[:2]
    site = Site(host=host, port=port)
    config = uvicorn.Config(
        make_alert_app(take, site=site, token=token),
        http=Connection,
        ws="none",
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    answering = asyncio.ensure_future(_answer(diagnoses, waiting))
    say(f"Listening for alerts on {site.url}{PATH}")
    try:
        await server.serve(sockets=[listener])
    finally:
        answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering


async def _answer(diagnoses: Diagnoses, waiting: asyncio.Queue[UUID]) -> None:
    """Take one question after the other to its answer; what stops one stops no other."""
    from alfred.errors import AlfredError

    while True:
        turn_id = await waiting.get()
        try:
            standing = await diagnoses.advance(turn_id)
        except AlfredError as error:
            say(f"{short(turn_id)}: {error}")
            continue
        say(f"{short(turn_id)}: {standing.reply or standing.outcome or standing.state}")


def _line(taken: AlertTaken) -> str:
    if taken.turn_id is None:
        return f"{taken.alert.name}: {taken.alert.status}, nothing to begin"
    told = "begins" if taken.is_new else "is being looked into already by"
    return f"{taken.alert.name}: {told} run {short(taken.turn_id)}"
