"""Every case of the node, from the words to the row."""

import asyncio
import json
from pathlib import Path

from alfred.domain import rows
from alfred.testing import open_test_app
from alfred_expenses.domain import DOMAIN
from alfred_expenses.tables import EXPENSE

LINES = Path(DOMAIN.nodes, "read_receipt", "cases.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


async def capture_all() -> None:
    async with open_test_app([json.dumps(case["answer"]) for case in CASES]) as app:
        for case in CASES:
            received = await app.receive(case["input"].encode())
            proposal = received.standing.proposal
            assert [action.kind for action in proposal.actions] == case["actions"]
            assert list(proposal.actions[0].missing) == case.get("missing", [])
            if "missing" not in case:
                verdicts = {action.id: "approve" for action in proposal.actions}
                await app.approvals.decide(
                    proposal.id, verdicts, seen=proposal.digest, actor=app.actor
                )
                await app.settle(proposal.id)
        async with app.reading() as connection:
            stored = await rows(connection, EXPENSE.select().order_by(EXPENSE.c.amount))
        assert [str(row["amount"]) for row in stored] == ["18.40", "1236.00"]
        assert stored[1]["claimed_from"] == "青禾数据"


def test_every_case_proposes_its_actions_and_is_written_once_approved() -> None:
    asyncio.run(capture_all())
