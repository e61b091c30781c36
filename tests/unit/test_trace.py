from __future__ import annotations

from alfred.engine.trace import START, Event, Transition, event, transitions

EDGES = {
    START: frozenset({"read"}),
    "read": frozenset({"left", "right"}),
    "left": frozenset({"join"}),
    "right": frozenset({"write"}),
    "write": frozenset({"join"}),
    "join": frozenset({"read"}),
}


def happened(*nodes: str) -> list[Event]:
    return [
        event(node, "COMPLETED", node.upper(), attempt=0, step=n) for n, node in enumerate(nodes)
    ]


def taken(*nodes: str) -> list[tuple[str, str]]:
    return [(t.source, t.target) for t in transitions(happened(*nodes), EDGES)]


def test_neighbours_in_the_list_that_share_no_edge_are_not_connected() -> None:
    assert taken("read", "left", "right", "write") == [
        (START, "read"),
        ("read", "left"),
        ("read", "right"),
        ("right", "write"),
    ]


def test_an_event_is_reached_from_the_latest_earlier_one_that_leads_to_it() -> None:
    assert taken("read", "left", "right", "write", "join")[-1] == ("write", "join")
    assert taken("read", "left", "join", "read", "left")[-2:] == [
        ("join", "read"),
        ("read", "left"),
    ]


def test_a_transition_carries_the_reason_of_its_source() -> None:
    assert transitions(happened("read", "left"), EDGES) == [
        Transition(source=START, target="read", reason=""),
        Transition(source="read", target="left", reason="READ"),
    ]


def test_instances_of_a_node_that_ran_side_by_side_are_reached_once() -> None:
    events = happened("read", "left")
    second: Event = {**events[1], "instance": "left/2"}
    assert len(transitions([*events, second], EDGES)) == 2


def test_an_event_without_a_declared_edge_is_connected_to_nothing() -> None:
    assert taken("unheard", "read") == [(START, "read")]
    assert transitions([], EDGES) == []
