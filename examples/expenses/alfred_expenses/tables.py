"""The table of expenses."""

from sqlalchemy import Column, Date, Numeric, UniqueConstraint

from alfred.domain import private_table, text_column

EXPENSE = private_table(
    "expense",
    text_column("merchant"),
    text_column("merchant_key"),
    Column("amount", Numeric(12, 2), nullable=False),
    text_column("currency"),
    Column("spent_on", Date, nullable=False),
    text_column("category"),
    text_column("claimed_from", nullable=True),
    UniqueConstraint("user_id", "merchant_key", "spent_on", "amount", "currency"),
    label=("merchant_key", "spent_on", "amount", "currency"),
)
