"""The domain as Alfred finds it, by its entry point."""

from pathlib import Path

from alfred.domain import Domain
from alfred_expenses.actions import KINDS
from alfred_expenses.money import as_currency

DOMAIN = Domain(
    name="expenses",
    kinds=KINDS,
    nodes=Path(__file__).parent / "nodes",
    graph="alfred_expenses.graph:build_graph",
    migrations=Path(__file__).parent / "migrations",
    revision="0001_expenses",
    filters={"as_currency": as_currency},
)
