"""The job domain's graph: control flow only, the topology of the specification (003 §3)."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph

from alfred.engine.context import RunContext
from alfred.engine.state import AlfredState, instances_of, read_extracted
from alfred.nodes.capture_experience import capture_experience_node
from alfred.nodes.extract_job import extract_job_node
from alfred.nodes.generate_resume import generate_resume_node
from alfred.nodes.record_application import record_application_node

# LangGraph has no type for a step that takes both config and runtime, though it runs it.
_STEPS: dict[str, Any] = {
    "extract_job": extract_job_node,
    "capture_experience": capture_experience_node,
    "record_application": record_application_node,
    "generate_resume": generate_resume_node,
}


def build_job_graph() -> StateGraph[AlfredState, RunContext, AlfredState, AlfredState]:
    """Build the graph, uncompiled.

    Both edges from `extract_job` fire, on purpose: experience is captured beside the branch of
    the application, and is proposed before the résumé that may rest on it is written.
    """
    builder = StateGraph(AlfredState, context_schema=RunContext)
    for name, step in _STEPS.items():
        builder.add_node(name, step)  # pyright: ignore[reportUnknownMemberType]
    builder.add_edge(START, "extract_job")
    builder.add_edge("extract_job", "capture_experience")
    builder.add_conditional_edges(
        "extract_job", route_after_extract, {"apply": "record_application", "done": END}
    )
    builder.add_edge("capture_experience", END)
    builder.add_edge("record_application", "generate_resume")
    builder.add_edge("generate_resume", END)
    return builder


async def route_after_extract(state: AlfredState) -> Literal["apply", "done"]:
    """Go on to the application where the user says that they apply, be it to one of several."""
    answers = [read_extracted(state, name) for name in instances_of(state, "extract_job")]
    is_wanted = any(answer.get("user_intent") == "apply" for answer in answers)
    return "apply" if is_wanted else "done"
