"""Questions and changes that need no model, as people type them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from alfred.app import user_id_of
from alfred.engine.decision_rules import Verdict
from alfred.store.address import Address
from alfred.testing import ScriptedModel
from tests.shell import PENDING, REFUSED_INPUT, REFUSED_REVIEW, Shell
from tests.world import capture, count, look, open_world, settings_for

COMPANY = "Alder Labs"
TEXT = (
    "We are hiring: Alder Labs seeks a Data Engineer in Leeds. You know SQL. "
    "Experience with Figma is a plus. You speak Cantonese."
)


def requirement(text: str, importance: str = "must") -> dict[str, str]:
    return {"kind": "skill", "text": text, "importance": importance}


ANSWER: dict[str, Any] = {
    "company": COMPANY,
    "title": "Data Engineer",
    "location": "Leeds",
    "deadline": None,
    "user_intent": None,
    "requirements": [
        requirement("You know SQL"),
        requirement("Experience with Figma is a plus", "nice"),
        requirement("You speak Cantonese"),
    ],
}


@pytest.fixture
async def shell(shell_with: Callable[..., Shell], database: Address, tmp_path: Path) -> Shell:
    """A user who has stored one posting, and whose model cannot be reached any more."""
    made = shell_with("")
    settings = settings_for(tmp_path / "home", made.user)
    async with open_world(database, settings, ScriptedModel([json.dumps(ANSWER)])) as app:
        proposal = await capture(app, TEXT)
        verdicts: dict[UUID, Verdict] = {action.id: "approve" for action in proposal.actions}
        await app.approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=app.actor)
        await app.settle(proposal.id)
    return Shell({**made.environment, "ALFRED_MODEL": "http://127.0.0.1:9/v1#nobody"})


def entries(database: Address, shell: Shell) -> list[dict[str, Any]]:
    return look(
        database,
        "SELECT kind, origin FROM ledger_entry WHERE user_id = %s AND proposal_id ="
        " (SELECT id FROM proposal WHERE user_id = %s ORDER BY created_at DESC LIMIT 1)"
        " ORDER BY seq",
        [user_id_of(shell.user)] * 2,
    )


def test_a_status_is_set_through_the_ledger_once_and_leaves_a_trace(
    database: Address, shell: Shell
) -> None:
    shown = shell.run("job", "set-status", "alder labs", "applied", "--on", "2026-03-01", "--yes")
    assert "record_application" in shown.stdout
    assert "committed: 1 actions written" in shown.stdout
    document = shell.json("job", "show", "1")
    assert document["application"]["status"] == "applied"
    assert document["application"]["applied_on"] == "2026-03-01"
    assert [(e["kind"], e["origin"]) for e in entries(database, shell)] == [
        ("proposed", "engine"),
        ("approved", "cli"),
        ("committed", "engine"),
    ]
    trace = shell.json("trace")
    assert [e["node"] for e in trace["events"]] == ["command", "propose", "review", "finish"]
    assert (trace["state"], trace["outcome"], trace["domain"]) == ("done", "committed", "job")
    (message,) = look(
        database,
        "SELECT text, modality FROM chat_message WHERE user_id = %s AND modality = 'command'",
        [user_id_of(shell.user)],
    )
    assert message["text"] == "alfred job set-status 'alder labs' applied --on 2026-03-01"
    again = shell.run("job", "set-status", "1", "applied", "--yes")
    assert "is applied already" in again.stdout
    assert count(database, "receipt", user_id_of(shell.user)) == 6


@pytest.mark.parametrize(("typed", "written"), [(b"y\n", 1), (b"\n", 0), (b"what\nno\n", 0)])
def test_a_change_is_asked_for_and_written_only_after_a_yes(
    database: Address, shell: Shell, typed: bytes, written: int
) -> None:
    shown = shell.run("job", "set-status", "1", "saved", words=typed)
    assert "status: saved" in shown.stdout
    assert "Write this? [y/N/later]" in shown.stdout
    assert count(database, "application", user_id_of(shell.user)) == written
    assert shell.json("pending")["proposals"] == []


def test_later_leaves_the_change_for_review_which_finishes_it(
    database: Address, shell: Shell
) -> None:
    shell.run("job", "set-status", "1", "saved", words=b"later\n", code=PENDING)
    (waiting,) = shell.json("pending")["proposals"]
    assert waiting["summary"] == "alfred job set-status 1 saved"
    assert count(database, "application", user_id_of(shell.user)) == 0
    shell.run("review", waiting["id"][:8], "--yes")
    assert count(database, "application", user_id_of(shell.user)) == 1
    assert shell.json("trace")["outcome"] == "committed"


def test_where_nobody_can_answer_the_change_waits(database: Address, shell: Shell) -> None:
    shell.run("job", "set-status", "1", "saved", code=PENDING)
    document = shell.json("job", "delete", "1", code=PENDING)
    assert document["state"] == "pending"
    assert {e["operation"] for a in document["actions"] for e in a["effects"]} >= {"delete"}
    assert len(shell.json("pending")["proposals"]) == 2
    assert count(database, "job_posting", user_id_of(shell.user)) == 1


def test_a_change_that_the_state_machine_forbids_is_refused_and_nothing_waits(
    shell: Shell,
) -> None:
    shell.run("job", "set-status", "1", "rejected", "--yes")
    refused = shell.run("job", "set-status", "1", "offer", "--yes", code=REFUSED_REVIEW)
    assert "action.state" in refused.stderr
    assert "Alder Labs: Data Engineer is rejected and cannot become offer" in refused.stderr
    assert shell.json("pending")["proposals"] == []
    shell.run("job", "set-status", "1", "hired", code=2)
    shell.run("job", "set-status", "nobody", "offer", code=REFUSED_REVIEW)


def test_a_deleted_posting_takes_along_what_the_preview_showed_and_nothing_else(
    database: Address, shell: Shell
) -> None:
    shell.run("job", "set-status", "1", "applied", "--yes")
    shown = shell.run("job", "delete", "1", "--yes").stdout
    name = "alder labs/data engineer/leeds"
    for line in (
        f"delete job_posting:{name}",
        f"delete application:{name}",
        f"delete job_requirement:{name}/you speak cantonese",
        "text: You speak Cantonese",
    ):
        assert line in shown, line
    owner = user_id_of(shell.user)
    for table in ("job_posting", "job_requirement", "application"):
        assert count(database, table, owner) == 0
    assert count(database, "organization", owner) == 1
    assert "No posting is stored yet" in shell.run("job", "list").stdout
    assert shell.json("job", "funnel")["applications"] == 0
    history = [event["kind"] for event in shell.json("job", "about", "alder")["history"]]
    assert history[-1] == "posting.deleted"
    assert "posting.captured" in history


def test_a_change_of_the_row_while_the_deletion_waits_is_shown_anew(
    database: Address, shell: Shell
) -> None:
    shell.run("job", "delete", "1", words=b"later\n", code=PENDING)
    deletion = shell.json("pending")["proposals"][0]["id"]
    shell.run("job", "set-status", "1", "applied", "--yes")
    stale = shell.run("review", deletion, "--yes", code=REFUSED_REVIEW)
    assert "review.stale" in stale.stderr
    assert "delete application:" in stale.stdout
    assert count(database, "job_posting", user_id_of(shell.user)) == 1
    shell.run("review", deletion, "--yes")
    assert count(database, "job_posting", user_id_of(shell.user)) == 0


def test_an_application_is_deleted_alone(database: Address, shell: Shell) -> None:
    shell.run("job", "set-status", "1", "applied", "--yes")
    application = shell.json("job", "show", "1")["application"]["id"]
    assert application[:8] in shell.run("job", "show", "1").stdout
    shell.run("job", "delete", application[:8], "--yes")
    owner = user_id_of(shell.user)
    assert count(database, "application", owner) == 0
    assert count(database, "job_posting", owner) == 1


def test_a_commands_words_are_no_text_to_read_again(shell: Shell) -> None:
    shell.run("job", "set-status", "1", "saved", "--yes")
    refused = shell.run("capture", "--again", "last", code=REFUSED_INPUT)
    assert "Give the command again" in refused.stderr


def test_match_quotes_what_is_on_record_and_says_what_is_not(
    database: Address, shell: Shell
) -> None:
    match = shell.json("job", "match", "alder")
    assert match["counts"]["must"]["nothing_on_record"] == 2
    assert "Nothing of yours is on record yet" in shell.run("job", "match", "1").stdout
    words = "2019–2022 在灯塔书店做数据，每天写 SQL 报表，说粤语。"
    tell_experience(database, shell, words)
    shown = shell.run("job", "match", "1").stdout
    assert "Must have: 2 of 2 on record" in shown
    assert f"SQL: “{words}”" in shown
    assert "the words “Figma”: nothing on record" in shown
    match = shell.json("job", "match", "1")
    by_text = {each["text"]: each for each in match["requirements"]}
    cantonese = by_text["You speak Cantonese"]["compared"][0]
    assert (cantonese["name"], cantonese["support"][0]["quote"]) == ("Cantonese", words)
    assert by_text["Experience with Figma is a plus"]["verdict"] == "nothing_on_record"


def tell_experience(database: Address, shell: Shell, words: str) -> None:
    """Store an experience from outside, as an approved action would."""
    look(
        database,
        "INSERT INTO experience (user_id, id, summary, raw_text, text_key)"
        " VALUES (%s, %s, %s, %s, %s) RETURNING id",
        [user_id_of(shell.user), uuid4(), "data", words, "data"],
    )


def test_the_list_knows_which_postings_need_a_skill(shell: Shell) -> None:
    (posting,) = shell.json("job", "list", "--needs", "粤语", "--needs", "sql")["postings"]
    assert [need["text"] for need in posting["needs"]] == ["You speak Cantonese", "You know SQL"]
    assert "“You know SQL”" in shell.run("job", "list", "--needs", "SQL").stdout
    assert "No stored posting asks for Go" in shell.run("job", "list", "--needs", "Go").stdout
    shell.run("job", "list", "--needs", " ", code=2)


def test_due_looks_as_far_as_it_is_told_and_shows_the_users_time(
    database: Address, shell: Shell
) -> None:
    shell.run("job", "set-status", "1", "applied", "--yes")
    application = shell.json("job", "show", "1")["application"]["id"]
    starts_at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=10)
    look(
        database,
        "INSERT INTO interview (user_id, id, application_id, round, mode, starts_at)"
        " VALUES (%s, %s, %s, 1, 'video', %s) RETURNING id",
        [user_id_of(shell.user), uuid4(), application, starts_at],
    )
    assert "Nothing is due within 7 days" in shell.run("job", "due", "--within", "1w").stdout
    abroad = Shell({**shell.environment, "ALFRED_TIMEZONE": "Asia/Shanghai"})
    (due,) = abroad.json("job", "due", "--within", "14d")["due"]
    assert datetime.fromisoformat(due["at"]) == starts_at
    assert due["at"].endswith("+08:00")
    shown = abroad.run("job", "due").stdout
    local = starts_at + timedelta(hours=8)
    assert f"{local:%Y-%m-%d %H:%M}" in shown
    assert "interview: round 1, video  Alder Labs: Data Engineer" in shown
    for wrong in ("soon", "14 parsecs", "-1", "99999"):
        shell.run("job", "due", "--within", wrong, code=2)


def test_the_funnel_counts_stages_from_what_happened(shell: Shell) -> None:
    assert "No application is recorded" in shell.run("job", "funnel").stdout
    for status in ("interviewing", "rejected"):
        shell.run("job", "set-status", "1", status, "--yes")
    funnel = shell.json("job", "funnel", "--within", "1m")
    assert [stage["reached"] for stage in funnel["stages"]] == [1, 1, 1, 0]
    shown = shell.run("job", "funnel").stdout
    assert "interviewing    1  100% of all, 100% of the stage before" in shown
    assert "rejected        1  having reached: 1 interviewing" in shown


def test_a_company_is_told_with_all_that_happened(shell: Shell) -> None:
    shell.run("job", "set-status", "1", "applied", "--yes")
    shown = shell.run("job", "about", "ALDER LABS Ltd.").stdout
    assert shown.startswith("Alder Labs\n")
    assert "posting captured data engineer/leeds" in shown
    assert "requirement noted data engineer/leeds: 3 times" in shown
    assert "application recorded data engineer/leeds: status applied" in shown
    assert shell.json("job", "documents")["documents"] == []
    assert "No document was written for Alder Labs" in shell.run("job", "documents", "alder").stdout
    refused = shell.run("job", "about", "Nobody", "--json", code=REFUSED_REVIEW)
    assert json.loads(refused.stderr)["error"]["code"] == "action.reference"
