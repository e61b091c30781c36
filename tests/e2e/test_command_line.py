"""The commands as people run them: processes, a real HTTP model, a real database."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from alfred.app import user_id_of
from alfred.store.address import Address
from tests.shell import MODEL_FAILED, PENDING, REFUSED_INPUT, REFUSED_REVIEW, Shell, posting
from tests.world import look

PAGE = Path(__file__).parents[2] / "demo" / "posting.html"


def test_a_company_named_at_run_time_is_in_the_table_after_approval_and_not_before(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    company = f"Zephyr {uuid4().hex[:8].title()} Works"
    text, answer = posting(company)
    shell = shell_with(answer)
    preview = shell.run("capture", text, code=PENDING)
    assert company in preview.stdout
    query = "SELECT name FROM organization WHERE user_id = %s"
    owner = [user_id_of(shell.user)]
    assert look(database, query, owner) == []
    shell.run("review", "--yes")
    assert look(database, query, owner) == [{"name": company}]
    (row,) = shell.json("job", "list")["postings"]
    assert (row["company"], row["title"], row["requirements"]) == (company, "Data Engineer", 1)
    assert company in shell.run("job", "show", row["id"][:8]).stdout


def test_the_preview_shows_the_words_of_the_source_and_what_is_not_in_it(
    shell_with: Callable[..., Shell],
) -> None:
    text, answer = posting("Alder Labs")
    shell = shell_with({**answer, "location": "Manchester"})
    document = shell.json("capture", text, code=PENDING)
    (job,) = [a for a in document["actions"] if a["kind"] == "upsert_job_posting"]
    (span,) = job["evidence"]["title"]["spans"]
    assert text[span["start"] : span["end"]] == "Data Engineer"
    assert job["evidence"]["location"]["support"] == "ungrounded"
    assert not job["ticked"]
    shown = shell.run("review", "--show", code=PENDING).stdout
    assert "not in the source" in shown


def test_yes_approves_only_what_is_grounded_and_leaves_the_rest_pending(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    text, answer = posting("Birch Data")
    shell = shell_with({**answer, "location": "Manchester"})
    shell.run("capture", text, code=PENDING)
    left = shell.run("review", "--yes", code=PENDING)
    assert "location not in the source" in left.stdout
    owner = [user_id_of(shell.user)]
    assert look(database, "SELECT 1 FROM job_posting WHERE user_id = %s", owner) == []
    shell.run("review", "--set", "2.location=Leeds", "--approve", "2", "--yes")
    rows = look(database, "SELECT location_text FROM job_posting WHERE user_id = %s", owner)
    assert rows == [{"location_text": "Leeds"}]


def test_a_posting_without_a_company_shows_an_empty_input_that_set_fills_everywhere(
    shell_with: Callable[..., Shell],
) -> None:
    text, answer = posting("nobody")
    shell = shell_with({**answer, "company": None})
    preview = shell.run("capture", text, code=PENDING)
    assert "not stated; fill it with --set" in preview.stdout
    refused = shell.run("review", "--approve", "1", code=REFUSED_REVIEW)
    assert "review.incomplete" in refused.stderr
    shell.run("review", "--set", "1.name=1688", "--yes")
    (row,) = shell.json("job", "list")["postings"]
    assert row["company"] == "1688"


def test_numbers_in_disguise_stay_text_from_the_source_to_the_table(
    shell_with: Callable[..., Shell],
) -> None:
    text = "1688 is hiring a 1e5 in Leeds."
    shell = shell_with({**posting("1688")[1], "title": "1e5", "requirements": []})
    shell.run("capture", text, code=PENDING)
    shell.run("review", "--yes")
    (row,) = shell.json("job", "list")["postings"]
    assert (row["company"], row["title"]) == ("1688", "1e5")


def test_a_rejected_action_is_discarded_and_the_words_are_kept(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    text, answer = posting("Cedar Systems")
    shell = shell_with(answer)
    shell.run("capture", text, code=PENDING)
    done = shell.run("review", "--reject", "3", "--yes")
    assert "1 discarded" in done.stdout
    (message,) = look(
        database,
        "SELECT text, annotations FROM chat_message WHERE user_id = %s",
        [user_id_of(shell.user)],
    )
    assert message["text"] == text
    assert message["annotations"][0]["kind"] == "discarded"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (b"", "input.empty"),
        (b" \n\t ", "input.empty"),
        ("👍🎉".encode(), "input.no_words"),
        (b"a" * 2_000_000, "input.too_large"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "input.unsupported"),
    ],
)
def test_an_input_that_cannot_be_read_is_refused_with_a_reason_and_its_words_are_stored(
    database: Address, shell_with: Callable[..., Shell], words: bytes, code: str
) -> None:
    shell = shell_with("never asked")
    refused = shell.run("capture", "-", code=REFUSED_INPUT, words=words)
    assert refused.stderr.startswith(f"alfred: {code}: ")
    assert "Your words are kept" in refused.stderr
    (stored,) = look(
        database,
        "SELECT coalesce(original, convert_to(text, 'UTF8')) AS bytes FROM chat_message"
        " WHERE user_id = %s",
        [user_id_of(shell.user)],
    )
    assert bytes(stored["bytes"]) == words


def test_nul_and_lone_surrogates_are_replaced_for_reading_and_the_bytes_are_kept(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    text, answer = posting("Dogwood")
    words = text.encode() + b" \x00 \xed\xa0\x80 end"
    shell = shell_with(answer)
    shell.run("capture", "-", code=PENDING, words=words)
    (stored,) = look(
        database,
        "SELECT original, text FROM chat_message WHERE user_id = %s",
        [user_id_of(shell.user)],
    )
    assert bytes(stored["original"]) == words
    assert "\ufffd" in stored["text"]


@pytest.mark.parametrize(
    "answer",
    [
        "I am sorry, I cannot do that.",
        '```json\n{"company": "Elm"}\n```',
        '{"company": "Elm", "title": "T"} and more',
        '{"company": "Elm", "company": "Oak", "title": "T"}',
        '{"company": true, "title": "T"}',
        '{"company": "<company>", "title": "string"}',
        '{"company": "Elm", "title"',
    ],
)
def test_a_model_that_answers_garbage_ends_in_a_typed_failure_with_its_text_kept(
    database: Address, shell_with: Callable[..., Shell], answer: str
) -> None:
    shell = shell_with(answer)
    failed = shell.run("capture", "Elm seeks a T. Hiring!", code=MODEL_FAILED)
    assert "model.invalid_output" in failed.stderr
    assert "Your words are kept" in failed.stderr
    owner = [user_id_of(shell.user)]
    calls = look(database, "SELECT text FROM model_call WHERE user_id = %s", owner)
    assert [call["text"] for call in calls] == [answer] * 3
    assert look(database, "SELECT 1 FROM proposal WHERE user_id = %s", owner) == []


def test_a_model_that_is_down_is_named_and_the_words_can_be_captured_again(
    shell_with: Callable[..., Shell],
) -> None:
    text, answer = posting("Fir Analytics")
    shell = shell_with(answer)
    broken = Shell({**shell.environment, "ALFRED_MODEL": "http://127.0.0.1:9/v1#none"})
    failed = broken.run("capture", text, code=MODEL_FAILED)
    assert "model.unreachable" in failed.stderr
    assert "unreachable" in broken.run("pending").stdout
    shell.run("capture", "--again", "last", code=PENDING)
    shell.run("review", "--yes")
    (row,) = shell.json("job", "list")["postings"]
    assert row["company"] == "Fir Analytics"


def test_a_model_that_hangs_is_given_up_after_the_set_time(
    database: Address, tmp_path: Path, shell_with: Callable[..., Shell]
) -> None:
    shell = shell_with("never asked")
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1#deaf"
        slow = {**shell.environment, "ALFRED_MODEL": address, "ALFRED_MODEL_TIMEOUT_S": "1"}
        failed = Shell(slow).run("capture", posting("Hazel")[0], code=MODEL_FAILED)
    assert "model.timeout" in failed.stderr
    assert "Your words are kept" in failed.stderr


NOTHING = dict.fromkeys(("company", "title", "location", "deadline", "user_intent"))


@pytest.mark.parametrize(
    "words",
    [
        "Whisk three eggs, add flour, and bake for twenty minutes.",
        "<html><head><title>About us</title></head><body><p>We bake bread.</p></body></html>",
    ],
)
def test_a_text_without_a_posting_proposes_nothing_and_says_so(
    database: Address, shell_with: Callable[..., Shell], words: str
) -> None:
    shell = shell_with({**NOTHING, "requirements": None})
    done = shell.run("capture", "-", words=words.encode())
    assert "Nothing is proposed" in done.stderr
    assert "Your words are kept" in done.stderr
    owner = [user_id_of(shell.user)]
    assert look(database, "SELECT 1 FROM proposal WHERE user_id = %s", owner) == []


def test_what_a_model_invents_about_a_text_without_a_posting_is_not_ticked(
    shell_with: Callable[..., Shell],
) -> None:
    invented = {**NOTHING, "company": "Acme", "title": "Baker", "requirements": None}
    shell = shell_with(invented)
    done = shell.run("capture", "Whisk three eggs, add flour.")
    assert "Nothing is proposed" in done.stderr


def test_a_posting_in_two_languages_is_grounded_in_both(
    shell_with: Callable[..., Shell],
) -> None:
    text = (
        "Juniper 杜松科技 诚聘 Backend Engineer（后端工程师），base 深圳。You know Go; 熟悉 Redis。"
    )
    shell = shell_with(
        {
            **NOTHING,
            "company": "Juniper 杜松科技",
            "title": "Backend Engineer",
            "location": "深圳",
            "requirements": [
                {"kind": "skill", "text": "You know Go", "importance": None},
                {"kind": "skill", "text": "熟悉 Redis", "importance": None},
            ],
        }
    )
    document = shell.json("capture", text, code=PENDING)
    assert all(action["ticked"] for action in document["actions"])
    shell.run("review", "--yes")
    (row,) = shell.json("job", "list")["postings"]
    assert row["requirements"] == 2


def test_a_page_with_two_records_becomes_two_postings(
    tmp_path: Path, shell_with: Callable[..., Shell]
) -> None:
    records = [
        {
            "@context": "https://schema.org",
            "@type": "JobPosting",
            "title": title,
            "hiringOrganization": {"@type": "Organization", "name": "Larch Logistics"},
        }
        for title in ("Driver", "Planner")
    ]
    page = tmp_path / "page.html"
    page.write_text(
        f'<html><head><script type="application/ld+json">{json.dumps(records)}</script></head>'
        "<body><h1>Driver</h1><p>Larch Logistics: Driver, Planner</p></body></html>"
    )
    shell = shell_with(NOTHING)
    document = shell.json("capture", str(page), code=PENDING)
    titles = [a["args"].get("title") for a in document["actions"] if "title" in a["args"]]
    assert titles == ["Driver", "Planner"]


def test_a_saved_page_goes_through_without_any_model(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    shell = shell_with("never asked")
    silent = Shell({**shell.environment, "ALFRED_MODEL": "http://127.0.0.1:9/v1#none"})
    document = silent.json("capture", str(PAGE), code=PENDING)
    assert any("Not read" in notice for notice in document["notices"])
    silent.run("review", "--yes")
    (row,) = silent.json("job", "list")["postings"]
    assert (row["company"], row["title"]) == ("Tidewater Instruments", "Platform Engineer")
    assert row["deadline"] == "2030-06-30"
    assert (
        "Evil"
        not in look(
            database,
            "SELECT text FROM chat_message WHERE user_id = %s",
            [user_id_of(silent.user)],
        )[0]["text"]
    )


def test_a_trace_shows_the_path_without_the_words(shell_with: Callable[..., Shell]) -> None:
    text, answer = posting("Gorse Metrics")
    shell = shell_with(answer)
    shell.run("capture", text, code=PENDING)
    shell.run("review", "--yes")
    trace = shell.json("trace")
    steps = [event["node"] for event in trace["events"]]
    assert steps == ["dispatch", "extract_job", "capture_experience", "propose", "review", "finish"]
    taken = [(step["from"], step["to"]) for step in trace["transitions"]]
    assert ("dispatch", "extract_job") in taken
    assert ("review", "finish") in taken
    assert "Gorse" not in json.dumps(trace)


def test_what_is_not_an_option_or_an_id_is_answered_with_a_sentence(
    shell_with: Callable[..., Shell],
) -> None:
    shell = shell_with("never asked")
    assert "review.unknown" in shell.run("review", "abcd", code=REFUSED_REVIEW).stderr
    assert "review.unknown" in shell.run("review", code=REFUSED_REVIEW).stderr
    assert "input.unreadable" in shell.run("capture", "no-such.txt", code=REFUSED_INPUT).stderr
    assert "Give a TEXT" in shell.run("capture", code=2).stderr
    odd = Shell({**shell.environment, "ALFRED_MODLE": "x"})
    assert "Did you mean ALFRED_MODEL?" in odd.run("pending", code=2).stderr


def test_check_needs_neither_database_nor_model(shell_with: Callable[..., Shell]) -> None:
    shell = shell_with("never asked")
    nowhere = {**shell.environment, "ALFRED_DATABASE_URL": "postgresql://u:p@127.0.0.1:9/none"}
    report = Shell(nowhere).json("check")
    assert report["automatic"]["end_diagnosis"] == ["diagnosis_end"]
    said = Shell(nowhere).run("check", "--no-graphs").stdout
    assert "request_cancel: each only adds to append-only tables" in said
    assert report["problems"] == []
    assert {graph["name"] for graph in report["graphs"]} == {"root", "job", "diagnosis"}
    assert {graph["name"]: graph["gate"] for graph in report["graphs"]}["root"] == "review"


def test_check_prints_what_it_explored_of_the_named_graph(
    shell_with: Callable[..., Shell],
) -> None:
    shell = shell_with("never asked")
    said = shell.run("check", "diagnosis").stdout
    assert "36 routing rows, 130 terminating paths" in said
    assert "longest path 18 node executions, shortest 2" in said
    assert "graph job" not in said
    graphs = shell.json("check", "diagnosis")["graphs"]
    (explored,) = [graph["explored"] for graph in graphs if graph["explored"]]
    assert explored["ends"] == {"composer": 40, "fallback": 90}
    assert "There are: root, diagnosis, job." in shell.run("check", "dignosis", code=2).stderr


def test_a_trace_is_drawn_with_the_path_taken(shell_with: Callable[..., Shell]) -> None:
    text, answer = posting("Linden Foods")
    shell = shell_with(answer)
    shell.run("capture", text, "--no-review", code=PENDING)
    drawn = shell.run("trace", "--mermaid").stdout
    assert drawn.startswith("flowchart TD\n")
    assert '["extract_job"]' in drawn
    taken = [line for line in drawn.splitlines() if "-->|" in line]
    assert any("ACTIONS_PROPOSED" in line for line in taken)
    assert "Linden" not in drawn


def test_approve_all_leaves_alone_what_the_person_put_off(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    text, answer = posting("Ivy Freight")
    shell = shell_with(answer)
    shell.run("capture", text, "--no-review", code=PENDING)
    shell.run("review", words=b"s\na\n", code=PENDING)
    rows = look(
        database,
        "SELECT state FROM action WHERE user_id = %s ORDER BY ordinal",
        [user_id_of(shell.user)],
    )
    assert [row["state"] for row in rows] == ["pending", "approved", "approved"]


def test_discard_rest_rejects_what_yes_leaves(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    text, answer = posting("Maple Maps")
    invented = {"kind": "skill", "text": "Ten years of Fortran", "importance": "must"}
    shell = shell_with({**answer, "requirements": [*answer["requirements"], invented]})
    shell.run("capture", text, code=PENDING)
    assert "1 discarded" in shell.run("review", "--yes", "--discard-rest").stdout
    (row,) = shell.json("job", "list")["postings"]
    assert row["requirements"] == 1


def test_the_end_of_the_input_stops_the_questions_and_keeps_the_answers(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    text, answer = posting("Nutmeg Tours")
    shell = shell_with(answer)
    shell.run("capture", text, "--no-review", code=PENDING)
    shell.run("review", words=b"", code=PENDING)
    shell.run("review", words=b"what\ny\n", code=PENDING)
    states = look(
        database,
        "SELECT state FROM action WHERE user_id = %s ORDER BY ordinal",
        [user_id_of(shell.user)],
    )
    assert [row["state"] for row in states] == ["approved", "pending", "pending"]


def test_json_without_a_decision_only_shows(shell_with: Callable[..., Shell]) -> None:
    text, answer = posting("Olive Works")
    shell = shell_with(answer)
    shell.run("capture", text, code=PENDING)
    assert shell.json("review", code=PENDING)["state"] == "pending"
