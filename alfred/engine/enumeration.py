"""Every path a machine can take, found by running its own router and counters on every outcome.

Nothing is copied from a table: what is explored is what the compiled graph executes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from alfred.engine.attempt import Decide, State, Step, Update, settle
from alfred.errors import GraphInvalid

Measure = Callable[[str, State], tuple[int, ...]]
Path = tuple[str, ...]
Script = tuple[tuple[str, Mapping[str, Any]], ...]
"""What the ports return on one path, in order."""

DEEPEST = 100
"""A path of more node executions is taken for one that never ends."""


class Row(NamedTuple):
    """One line of a routing table. `reason` is `*` where a node hands on the one that led to it."""

    node: str
    route: str
    target: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What has to be known to explore a graph.

    `outcomes` gives for each node what its port may return, one sample for each case that a guard
    can tell apart. `end` is the target that ends a run. `hands_on` names the nodes that copy the
    reason that led to them. `measure` falls on every transition if the machine always ends.
    """

    steps: Mapping[str, Step]
    decide: Decide
    targets: Mapping[str, Mapping[str, str]]
    start: str
    end: str
    events: str
    outcomes: Mapping[str, Sequence[Mapping[str, Any]]]
    hands_on: frozenset[str]
    measure: Measure


@dataclass(kw_only=True)
class Exploration:
    """Everything a machine can do from a state.

    `paths` gives for each terminating path one script that takes it; `rows` for each row of the
    routing table one script that ends with it. `rising` lists transitions on which the measure
    does not fall, `unmapped` routes that lead nowhere.
    """

    rows: dict[Row, Script] = field(default_factory=dict[Row, Script])
    paths: dict[Path, Script] = field(default_factory=dict[Path, Script])
    rising: list[str] = field(default_factory=list[str])
    unmapped: list[str] = field(default_factory=list[str])

    @property
    def longest(self) -> int:
        """Count the node executions of the longest path."""
        return max(map(len, self.paths), default=0)

    @property
    def shortest(self) -> int:
        """Count the node executions of the shortest path."""
        return min(map(len, self.paths), default=0)

    @property
    def maxima(self) -> dict[str, int]:
        """Give for each node how often it runs at most on one path."""
        found: dict[str, int] = {}
        for path in self.paths:
            for node, count in Counter(path).items():
                found[node] = max(count, found.get(node, 0))
        return found

    @property
    def ends(self) -> dict[str, int]:
        """Count the paths by the node they end in."""
        return dict(Counter(path[-1] for path in self.paths))


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The numbers that hold for every run of a machine, and what is wrong with them."""

    rows: int
    paths: int
    ends: Mapping[str, int]
    longest: int
    shortest: int
    maxima: Mapping[str, int]
    problems: Sequence[str]


def figures(machine: Machine, found: Exploration, *, recursion_limit: int) -> Figures:
    """Reduce an exploration to its numbers and hold them against what the machine declares."""
    declared = {node: step.entries for node, step in machine.steps.items()}
    problems = [f"the measure does not fall: {text}" for text in found.rising]
    problems += [f"a route leads nowhere: {text}" for text in found.unmapped]
    problems += [
        f"{node} runs {count} times on a path; {declared[node]} are declared"
        for node, count in found.maxima.items()
        if count > declared[node]
    ]
    problems += [f"no path leads through {node}" for node in declared if node not in found.maxima]
    if found.longest + 1 > recursion_limit:
        problems.append(
            f"the longest path has {found.longest} node executions;"
            f" the recursion limit is {recursion_limit}"
        )
    return Figures(
        rows=len(found.rows),
        paths=len(found.paths),
        ends=found.ends,
        longest=found.longest,
        shortest=found.shortest,
        maxima=found.maxima,
        problems=problems,
    )


def explore(machine: Machine, initial: State) -> Exploration:
    """Explore every path from a state; errors: `graph.invalid` for one that never ends."""
    found = Exploration()
    explorer = _Explorer(machine, found)
    found.paths = explorer.ways(machine.start, {**initial, machine.events: []}, 0)
    explorer.witness_rows(initial)
    return found


class _Explorer:
    def __init__(self, machine: Machine, found: Exploration) -> None:
        self._machine = machine
        self._found = found
        self._known: dict[str, dict[Path, Script]] = {}

    def ways(self, node: str, state: State, depth: int) -> dict[Path, Script]:
        """Find every path from before a node to the end; states that are alike go on alike."""
        if depth > DEEPEST:
            raise GraphInvalid(
                "graph.invalid", f"A path has more than {DEEPEST} node executions at {node!r}."
            )
        key = f"{node} {_fingerprint(state, self._machine.events)}"
        if key not in self._known:
            paths: dict[Path, Script] = {}
            for outcome, target, after in self._steps(node, state):
                step = (node, outcome)
                if target == self._machine.end:
                    paths.setdefault((node,), (step,))
                    continue
                for path, script in self.ways(target, after, depth + 1).items():
                    paths.setdefault((node, *path), (step, *script))
            self._known[key] = paths
        return self._known[key]

    def _steps(self, node: str, state: State) -> Iterator[tuple[Mapping[str, Any], str, State]]:
        machine = self._machine
        for outcome in machine.outcomes[node]:
            row, after = take(machine, node, state, outcome)
            if row.target not in machine.steps and row.target != machine.end:
                self._found.unmapped.append(f"{node}: {row.route}")
                continue
            self._found.rows.setdefault(row, ())
            if row.target != machine.end:
                before, behind = machine.measure(node, state), machine.measure(row.target, after)
                if not behind < before:
                    self._found.rising.append(f"{node} → {row.target}: {before} to {behind}")
            yield outcome, row.target, after

    def witness_rows(self, initial: State) -> None:
        """Find for each row a shortest script that ends with it, breadth first."""
        machine, missing = self._machine, {row for row, s in self._found.rows.items() if not s}
        frontier: list[tuple[str, State, Script]] = [
            (machine.start, {**initial, machine.events: []}, ())
        ]
        seen: set[str] = set()
        while frontier and missing:
            onward: list[tuple[str, State, Script]] = []
            for node, state, script in frontier:
                key = f"{node} {_fingerprint(state, machine.events)}"
                if key in seen:
                    continue
                seen.add(key)
                for outcome in machine.outcomes[node]:
                    row, after = take(machine, node, state, outcome)
                    taken = (*script, (node, outcome))
                    if row in missing:
                        missing.discard(row)
                        self._found.rows[row] = taken
                    if row.target in machine.steps:
                        onward.append((row.target, after, taken))
            frontier = onward


def take(
    machine: Machine, node: str, state: State, outcome: Mapping[str, Any]
) -> tuple[Row, dict[str, Any]]:
    """Let a node end with an outcome; return the row it took and the state behind it."""
    update: Update = settle(
        machine.steps[node], state, outcome, machine.decide, events=machine.events
    )
    after = {**state, **update, machine.events: [*state[machine.events], *update[machine.events]]}
    decision = machine.decide(node, {**after, machine.events: state[machine.events]})
    target = machine.targets[node].get(decision.route, "")
    reason = "*" if node in machine.hands_on else decision.reason
    return Row(node, decision.route, target, reason), after


def _fingerprint(state: State, events: str) -> str:
    """Tell states apart by all but their past."""
    return json.dumps({k: v for k, v in state.items() if k != events}, sort_keys=True)
