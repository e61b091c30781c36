"""`python -m alfred_expenses` lists what was spent."""

import asyncio

from sqlalchemy import select

from alfred.app import open_app
from alfred.domain import rows
from alfred_expenses.tables import EXPENSE


async def main() -> None:
    async with open_app() as app, app.reading() as connection:
        for row in await rows(connection, select(EXPENSE).order_by(EXPENSE.c.spent_on)):
            print(row["spent_on"], row["merchant"], row["amount"], row["currency"], row["category"])


asyncio.run(main())
