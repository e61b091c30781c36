from __future__ import annotations

import time
from typing import Any, Literal, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from alfred.engine.check import check_graph, flatten, read_edges
from alfred.engine.guards import LoopBudget, add_bounded_node
from alfred.errors import GraphInvalid
from alfred.graphs.subgraph import add_subgraph


class State(TypedDict, total=False):
    words: str


Builder = StateGraph[Any, Any, Any, Any]


async def step(_: State) -> dict[str, Any]:
    return {}


async def bounded_step(_: State, __: Any) -> dict[str, Any]:
    return {}


async def route(_: State) -> Literal["b", "c"]:
    return "b"


async def unnamed(_: State) -> str:
    return "elsewhere"


def graph(*edges: tuple[str, str], loops: dict[str, int] | None = None) -> Builder:
    builder: Builder = StateGraph(State)
    budgets = loops or {}
    names = {name for edge in edges for name in edge} - {START, END}
    for name in sorted(names):
        if name in budgets:
            budget = LoopBudget(node=name, entries=budgets[name])
            add_bounded_node(builder, budget, bounded_step)
        else:
            builder.add_node(name, step)
    for source, target in edges:
        builder.add_edge(source, target)
    return builder


def problems(builder: Builder, limit: int = 32, behind: str | None = None) -> list[str]:
    return list(check_graph("g", builder, recursion_limit=limit, writes_behind=behind).problems)


def test_a_plain_graph_has_no_problem_and_its_longest_path_is_counted() -> None:
    builder = graph((START, "a"), ("a", "b"), ("b", END), ("a", "c"), ("c", END))
    report = check_graph("g", builder, recursion_limit=32)
    assert report.problems == []
    assert (report.nodes, report.longest_path) == (3, 2)


def test_a_cycle_without_a_budget_is_named_and_has_no_worst_path() -> None:
    builder = graph((START, "a"), ("a", "b"), ("b", "a"), ("b", END))
    report = check_graph("g", builder, recursion_limit=32)
    assert report.longest_path is None
    assert report.problems == ["the cycle a → b → a has no loop budget"]


def test_a_node_that_leads_to_itself_is_a_cycle() -> None:
    assert problems(graph((START, "a"), ("a", "a"), ("a", END))) == [
        "the cycle a → a has no loop budget"
    ]


def test_one_cycle_with_a_budget_excuses_no_other() -> None:
    edges = [(START, "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", END)]
    assert problems(graph(*edges, loops={"a": 2})) == ["the cycle b → c → b has no loop budget"]
    assert problems(graph(*edges, loops={"b": 2})) == []


def test_the_worst_path_runs_every_loop_to_its_budget_and_is_held_against_the_limit() -> None:
    edges = [(START, "a"), ("a", "b"), ("b", "a"), ("b", END)]
    report = check_graph("g", graph(*edges, loops={"a": 3}), recursion_limit=7)
    assert report.longest_path == 6
    assert report.problems == []
    tight = check_graph("g", graph(*edges, loops={"a": 3}), recursion_limit=6)
    assert tight.problems == [
        "the worst path has 6 node executions and needs a recursion limit of 7; it is 6"
    ]


def test_branches_that_meet_again_and_again_are_proven_in_no_time() -> None:
    edges = [(START, "m00")]
    for n in range(40):
        for side in ("l", "r"):
            edges += [(f"m{n:02}", f"{side}{n:02}"), (f"{side}{n:02}", f"m{n + 1:02}")]
    began = time.monotonic()
    report = check_graph("g", graph(*edges, ("m40", END)), recursion_limit=200)
    assert report.longest_path == 81
    assert time.monotonic() - began < 2


def test_a_node_that_no_edge_reaches_is_named() -> None:
    builder = graph((START, "a"), ("a", END), ("lost", END))
    assert problems(builder) == ["the node 'lost' is never reached"]


def test_a_node_from_which_no_path_ends_is_named() -> None:
    builder = graph((START, "a"), ("a", END), ("a", "b"), ("b", "c"), ("c", "b"), loops={"b": 2})
    assert "no path leads from 'b' to the end" in problems(builder)


def test_routes_without_a_map_are_named() -> None:
    builder = graph((START, "a"), ("b", END))
    builder.add_conditional_edges("a", unnamed)
    assert "the routes of 'unnamed' from 'a' are not mapped" in problems(builder)


def test_a_route_to_what_is_no_node_is_named() -> None:
    builder = graph((START, "a"), ("b", END))
    builder.add_conditional_edges("a", route, {"b": "b", "c": "nowhere"})
    assert problems(builder) == ["an edge leads from 'a' to 'nowhere', which is no node"]


def test_a_route_that_the_router_declares_and_the_map_lacks_is_named() -> None:
    async def choose(_: State) -> Literal["go", "stay"]:
        return "stay"

    builder = graph((START, "a"), ("b", END))
    builder.add_conditional_edges("a", choose, {"go": "b"})
    assert problems(builder) == ["'choose' from 'a' may return 'stay', which is not mapped"]
    whole = graph((START, "a"), ("b", END))
    whole.add_conditional_edges("a", choose, {"go": "b", "stay": END})
    assert problems(whole) == []


def test_a_router_that_does_not_name_its_routes_proves_nothing() -> None:
    builder = graph((START, "a"), ("b", END))
    builder.add_conditional_edges("a", unnamed, {"go": "b"})
    (problem,) = problems(builder)
    assert "'unnamed' from 'a' names no Literal of its routes" in problem
    explored = check_graph("g", builder, recursion_limit=32, is_explored=True)
    assert explored.problems == []


def test_a_command_without_declared_destinations_is_named() -> None:
    async def jump(_: State) -> dict[str, Any] | Command[str]:
        return Command(goto="anywhere")

    hidden: Builder = StateGraph(State)
    hidden.add_node("jump", jump)
    hidden.add_edge(START, "jump")
    hidden.add_edge("jump", END)
    assert problems(hidden) == ["the node 'jump' returns a Command and declares no destinations"]
    declared: Builder = StateGraph(State)
    declared.add_node("jump", jump, destinations=(END,))
    declared.add_edge(START, "jump")
    assert problems(declared) == []


def test_a_path_around_the_review_is_found_whichever_kind_of_edge_it_takes() -> None:
    safe = [(START, "a"), ("a", "review"), ("review", END)]
    assert problems(graph(*safe), behind="review") == []
    around = ["a path reaches the end around 'review'"]
    assert problems(graph(*safe, ("a", END)), behind="review") == around

    async def jump(_: State) -> Command[Literal["review", "__end__"]]:
        return Command(goto="review")

    commanded = graph(("review", END))
    commanded.add_node("jump", jump)
    commanded.add_edge(START, "jump")
    assert problems(commanded, behind="review") == around

    conditional = graph((START, "a"), ("review", END))
    conditional.add_conditional_edges("a", route, {"b": "review", "c": END})
    assert problems(conditional, behind="review") == around


def test_a_graph_without_its_review_is_refused() -> None:
    (problem,) = problems(graph((START, "a"), ("a", END)), behind="review")
    assert "no node 'review'" in problem


def test_joined_edges_count_as_edges() -> None:
    builder = graph((START, "a"), (START, "b"), ("c", END))
    builder.add_edge(["a", "b"], "c")
    assert read_edges(builder)["a"] == {"c"}
    assert problems(builder) == []


def test_flattening_leads_through_subgraphs_to_what_stands_behind_them() -> None:
    outer = read_edges(graph((START, "in"), ("in", "out"), ("out", END)))
    inner = read_edges(graph((START, "x"), (START, "y"), ("x", END), ("y", "x")))
    flat = flatten(outer, {"in": inner})
    assert flat == {
        START: {"x", "y"},
        "out": {END},
        "x": {"out"},
        "y": {"x"},
    }


def test_flattening_passes_through_a_subgraph_that_may_do_nothing() -> None:
    maybe = graph(("x", END))
    maybe.add_conditional_edges(START, route, {"b": "x", "c": END})
    outer = read_edges(graph((START, "in"), ("in", "out"), ("out", END)))
    assert flatten(outer, {"in": read_edges(maybe)}) == {
        START: {"x", "out"},
        "out": {END},
        "x": {"out"},
    }


def test_a_subgraph_with_an_edge_to_nowhere_is_refused_by_its_name() -> None:
    broken = graph((START, "a"))
    broken.add_conditional_edges("a", route, {"b": "nowhere"})
    with pytest.raises(GraphInvalid, match="'broken' does not hold") as caught:
        add_subgraph(graph((START, "z"), ("z", END)), "broken", broken)
    assert caught.value.code == "graph.invalid"
