"""Text from models, pages and people shown as text: no character in it steers the terminal."""

from __future__ import annotations

from rich.console import ConsoleRenderable, RenderHook
from rich.text import Text

from alfred.cli.printable import printable


class TextAsText(RenderHook):
    """A hook of a console that takes the steering characters out of everything printed on it."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Replace each such character by a blank; styles keep their places."""
        return [_tamed(each) if isinstance(each, Text) else each for each in renderables]


def _tamed(text: Text) -> Text:
    tamed = text.copy()
    tamed.plain = printable(text.plain)
    return tamed
