"""Lets the model judge the facts, and then holds each of them against its evidence in code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alfred.errors import AnswerInvalid
from alfred.nodes.diagnosis_excerpt import MAX_QUESTION_CHARS, barred, evidence_block, shortened
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_port import Asking, Config, Running, ask
from alfred.nodes.diagnosis_shapes import (
    VERDICTS,
    CheckedFact,
    View,
    firing_alerts,
    items,
    language_of,
    mapping,
    text,
    texts,
)
from alfred.nodes.verifier.judgement import checked, lowest, verdict_of


async def verifier_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Check every claim; the verdict is the lowest of the model's, the facts' and the ceiling.

    What code read off the evidence is not asked about. INVALID_OUTPUT where the model gives no
    verdict, or an answer out of shape.
    Errors: those of the model, but for such an answer.
    """
    context = runtime.context
    manifest = context.run.manifest("verifier")
    manifest.check_input(view)
    given = mapping(view, "verified_input")
    language = language_of(given)
    claims, evidence = items(given, "claims"), items(given, "evidence")
    asked = [claim for claim in claims if claim.get("by") != "code"]
    answer: dict[str, Any] = {"facts": {}, "verdict": "PASS"}
    if asked:
        context.told(phrase(language, "verifying"))
        asking = Asking(
            manifest=manifest,
            gathered=_gathered(view, given, asked, context.evidence_chars),
            schema=judgement_schema(asked, evidence),
            language=language,
        )
        try:
            answer = await ask(context, config, asking)
        except AnswerInvalid as error:
            return _result("INVALID_OUTPUT", None, None, [], [error.message])
    said = mapping(answer, "facts")
    firing = firing_alerts(claims)
    facts = [
        checked(claim, mapping(said, text(claim, "id")), evidence, firing, text(given, "question"))
        for claim in claims
    ]
    ids = [text(claim, "id") for claim in asked]
    problems = [phrase(language, "not_judged", id=each) for each in ids if each not in said]
    verdict = text(answer, "verdict")
    if verdict not in VERDICTS:
        problems = [phrase(language, "no_verdict"), *problems]
        return _result("INVALID_OUTPUT", None, None, facts, problems)
    ceiling = view.get("verifier_verdict_ceiling")
    effective = lowest(verdict, verdict_of(facts), ceiling if isinstance(ceiling, str) else None)
    return _result("COMPLETED", verdict, effective, facts, problems)


def _result(
    status: str,
    verdict: str | None,
    effective: str | None,
    facts: Sequence[CheckedFact],
    problems: Sequence[str],
) -> dict[str, Any]:
    output = {"verdict": verdict, "facts_checked": list(facts), "problems": list(problems)}
    return {"verifier_status": status, "verifier_output": output, "effective_verdict": effective}


def judgement_schema(
    claims: Sequence[Mapping[str, Any]], evidence: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Describe one judgement for each of these claims, over this evidence."""
    fact = {
        "type": "object",
        "properties": {
            "verification": {
                "enum": ["direct_support", "indirect_support", "no_evidence", "contradicted"]
            },
            "evidence": {
                "type": "array",
                "maxItems": 3,
                "items": {"enum": [text(each, "id") for each in evidence]},
            },
        },
        "required": ["verification", "evidence"],
        "additionalProperties": False,
    }
    ids = [text(claim, "id") for claim in claims]
    # By id, and not as a list: no fact can be left out or judged twice.
    facts = {
        "type": "object",
        "properties": dict.fromkeys(ids, fact),
        "required": ids,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"facts": facts, "verdict": {"enum": ["PASS", "LOW_CONFID", "REJECT"]}},
        "required": ["facts", "verdict"],
        "additionalProperties": False,
    }


def _gathered(
    view: View, given: Mapping[str, Any], claims: Sequence[Mapping[str, Any]], max_chars: int
) -> dict[str, Any]:
    wanted = {each for claim in claims for each in texts(claim, "evidence")}
    evidence = items(given, "evidence")
    # What is cited comes first and so is shown at greater length.
    ordered = sorted(evidence, key=lambda each: text(each, "id") not in wanted)
    return {
        "question": shortened(text(given, "question"), MAX_QUESTION_CHARS),
        "evidence": evidence_block(ordered, max_chars),
        "facts": barred(map(_fact_line, claims)),
        "problems": barred(texts(mapping(view, "verifier_output"), "problems")[:4]),
    }


def _fact_line(claim: Mapping[str, Any]) -> str:
    ids = ", ".join(texts(claim, "evidence")) or "-"
    return f"{text(claim, 'id')} ({text(claim, 'role')}; {ids}): {text(claim, 'fact')}"
