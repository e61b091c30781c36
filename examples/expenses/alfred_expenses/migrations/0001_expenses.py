"""The table of expenses, as it was first made."""

from alembic import op

from alfred.domain import private_table_ddl

revision = "0001_expenses"
down_revision = None
branch_labels = ("expenses",)
depends_on = ("0001_kernel",)

COLUMNS = """
    merchant text NOT NULL,
    merchant_key text NOT NULL,
    amount numeric(12, 2) NOT NULL,
    currency text NOT NULL,
    spent_on date NOT NULL,
    category text NOT NULL,
    claimed_from text,
    UNIQUE (user_id, merchant_key, spent_on, amount, currency)
"""


def upgrade() -> None:
    for statement in private_table_ddl("expense", COLUMNS):
        op.execute(statement)
