"""The API's main path: words in, a proposal out, decided, written, found again."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import zipfile
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest

from alfred.store.address import Address
from tests.served import Served, approved, open_served, post, proposed, turn_in
from tests.shell import posting
from tests.world import settings_for


@pytest.fixture(scope="module")
async def served(
    served_database: Address, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    """Serve for all tests of this file; each has users of its own."""
    home: Path = tmp_path_factory.mktemp("served")
    async with open_served(served_database, settings_for(home)) as opened:
        yield opened


async def test_a_posting_is_sent_read_edited_decided_and_found_on_the_board(
    served: Served,
) -> None:
    client = await served.client()
    shown = await proposed(client, "Lumen Kites")
    assert shown["text"] == posting("Lumen Kites")[0]
    company = next(a for a in shown["actions"] if a["kind"] == "upsert_company")
    edited = await client.post(
        f"/v1/proposals/{shown['proposal']}/amend",
        json={"digest": shown["digest"], "edits": {company["id"]: {"name": "Lumen Kites Ltd"}}},
    )
    assert edited.status_code == 200, edited.text
    assert edited.json()["digest"] != shown["digest"]
    last = edited.json()["actions"][-1]
    answer = await client.post(
        f"/v1/proposals/{shown['proposal']}/decide",
        json={
            "digest": edited.json()["digest"],
            "verdicts": {last["id"]: "reject"},
            "rest": "approve",
        },
    )
    assert answer.json()["proposal"]["state"] == "committed", answer.text
    states = {a["id"]: a["state"] for a in answer.json()["proposal"]["actions"]}
    assert states.pop(last["id"]) == "rejected"
    assert set(states.values()) == {"committed"}
    done = await turn_in(client, shown["turn"], "done")
    assert done["outcome"] == "committed"
    board = (await client.get("/v1/jobs")).json()["items"]
    assert [row["company"] for row in board] == ["Lumen Kites Ltd"]
    whole = await client.get(f"/v1/jobs/{board[0]['id']}")
    assert whole.json()["provenance"][0]["proposal_id"] == shown["proposal"]


async def test_moving_an_application_is_proposed_and_decided_like_everything(
    served: Served,
) -> None:
    client = await served.client()
    await approved(client, await proposed(client, "Harbour"))
    job = (await client.get("/v1/jobs")).json()["items"][0]
    moved = await client.post(f"/v1/applications/{job['id']}/status", json={"status": "applied"})
    assert moved.status_code == 201, moved.text
    assert (await client.get("/v1/applications?status=applied")).json()["items"] == []
    await approved(client, moved.json())
    (application,) = (await client.get("/v1/applications?status=applied")).json()["items"]
    assert application["posting_id"] == job["id"]
    back = await client.post(f"/v1/applications/{job['id']}/status", json={"status": "saved"})
    assert (back.status_code, back.json()["code"]) == (409, "action.state")
    funnel = (await client.get("/v1/jobs/funnel")).json()
    assert funnel["applications"] == 1


async def test_of_two_tabs_the_second_is_told_what_the_first_has_changed(served: Served) -> None:
    client = await served.client()
    shown = await proposed(client, "Two Tabs")
    company = next(a for a in shown["actions"] if a["kind"] == "upsert_company")
    decide = f"/v1/proposals/{shown['proposal']}/decide"
    edited = await client.post(
        f"/v1/proposals/{shown['proposal']}/amend",
        json={"digest": shown["digest"], "edits": {company["id"]: {"name": "Three Tabs"}}},
    )
    late = await client.post(decide, json={"digest": shown["digest"], "rest": "approve"})
    problem = late.json()
    assert (late.status_code, problem["code"]) == (409, "review.changed")
    assert late.headers["content-type"] == "application/problem+json"
    assert problem["proposal"]["digest"] == edited.json()["digest"]
    again = await client.post(
        decide, json={"digest": problem["proposal"]["digest"], "rest": "reject"}
    )
    assert again.json()["proposal"]["state"] == "rejected"
    after = await client.post(decide, json={"digest": shown["digest"], "rest": "approve"})
    assert after.status_code == 200  # nothing was left to say
    contrary = await client.post(
        decide, json={"digest": shown["digest"], "verdicts": {company["id"]: "approve"}}
    )
    assert (contrary.status_code, contrary.json()["code"]) == (409, "review.conflict")


async def test_an_edit_of_what_no_text_can_name_is_refused(served: Served) -> None:
    client = await served.client()
    shown = await proposed(client, "Half")
    edits = {shown["actions"][0]["id"]: {"\ud800": 1}}
    answer = await client.post(
        f"/v1/proposals/{shown['proposal']}/amend",
        content=json.dumps({"digest": shown["digest"], "edits": edits}),
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "review.edit"), answer.text


async def test_two_decisions_at_once_have_one_winner(served: Served) -> None:
    client = await served.client()
    shown = await proposed(client, "Race")
    decide = f"/v1/proposals/{shown['proposal']}/decide"
    answers = await asyncio.gather(
        *(
            client.post(decide, json={"digest": shown["digest"], "verdicts": verdicts})
            for verdict in ("approve", "reject")
            for verdicts in [{a["id"]: verdict for a in shown["actions"]}]
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_a_request_sent_again_with_its_key_does_nothing_twice(served: Served) -> None:
    client = await served.client()
    key, text = {"Idempotency-Key": str(uuid4())}, posting("Once")[0]
    turns = {await post(client, text, **key) for _ in range(3)}
    assert len(turns) == 1
    assert len((await client.get("/v1/turns")).json()["items"]) == 1
    other = await client.post("/v1/messages", json={"text": "another"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "request.key")
    stranger = await served.client()
    assert await post(stranger, text, **key) not in turns


async def test_of_two_texts_at_once_with_one_key_the_second_is_refused_and_not_lost(
    served: Served,
) -> None:
    client = await served.client()
    for number in range(4):
        key = {"Idempotency-Key": f"both {number}"}
        sent = [
            client.post("/v1/messages", json={"text": f"{name} {number}"}, headers=key)
            for name in ("ash", "birch")
        ]
        first, second = sorted(await asyncio.gather(*sent), key=lambda answer: answer.status_code)
        assert (first.status_code, second.status_code) == (202, 409)
        assert second.json()["code"] == "request.key"


@pytest.mark.parametrize("text", ["<ftp://jobs.example/1>。", "a line\r\nand another", "  x \n"])
async def test_whatever_was_sent_with_a_key_is_the_same_when_sent_again(
    served: Served, text: str
) -> None:
    client = await served.client()
    assert await post(client, text, **{"Idempotency-Key": "k"}) == await post(
        client, text, **{"Idempotency-Key": "k"}
    )


async def test_a_status_that_is_sent_again_with_its_key_is_proposed_once(served: Served) -> None:
    client = await served.client()
    await approved(client, await proposed(client, "Keyed"))
    job = (await client.get("/v1/jobs")).json()["items"][0]
    address, key = f"/v1/applications/{job['id']}/status", {"Idempotency-Key": "move"}
    sent = [await client.post(address, json={"status": "saved"}, headers=key) for _ in range(2)]
    assert sent[0].json()["proposal"] == sent[1].json()["proposal"]
    other = await client.post(address, json={"status": "applied"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "request.key")


async def test_a_file_is_read_as_one_and_what_cannot_be_read_is_stored_with_its_reason(
    served: Served,
) -> None:
    client = await served.client()
    text = posting("Filed")[0]
    sent = await client.post(
        "/v1/messages", files={"file": ("岗位.txt", text.encode())}, data={"domain": "job"}
    )
    assert sent.status_code == 202, sent.text
    found = await turn_in(client, sent.json()["turn"], "waiting")
    assert found["source"] == "岗位.txt"
    empty = await client.post("/v1/messages", json={"text": "  \n "})
    told = (await client.get(f"/v1/turns/{empty.json()['turn']}")).json()
    assert (told["state"], told["outcome"]) == ("failed", "refused")
    assert "input.empty" in told["problem"]
    elsewhere = await client.post("/v1/messages", json={"text": text, "domain": "cooking"})
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (422, "input.unknown_domain")
    kind = await client.post("/v1/messages", content=b"<p>", headers={"Content-Type": "text/html"})
    assert (kind.status_code, kind.json()["code"]) == (415, "request.media")


async def test_a_correction_in_words_leads_to_another_proposal_of_the_turn(served: Served) -> None:
    client = await served.client()
    shown = await proposed(client, "Corrected")
    sent = await client.post(
        f"/v1/proposals/{shown['proposal']}/correct",
        json={"digest": shown["digest"], "words": "the location is wrong"},
    )
    assert sent.status_code == 202, sent.text
    found = await turn_in(client, shown["turn"], "waiting", "failed")
    assert found["state"] in ("waiting", "failed")
    earlier = (await client.get(f"/v1/proposals/{shown['proposal']}")).json()
    assert earlier["state"] in ("corrected", "superseded")


async def test_lists_come_in_pieces_that_together_are_everything(served: Served) -> None:
    client = await served.client()
    sent = [await post(client, f"  {number} ") for number in range(7)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        given = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = (await client.get("/v1/turns", params=given)).json()
        seen += [item["turn"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
        assert len(page["items"]) == 3
    assert seen == sent[::-1]
    (thread,) = (await client.get("/v1/threads")).json()["items"]
    assert thread["messages"] == 7
    messages = await client.get(f"/v1/threads/{thread['id']}/messages?limit=2")
    assert [m["text"].strip() for m in messages.json()["items"]] == ["6", "5"]
    broken = await client.get("/v1/turns?cursor=made-up")
    assert (broken.status_code, broken.json()["code"]) == (422, "request.invalid")


@pytest.mark.parametrize(
    "moment",
    ["2026-01-01T00:00:00+23:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"],
)
async def test_a_cursor_that_no_answer_gave_breaks_nothing(served: Served, moment: str) -> None:
    client = await served.client()
    forged = base64.urlsafe_b64encode(json.dumps([moment, str(uuid4())]).encode()).decode()
    for address in ("turns", "jobs", "proposals", "applications", "threads", "diagnoses"):
        answer = await client.get(f"/v1/{address}", params={"cursor": forged})
        assert answer.status_code in (200, 422), (address, answer.text)


async def test_a_trace_tells_the_path_and_no_word_of_the_text(served: Served) -> None:
    client = await served.client()
    shown = await proposed(client, "Traced")
    trace = await client.get(f"/v1/turns/{shown['turn']}/trace")
    assert {"extract_job", "propose"} <= {event["node"] for event in trace.json()["events"]}
    assert "Traced" not in trace.text
    for name, node in (("job", "extract_job"), ("diagnosis", "verifier"), ("root", "review")):
        drawing = (await client.get(f"/v1/graphs/{name}")).json()
        assert node in drawing["nodes"]
        assert any(node in edge for edge in drawing["edges"])
    assert (await client.get("/v1/graphs/none")).status_code == 404


async def test_kinds_give_the_schemas_that_edit_forms_are_made_of(served: Served) -> None:
    kinds = (await (await served.client()).get("/v1/kinds")).json()
    assert kinds["upsert_company"]["schema"]["properties"]["name"]["type"] == "string"
    assert "简历" in kinds["create_document_version"]["called"]
    assert "begin_diagnosis" not in kinds


async def test_everything_of_the_user_is_taken_along_as_json_and_as_csv(served: Served) -> None:
    client = await served.client()
    await approved(client, await proposed(client, "Exported"))
    document = json.loads((await client.get("/v1/export")).content)
    assert document["tables"]["organization"]["rows"][0]["name"] == "Exported"
    assert not {"api_token", "web_session", "sign_in_link"} & set(document["tables"])
    packed = await client.get("/v1/export?format=csv")
    with zipfile.ZipFile(io.BytesIO(packed.content)) as files:
        assert b"Exported" in files.read("organization.csv")
