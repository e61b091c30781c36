"""Which domain takes an input: the one whose nodes' match rules fire best (L1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alfred.dispatch.prefilter import Prefilter
from alfred.engine.skill_input import SkillInput


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The chosen domain, or None with a sentence why; `matched` are the nodes whose rules fired."""

    domain: str | None
    reason: str
    problem: str = ""
    matched: tuple[str, ...] = ()


def choose_domain(
    skill_input: SkillInput | None, prefilter: Prefilter, domains: Sequence[str]
) -> Choice:
    """Choose by the nodes' rules; an input that fires none goes to the only domain there is."""
    if skill_input is None:
        return Choice(domain=None, reason="NO_INPUT", problem="There is no input.")
    candidates = [c for c in prefilter.candidates(skill_input) if c.domain in domains]
    matched = tuple(candidate.name for candidate in candidates)
    if candidates:
        return Choice(domain=candidates[0].domain, reason="RULES_MATCHED", matched=matched)
    if len(domains) == 1:
        return Choice(domain=domains[0], reason="ONLY_DOMAIN")
    return Choice(domain=None, reason="UNMATCHED", problem="No node's rules recognise this input.")
