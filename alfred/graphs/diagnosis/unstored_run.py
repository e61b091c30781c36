"""Runs the machine once with nothing stored: what an evaluation measures."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from alfred.graphs.diagnosis.factory import compile_diagnosis_graph
from alfred.graphs.diagnosis.real import real_actions
from alfred.graphs.diagnosis.state import DiagnosisState, State
from alfred.nodes.diagnosis_context import DiagnosisContext


async def run_unstored(initial: DiagnosisState, context: DiagnosisContext) -> State:
    """Run the real nodes from an initial state to the end, and return the last state.

    Each run has a thread and checkpoints of its own, in memory, so that no counter or event of
    another one counts for it.
    """
    graph = compile_diagnosis_graph(real_actions(), checkpoints=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": f"unstored-{uuid4()}"}}
    final: Any = await graph.ainvoke(dict(initial), config, context=context)
    return final
