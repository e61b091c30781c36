"""`alfred worker`: runs what waits in the queue, beside the server or on another machine."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import click

from alfred.cli.session import run, say

if TYPE_CHECKING:
    from alfred.app import Ports


@click.command("worker")
@click.option(
    "--at-once",
    default=4,
    show_default=True,
    type=click.IntRange(1, 64),
    help="How many turns run at the same time; in one conversation it is one.",
)
@click.pass_obj
def command(ports: Ports | None, at_once: int) -> None:
    """Run what was sent to the server, until Ctrl-C or SIGTERM.

    `alfred serve` has a worker of its own; each further one may run anywhere with the same
    database. A worker that dies loses nothing: within seconds another one takes over what it had.
    One that is told to stop lets its runs end, or hands them back.
    """
    run(_work(ports, at_once))


async def _work(ports: Ports | None, at_once: int) -> None:
    from alfred.server.hall import open_hall
    from alfred.settings import read_settings
    from alfred.worker.pace import Pace
    from alfred.worker.service import run_worker

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with open_hall(read_settings(), say=say, ports=ports) as hall:
        say("Waiting for turns to run.")
        await run_worker(hall, stop, pace=Pace(at_once=at_once))
    say("Stopped.")
