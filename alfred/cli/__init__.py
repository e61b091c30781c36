"""The command line: `alfred`. A command's module is imported only when it is used."""

from __future__ import annotations

from alfred.cli.entry import main

__all__ = ["main"]
