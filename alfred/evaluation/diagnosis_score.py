"""Scores one run of a diagnosis against the truth of its case, by code alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alfred.evaluation.diagnosis_case import Condition, DiagnosisCase, Truth, Words
from alfred.evaluation.diagnosis_citation import checkables, unsupported
from alfred.evaluation.diagnosis_outcome import UNPERTURBED, Cost, DiagnosisOutcome
from alfred.evaluation.diagnosis_perturbation import (
    DELETED,
    EDITED,
    FAILING,
    SWAPPED,
    PlannedRun,
)
from alfred.graphs.diagnosis.answer import Answer
from alfred.graphs.diagnosis.topology import COMPOSER, EVIDENCE_RETRY, FALLBACK
from alfred.probes.tool_call import is_sealed

CAUSE, HYPOTHESES = "cause", "hypotheses"
FELL_BACK = "fallback"
_DIRECT = "direct_support"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a perturbation must lead to, and whether it did."""

    name: str
    passed: bool


@dataclass(frozen=True, kw_only=True)
class RunScore:
    """What one run is worth.

    `said` counts what the answer states: its sentences, the facts it shows as supported, its cause.
    `unsupported` are those of which something stands in no evidence that they cite.
    `open_claims` counts hypotheses, which an answer shows as not established, and `open_unproved`
    those of which something stands in no evidence. `is_right` is None under a perturbation.
    """

    case: str
    language: str
    condition: Condition
    perturbation: str
    finding: str
    verdict: str | None
    reason: str
    path: tuple[str, ...]
    said: int
    unsupported: tuple[str, ...]
    citations: int
    valid_citations: int
    open_claims: int
    open_unproved: int
    has_object: bool
    has_cause: bool
    is_right: bool | None
    checks: tuple[Check, ...]
    headline: str
    cost: Cost


def score_run(planned: PlannedRun, outcome: DiagnosisOutcome) -> RunScore:
    """Score a run; its answer is compared with the calls it cites and with the case's truth."""
    case, answer = planned.case, outcome.answer
    evidence = _evidence(answer)
    wrong = list(_unsupported(answer, evidence))
    cited = list(_citations(answer))
    hypotheses = answer["hypotheses"]
    is_plain = planned.perturbation == UNPERTURBED
    return RunScore(
        case=case.id,
        language=case.language,
        condition=case.condition,
        perturbation=planned.perturbation,
        finding=answer["finding"] or FELL_BACK,
        verdict=answer["verdict"],
        reason=answer["reason"],
        path=tuple(step.node for step in outcome.path),
        said=len(list(_stated(answer))),
        unsupported=tuple(wrong),
        citations=len(cited),
        valid_citations=sum(each in evidence for each in cited),
        open_claims=len(hypotheses),
        open_unproved=sum(not _is_proved(each, answer, evidence) for each in hypotheses),
        has_object=_has(case.truth.object, _main_text(answer)),
        has_cause=_has(case.truth.cause, _main_text(answer)),
        is_right=is_right(case, answer) if is_plain else None,
        checks=tuple(_checks(planned.perturbation, outcome)),
        headline=answer["headline"],
        cost=outcome.cost,
    )


def is_right(case: DiagnosisCase, answer: Answer) -> bool:
    """Say whether an answer says what is true of its case, and nothing that is not.

    Of a faulty system the cause, or the first of the hypotheses, names object and cause. Of a
    healthy one neither a cause nor a hypothesis is stated. Where tools fail no cause is stated, and
    the failure is told.
    """
    if _mentions(case.truth, answer):
        return False
    if case.condition == "healthy":
        return answer["finding"] not in (CAUSE, HYPOTHESES)
    if case.condition == "failing tools":
        return answer["finding"] != CAUSE and _tells_failures(answer)
    text = _main_text(answer)
    return _has(case.truth.object, text) and _has(case.truth.cause, text)


def _main_text(answer: Answer) -> str:
    """Join what an answer gives as the cause, or as the likeliest one."""
    if answer["finding"] == CAUSE and answer["cause"]:
        sentences = (_text(sentence) for sentence in answer["sentences"])
        return "\n".join((_text(answer["cause"]), *sentences))
    if answer["finding"] == HYPOTHESES and answer["hypotheses"]:
        return _text(answer["hypotheses"][0])
    return ""


def _tells_failures(answer: Answer) -> bool:
    """Say whether each tool that failed is named in what the answer says of failures."""
    told = "\n".join((*answer["failed"], *answer["missing"]))
    failed = {call["tool"] for call in answer["calls"] if call["outcome"] in ("failed", "timeout")}
    return bool(failed) and all(tool in told for tool in failed)


def _mentions(truth: Truth, answer: Answer) -> bool:
    said = "\n".join((answer["headline"], *map(_text, answer["sentences"]), _main_text(answer)))
    return any(_contains(said, word) for word in truth.forbidden)


def _has(groups: Words, text: str) -> bool:
    return bool(groups) and all(any(_contains(text, word) for word in group) for group in groups)


def _contains(text: str, word: str) -> bool:
    return _folded(word) in _folded(text)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _text(item: Mapping[str, Any]) -> str:
    return str(item.get("text") or "")


def _evidence(answer: Answer) -> dict[str, str]:
    """Read what each admitted call said from the calls themselves, if they still are sealed."""
    admitted = {str(each.get("id")) for each in answer["evidence"]}
    return {
        call["id"]: "\n".join((call["asked"], call["where"], *call["lines"]))
        for call in answer["calls"]
        if call["id"] in admitted and call["outcome"] in ("ok", "empty") and is_sealed(call)
    }


@dataclass(frozen=True, kw_only=True)
class _Statement:
    text: str
    evidence: Sequence[str]
    by: str = "code"


def _stated(answer: Answer) -> Iterator[_Statement]:
    """List everything that an answer states: sentences, supported facts, the cause.

    Coincidences are two lines of evidence, quoted whole by code; there is nothing to hold them to.
    """
    facts = {str(fact["id"]): fact for fact in answer["facts"]}
    if answer["finding"] is None:
        return
    for sentence in answer["sentences"]:
        yield _Statement(
            text=_text(sentence), evidence=sentence["evidence"], by=str(sentence.get("by"))
        )
    for fact in facts.values():
        if fact["verification"] == _DIRECT:
            yield _Statement(
                text=str(fact["fact"]), evidence=fact["evidence"], by=str(fact.get("by"))
            )
    if answer["cause"]:
        cited = facts.get(str(answer["cause"].get("fact")), {}).get("evidence", ())
        yield _Statement(text=_text(answer["cause"]), evidence=cited, by="model")


def _unsupported(answer: Answer, evidence: Mapping[str, str]) -> Iterator[str]:
    """Describe each statement that its own citations do not carry."""
    for statement in _stated(answer):
        lacking = unsupported(statement.text, _excerpts(statement.evidence, evidence))
        if lacking:
            yield f"{statement.text} [{', '.join(lacking)}]"
        elif not checkables(statement.text) and statement.by != "code":
            yield f"{statement.text} [nothing to check]"


def _is_proved(hypothesis: Mapping[str, Any], answer: Answer, evidence: Mapping[str, str]) -> bool:
    fact = next((f for f in answer["facts"] if f["id"] == hypothesis.get("fact")), None)
    cited = fact["evidence"] if fact else ()
    return not unsupported(_text(hypothesis), _excerpts(cited, evidence))


def _excerpts(cited: Iterable[str], evidence: Mapping[str, str]) -> list[str]:
    return [evidence[each] for each in cited if each in evidence]


def _citations(answer: Answer) -> Iterator[str]:
    """List every reference to evidence, of sentences and of facts."""
    if answer["finding"] is None:
        return
    for item in (*answer["sentences"], *answer["facts"]):
        yield from map(str, item["evidence"])


def _checks(perturbation: str, outcome: DiagnosisOutcome) -> list[Check]:
    """Judge what a perturbation must lead to."""
    answer = outcome.answer
    states_no_cause = Check(name="no cause is stated", passed=answer["finding"] != CAUSE)
    if perturbation == SWAPPED:
        return [states_no_cause]
    if perturbation == DELETED:
        asked = Check(name="another source is asked", passed=_asked_again(outcome))
        return [states_no_cause, asked]
    if perturbation == FAILING:
        fell = bool(outcome.steps_of(FALLBACK)) and bool(answer["reason"])
        return [
            Check(name="falls back with a reason", passed=fell),
            Check(name="every failure is told", passed=_tells_failures(answer)),
        ]
    if perturbation == EDITED and outcome.wrong_number:
        return [
            Check(name="the wrong sentence is refused", passed=_refused_first(outcome)),
            Check(name="the wrong number is not said", passed=not _says_wrong(outcome)),
        ]
    return []


def _refused_first(outcome: DiagnosisOutcome) -> bool:
    """Say whether the composer's first answer was invalid, or lost the sentence for a flaw."""
    first = outcome.steps_of(COMPOSER)[:1]
    is_dropped = any(outcome.wrong_number in text for text in outcome.dropped)
    return is_dropped or any(step.outcome == "INVALID_OUTPUT" for step in first)


def _says_wrong(outcome: DiagnosisOutcome) -> bool:
    said = (statement.text for statement in _stated(outcome.answer))
    return any(outcome.wrong_number in text for text in said)


def _asked_again(outcome: DiagnosisOutcome) -> bool:
    """Say whether the second round asked something that the first had not."""
    calls = outcome.answer["calls"]
    before = [(c["tool"], c["arguments"]) for c in calls if c["round"] < 2]
    after = [(c["tool"], c["arguments"]) for c in calls if c["round"] >= 2]
    return bool(outcome.steps_of(EVIDENCE_RETRY)) and any(each not in before for each in after)
