"""A graph drawn as text: every declared edge, the taken ones numbered, nothing unquoted."""

from __future__ import annotations

from alfred.engine.mermaid import flowchart
from alfred.engine.trace import Transition

EDGES = {
    "__start__": frozenset({"plan"}),
    "plan": frozenset({"plan", "act"}),
    "act": frozenset({"__end__"}),
}


def test_every_declared_edge_is_drawn_and_those_taken_are_numbered() -> None:
    drawn = flowchart(
        EDGES,
        [
            Transition(source="__start__", target="plan", reason=""),
            Transition(source="plan", target="plan", reason="TRY_AGAIN"),
            Transition(source="plan", target="plan", reason="TRY_AGAIN"),
            Transition(source="plan", target="act", reason="READY"),
        ],
    )
    assert drawn.splitlines() == [
        "flowchart TD",
        '  n0(("end"))',
        '  n1(("start"))',
        '  n2["act"]',
        '  n3["plan"]',
        '  n1 -->|"1"| n3',
        "  n2 -.-> n0",
        '  n3 -->|"4 READY"| n2',
        '  n3 -->|"2 TRY_AGAIN; 3 TRY_AGAIN"| n3',
        "  classDef taken stroke-width:3px",
        "  class n1,n2,n3 taken",
    ]


def test_a_graph_without_a_run_has_dotted_edges_alone() -> None:
    drawn = flowchart(EDGES)
    assert "-->" not in drawn
    assert drawn.count("-.->") == 4
    assert "taken" not in drawn


def test_what_a_name_or_reason_holds_stays_inside_its_quotes() -> None:
    nasty = 'x"] --> evil["'
    drawn = flowchart(
        {nasty: frozenset({"__end__"})},
        [Transition(source=nasty, target="__end__", reason='"|<script>')],
    )
    assert '"]' not in drawn.replace('"]\n', "")
    assert "<script>" not in drawn
    assert "evil[" not in drawn
