"""Attacks on the guards of a diagnosis: what no evidence shows reaches no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alfred.evaluation.diagnosis_citation import unsupported
from alfred.graphs.diagnosis.answer import answer_of
from alfred.nodes.checkable import Excerpts, is_checkable, missing_from
from alfred.nodes.composer.outcome import finding_of, hypotheses_of
from alfred.nodes.composer.sentences import Grounds, held_sentences, quoted_facts
from alfred.nodes.diagnosis_excerpt import cited
from alfred.nodes.diagnosis_shapes import firing_alerts
from alfred.nodes.executor.claims import claims_of_code, claims_of_model, joined_claims
from alfred.nodes.gatekeeper.admission import as_evidence, ceiling, chosen_numbers
from alfred.nodes.verifier.judgement import checked, verdict_of
from alfred.probes.replay import Recording
from tests.diagnosis_run import call, context_of, diagnose, model_of, spec

LATIN_A, CYRILLIC_A = "a", "\u0430"
ZERO_WIDTH, RIGHT_TO_LEFT, VARIANT = "\u200b", "\u202e", "\ufe0f"


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        # numbers in words
        ("Two replicas of basket crashed.", "basket replica crashed"),
        ("Thirty-five percent of users wait.", "users 35"),
        ("Thirty five users wait.", "users 12"),
        ("A dozen pods restarted.", "pod restarted"),
        ("Three hundred requests failed.", "3 requests failed"),
        ("3 thousand users wait.", "users 3"),
        ("1.2 million users wait.", "users 1.2"),
        ("It hung for five minutes.", "it hung"),
        ("Both replicas crashed.", "replica crashed"),
        # shares and growth
        ("Half of the requests fail.", "requests 12"),
        ("A third of the requests fail.", "requests 12"),
        ("Two-thirds of the requests fail.", "requests 12"),
        ("Errors doubled.", "errors 12"),
        ("Errors rose tenfold.", "errors 10"),
        ("Hundreds of users wait.", "users 12"),
        ("½ of the users wait.", "users 12"),
        # Chinese
        ("三十五%的用户受影响", "users 35"),
        ("下降了三十五个百分点", "users 35"),
        ("三个实例崩溃", "basket 崩溃"),
        ("两成请求失败", "requests 2"),
        ("三分之一的请求失败", "requests 13"),
        ("一半请求失败", "requests 12"),
        ("错误翻倍", "errors 2"),
        ("几百个请求失败", "requests 12"),
        ("十一点半开始", "began 11:15"),
        ("下午三点开始", "began 11:15"),
        # another unit makes another number
        ("35% of users wait.", "ratio 0.35"),
        ("35 percent of users wait.", "35 pods; 2% errors"),
        ("12% of calls fail.", "restarts 12, cpu 35%"),
        ("Latency is 3x higher.", "latency of 3 pods"),
        ("Latency is 3× higher.", "latency of 3 pods"),
        ("延迟为3倍", "延迟 3"),
        ("12k users wait.", "users 12"),
        ("1.2M users wait.", "1.2 min"),
        ("Latency is 500 s.", "latency 500 ms"),
        # both numbers of a pair in one line
        ("3/5 replicas are ready.", "5 replicas, restarts 4\nrestarts 3"),
        # characters that cannot be seen, or pass for others
        (f"3{ZERO_WIDTH}5 users wait.", "3 users, 5 pods"),
        (f"3{VARIANT}5 users wait.", "3 users, 5 pods"),
        (f"35{ZERO_WIDTH}% of users wait.", "users 35"),
        (f"{RIGHT_TO_LEFT}53% of users wait.", "users 53"),
        (f"b{CYRILLIC_A}sket crashed.", "basket crashed"),
        ("\u0440\u0430\u0443 crashed.", "pay crashed"),
        ("\u0663\u0665 users wait.", "users 12"),
        ("\u0969\u096b users wait.", "users 12"),
        ("３５％的用户受影响", "users 35"),
        # names without a sign in them
        ("redis crashed.", "basket crashed"),
        ("Kafka crashed.", "basket crashed"),
        ("The cause is Ledger.", "basket crashed"),
        ("It failed in the TLS handshake.", "basket failed"),
        ("ledger 崩溃", "basket 崩溃"),
        ("commit abcdefa did it.", "commit abcdefb"),
        ("commit a1b2c3 did it.", "commit a1b2c3d4e5f6"),
        # times
        ("It began on 2026-03-03.", "2026-03-02T23:59:00Z began"),
        ("It began at 23:59.", "2026-03-03T00:59:00Z began"),
        ("It began at 11:15+08:00.", "2026-03-02T11:15:00Z began"),
        ("It took 3h20m.", "it took 3h"),
        # versions and addresses
        ("Version 2.14 is out.", "version 2.14.0"),
        ("10.0.0.1 is down.", "10.0.0.12 is down"),
    ],
)
def test_what_no_line_shows_is_missing(sentence: str, line: str) -> None:
    assert missing_from(sentence, Excerpts(line.splitlines())) != []


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("Two replicas crashed.", "2 replicas crashed"),
        ("2 replicas crashed.", "two replicas crashed"),
        ("Thirty-five percent of users wait.", "waiting 35%"),
        ("三个实例崩溃", "3 pods crashed"),
        ("三十五%的用户受影响", "35 % waiting"),
        ("It restarted twice.", "restarts=2"),
        ("It restarted 214 times.", "restarted (x214)"),
        ("12k users wait.", "12000 users"),
        ("3 thousand users wait.", "3,000 users"),
        ("1e9 bytes", "1000000000 bytes"),
        ("Latency is 3x higher.", "latency 3x of yesterday"),
        ("It failed 3 times.", "failed 3x"),
        ("3/5 replicas are ready.", "ready 3/5"),
        ("Requests doubled.", "requests have doubled since"),
        ("Redis crashed.", "redis-7 crashed"),
        ("It was an OOM in Basket.", "basket-api OOMKilled"),
        ("redis 在 11:20 崩溃", "11:20:00Z redis crashed"),
        ("commit abcdefa did it.", "commit abcdefab12345678"),
        ("٣ pods crashed.", "3 pods crashed"),
        ("The cpu is at 35 %.", "%CPU 35"),
    ],
)
def test_what_a_line_shows_in_other_words_is_not_missing(sentence: str, line: str) -> None:
    assert missing_from(sentence, Excerpts([line])) == []


@pytest.mark.parametrize("sentence", ["Two things broke.", "Redis is to blame.", "一半都坏了"])
def test_a_count_or_a_product_alone_is_nothing_that_makes_a_sentence_checkable(
    sentence: str,
) -> None:
    assert not is_checkable(sentence)


def excerpt(id_: str, *lines: str, asked: str = "what was asked", **fields: Any) -> dict[str, Any]:
    return {
        **{"id": id_, "asked": asked, "where": "test", "lines": list(lines)},
        **{"is_negative": not lines, "chosen": [], "truncated": False},
        **fields,
    }


def judged(fact: str, role: str, *evidence: dict[str, Any], alerts: Any = ()) -> Any:
    ids = [each["id"] for each in evidence]
    claim = {"id": "F1", "fact": fact, "role": role, "evidence": ids, "by": "model"}
    said = {"verification": "direct_support", "evidence": ids}
    return checked(claim, said, evidence, alerts)


FIRING = (
    "BasketSlow service=basket firing since 11:20:00Z value 2.31",
    "BasketErrors service=basket firing since 11:21:00Z value 7",
)
ALERTS = {"id": "E1", "kind": "alerts", "outcome": "ok", "asked": "alerts", "lines": [*FIRING]}


@pytest.mark.parametrize(
    "fact",
    [
        "No alert fires since 11:20:00Z.",
        "No alerts are firing for basket, value 2.31.",
        "There is nothing firing at 11:20:00Z.",
        "The alert BasketSlow is not firing.",
        "The BasketSlow alert was resolved at 11:21:00Z.",
        "BasketErrors stopped firing at 11:21:00Z.",
        "Alerts for basket aren't active, value 7.",
        "11:20:00Z 之后没有告警触发",
        "BasketSlow 告警已解除，数值 2.31",
        "basket 无告警，数值 7",
        "No unusual alert fires, value 7.",
        "basket-1 is ready and no alert fires at 11:20:00Z.",
    ],
)
@pytest.mark.parametrize("role", ["normal", "symptom", "ruled_out"])
def test_no_claim_may_deny_alerts_that_code_read_off(fact: str, role: str) -> None:
    alerts = firing_alerts(claims_of_code([ALERTS], "en"))
    assert len(alerts) == 2
    found = judged(fact, role, excerpt("E1", *FIRING), alerts=alerts)
    assert (found["verification"], found["reason"]) == ("contradicted", "CODE_READS_OTHERWISE")
    assert verdict_of([found]) == "REJECT"


def test_what_no_firing_alert_names_may_be_without_one() -> None:
    alerts = firing_alerts(claims_of_code([ALERTS], "en"))
    found = judged(
        "No alert fires for ledger-api.", "normal", excerpt("E1", *FIRING), alerts=alerts
    )
    assert found["verification"] != "contradicted"


@pytest.mark.parametrize(
    "line",
    [
        "PodNotReady{pod=basket-1} firing since 11:20:00Z, value 1 - pod is not ready",
        'PodPending{phase="pending"} firing since 11:20:00Z, value 1',
        "PodPending phase=pending firing since 11:20:00Z, value 1",
    ],
)
def test_the_words_of_an_alert_do_not_hide_that_it_fires(line: str) -> None:
    assert [each["role"] for each in claims_of_code([{**ALERTS, "lines": [line]}], "en")] == [
        "symptom"
    ]


def test_an_alert_that_the_model_calls_normal_stays_what_code_read_off() -> None:
    said = {"fact": f"Alert: {FIRING[0]}", "role": "normal", "evidence": ["E1"]}
    claims = joined_claims(claims_of_model({"claims": [said]}), claims_of_code([ALERTS], "en"))
    assert [(each["role"], each["by"]) for each in claims] == [("symptom", "code")] * 2


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("basket has no errors, pool_size=5.", "11:21:07Z basket ERROR pool_size=5"),
        ("basket-1 did not restart at 11:20.", "11:20:00Z basket-1 restarted"),
        ("basket-1 never timed out since 11:20.", "11:20:00Z basket-1 timeout after 5 s"),
        ("basket-1 在 11:20 没有重启", "11:20:00Z basket-1 restarted"),
        ("There was no deploy at 11:15.", "11:15:00Z deployed basket 1.2.3"),
    ],
)
def test_no_claim_may_deny_what_its_own_line_shows(fact: str, line: str) -> None:
    found = judged(fact, "normal", excerpt("E1", line))
    assert (found["verification"], found["reason"]) == ("no_evidence", "LINE_SAYS_OTHERWISE")
    as_cause: Any = {**found, "role": "cause"}
    assert hypotheses_of([as_cause], "en") == []


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("basket-1 had no restarts.", "basket-1 running, restarts 0"),
        ("basket-1 did not restart again after 11:20.", "11:20:00Z basket-1 restarted"),
        ("/var/log has no space left.", "write /var/log: no space left on device"),
        ("basket-1 could not get a connection.", "basket-1 timeout waiting for a connection"),
    ],
)
def test_a_denial_that_a_line_bears_out_stands(fact: str, line: str) -> None:
    assert judged(fact, "normal", excerpt("E1", line))["verification"] == "direct_support"


def test_what_is_absent_from_a_cut_answer_may_stand_in_what_was_cut() -> None:
    whole = excerpt("E1", "11:20:00Z basket-1 ready")
    fact = "basket-1 has no panics."
    assert judged(fact, "normal", whole)["verification"] == "direct_support"
    found = judged(fact, "normal", {**whole, "truncated": True})
    assert (found["verification"], found["reason"]) == ("indirect_support", "TRUNCATED")


def test_a_question_without_an_answer_shows_no_symptom_and_no_cause() -> None:
    nothing = excerpt("E1", asked='lines with "35% of users hit redis-7"')
    for role in ("cause", "symptom"):
        found = judged("35% of users hit redis-7.", role, nothing)
        assert found["verification"] == "no_evidence"
        assert hypotheses_of([found], "en") == []


def test_a_number_that_the_asker_put_in_its_question_is_no_evidence() -> None:
    probe = next(iter(_recording().toolbox().probes))
    made = {
        **{"id": "E1", "tool": "search", "kind": "logs", "outcome": "ok"},
        **{"arguments": {"words": "35% of 800 users", "level": "7"}, "lines": ["basket-1 ERROR"]},
        "asked": "level 7, words '35% of 800 users': 1 entry of 12",
    }
    admitted = as_evidence(made, is_primary=True, chosen=chosen_numbers(made, probe))
    held = cited([admitted], ["E1"])
    assert missing_from("35% of 800 users", held) == ["35%", "800"]
    assert missing_from("1 of 12 at level 7", held) == []


def test_an_unrelated_primary_source_does_not_carry_a_cause() -> None:
    fields = {"kind": "logs", "outcome": "ok", "asked": "?", "where": "test"}
    hearsay = as_evidence({**fields, "id": "E1", "lines": ["redis-7 crashed"]}, is_primary=False)
    logs = as_evidence({**fields, "id": "E2", "lines": ["basket-1 ready"]}, is_primary=True)
    claim = {"fact": "redis-7 crashed.", "role": "cause", "evidence": ["E1", "E2"], "by": "model"}
    assert ceiling([claim], [hearsay, logs]) == "LOW_CONFID"
    own = as_evidence({**fields, "id": "E2", "lines": ["redis-7 exit 137"]}, is_primary=True)
    assert ceiling([claim], [hearsay, own]) == "PASS"


def test_a_fact_that_names_evidence_which_it_does_not_cite_is_not_supported() -> None:
    found = judged("basket-1 crashed, as E9 shows.", "symptom", excerpt("E1", "basket-1 crashed"))
    assert (found["verification"], found["unsupported"]) == ("no_evidence", ["E9"])
    code = judged("basket-1 says E11.", "symptom", excerpt("E1", "basket-1 E11 duplicate key"))
    assert code["verification"] == "direct_support"


def _recording() -> Recording:
    words = {"type": "string", "maxLength": 80}
    return Recording(
        specs=(spec("search", "logs", words=words, level={"enum": ["7", "8"]}),),
        calls=(call("search", "nothing yet", arguments={"words": "x", "level": "7"}),),
    )


@pytest.mark.parametrize(
    "fact",
    [
        "The change a1b2c3d caused basket-1 to wait.",
        "The change a1b2c3d broke basket-1.",
        "a1b2c3d brought down basket-1.",
        "a1b2c3d explains why basket-1 waits.",
        "a1b2c3d made basket-1 slow.",
        "a1b2c3d 拖垮了 basket-1",
    ],
)
@pytest.mark.parametrize("role", ["symptom", "normal", "ruled_out"])
def test_a_cause_under_another_role_is_no_part_of_an_answer(fact: str, role: str) -> None:
    evidence = excerpt("E1", "11:15Z a1b2c3d4e5 basket-1: pool_size 50 -> 5")
    found = judged(fact, role, evidence)
    assert (found["verification"], found["reason"]) == ("indirect_support", "STATES_CAUSE")
    grounds = Grounds(facts=[found], evidence=[evidence], finding="not_established", language="en")
    assert quoted_facts(grounds) == []
    assert held_sentences([{"text": fact, "facts": ["F1"]}], grounds).sentences == []


def test_a_line_that_speaks_of_a_cause_itself_may_be_quoted() -> None:
    line = "basket-1 failed due to timeout"
    assert judged("basket-1 failed due to timeout.", "symptom", excerpt("E1", line))[
        "verification"
    ] == ("direct_support")


SLOW: Any = {
    **{"id": "F1", "fact": FIRING[0], "role": "symptom", "by": "code", "evidence": ["E1"]},
    **{"verification": "direct_support", "reason": "SUPPORTED", "unsupported": []},
}
EMPTY: Any = {**SLOW, "fact": "Asked and found nothing: errors of ledger-api", "evidence": ["E2"]}


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("No alert fires since 11:20:00Z.", SLOW),
        ("BasketSlow has recovered, value 2.31.", SLOW),
        ("BasketSlow is resolved since 11:20:00Z.", SLOW),
        ("BasketSlow 已恢复正常，数值 2.31", SLOW),
        ("There are errors of ledger-api.", EMPTY),
        ("ledger-api 报错", EMPTY),
        ("The change brought BasketSlow about at 11:20:00Z.", SLOW),
        ("BasketSlow fires since 11:20:00Z, as F7 and E9 show.", SLOW),
        ("Everything is as it should be.", SLOW),
    ],
)
def test_a_sentence_that_turns_its_facts_round_is_dropped(sentence: str, fact: Any) -> None:
    evidence = [excerpt("E1", *FIRING), excerpt("E2", asked="errors of ledger-api")]
    grounds = Grounds(facts=[fact], evidence=evidence, finding="not_established", language="en")
    written = held_sentences([{"text": sentence, "facts": ["F1"]}], grounds)
    assert written.sentences == []
    assert [each["text"] for each in written.dropped] == [sentence]


def test_no_sentence_may_deny_alerts_whatever_else_it_cites() -> None:
    well: Any = {**SLOW, "id": "F2", "fact": "basket-1 is ready.", "role": "normal", "by": "model"}
    evidence = [excerpt("E1", *FIRING, "basket-1 is ready")]
    grounds = Grounds(facts=[SLOW, well], evidence=evidence, finding="hypotheses", language="en")
    denied = {"text": "basket-1 is ready and no alert fires.", "facts": ["F2"]}
    assert held_sentences([denied], grounds).sentences == []


def test_what_is_only_likely_is_called_so_even_without_a_causal_word() -> None:
    cause: Any = {**SLOW, "fact": "a1b2c3d exhausted the pool.", "role": "cause", "by": "model"}
    evidence = [excerpt("E1", "a1b2c3d4 pool")]
    grounds = Grounds(facts=[cause], evidence=evidence, finding="hypotheses", language="en")
    said = {"text": "a1b2c3d exhausted the pool.", "facts": ["F1"]}
    written = held_sentences([said], grounds)
    assert [each["text"] for each in written.sentences] == ["Likely: a1b2c3d exhausted the pool."]


def test_nothing_is_called_healthy_that_tells_of_a_fault() -> None:
    told: Any = {**SLOW, "fact": "basket-1 timed out at 11:20.", "role": "normal", "by": "model"}
    assert finding_of("PASS", [told], []) == "not_established"
    quiet: Any = {**told, "fact": "basket-1 never timed out."}
    assert finding_of("PASS", [quiet], []) == "no_fault"


@pytest.mark.parametrize(
    "sentence",
    ["35% of users wait.", f"3{ZERO_WIDTH}5% wait.", "\u0663\u0665 % wait.", "３６ wait."],
)
def test_the_scorer_sees_through_them_too(sentence: str) -> None:
    assert unsupported(sentence, ["users 3, pods 5, ratio 0.35"]) != []
    assert unsupported("35% of users wait.", ["users 35"]) == ["35%"]
    assert unsupported("35% of users wait.", ["used_percent 35"]) == []


def test_what_cannot_be_seen_is_taken_out_of_what_is_said() -> None:
    hidden = f"basket-1{ZERO_WIDTH} waits {RIGHT_TO_LEFT}53 s"
    claims = claims_of_model({"claims": [{"fact": hidden, "role": "symptom", "evidence": ["E1"]}]})
    assert [each["fact"] for each in claims] == ["basket-1 waits 53 s"]
    fact: Any = {**SLOW, "fact": "basket-1 waits 53 s"}
    evidence = [excerpt("E1", "basket-1 waits 53 s")]
    grounds = Grounds(facts=[fact], evidence=evidence, finding="not_established", language="en")
    written = held_sentences([{"text": hidden, "facts": ["F1"]}], grounds)
    assert [each["text"] for each in written.sentences] == ["basket-1 waits 53 s"]


STEPLESS: dict[str, Any] = {"steps": []}
QUIET = Recording(
    specs=(spec("alerts", "alerts", is_primary=False),),
    calls=(call("alerts", "alerts that fire", *FIRING, first_look=True),),
)


async def test_the_first_negative_example_two_alerts_fire_and_the_model_says_none_does() -> None:
    denied = "No alert fires for basket, value 2.31."
    claim = {"fact": denied, "role": "normal", "evidence": ["E1"]}
    said = {"F1": {"verification": "direct_support", "evidence": ["E1"]}}
    model = model_of(
        {
            "planner": [STEPLESS] * 2,
            "executor": [{"claims": [claim]}] * 2,
            "verifier": [{"facts": said, "verdict": "PASS"}] * 2,
            "composer": [{"sentences": [{"text": denied, "facts": ["F1", "F2"]}]}],
        }
    )
    state = await diagnose(context_of(model, QUIET.toolbox()), "Is basket well?")
    answer = answer_of(state)
    assert (answer["finding"], answer["verdict"]) == ("not_established", "REJECT")
    shown = json.dumps([answer["headline"], answer["sentences"], answer["cause"]])
    assert "No alert" not in shown
    assert [each["by"] for each in answer["sentences"]] == ["code", "code"]
    assert all(name in shown for name in ("BasketSlow", "BasketErrors"))
    assert "dropped" not in answer
    assert denied in {each["text"] for each in state["composer_output"]["dropped"]}
