"""What an answer says by code alone: its finding, cause, hypotheses, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from alfred.nodes.denial import tells_of_fault
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import (
    GAPS,
    CheckedFact,
    FindingKind,
    Verification,
    mapping,
    text,
)
from alfred.probes.probe import Probe
from alfred.probes.toolbox import Toolbox, misfit

Language = Literal["zh", "en"]

MAX_HYPOTHESES = 3
MAX_MISSING = 5
MAX_CHECKS = 4
_RANK: Sequence[Verification] = (
    *("direct_support", "indirect_support", "no_evidence", "contradicted"),
)


def finding_of(
    verdict: str, facts: Sequence[CheckedFact], trace: Sequence[Mapping[str, Any]]
) -> FindingKind:
    """Say what was found.

    A cause needs the verdict PASS and direct support. No fault is found only where everything that
    was claimed is as it should be, in its words too, and every source has answered: what could not
    be looked at may be broken.
    """
    causes = [fact for fact in facts if fact["role"] == "cause"]
    if verdict == "PASS" and any(each["verification"] == "direct_support" for each in causes):
        return "cause"
    if verdict == "LOW_CONFID" and hypotheses_of(facts, "en"):
        return "hypotheses"
    is_healthy = all(
        fact["role"] in ("normal", "ruled_out")
        and fact["verification"] == "direct_support"
        and not tells_of_fault(fact["fact"])
        for fact in facts
    )
    if facts and is_healthy and verdict != "REJECT" and not silent_sources(trace):
        return "no_fault"
    return "not_established"


def cause_of(facts: Sequence[CheckedFact]) -> dict[str, str] | None:
    """Name the cause: the one with direct support and the most sources."""
    causes = [
        fact
        for fact in facts
        if fact["role"] == "cause" and fact["verification"] == "direct_support"
    ]
    best = max(causes, key=lambda fact: len(fact["evidence"]), default=None)
    return {"fact": best["id"], "text": best["fact"]} if best else None


def hypotheses_of(facts: Sequence[CheckedFact], language: Language) -> list[dict[str, str]]:
    """Rank the causes that may be: direct before indirect before none, then by their sources.

    A cause that cites nothing, says what no cited line holds, or nothing that can be checked, is
    none of them.
    """
    likely = [
        fact
        for fact in facts
        if fact["role"] == "cause"
        and fact["verification"] != "contradicted"
        and fact["reason"] not in ("NOTHING_CHECKABLE", "LINE_SAYS_OTHERWISE")
        and (fact["reason"], fact["verification"]) != ("NEGATIVE_EVIDENCE", "no_evidence")
        and fact["evidence"]
        and not fact["unsupported"]
    ]
    likely.sort(key=lambda fact: (_RANK.index(fact["verification"]), -len(fact["evidence"])))
    return [
        {"fact": fact["id"], "text": fact["fact"], "missing": _missing(fact, language)}
        for fact in likely[:MAX_HYPOTHESES]
    ]


def headline(
    finding: FindingKind,
    cause: Mapping[str, str] | None,
    hypotheses: Sequence[Mapping[str, str]],
    language: Language,
) -> str:
    """Say the outcome in one sentence."""
    if finding == "cause" and cause:
        return phrase(language, "headline_cause", fact=cause["text"])
    if finding == "hypotheses" and hypotheses:
        return phrase(language, "headline_hypotheses", fact=hypotheses[0]["text"])
    name = "headline_no_fault" if finding == "no_fault" else "headline_not_established"
    return phrase(language, name)


def missing_of(
    finding: FindingKind,
    facts: Sequence[CheckedFact],
    trace: Sequence[Mapping[str, Any]],
    language: Language,
) -> list[str]:
    """Say what would be needed: the evidence that facts lack, and the sources that gave none."""
    said: list[str] = []
    if finding not in ("cause", "no_fault"):
        lacking = [fact for fact in facts if fact["verification"] in (*GAPS, "contradicted")]
        lacking.sort(key=lambda fact: fact["role"] != "cause")
        said += [_missing(fact, language) for fact in lacking]
        if not any(fact["role"] == "cause" for fact in facts):
            said.append(phrase(language, "missing_cause"))
    sources = [
        phrase(language, "missing_source", tool=text(call, "tool"), error=text(call, "error"))
        for call in silent_sources(trace)
    ]
    return list(dict.fromkeys([*sources, *said]))[:MAX_MISSING]


def silent_sources(trace: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """List the last failure of each tool that never gave an answer."""
    answered = {text(call, "tool") for call in trace if call.get("outcome") in ("ok", "empty")}
    silent = {
        text(call, "tool"): call for call in trace if call.get("outcome") in ("failed", "timeout")
    }
    return [call for tool, call in silent.items() if tool not in answered]


def next_checks(
    finding: FindingKind,
    toolbox: Toolbox,
    trace: Sequence[Mapping[str, Any]],
    language: Language,
) -> list[dict[str, Any]]:
    """Propose read-only calls: those that failed once more, then tools that nobody asked."""
    if finding in ("cause", "no_fault"):
        return []
    checks: list[dict[str, Any]] = [
        {
            "tool": text(call, "tool"),
            "arguments": mapping(call, "arguments"),
            "why": phrase(language, "why_failed", error=text(call, "error")),
        }
        for call in silent_sources(trace)
    ]
    asked = {text(call, "tool") for call in trace}
    for probe in toolbox.probes:
        if probe.name not in asked:
            why = phrase(language, "why_unasked", description=probe.description)
            checks.append({"tool": probe.name, "arguments": _first_arguments(probe), "why": why})
    return [
        check
        for check in checks
        if (probe := toolbox.get(check["tool"])) and not misfit(probe, check["arguments"])
    ][:MAX_CHECKS]


def _first_arguments(probe: Probe) -> dict[str, Any]:
    """Fill what a tool needs with its first choice; one that needs free words is left open."""
    properties: Mapping[str, Any] = probe.parameters.get("properties", {})
    required: Sequence[str] = probe.parameters.get("required", ())
    return {name: properties[name]["enum"][0] for name in required if properties[name].get("enum")}


def _missing(fact: CheckedFact, language: Language) -> str:
    if fact["unsupported"]:
        return phrase(language, "missing_tokens", tokens=", ".join(fact["unsupported"]))
    name = {
        "direct_support": "missing_nothing",
        "indirect_support": "missing_direct",
        "no_evidence": "missing_any",
        "contradicted": "missing_contradicted",
    }[fact["verification"]]
    return phrase(language, name, fact=fact["fact"])
