"""What stands where a page should be: a login, or a script that only a browser runs."""

from __future__ import annotations

import re

from alfred.errors import InputRefused
from alfred.inputs.link import SAVE_IT
from alfred.inputs.markup import parse_markup, shown_text
from alfred.inputs.visibility import drop_hidden

_MAX_LOGIN_CHARS = 600
"""A page with a password field and less text than this is a login; one with more has one too."""
_MAX_CHECK_CHARS = 400
_MIN_SHOWN_CHARS = 30
"""A page with scripts that shows less than this shows the rest by script; four times as much where
it also says so to those who run none."""
_WANTS_BROWSER = re.compile(
    r"(?:enable|turn on|requires?|needs?|without) (?:javascript|cookies)"
    r"|javascript (?:is|must be) (?:required|disabled|enabled|off)"
    r"|checking your browser|verif(?:y|ying) (?:that )?you are (?:a )?human|\bcaptcha\b"
    r"|(?:启用|开启|打开|不支持) ?javascript|人机验证|安全验证|滑动验证|请完成验证",
    re.IGNORECASE,
)


def find_barrier(markup: str) -> InputRefused | None:
    """Say what stands in a page's place; None for a page that shows something to read.

    Errors: those of `parse_markup`.
    """
    root = parse_markup(markup)
    asks_password = any(field.get("type", "").lower() == "password" for field in root.iter("input"))
    has_script = next(root.iter("script"), None) is not None
    without_script = " ".join(shown_text(node) for node in root.iter("noscript"))
    drop_hidden(root)
    shown = shown_text(root)
    if asks_password and len(shown) < _MAX_LOGIN_CHARS:
        return InputRefused(
            "input.login",
            "The link leads to a login instead of the page; Alfred does not log in anywhere.",
            hint=SAVE_IT,
        )
    is_check = len(shown) < _MAX_CHECK_CHARS and _WANTS_BROWSER.search(shown)
    enough = _MIN_SHOWN_CHARS * (4 if _WANTS_BROWSER.search(without_script) else 1)
    if is_check or (has_script and len(shown) < enough):
        return InputRefused(
            "input.needs_browser",
            "The page shows its content only in a browser: it is built by script, or checks first"
            " who is reading.",
            hint=SAVE_IT,
        )
    return None
