"""The entry point: finds the command, runs it, and turns errors into sentences and exit codes."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

from alfred import __version__
from alfred.cli.printable import printable, printable_json
from alfred.errors import (
    ActionRefused,
    AlfredError,
    InputRefused,
    ModelFailed,
    ReviewRefused,
    SettingsInvalid,
    StoreFailed,
)

if TYPE_CHECKING:
    from alfred.app import Ports

COMMANDS = {
    "capture": ("alfred.cli.capture", "Read a posting and show what would be written."),
    "review": ("alfred.cli.review", "Approve, edit or reject what is proposed."),
    "pending": ("alfred.cli.pending", "List what waits for a decision."),
    "diagnose": ("alfred.cli.diagnose", "Ask why a system misbehaves; every fact has evidence."),
    "diagnosis": ("alfred.cli.diagnosis", "List, show, cancel and resume diagnoses."),
    "alerts": ("alfred.cli.alerts", "Begin diagnoses by alerts, from a file or a webhook."),
    "tools": ("alfred.cli.tools", "List the tools of a diagnosis and try them."),
    "job": ("alfred.cli.job", "Ask about stored postings, and change them."),
    "serve": ("alfred.cli.serve", "Serve the inbox and the API to browsers and programs."),
    "worker": ("alfred.cli.worker", "Run what was sent to the server, beside its own worker."),
    "user": ("alfred.cli.user", "Add users, and make links by which they sign in."),
    "token": ("alfred.cli.token", "Make, list and revoke tokens for programs."),
    "export": ("alfred.cli.export", "Write everything of yours to files you can take along."),
    "trace": ("alfred.cli.trace", "Show the path that a turn took."),
    "new": ("alfred.cli.new", "Begin a domain in a package of your own."),
    "check": ("alfred.cli.check", "Check manifests and prove that graphs are bounded."),
    "eval": ("alfred.cli.eval", "Measure how well a node reads, over cases with known answers."),
    "model": ("alfred.cli.model", "List, download and choose models."),
    "db": ("alfred.cli.db", "Status, stop, migrate, dump and restore the database."),
    "doctor": ("alfred.cli.doctor", "Check this installation, part by part."),
}
"""Every command with its module and its line of help, so that `--help` imports none of them."""

EXIT_CODES: dict[type[AlfredError], int] = {
    SettingsInvalid: 2,
    InputRefused: 4,
    ModelFailed: 5,
    StoreFailed: 6,
    ReviewRefused: 7,
    ActionRefused: 7,
}
STILL_PENDING = 3
"""Exit code where something waits for a decision."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="alfred")
def cli() -> None:
    """Alfred says nothing without evidence and writes nothing without approval.

    Exit codes: 0 done, 1 a check failed or another error, 2 wrong usage or settings, 3 something
    waits for a decision, 4 the input was refused, 5 the model failed, 6 the database failed, 7 a
    decision was refused, 130 interrupted.
    """


def exit_code(error: AlfredError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)


def report(error: AlfredError) -> None:
    """Print an error: as JSON if the command was asked for JSON, as a sentence otherwise."""
    if "--json" in sys.argv:
        import json

        problem = {"code": error.code, "message": error.message, "hint": error.hint}
        text = json.dumps({"error": problem}, ensure_ascii=False)
        click.echo(printable_json(text), err=True)
    else:
        click.echo(printable(f"alfred: {error}"), err=True)


def main(ports: Ports | None = None) -> None:
    """Run the command line and leave with its exit code.

    `ports` surround the Alfred that commands open, for programs that bring a model of their own
    or fetch pages in another way.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character gets its number
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(standalone_mode=False, obj=ports)
    except AlfredError as error:
        report(error)
        sys.exit(exit_code(error))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        click.echo("alfred: interrupted; what was stored stays.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; there is nobody left to tell.
        _drop_output()
        sys.exit(0)
    except OSError as error:
        # A full disk behind the output, a folder that may not be written.
        click.echo(printable(f"alfred: {error}"), err=True)
        _drop_output()
        sys.exit(1)


def _drop_output() -> None:
    """Let what still waits to be written go nowhere, or Python would fail on it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
