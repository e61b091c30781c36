"""The same job as LangGraph's documentation has it: structured output, interrupt, its saver."""

# LangGraph leaves type parameters of its builders open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal, TypedDict
from uuid import uuid4

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

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

SCHEMA_NAME = "langgraph"


class Requirement(BaseModel):
    """One thing that the posting asks for."""

    kind: Literal["skill", "qualification", "experience"]
    text: str
    importance: Literal["must", "nice"]


class PostingAnswer(BaseModel):
    """The posting as the model reads it."""

    company: str
    title: str
    location: str | None
    deadline: str | None
    requirements: list[Requirement]


class State(TypedDict):
    """What the three steps share."""

    text: str
    answer: dict[str, Any]
    approved: bool


@asynccontextmanager
async def open_documented(around: Surroundings) -> AsyncGenerator[Variant]:
    """Build the graph: extract, ask a person, write in one transaction."""
    user_id, thread_id = add_person(around.address)
    model = ChatOpenAI(model="zero", base_url=around.model_url, api_key="none", temperature=0)  # type: ignore[arg-type]
    extractor = model.with_structured_output(PostingAnswer)
    # The saver's tables in a schema of their own: Alfred's lie in the same database.
    options = {**POOL, "options": f"-c search_path={SCHEMA_NAME},public"}
    async with AsyncConnectionPool[Any](
        around.address.admin_dsn(), kwargs=options, min_size=1, max_size=16, open=False
    ) as pool:

        async def extract(state: State) -> dict[str, Any]:
            said = [("system", SYSTEM), ("user", state["text"])]
            answer = await extractor.ainvoke(said)
            assert isinstance(answer, PostingAnswer)
            return {"answer": answer.model_dump()}

        async def review(state: State) -> dict[str, Any]:
            return {"approved": interrupt({"question": "Write this?", **state["answer"]})}

        async def write(state: State) -> dict[str, Any]:
            said = Said(
                user_id=user_id, thread_id=thread_id, message_id=uuid4(), text=state["text"]
            )
            if state["approved"]:
                async with pool.connection() as connection, connection.transaction():
                    await store_message(connection, said)
                    await write_rows(connection, said, state["answer"])
            return {}

        async with pool.connection() as connection:
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}")
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        builder = StateGraph(State)
        for name, step in (("extract", extract), ("review", review), ("write", write)):
            builder.add_node(name, step)
        builder.add_edge(START, "extract")
        builder.add_edge("extract", "review")
        builder.add_edge("review", "write")
        builder.add_edge("write", END)
        graph = builder.compile(checkpointer=saver)

        async def turn(posting: Posting) -> None:
            config: Any = {"configurable": {"thread_id": str(uuid4())}}
            first: Any = {"text": posting.text}
            paused = await graph.ainvoke(first, config)
            assert paused["__interrupt__"]
            await graph.ainvoke(Command(resume=True), config)

        yield Variant(name="langgraph", turn=turn, users=(user_id,))
