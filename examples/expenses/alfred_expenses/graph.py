"""The graph of the domain: one node."""

from langgraph.graph import END, START, StateGraph

from alfred.graph import AlfredGraph, AlfredState, RunContext, node_step


def build_graph() -> AlfredGraph:
    builder = StateGraph(AlfredState, context_schema=RunContext)
    builder.add_node("read_receipt", node_step("read_receipt"))
    builder.add_edge(START, "read_receipt")
    builder.add_edge("read_receipt", END)
    return builder
