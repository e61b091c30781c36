"""Damaged copies of the machine's modules, loaded beside the installed ones."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.diagnosis_claims import Subject

PACKAGE = "alfred.graphs.diagnosis"
MODULES = ("topology", "state", "router", "factory")
"""In the order of their imports."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module, with a name that says what was changed."""

    module: str
    name: str
    source: str


def source_of(module: str) -> str:
    """Read a module of the diagnosis graph."""
    path = import_module(f"{PACKAGE}.{module}").__file__
    assert path is not None
    return Path(path).read_text(encoding="utf-8")


def by_hand(module: str, name: str, old: str, new: str) -> Mutant:
    """Change a piece of text that must stand in the module exactly once."""
    source = source_of(module)
    assert source.count(old) == 1, f"{name}: {old!r} stands {source.count(old)} times"
    return Mutant(module, name, source.replace(old, new))


def by_tool(module: str) -> Iterator[Mutant]:
    """Make every mutant that Cosmic Ray's operators know, those of type annotations left out."""
    source = source_of(module)
    plain = ast.dump(_without_types(ast.parse(source)))
    nodes = list(_walk(get_ast(source)))
    for name in sorted(operator_names()):
        if name in ("core/VariableReplacer", "core/VariableInserter"):
            continue  # they need to be told which variables
        operator = get_operator(name)()
        occurrences = sum(len(list(operator.mutation_positions(node))) for node in nodes)
        for occurrence in range(occurrences):
            mutated = mutate_code(source, operator, occurrence)
            try:
                changed = ast.dump(_without_types(ast.parse(mutated)))
            except SyntaxError:
                continue  # the tool took the mark of keyword-only arguments for an operator
            if changed != plain:
                label = f"{name.removeprefix('core/')}: {_changed_line(source, mutated)}"
                yield Mutant(module, label, mutated)


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _walk(child)


def by_swapped_names(module: str) -> Iterator[Mutant]:
    """Put another name of the topology in the place of each one that the module uses."""
    source = source_of(module)
    lines = source.splitlines()
    used = [
        node
        for node in ast.walk(_functions_only(ast.parse(source)))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "t"
        and node.attr.isupper()
    ]
    for node in used:
        other = "EXECUTOR_FAILED" if node.attr != "EXECUTOR_FAILED" else "PLAN_READY"
        if node.attr.startswith("MAX_"):
            continue  # numbers: the tool's business
        line = lines[node.lineno - 1]
        end = node.end_col_offset or 0
        changed = [*lines]
        changed[node.lineno - 1] = f"{line[: node.col_offset]}t.{other}{line[end:]}"
        yield Mutant(module, f"{node.attr} at line {node.lineno}", "\n".join(changed))


@contextmanager
def loaded(mutant: Mutant) -> Iterator[Subject]:
    """Load the mutant and what imports it, leaving the installed modules as they are."""
    names = [f"{PACKAGE}.{module}" for module in MODULES]
    kept = {name: sys.modules[name] for name in names}
    package = sys.modules[PACKAGE]
    fresh: dict[str, ModuleType] = {}
    try:
        for module, name in zip(MODULES, names, strict=True):
            source = mutant.source if module == mutant.module else source_of(module)
            made = ModuleType(name)
            made.__dict__["__package__"] = PACKAGE
            sys.modules[name] = fresh[module] = made
            setattr(package, module, made)
            exec(compile(source, f"<mutant {name}>", "exec", dont_inherit=True), made.__dict__)
    finally:
        sys.modules.update(kept)
        for module, name in zip(MODULES, names, strict=True):
            setattr(package, module, kept[name])
    factory: Mapping[str, object] = fresh["factory"].__dict__
    yield Subject(
        decide=fresh["router"].decide,
        steps=fresh["factory"].STEPS,
        compile=factory["compile_diagnosis_graph"],  # type: ignore[arg-type]
    )


def _changed_line(source: str, mutated: str) -> str:
    pairs = zip(source.splitlines(), mutated.splitlines(), strict=False)
    return next((after.strip() for before, after in pairs if before != after), "?")


def _without_types(tree: ast.Module) -> ast.Module:
    class Plain(ast.NodeTransformer):
        def visit_arg(self, node: ast.arg) -> ast.arg:
            node.annotation = None
            return node

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            node.returns = None
            return self.generic_visit(node)

        visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name ast looks for

        def visit_arguments(self, node: ast.arguments) -> ast.AST:
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.posonlyargs, node.kwonlyargs = [], []
            node.defaults = [*node.defaults, *filter(None, node.kw_defaults)]
            node.kw_defaults = []
            return self.generic_visit(node)

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
            node.keywords = []
            return self.generic_visit(node)

        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
            node.annotation = ast.Constant(0)
            return self.generic_visit(node)

    return Plain().visit(tree)


def _functions_only(tree: ast.Module) -> ast.Module:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree.body = [node for node in tree.body if isinstance(node, functions)]
    return tree
