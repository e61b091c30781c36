"""Lets the model write the answer, and keeps of it what the facts carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from alfred.errors import AnswerInvalid
from alfred.nodes.composer.coincidence import coincidences_of
from alfred.nodes.composer.outcome import (
    cause_of,
    finding_of,
    headline,
    hypotheses_of,
    missing_of,
    next_checks,
)
from alfred.nodes.composer.sentences import (
    MAX_WRITTEN,
    Grounds,
    Written,
    held_sentences,
    quoted_facts,
    sayable,
    without_problems,
)
from alfred.nodes.diagnosis_context import DiagnosisContext
from alfred.nodes.diagnosis_excerpt import MAX_QUESTION_CHARS, barred, shortened
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_port import Asking, Config, Running, ask
from alfred.nodes.diagnosis_shapes import (
    CheckedFact,
    View,
    items,
    language_of,
    mapping,
    text,
    texts,
)


async def composer_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Write the answer: finding, cause and what is missing by code, the sentences by the model.

    INVALID_OUTPUT where a sentence holds a number or name that its evidence does not; where that
    happens again, the answer stands without such sentences. Where none can stand, the supported
    facts themselves are the answer.
    Errors: those of the model, but for an answer out of shape.
    """
    context = runtime.context
    manifest = context.run.manifest("composer")
    manifest.check_input(view)
    given = mapping(view, "verified_input")
    trace = items(view, "tool_trace")
    facts = cast("list[CheckedFact]", items(mapping(view, "verifier_output"), "facts_checked"))
    grounds = Grounds(
        facts=facts,
        evidence=items(given, "evidence"),
        finding=finding_of(text(view, "effective_verdict"), facts, trace),
        language=language_of(given),
    )
    try:
        written = await _write(view, config, context, grounds)
    except AnswerInvalid as error:
        written = Written(problems=[error.message])
    if texts(mapping(view, "composer_output"), "problems"):
        written = without_problems(written)
    if not written.sentences:
        written.sentences = quoted_facts(grounds)
    return {
        "composer_status": "INVALID_OUTPUT" if written.problems else "COMPLETED",
        "composer_output": _answer(view, grounds, written, context),
    }


async def _write(
    view: View, config: Config, context: DiagnosisContext, grounds: Grounds
) -> Written:
    facts = sayable(grounds)
    if not facts:
        return Written()
    context.told(phrase(grounds.language, "composing"))
    asking = Asking(
        manifest=context.run.manifest("composer"),
        gathered={
            "question": shortened(
                text(mapping(view, "verified_input"), "question"), MAX_QUESTION_CHARS
            ),
            "verdict": text(view, "effective_verdict"),
            "facts": barred(map(_fact_line, facts)),
            "problems": barred(texts(mapping(view, "composer_output"), "problems")[:4]),
            "language": phrase(grounds.language, "language_name"),
        },
        schema=sentences_schema([fact["id"] for fact in facts]),
        language=grounds.language,
    )
    answer = await ask(context, config, asking)
    return held_sentences(items(answer, "sentences"), grounds)


def sentences_schema(ids: Sequence[str]) -> dict[str, Any]:
    """Describe sentences that cite these facts."""
    sentence = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 200},
            "facts": {"type": "array", "maxItems": 3, "items": {"enum": list(ids)}},
        },
        "required": ["text", "facts"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"sentences": {"type": "array", "maxItems": MAX_WRITTEN, "items": sentence}},
        "required": ["sentences"],
        "additionalProperties": False,
    }


def _fact_line(fact: CheckedFact) -> str:
    return f"{fact['id']} ({fact['role']}, {fact['verification']}): {fact['fact']}"


def _answer(
    view: View, grounds: Grounds, written: Written, context: DiagnosisContext
) -> Mapping[str, Any]:
    finding, language, facts = grounds.finding, grounds.language, grounds.facts
    trace = items(view, "tool_trace")
    cause = cause_of(facts) if finding == "cause" else None
    hypotheses = hypotheses_of(facts, language) if finding == "hypotheses" else []
    return {
        "verdict": text(view, "effective_verdict"),
        "finding": finding,
        "headline": headline(finding, cause, hypotheses, language),
        "sentences": written.sentences,
        "cause": cause,
        "hypotheses": hypotheses,
        "coincidences": coincidences_of(
            finding,
            trace,
            [text(each, "id") for each in grounds.evidence],
            mapping(view, "incident_context"),
            language,
        ),
        "missing": missing_of(finding, facts, trace, language),
        "next_checks": next_checks(finding, context.toolbox, trace, language),
        "dropped": written.dropped,
        "problems": written.problems,
    }
