from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from alfred.cli.printable import printable, printable_json
from alfred.cli.terminal import TextAsText

HOSTILE = "Acme\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202eLtd"


def test_what_would_steer_a_terminal_becomes_blanks_and_words_stay_words() -> None:
    assert printable("青禾 é 🛟\nnext") == "青禾 é 🛟\nnext"
    shown = printable(HOSTILE)
    assert len(shown) == len(HOSTILE)
    assert shown.isprintable()


@pytest.mark.parametrize("markup", [True, False])
def test_a_console_prints_text_and_plain_strings_without_their_escapes(markup: bool) -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=200)
    console.push_render_hook(TextAsText())
    console.print(Text.assemble((HOSTILE, "bold"), " after"))
    console.print(HOSTILE.replace("[", ""), markup=markup)
    written = out.getvalue()
    assert "\x1b[1m" in written
    for forbidden in ("\x1b]", "\x1b[2J", "\x07", "\r", "\x9b", "\u202e"):
        assert forbidden not in written
    assert "Ltd" in written


def test_json_holds_no_control_character_and_reads_back_the_same() -> None:
    document = {"name": HOSTILE, "other": "\x7f\x85", "hidden": "\u200b\u2066\U000e0041\u2028"}
    text = printable_json(json.dumps(document, ensure_ascii=False))
    assert json.loads(text) == document
    assert text.isprintable()


def test_json_leaves_words_and_their_blanks_as_they_are() -> None:
    text = json.dumps({"words": "青禾\u3000é 🛟"}, ensure_ascii=False)
    assert printable_json(text) == text
