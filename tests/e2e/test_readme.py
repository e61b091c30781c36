"""The README's examples, run as they stand there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from alfred.cli.entry import cli
from tests.shell import PENDING, Shell, posting

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for line in README.splitlines() if line.startswith("alfred ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_readme_exists_with_its_options(line: str) -> None:
    arguments = shlex.split(line, comments=True)[1:]
    if "<" in arguments:
        arguments = arguments[: arguments.index("<")]
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments.pop(0))
        assert found is not None
        command = found
    command.make_parser(click.Context(command)).parse_args(arguments)


def test_the_preview_of_the_readme_is_what_a_capture_prints(
    shell_with: Callable[..., Shell],
) -> None:
    text, answer = posting("Alder Labs")
    assert f'alfred capture "{text}"' in README
    printed = shell_with(answer).run("capture", text, code=PENDING).stdout
    (block,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert block in printed
