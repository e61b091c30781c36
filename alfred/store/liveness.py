"""Whether a connection that was left alone is still one."""

from __future__ import annotations

import select
import time
from functools import cached_property
from typing import Any

from psycopg import AsyncConnection, AsyncCursor
from psycopg_pool import AsyncConnectionPool

from alfred.engine.database import Row

TRUSTED_S = 10.0
"""How long a connection that has nothing to say counts as alive: a server that went away without a
word, behind a network, is found only by asking it."""


class PooledConnection(AsyncConnection[Row]):
    """A connection that knows when it was last seen alive (`time.monotonic`)."""

    alive_at = 0.0

    @cached_property
    def beginning(self) -> AsyncCursor[Row]:
        """The cursor that begins every transaction; a new one each time would cost as much."""
        return self.cursor()


async def check(connection: AsyncConnection[Any]) -> None:
    """Ask the server whether a connection is alive, unless it can be told without."""
    trusted = isinstance(connection, PooledConnection) and (
        time.monotonic() - connection.alive_at < TRUSTED_S
    )
    if not trusted or has_news(connection):
        await AsyncConnectionPool.check_connection(connection)


def has_news(connection: AsyncConnection[Any]) -> bool:
    """Say whether there is something to read on a connection that waits for nothing.

    A server that stops says so, or closes its end.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(waiting.poll(0))
