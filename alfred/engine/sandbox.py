"""The Jinja environment of node.yaml: items and no attributes, no calls, a short filter list."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jinja2 import StrictUndefined, Undefined, UndefinedError, nodes
from jinja2.filters import FILTERS
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import pass_context


@dataclass(frozen=True)
class WithVariables:
    """A filter `function(value, variables, …)` that also sees the template's variables.

    For filters that need more than their value, such as the message's time in `input`.
    """

    function: Callable[..., Any]


Filter = Callable[..., Any] | WithVariables
"""Takes the value first; returns None where it has nothing to say, which makes it absent."""

LOOP_FIELDS = frozenset(("index", "index0", "first", "last", "length"))

MAX_LOOPS = 2

_FILTERS = (
    *("abs", "capitalize", "count", "first", "join", "last", "length", "list", "lower", "map"),
    *("max", "min", "reject", "rejectattr", "replace", "round", "select", "selectattr", "sort"),
    *("string", "sum", "title", "trim", "truncate", "unique", "upper"),
)

_ALLOWED: frozenset[type[nodes.Node]] = frozenset(
    (
        nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.Assign,
        nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword,
        nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Getattr, nodes.Getitem, nodes.Slice,
        nodes.Concat, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Neg,
        nodes.Pos, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
    )
)  # fmt: skip


def forbidden(tree: nodes.Template) -> str | None:
    """Name the first construct that templates of a node may not use, if there is one."""
    for node in tree.find_all(nodes.Node):
        if isinstance(node, nodes.Call):
            return "calls; use a filter, such as {{ out.words | join(', ') }}"
        if type(node) not in _ALLOWED:
            return f"'{type(node).__name__.lower()}'; templates have no code of their own"
        if isinstance(node, nodes.For) and (node.recursive or _depth(node) > MAX_LOOPS):
            return f"more than {MAX_LOOPS} loops inside each other"
    return None


def _depth(loop: nodes.For) -> int:
    return 1 + max((_depth(inner) for inner in loop.find_all(nodes.For)), default=0)


class Sandbox(ImmutableSandboxedEnvironment):
    """Resolves `a.b` and `a["b"]` to mapping items and sequence indexes and to nothing else.

    `filters` are added to a short list of pure ones. A missing item of a missing item is missing
    too, so that `out.a.b` is absent where `out.a` is; an item that is null counts as missing.
    """

    intercepted_binops = frozenset(("*", "%"))

    def __init__(self, filters: Mapping[str, Filter]) -> None:
        super().__init__(
            undefined=StrictUndefined, autoescape=False, finalize=_written, cache_size=0
        )
        self.globals.clear()
        self.filters = {name: FILTERS[name] for name in _FILTERS}
        own = {"int": _int, "float": _float, **filters}
        self.filters.update({name: self._careful(given) for name, given in own.items()})
        self.filters.update(default=_default, d=_default, json=_json)

    def _careful(self, given: Filter) -> Callable[..., Any]:
        """Keep absent values away from a filter, and make its None absent."""

        @pass_context
        def call(context: Context, *args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                if isinstance(value, Undefined):
                    return value
            if isinstance(given, WithVariables):
                result = given.function(args[0], context.get_all(), *args[1:], **kwargs)
            else:
                result = given(*args, **kwargs)
            return self.undefined(name="result") if result is None else result

        return call

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Undefined):
            return obj
        if isinstance(obj, LoopContext) and argument in LOOP_FIELDS:
            return getattr(obj, cast(str, argument))
        value = None
        try:
            if isinstance(obj, Mapping):
                value = cast(Mapping[Any, Any], obj)[argument]
            elif isinstance(obj, Sequence) and isinstance(argument, int):
                value = cast(Sequence[Any], obj)[argument]
        except (LookupError, TypeError):
            pass
        return self.undefined(obj=obj, name=str(argument)) if value is None else value

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        # "x" * 10**9 and "%1000000000d" % 1 would take the memory of the machine.
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise TypeError(f"'{operator}' takes two numbers")
        return super().call_binop(context, operator, left, right)


def _default(value: Any, otherwise: Any = "", boolean: bool = False) -> Any:
    absent = value is None or isinstance(value, Undefined)
    return otherwise if absent or (boolean and not value) else value


def _int(value: Any) -> int | None:
    """A whole number, or None: Jinja's own filter makes 0 of what is no number."""
    number = _float(value)
    if isinstance(value, int):
        return value
    return int(number) if number is not None and number.is_integer() else None


def _float(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _json(value: Any) -> str:
    settled = list(cast(Iterator[Any], value)) if isinstance(value, Iterator) else value
    return json.dumps(settled, ensure_ascii=False, default=_unwritable)


def _written(value: Any) -> str:
    """Write a value into a text; JSON's words for what is not text already."""
    if isinstance(value, str):
        return value
    if value is None:
        raise UndefinedError("null has no text")
    return _json(value)


def _unwritable(value: object) -> Any:
    if isinstance(value, Undefined):
        raise UndefinedError("an absent value has no text")
    raise TypeError(f"{type(value).__name__} is not JSON")
