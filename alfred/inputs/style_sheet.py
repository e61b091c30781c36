"""The rules of a page's style elements, as far as they may hide something."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from alfred.inputs.markup import Element

_WATCHED = frozenset(
    str.split(
        """
        display visibility opacity font font-size position left right top bottom text-indent
        margin-left margin-top clip clip-path width height max-width max-height overflow color
        -webkit-text-fill-color background background-color background-image transform scale zoom
        filter content-visibility
        """
    )
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMPOUND = re.compile(r"([a-z][a-z0-9]*|\*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_COMBINATORS = re.compile(r"\s*(>)\s*|\s+")
_EVERY_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:all|screen)|layer\b.*|supports\b.*)")
_MAX_RULES = 500
"""Rules about one name; a style sheet with more was not written for people."""
_MAX_COMPOUNDS = 8
_MAX_ANCESTORS = 60
_MAX_STEPS = 3_000_000
"""Ancestors that are looked at for all rules of a page together: some seconds."""

Style = dict[str, str]


class _Compound(NamedTuple):
    """What one element has to be; `is_parent` where it must stand directly above the one after."""

    tag: str
    names: frozenset[str]
    is_parent: bool


class _Rule(NamedTuple):
    """`above` is what the element has to stand in, from the outside in; `needs` names all of it."""

    weight: tuple[int, int, int, int]
    above: tuple[_Compound, ...]
    last: _Compound
    needs: frozenset[str]
    style: Style


class StyleSheet:
    """A page's rules by tag, class, id and what they stand in, as a browser weighs them.

    Rules for some screens only (`@media`) and selectors by attribute, state or sibling are left
    out, and where a page's rules take too long, those about what an element stands in: what they
    would hide stays.
    """

    def __init__(self, sheets: Iterable[str] = ()) -> None:
        self._by_name: dict[str, list[_Rule]] = defaultdict(list)
        self._names: dict[Element, frozenset[str]] = {}
        self._around: dict[Element, frozenset[str]] = {}
        self._styles: dict[tuple[Element | None, str, frozenset[str]], list[Style]] = {}
        self._steps_left = _MAX_STEPS
        order = 0
        for sheet in sheets:
            for selectors, body in _rules(_COMMENT.sub(" ", sheet)):
                style = declarations(body)
                for selector in selectors.split(",") if style else ():
                    order += 1
                    self._add(selector.strip(), style, order)

    def style_of(self, element: Element) -> Style:
        """Give the watched properties of an element: its rules, then its own attribute."""
        own = element.get("style", "")
        if not (own or self._by_name):
            return {}
        return _cascade([*self._ruled(element), declarations(own)])

    def _ruled(self, element: Element) -> list[Style]:
        """Give what the rules say, the weightiest last; siblings of one kind share the answer."""
        names = self._names_of(element)
        kind = (element.getparent(), element.tag, names)
        known = self._styles.get(kind)
        if known is None:
            rules = [r for key in (*names, element.tag, "") for r in self._by_name.get(key, ())]
            fitting = {rule.weight: rule.style for rule in rules if self._matches(rule, element)}
            known = self._styles[kind] = [fitting[weight] for weight in sorted(fitting)]
        return known

    def _add(self, selector: str, style: Style, order: int) -> None:
        compounds = _compounds(selector)
        if not compounds:
            return
        names = [name for compound in compounds for name in compound.names]
        ids = sum(name[0] == "#" for name in names)
        tags = sum(compound.tag != "" for compound in compounds)
        *above, last = compounds
        rules = self._by_name[min(last.names) if last.names else last.tag]
        if len(rules) < _MAX_RULES:
            weight = (ids, len(names) - ids, tags, order)
            needs = frozenset(name for each in above for name in (each.tag, *each.names) if name)
            rules.append(_Rule(weight, tuple(above), last, needs, style))

    def _matches(self, rule: _Rule, element: Element) -> bool:
        if not self._is(rule.last, element):
            return False
        return not rule.above or (
            rule.needs <= self._names_around(element) and self._stands_in(rule.above, element)
        )

    def _stands_in(self, compounds: tuple[_Compound, ...], element: Element) -> bool:
        above = list(compounds)
        for ancestor in islice(element.iterancestors(), _MAX_ANCESTORS):
            self._steps_left -= 1
            if self._is(above[-1], ancestor):
                above.pop()
            elif above[-1].is_parent:
                break
            if not above or self._steps_left < 0:
                break
        return not above

    def _is(self, compound: _Compound, element: Element) -> bool:
        return compound.tag in ("", element.tag) and compound.names <= self._names_of(element)

    def _names_around(self, element: Element) -> frozenset[str]:
        """Collect the tags and names of all an element stands in; siblings share the answer."""
        missing: list[Element] = []
        parent = element.getparent()
        while parent is not None and parent not in self._around:
            missing.append(parent)
            parent = parent.getparent()
        found = self._around[parent] if parent is not None else frozenset[str]()
        for each in reversed(missing):
            own = self._names_of(each) | {each.tag}
            found = self._around[each] = found if own <= found else found | own
        return found

    def _names_of(self, element: Element) -> frozenset[str]:
        known = self._names.get(element)
        if known is None:
            known = self._names[element] = _names(element)
        return known


def declarations(text: str) -> Style:
    """Read the declarations of a rule's body or a `style` attribute; urgent values end in `!`."""
    style: Style = {}
    for declaration in _COMMENT.sub(" ", text).split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip().lower(), " ".join(value.lower().split())
        if name in _WATCHED and value:
            urgent = value.endswith("!important")
            value = value.removesuffix("!important").strip()
            if urgent or not style.get(name, "").endswith("!"):
                style[name] = value.replace(", ", ",") + ("!" if urgent else "")
    return style


def _names(element: Element) -> frozenset[str]:
    names = {f".{name}" for name in element.get("class", "").split()}
    if name := element.get("id", ""):
        names.add(f"#{name}")
    return frozenset(names)


def _compounds(selector: str) -> tuple[_Compound, ...]:
    """Split a selector at its combinators; empty where a part of it can't be read."""
    pieces = _COMBINATORS.split(selector)
    found: list[_Compound] = []
    for piece, combinator in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        match = _COMPOUND.fullmatch(piece)
        if not piece or match is None:
            return ()
        tag = (match[1] or "").lower().replace("*", "")
        names = frozenset(re.findall(r"[.#][\w-]+", match[2]))
        found.append(_Compound(tag, names, is_parent=combinator == ">"))
    return tuple(found) if len(found) <= _MAX_COMPOUNDS else ()


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Give the selectors and bodies of a sheet's rules, those for every screen included."""
    depth, start, selectors, body_start = 0, 0, "", 0
    for match in re.finditer("[{};]", css):
        at = match.start()
        if match[0] == "{":
            if depth == 0:
                selectors, body_start = css[start:at].strip(), at + 1
            depth += 1
        elif match[0] == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                body = css[body_start:at]
                if _EVERY_SCREEN.fullmatch(selectors.lower()):
                    yield from _rules(body)
                elif selectors and not selectors.startswith("@"):
                    yield selectors, body
                selectors, start = "", at + 1
        elif depth == 0:
            start = at + 1  # a statement such as @import


def _cascade(styles: Iterable[Style]) -> Style:
    result: Style = {}
    for style in styles:
        for name, value in style.items():
            if value.endswith("!") or not result.get(name, "").endswith("!"):
                result[name] = value
    return {name: value.removesuffix("!") for name, value in result.items()}
