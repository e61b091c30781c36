"""The diagnosis domain's graph: the machine as one step, then the note that is to be reviewed."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from alfred.engine.context import RunContext
from alfred.engine.node_step import told_step
from alfred.engine.state import AlfredState, group
from alfred.engine.trace import event
from alfred.graphs.diagnosis.answer import Answer
from alfred.graphs.diagnosis.factory import compile_diagnosis_graph
from alfred.graphs.diagnosis.first_look import Wish
from alfred.graphs.diagnosis.machine_run import detached
from alfred.graphs.diagnosis.opening import NO_CONTEXT, Opened, lacks_context, open_run
from alfred.graphs.diagnosis.orchestrator import Orchestrator
from alfred.graphs.diagnosis.question import QuestionKind, reply_to
from alfred.graphs.diagnosis.real import real_actions
from alfred.graphs.diagnosis.recording import Recorder
from alfred.graphs.diagnosis.tools import DiagnosisTools
from alfred.nodes.diagnosis_context import Spent
from alfred.nodes.incident_note import incident_note_node
from alfred.store.checkpoints import UserCheckpoints

DIAGNOSE = "diagnose"
NOTE = "incident_note"
Update = dict[str, Any]


def build_diagnosis_domain() -> StateGraph[AlfredState, RunContext, AlfredState, AlfredState]:
    """Build the graph, uncompiled; nothing in it writes but what is automatic."""
    builder = StateGraph(AlfredState, context_schema=RunContext)
    # LangGraph has no type for a step that takes both config and runtime, though it runs it.
    steps: dict[str, Any] = {DIAGNOSE: diagnose, NOTE: incident_note_node}
    for name, step in steps.items():
        builder.add_node(name, step)  # pyright: ignore[reportUnknownMemberType]
    builder.add_edge(START, DIAGNOSE)
    builder.add_conditional_edges(DIAGNOSE, route_after, {"note": NOTE, "told": END})
    builder.add_edge(NOTE, END)
    return builder


async def route_after(state: AlfredState) -> Literal["note", "told"]:
    """Go on to the note where the machine composed an answer about the system."""
    held = (state.get("extracted") or {}).get(DIAGNOSE)
    return "note" if held and held["values"].get("finding") else "told"


async def diagnose(
    state: AlfredState, config: RunnableConfig, runtime: Runtime[RunContext]
) -> Update:
    """Take the turn's diagnosis to its end, or reply in words where there is nothing to diagnose.

    A correction of the note finds the diagnosis at its end and changes nothing of it.
    """
    with told_step(runtime.context, DIAGNOSE) as reached:
        update = await _diagnosed(state, config, runtime.context)
        reached.by(update, DIAGNOSE)
        return update


async def _diagnosed(state: AlfredState, config: RunnableConfig, context: RunContext) -> Update:
    given = state.get("input")
    question = given["text"] if given else ""
    attempt, step = (
        state.get("attempt", 0),
        int(config.get("metadata", {}).get("langgraph_step", 0)),
    )
    tools: DiagnosisTools = context.resource("diagnosis")
    spent = Spent()
    opened = await open_run(context, question, Wish())
    if opened.run is None:
        return _replied(opened.reply, "NOT_A_DIAGNOSIS", attempt, step)
    if lacks_context(opened, question, tools.toolbox):
        reply = reply_to(QuestionKind.NO_CONTEXT, context.language)
        nothing = {"reason": NO_CONTEXT, "headline": reply}
        await Recorder(context, context.turn_id).end(NO_CONTEXT, nothing, {}, spent)
        return _replied(reply, NO_CONTEXT, attempt, step)
    answer = await detached(_run(context, tools, opened, spent), context.user_id)
    return _answered(answer, spent, attempt, step)


async def _run(context: RunContext, tools: DiagnosisTools, opened: Opened, spent: Spent) -> Answer:
    graph = compile_diagnosis_graph(real_actions(), checkpoints=UserCheckpoints(context.database))
    return await Orchestrator(context, graph, tools, spent).run(opened)


def _answered(answer: Answer, spent: Spent, attempt: int, step: int) -> Update:
    happened = event(
        DIAGNOSE,
        "COMPLETED" if answer["finding"] else "FAILED",
        answer["reason"],
        attempt=attempt,
        step=step,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
    )
    return {
        "reply": answer["headline"],
        "extracted": group(DIAGNOSE, attempt, step, dict(answer)),
        "events": group(DIAGNOSE, attempt, step, [happened]),
    }


def _replied(reply: str, reason: str, attempt: int, step: int) -> Update:
    happened = event(DIAGNOSE, "SKIPPED", reason, attempt=attempt, step=step)
    return {
        "reply": reply,
        "extracted": group(DIAGNOSE, attempt, step, {}),
        "events": group(DIAGNOSE, attempt, step, [happened]),
    }
