"""Whether a call may count as evidence, and what verdict the admitted ones can carry."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from alfred.nodes.checkable import tokens_of
from alfred.nodes.diagnosis_excerpt import cited
from alfred.nodes.diagnosis_shapes import Evidence, Verdict, mapping, text, texts, unique
from alfred.probes.probe import Probe
from alfred.probes.tool_call import is_same_call, is_sealed

SLACK = timedelta(minutes=15)
"""How far clocks and scrapes may differ from the window that a question names."""
BEFORE = {"changes": timedelta(hours=24)}
"""How long before the window the usual cause of an incident may lie."""
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.\-])\d[\d.,:]*\d%?|(?<![A-Za-z0-9_.\-])\d%?")
OPEN_BEFORE = frozenset({"alerts"})
"""Kinds whose data may have begun any time before: an alert may fire for days."""


def refusal(
    call: Mapping[str, Any], admitted: Sequence[Mapping[str, Any]], window: Mapping[str, Any]
) -> str:
    """Name the reason why a call is no evidence; empty where it is."""
    if call.get("outcome") not in ("ok", "empty"):
        return "CALL_FAILED"
    if call.get("kind") == "guidance":
        return "GUIDANCE_ONLY"
    if not is_sealed(call):
        return "DIGEST_MISMATCH"
    if not is_within(call, window):
        return "OUTSIDE_WINDOW"
    return "REPEATED" if any(is_same_call(call, each) for each in admitted) else ""


def is_within(call: Mapping[str, Any], window: Mapping[str, Any]) -> bool:
    """Say whether the data of a call touch the incident's window, with its slack.

    A call that knows no time is within; one whose time cannot be read is not.
    """
    kind = text(call, "kind")
    try:
        begins, ends = _moment(call.get("start")), _moment(call.get("end"))
        start, end = _moment(window.get("start")), _moment(window.get("end"))
    except ValueError:
        return False
    begins, ends = begins or ends, ends or begins
    if begins is not None and end is not None and begins > end + SLACK:
        return False
    if ends is None or start is None or kind in OPEN_BEFORE:
        return True
    return ends >= start - SLACK - BEFORE.get(kind, timedelta())


def _moment(written: Any) -> datetime | None:
    if written is None:
        return None
    moment = datetime.fromisoformat(str(written))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def as_evidence(
    call: Mapping[str, Any], *, is_primary: bool, chosen: Sequence[str] = ()
) -> Evidence:
    """Write an admitted call as evidence; `chosen` are the numbers that its asker put in."""
    return {
        "id": text(call, "id"),
        "tool": text(call, "tool"),
        "kind": text(call, "kind"),
        "is_primary": is_primary,
        "is_negative": call.get("outcome") == "empty",
        "asked": text(call, "asked"),
        "chosen": list(chosen),
        "where": text(call, "where"),
        "start": call.get("start"),
        "end": call.get("end"),
        "lines": texts(call, "lines"),
        "truncated": call.get("truncated") is True,
    }


def chosen_numbers(call: Mapping[str, Any], probe: Probe | None) -> list[str]:
    """List the numbers in the arguments of a call that its tool does not itself offer."""
    offered: Mapping[str, Any] = probe.parameters.get("properties", {}) if probe else {}
    free = [
        value
        for name, value in mapping(call, "arguments").items()
        if "enum" not in offered.get(name, {})
    ]
    return unique(_NUMBER.findall(json.dumps(free, ensure_ascii=False)))


def ceiling(claims: Sequence[Mapping[str, Any]], admitted: Sequence[Evidence]) -> Verdict:
    """Name the highest verdict that this evidence can carry.

    A claim that rests on nothing admitted does not lower it: the verifier finds it without
    evidence, which is what another round is for. A line that code quotes needs no further source,
    and an alert is the source of the symptom that it names, though never of its cause.
    """
    if not admitted:
        return "REJECT"
    by_id = {each["id"]: each for each in admitted}
    for claim in claims:
        if claim.get("by") == "code" or claim.get("role") not in ("cause", "symptom"):
            continue
        sources = [by_id[each] for each in texts(claim, "evidence") if each in by_id]
        # Where one source holds what the claim names, another that does not carries nothing.
        bearing = [each for each in sources if _bears_on(each, claim)] or sources
        if bearing and not any(_is_source(each, claim) for each in bearing):
            return "LOW_CONFID"
    return "PASS"


def _bears_on(evidence: Evidence, claim: Mapping[str, Any]) -> bool:
    """Say whether evidence holds something that a claim names."""
    held = cited([evidence], [evidence["id"]])
    named = (token for token in tokens_of(text(claim, "fact")) if not token.is_loose)
    return any(map(held.hold, named))


def _is_source(evidence: Evidence, claim: Mapping[str, Any]) -> bool:
    is_alert = claim.get("role") == "symptom" and evidence["kind"] == "alerts"
    return evidence["is_primary"] or is_alert


def uncalled(claims: Sequence[Mapping[str, Any]], trace: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the ids that claims cite and no call has."""
    known = {text(call, "id") for call in trace}
    cited = (each for claim in claims for each in texts(claim, "evidence"))
    return [each for each in dict.fromkeys(cited) if each not in known]
