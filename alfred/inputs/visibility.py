"""What of a page a reader cannot see: dropped before anything is read from it.

Hidden words are where a page that wants to instruct a model puts its instructions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from alfred.inputs.markup import Element

_NEVER_SHOWN = frozenset(
    str.split(
        """
        head script style template noscript iframe object canvas audio video datalist noembed
        noframes
        """
    )
)
_DRAWING_NOTES = frozenset({"title", "desc", "defs", "symbol", "metadata"})
_WATCHED = frozenset(
    str.split(
        """
        display visibility opacity font-size position left right top text-indent margin-left clip
        clip-path width height max-height overflow color background background-color transform
        content-visibility
        """
    )
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMPOUND = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(px|pt|em|rem|ch|%|vw|vh)?")
_OFFSETS = ("left", "right", "top", "margin-left", "text-indent")
_MOVED_AWAY = re.compile(r"scale\(0(\.0*)?[,)]|translate[xy]?\((?:[^()]*,)?-\d{3,}")
_CLIPPED = re.compile(r"rect\(0(px)?[, ]+0|rect\(1px[, ]+1px[, ]+1px|inset\((50|100)%")
_PIXELS = {"em": 16.0, "rem": 16.0, "ch": 8.0, "%": 10.0, "vw": 10.0, "vh": 10.0, "pt": 1.33}
_OFF_SCREEN_PX = 800.0
"""Further than this left of or above its place, or five times as far right or below, nothing of
an element is on the screen any more."""

_MAX_RULES = 500
"""Rules about one name; a style sheet with more was not written for people."""

Style = dict[str, str]


class _Rule(NamedTuple):
    weight: tuple[int, int, int, int]
    tag: str
    names: frozenset[str]
    style: Style


class StyleSheet:
    """The simple rules (tag, class, id) of a page's style elements, as a browser weighs them.

    Rules for some screens only (`@media`) and selectors that look at more than the element
    itself are left out: what they would hide stays.
    """

    def __init__(self, sheets: Iterable[str] = ()) -> None:
        self._by_name: dict[str, list[_Rule]] = defaultdict(list)
        order = 0
        for sheet in sheets:
            for selectors, body in _top_level_rules(_COMMENT.sub(" ", sheet)):
                style = _declarations(body)
                for selector in selectors.split(",") if style else ():
                    order += 1
                    self._add(selector.strip(), style, order)

    def style_of(self, element: Element) -> Style:
        """Give the watched properties of an element: its rules, then its own attribute."""
        names = {f".{name}" for name in element.get("class", "").split()}
        if name := element.get("id", ""):
            names.add(f"#{name}")
        own = element.get("style", "")
        if not (own or self._by_name):
            return {}
        rules = [rule for key in (*names, element.tag) for rule in self._by_name.get(key, ())]
        fitting = {
            rule.weight: rule.style
            for rule in rules
            if rule.tag in ("", element.tag) and rule.names <= names
        }
        styles = [fitting[weight] for weight in sorted(fitting)]
        return _cascade([*styles, _declarations(own)])

    def _add(self, selector: str, style: Style, order: int) -> None:
        match = _COMPOUND.fullmatch(selector)
        if not selector or match is None:
            return
        tag = (match[1] or "").lower()
        names = frozenset(re.findall(r"[.#][\w-]+", match[2]))
        ids = sum(name[0] == "#" for name in names)
        weight = (ids, len(names) - ids, bool(tag), order)
        rules = self._by_name[min(names) if names else tag]
        if len(rules) < _MAX_RULES:
            rules.append(_Rule(weight, tag, names, style))


def drop_hidden(root: Element) -> None:
    """Take out of a tree, in place, everything a reader of the page does not see."""
    sheet = StyleSheet(node.text or "" for node in root.iter("style"))
    dropped: list[Element] = []
    unseen: set[Element] = set()
    for element in root.iter():
        if element.tag in ("html", "body"):
            continue  # a page that hides its body shows it again by script
        style = sheet.style_of(element)
        if element is not root and (_is_unshown(element) or is_hidden(style)):
            dropped.append(element)
        elif _is_unseen(style, element.getparent() in unseen):
            unseen.add(element)
    for element in unseen:
        element.text = None
        for child in element:
            child.tail = None
    for element in dropped:
        element.drop_tree()


def is_hidden(style: Style) -> bool:
    """Say whether a style hides an element with all that is in it."""
    return bool(style) and (
        style.get("display") == "none"
        or style.get("content-visibility") == "hidden"
        or _is_tiny(style.get("opacity"), 0.0)
        or any(_is_off_screen(style.get(name)) for name in _OFFSETS)
        or _MOVED_AWAY.search(style.get("transform", "")) is not None
        or _CLIPPED.search(style.get("clip", "") + style.get("clip-path", "")) is not None
        or _is_squeezed(style)
        or _is_camouflaged(style)
    )


def _is_squeezed(style: Style) -> bool:
    sizes = (style.get("width"), style.get("height"), style.get("max-height"))
    return style.get("overflow") in ("hidden", "clip") and any(_is_tiny(size, 1) for size in sizes)


def _is_unshown(element: Element) -> bool:
    tag = element.tag
    if tag in _NEVER_SHOWN or element.get("hidden", "no") != "no":
        return True
    if tag == "dialog" and element.get("open", "no") == "no":
        return True
    if tag in _DRAWING_NOTES and next(element.iterancestors("svg"), None) is not None:
        return True
    if element.get("aria-hidden", "").lower() != "true":
        return False
    # An open dialog marks the whole page behind it; that is still what the reader came for.
    return next(element.iter("h1", "main"), None) is None


def _is_unseen(style: Style, inherited: bool) -> bool:
    """Visibility and font size are inherited, and a child may set them back."""
    visibility, size = style.get("visibility"), style.get("font-size")
    if visibility in ("hidden", "collapse") or _is_tiny(size, 0.0):
        return True
    restored = visibility == "visible" or (size is not None and size.endswith(("px", "pt", "rem")))
    return inherited and not restored


def _is_camouflaged(style: Style) -> bool:
    color = style.get("color")
    if color is None:
        return False
    behind = style.get("background-color", style.get("background"))
    return color in ("transparent", "rgba(0,0,0,0)") or color == behind


def _is_tiny(value: str | None, up_to_px: float) -> bool:
    pixels = _pixels(value)
    return pixels is not None and abs(pixels) <= up_to_px


def _is_off_screen(value: str | None) -> bool:
    pixels = _pixels(value)
    return pixels is not None and not -_OFF_SCREEN_PX < pixels < 5 * _OFF_SCREEN_PX


def _pixels(value: str | None) -> float | None:
    match = _LENGTH.fullmatch(value or "")
    return float(match[1]) * _PIXELS.get(match[2] or "px", 1.0) if match else None


def _top_level_rules(css: str) -> Iterator[tuple[str, str]]:
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
                if selectors and not selectors.startswith("@"):
                    yield selectors, css[body_start:at]
                selectors, start = "", at + 1
        elif depth == 0:
            start = at + 1  # a statement such as @import


def _declarations(text: str) -> Style:
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


def _cascade(styles: Iterable[Style]) -> Style:
    result: Style = {}
    for style in styles:
        for name, value in style.items():
            if value.endswith("!") or not result.get(name, "").endswith("!"):
                result[name] = value
    return {name: value.removesuffix("!") for name, value in result.items()}
