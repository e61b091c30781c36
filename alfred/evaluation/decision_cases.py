"""A person's edits and rejections as cases: what the node said, and what it should have said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, LiteralString

from alfred.engine.command import COMMAND
from alfred.engine.database import Connection, Row
from alfred.evaluation.agreement import WITH, WITHOUT, normalise
from alfred.inputs.language import detect_language
from alfred.inputs.page import decode_page

_DECIDED: LiteralString = """
    SELECT p.id AS proposal, a.node, a.state, a.ordinal, payload.args, payload.origins,
           payload.evidence, m.text, m.original, m.modality, t.received_at, t.timezone,
           EXISTS (SELECT FROM ledger_entry e WHERE e.user_id = a.user_id AND e.action_id = a.id
                   AND e.kind = 'rejected' AND e.actor_id = a.user_id
                   AND NOT EXISTS (SELECT FROM ledger_payload b WHERE b.user_id = e.user_id
                                   AND b.seq = e.seq AND b.body ? 'fell_with')) AS is_rejected,
           (SELECT coalesce(jsonb_agg(b.body ORDER BY e.seq), '[]')
              FROM ledger_entry e LEFT JOIN ledger_payload b USING (user_id, seq)
             WHERE e.user_id = a.user_id AND e.action_id = a.id AND e.kind = 'amended'
               AND e.actor_id = a.user_id) AS edits
      FROM proposal p
      JOIN action a ON a.user_id = p.user_id AND a.proposal_id = p.id
      LEFT JOIN action_payload payload ON payload.user_id = a.user_id AND payload.id = a.id
      JOIN turn t ON t.user_id = p.user_id AND t.id = p.turn_id
      JOIN chat_message m ON m.user_id = p.user_id AND m.id = p.message_id
     WHERE p.state IN ('committed', 'rejected') AND a.node <> %s
     ORDER BY p.created_at, p.id, a.node, a.ordinal
"""
_SAME_WORDS = ("grounded", "classified", "ungrounded")
"""Supports of values that stand in an action as the node answered them; a date, for instance, is
derived from words, and the words that would give another date are not known."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """Cases as they stand in a case file, and what was left out.

    `erased` decisions have lost their words; `untold` ones concern nothing that the node answers
    in these words, such as a derived date, or a later item of a text that holds several.
    """

    cases: tuple[dict[str, Any], ...]
    edits: int
    rejections: int
    erased: int
    untold: int


async def export_decisions(connection: Connection) -> Export:
    """Make a case of each node's answer that the user of the transaction edited or rejected.

    Only closed proposals count; what was approved beside an edit is expected as well. An action
    that merely fell with another says nothing, nor does one of a command, which no node answered.
    """
    cursor = await connection.execute(_DECIDED, [COMMAND])
    rows = await cursor.fetchall()
    answers = [
        _Answer(list(group))
        for _, group in groupby(rows, key=lambda row: (row["proposal"], row["node"]))
    ]
    whole = [answer for answer in answers if answer.is_of_whole_input]
    parts = [answer for answer in answers if not answer.is_of_whole_input]
    return Export(
        cases=tuple(answer.case() for answer in whole if answer.corrected),
        edits=sum(answer.edits for answer in whole),
        rejections=sum(answer.rejections for answer in whole),
        erased=sum(answer.erased for answer in answers),
        untold=sum(answer.untold for answer in answers)
        + sum(answer.edits + answer.rejections for answer in parts),
    )


class _Answer:
    """What one node proposed in one proposal, and what became of it."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self.edits = self.rejections = self.erased = self.untold = 0
        self.answered: dict[str, Any] = {}
        self.corrected: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}
        for row in rows:
            self._read(row)

    @property
    def is_of_whole_input(self) -> bool:
        """Say whether the answer is about the input, and not about a later item in it."""
        return "/" not in self._rows[0]["node"]

    def case(self) -> dict[str, Any]:
        """Write the case; what the node answered stands beside what is expected."""
        row = self._rows[0]
        page: bytes | None = row["original"] if row["modality"] == "link" else None
        return {
            "id": f"{str(row['proposal'])[:8]}-{row['node']}",
            "lang": detect_language(row["text"]),
            "node": row["node"],
            **({"html": decode_page(page)} if page else {"text": row["text"]}),
            "received_at": row["received_at"].isoformat(),
            "timezone": row["timezone"],
            "expect": {**self._approved(), **self.corrected},
            "answered": self.answered,
        }

    def _approved(self) -> dict[str, Any]:
        """Give the fields that were approved as they were, for a node must not unlearn them."""
        return {name: value for name, value in self._kept.items() if name not in self.corrected}

    def _read(self, row: Row) -> None:
        edits: list[Any] = row["edits"]
        if row["is_rejected"] or edits:
            if row["args"] is None or None in edits:
                self.erased += 1
                return
            if row["is_rejected"]:
                self._reject(row)
            else:
                self._amend(row, edits)
        if row["state"] == "committed" and row["args"] is not None:
            self._keep(row)

    def _keep(self, row: Row) -> None:
        for name, field, item in _places(row):
            if item is None and name in row["args"] and _support(row, name) in _SAME_WORDS:
                self._kept[field] = row["args"][name]
                if self.corrected.get(field, row) is None:  # rejected elsewhere, approved here
                    del self.corrected[field]

    def _reject(self, row: Row) -> None:
        told = False
        for name, field, item in _places(row):
            if name not in row["args"] or _support(row, name) not in _SAME_WORDS:
                continue
            value = row["args"][name]
            if item is not None and _support(row, name) == "classified":
                continue  # the choice was about the words that are rejected with it
            told = True
            if item is not None:
                self._list(field, without=value)
            elif field not in self._kept and field not in self.corrected:
                self.corrected[field] = None
                self.answered[field] = value
        self.rejections += told
        self.untold += not told

    def _amend(self, row: Row, edits: Sequence[Mapping[str, Any]]) -> None:
        before: dict[str, Any] = {}
        for edit in edits:
            before = {**edit["before"], **before}
        told = False
        for name, field, item in _places(row):
            if name not in before or row["args"].get(name) == before[name]:
                continue
            told = True
            value = row["args"].get(name)
            if item is not None:
                self._list(field, having=value, without=before[name])
            else:
                self.corrected[field], self.answered[field] = value, before[name]
        self.edits += told
        self.untold += not told

    def _list(self, field: str, *, without: Any, having: Any = None) -> None:
        """Expect of a list that it has one text, or lacks another."""
        form = self.corrected.setdefault(field, {})
        for key, text in ((WITH, having), (WITHOUT, without)):
            if isinstance(text, str) and normalise(text):
                form.setdefault(key, []).append(text)
                if key == WITHOUT:
                    self.answered.setdefault(field, []).append(text)


def _places(row: Row) -> Iterator[tuple[str, str, str | None]]:
    """Give each argument that came from the answer: its name, the field, and where in it."""
    for name, pointer in row["origins"].items():
        field, _, rest = pointer.removeprefix("/").partition("/")
        yield name, field.replace("~1", "/").replace("~0", "~"), rest or None


def _support(row: Row, name: str) -> str:
    evidence: Mapping[str, Any] = row["evidence"].get(name, {})
    return str(evidence.get("support", ""))
