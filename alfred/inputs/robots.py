"""A site's robots.txt: whether it lets a program like Alfred fetch a page."""

from __future__ import annotations

import re

from protego import Protego

AGENT = "Alfred"
"""The name by which rules address Alfred."""
MAX_BYTES = 512_000
"""How much of a robots.txt is read, as RFC 9309 asks at least; the rest counts for nothing."""

_AGENT_LINE = re.compile(r"\s*user[- ]?agent\s*:?\s*([^\s#]*)", re.IGNORECASE)
_ELSEWHERE = "User-agent: somebody-else"


class Robots:
    """The rules of one site that concern Alfred."""

    def __init__(self, content: bytes) -> None:
        self._rules = Protego.parse(_own_groups(content.decode("utf-8-sig", "replace")))

    def permit(self, url: str) -> bool:
        """Say whether the rules leave a page open."""
        return self._rules.can_fetch(url, AGENT)


def _own_groups(text: str) -> str:
    """Name every other program alike, once for each group.

    The parser's cost is the product of agents and rules: a hostile file of 100 kB with 3,000 of
    each takes it half a minute, and none of them is about us.
    """
    kept: list[str] = []
    for line in text.splitlines():
        agent = _AGENT_LINE.match(line)
        if agent is None or agent[1].lower().strip("*") in ("", AGENT.lower()):
            kept.append(line)
        elif kept[-1:] != [_ELSEWHERE]:
            kept.append(_ELSEWHERE)
    return "\n".join(kept)
