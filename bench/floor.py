"""The floor: what any program has to do that keeps the words and writes rows later."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import jsonschema_rs
from psycopg_pool import AsyncConnectionPool

from bench.posting import SYSTEM, Posting
from bench.variant import (
    POOL,
    Said,
    Surroundings,
    Variant,
    add_person,
    store_message,
    write_rows,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": "string"},
        "title": {"type": "string"},
        "location": {"type": ["string", "null"]},
        "deadline": {"type": ["string", "null"]},
        "requirements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["skill", "qualification", "experience"]},
                    "text": {"type": "string"},
                    "importance": {"enum": ["must", "nice"]},
                },
                "required": ["kind", "text", "importance"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["company", "title", "location", "deadline", "requirements"],
    "additionalProperties": False,
}


@asynccontextmanager
async def open_floor(around: Surroundings) -> AsyncGenerator[Variant]:
    """Open a client and a pool: one HTTP call, one validation, two transactions a turn."""
    user_id, thread_id = add_person(around.address)
    validator = jsonschema_rs.validator_for(SCHEMA)
    url = f"{around.model_url}/chat/completions"
    shape = {"name": "answer", "strict": True, "schema": SCHEMA}
    async with (
        httpx.AsyncClient(trust_env=False) as client,
        AsyncConnectionPool[Any](
            around.address.admin_dsn(), kwargs=POOL, min_size=1, max_size=16, open=False
        ) as pool,
    ):

        async def turn(posting: Posting) -> None:
            said = Said(user_id=user_id, thread_id=thread_id, message_id=uuid4(), text=posting.text)
            async with pool.connection() as connection, connection.transaction():
                await store_message(connection, said)
            body = {
                "model": "zero",
                "temperature": 0,
                "messages": [
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": said.text},
                ],
                "response_format": {"type": "json_schema", "json_schema": shape},
            }
            response = await client.post(url, json=body)
            answer = json.loads(response.json()["choices"][0]["message"]["content"])
            validator.validate(answer)
            async with pool.connection() as connection, connection.transaction():
                await write_rows(connection, said, answer)

        yield Variant(name="floor", turn=turn, users=(user_id,))
