"""What the commands share: an open Alfred, a console, and output as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import click

from alfred.cli.printable import printable_json
from alfred.settings import read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from alfred.app import App
    from alfred.engine.context import ProgressSink

Result = TypeVar("Result")
UNWRAPPED = 100_000
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def run_with_app(
    work: Callable[[App], Awaitable[Result]], *, on_progress: ProgressSink | None = None
) -> Result:
    """Open Alfred, do the work on an event loop, close Alfred.

    What surrounds it may be given to `alfred.cli.entry.main`.
    """
    from alfred.app import Ports, open_app

    ports = click.get_current_context().find_object(Ports) or Ports()
    if on_progress is not None:
        ports = replace(ports, on_progress=on_progress)

    async def whole() -> Result:
        async with open_app(read_settings(), say=say, ports=ports) as app:
            return await work(app)

    return run(whole())


def run(work: Awaitable[Result]) -> Result:
    """Run a coroutine on the fast event loop, where the platform has it."""
    # The driver tells each vain attempt and each reader that went away in the middle of a query;
    # where that matters, an error says so once.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())

    async def awaited() -> Result:
        return await work

    if sys.platform == "win32":
        return asyncio.run(awaited())
    import uvloop

    return uvloop.run(awaited())


def say(text: str) -> None:
    """Tell what takes time, where no program reads along."""
    click.echo(text, err=True)


def console(*, stderr: bool = False) -> Console:
    """Make the console that previews are printed on.

    Where the output is no terminal it is plain and never wrapped, for `grep` and its like.
    """
    from rich.console import Console

    from alfred.cli.terminal import TextAsText

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNWRAPPED
    made = Console(stderr=stderr, highlight=False, width=width)
    made.push_render_hook(TextAsText())
    return made


def print_json(document: Any) -> None:
    """Print a document as JSON with ids and dates as text."""
    text = json.dumps(document, ensure_ascii=False, indent=2, default=_plain)
    click.echo(printable_json(text))


def _plain(value: object) -> Any:
    if isinstance(value, UUID | date):
        return value.isoformat() if isinstance(value, date) else str(value)
    raise TypeError(f"{type(value).__name__} is not printable as JSON")


def short(identifier: UUID) -> str:
    """Shorten an id to what a person types; every command takes a unique beginning of one."""
    return str(identifier)[:8]
