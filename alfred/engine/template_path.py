"""The paths that a template names, read from its syntax tree without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import nodes

from alfred.engine import json_pointer
from alfred.engine.schema_place import Step

_SAME_ITEMS = frozenset(
    ("list", "reject", "rejectattr", "select", "selectattr", "sort", "unique", "default", "d")
)
_ONE_ITEM = frozenset(("first", "last", "max", "min"))
_ATTRIBUTE_FIRST = frozenset(("selectattr", "rejectattr"))


@dataclass(frozen=True)
class Path:
    """A variable and the steps from it; the step None stands for each item of a list."""

    root: str
    steps: tuple[Step, ...] = ()

    def then(self, *steps: Step) -> Path:
        return Path(self.root, self.steps + steps)

    def pointer(self, bases: Mapping[str, str]) -> str | None:
        """Write the path as a JSON pointer below `bases[root]`, up to the first "each item"."""
        base = bases.get(self.root)
        if base is None:
            return None
        for step in self.steps:
            if step is None:
                break
            base = json_pointer.extend(base, step)
        return base


@dataclass(frozen=True)
class Mentions:
    """What a template names.

    `all` are all paths. `value` is the path whose value a lone expression yields as it stands;
    `items` the path whose items it yields, possibly fewer or in another order (`select`, `sort`).
    """

    all: tuple[Path, ...]
    value: Path | None = None
    items: Path | None = None


def read_mentions(tree: nodes.Template, expression: nodes.Expr | None) -> Mentions:
    """Collect the paths of a template; `expression` is its only part, if it has just one."""
    reader = _Reader()
    if expression is None:
        reader.statements(tree.body, {})
        return Mentions(tuple(dict.fromkeys(reader.found)))
    items = reader.expression(expression, {})
    value = items if _is_plain(expression) else None
    return Mentions(tuple(dict.fromkeys(reader.found)), value, items)


def _is_plain(node: nodes.Node) -> bool:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        if isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Const):
            return False
        node = node.node
    return isinstance(node, nodes.Name)


Scope = dict[str, Path | None]
"""What names bound inside the template stand for; None where that is computed."""


class _Reader:
    def __init__(self) -> None:
        self.found: list[Path] = []

    def statements(self, body: list[nodes.Node], scope: Scope) -> None:
        for node in body:
            if isinstance(node, nodes.For):
                self._loop(node, scope)
            elif isinstance(node, nodes.Assign):
                path = self.expression(node.node, scope)
                self._bind(node.target, path, scope)
            elif isinstance(node, nodes.If):
                self.expression(node.test, scope)
                self.statements([*node.body, *node.elif_, *node.else_], scope)
            elif isinstance(node, nodes.Expr):
                self.expression(node, scope)
            else:
                self.statements(list(node.iter_child_nodes()), scope)

    def _loop(self, node: nodes.For, scope: Scope) -> None:
        path = self.expression(node.iter, scope)
        inner: Scope = {**scope, "loop": None}
        self._bind(node.target, path.then(None) if path else None, inner)
        if node.test is not None:
            self.expression(node.test, inner)
        self.statements(node.body, inner)
        self.statements(node.else_, scope)

    def _bind(self, target: nodes.Node, path: Path | None, scope: Scope) -> None:
        if isinstance(target, nodes.Name):
            scope[target.name] = path
            return
        for name in target.find_all(nodes.Name):
            scope[name.name] = None

    def expression(self, node: nodes.Node, scope: Scope) -> Path | None:
        """Record every path in an expression; return the one whose value or items it yields."""
        path = self._follow(node, scope)
        if path is not None:
            self.found.append(path)
        return path

    def _follow(self, node: nodes.Node, scope: Scope) -> Path | None:
        if isinstance(node, nodes.Name):
            return scope[node.name] if node.name in scope else Path(node.name)
        if isinstance(node, nodes.Getattr):
            base = self._follow(node.node, scope)
            return base.then(node.attr) if base else None
        if isinstance(node, nodes.Getitem):
            return self._item(node, scope)
        if isinstance(node, nodes.Filter) and node.node is not None:
            return self._filter(node, node.node, scope)
        for child in node.iter_child_nodes():
            self.expression(child, scope)
        return None

    def _item(self, node: nodes.Getitem, scope: Scope) -> Path | None:
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
        if isinstance(key, str) or (isinstance(key, int) and key >= 0):
            base = self._follow(node.node, scope)
            return base.then(key) if base else None
        base = self.expression(node.node, scope)
        self.expression(node.arg, scope)
        return base if isinstance(node.arg, nodes.Slice) else None

    def _filter(self, node: nodes.Filter, subject: nodes.Expr, scope: Scope) -> Path | None:
        base = self.expression(subject, scope)
        for child in (*node.args, *(pair.value for pair in node.kwargs)):
            self.expression(child, scope)
        attribute = _attribute(node)
        if base and attribute:
            self.found.append(base.then(None, *attribute.split(".")))
        if base and node.name in _SAME_ITEMS:
            return base
        return base.then(None) if base and node.name in _ONE_ITEM else None


def _attribute(node: nodes.Filter) -> str | None:
    """The field of each item that a filter such as `map(attribute="kind")` reads."""
    given = [pair.value for pair in node.kwargs if pair.key == "attribute"]
    if node.name in _ATTRIBUTE_FIRST and node.args:
        given = [node.args[0]]
    if given and isinstance(given[0], nodes.Const) and isinstance(given[0].value, str):
        return given[0].value
    return None
