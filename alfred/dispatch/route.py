"""Which domain takes an input: the one a person names, or whose nodes' rules fire best (L1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from alfred.dispatch.prefilter import Candidate, Prefilter
from alfred.engine.skill_input import SkillInput


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The chosen domain, or None; `matched` are the nodes whose rules fired.

    `problem` says why there is none, or that another domain would have had as good a claim.
    """

    domain: str | None
    reason: str
    problem: str = ""
    matched: tuple[str, ...] = ()


def choose_domain(
    skill_input: SkillInput | None,
    prefilter: Prefilter,
    domains: Sequence[str],
    named: str | None = None,
    *,
    choosy: Set[str] = frozenset(),
) -> Choice:
    """Choose the named domain, or by the nodes' rules.

    Where two domains match equally, their nodes' priority decides; where that is equal too, a
    person has to. An input that fires no rule goes to the only domain there is beside the `choosy`
    ones, which take what their rules recognise and nothing else.
    """
    if skill_input is None:
        return Choice(domain=None, reason="NO_INPUT", problem="There is no input.")
    candidates = [c for c in prefilter.candidates(skill_input) if c.domain in domains]
    matched = tuple(candidate.name for candidate in candidates)
    if named in domains:
        return Choice(domain=named, reason="DOMAIN_NAMED", matched=matched)
    if not candidates:
        return _unmatched(prefilter, domains, choosy)
    best = candidates[0]
    rival = next((other for other in candidates if other.domain != best.domain), None)
    if rival is None or len(rival.matched) < len(best.matched):
        return Choice(domain=best.domain, reason="RULES_MATCHED", matched=matched)
    if rival.score == best.score:
        return Choice(
            domain=None,
            reason="AMBIGUOUS",
            problem=f"{_claim(best)} and {_claim(rival)} claim this input alike.{_HOW_TO_NAME}",
            matched=matched,
        )
    return Choice(
        domain=best.domain,
        reason="PRIORITY_DECIDED",
        problem=f"{_claim(rival)} claims this input too; {_claim(best)} took it.{_HOW_TO_NAME}",
        matched=matched,
    )


_HOW_TO_NAME = " To choose: alfred capture --again TURN --domain NAME."


def _unmatched(prefilter: Prefilter, domains: Sequence[str], choosy: Set[str]) -> Choice:
    takers = [name for name in domains if name not in choosy]
    if len(takers) == 1:
        return Choice(domain=takers[0], reason="ONLY_DOMAIN")
    known = "; ".join(f"{name} ({_listed(prefilter.examples(name))}, …)" for name in domains)
    problem = f"No domain recognises this input. Words that would decide: {known}.{_HOW_TO_NAME}"
    return Choice(domain=None, reason="UNMATCHED", problem=problem)


def _claim(candidate: Candidate) -> str:
    return f"{candidate.domain} ({_listed(candidate.matched)})"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
