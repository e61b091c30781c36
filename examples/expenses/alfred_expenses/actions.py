"""The writes of the domain: record an expense, claim it from somebody."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from alfred.domain import ActionKind, Arguments, Day, Row, RowId, Writer, text, text_key
from alfred_expenses.tables import EXPENSE


class RecordExpense(Arguments):
    """What was paid, to whom and when."""

    merchant: Annotated[str, text(120)]
    amount: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=2)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    spent_on: Day
    category: Annotated[str, text(20)] = "other"


class ClaimExpense(Arguments):
    """Who is to pay an expense back."""

    expense: RowId
    payer: Annotated[str, text(120)]


async def record_expense(writer: Writer, args: RecordExpense) -> Row:
    """Record an expense, once for the same merchant, day and amount."""
    key = args.model_dump(include={"amount", "currency", "spent_on"})
    key["merchant_key"] = text_key(args.merchant)
    return await writer.ensure(EXPENSE, key, args.model_dump(include={"merchant", "category"}))


async def claim_expense(writer: Writer, args: ClaimExpense) -> Row:
    """Note from whom an expense is claimed."""
    expense = await writer.get(EXPENSE, args.expense)
    return await writer.change(EXPENSE, expense, {"claimed_from": args.payer})


KINDS = (
    ActionKind(arguments=RecordExpense, handler=record_expense),
    ActionKind(arguments=ClaimExpense, handler=claim_expense, binds={"expense": "record_expense"}),
)
