"""What of a page a reader cannot see: dropped before anything is read from it.

Hidden words are where a page that wants to instruct a model puts its instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from alfred.inputs.colour import BLACK, WHITE, Colour, read_colour
from alfred.inputs.markup import Element
from alfred.inputs.style_sheet import Style, StyleSheet

_NEVER_SHOWN = frozenset(
    str.split(
        """
        head script style template noscript iframe object canvas audio video datalist noembed
        noframes
        """
    )
)
_DRAWING_NOTES = frozenset({"title", "desc", "defs", "symbol", "metadata"})
_LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(px|pt|em|rem|ch|%|vw|vh)?")
_OFFSETS = ("left", "right", "top", "bottom", "margin-left", "margin-top", "text-indent")
_MOVED_AWAY = re.compile(r"scale\(0(\.0*)?[,)]|translate[xy]?\((?:[^()]*,)?-\d{3,}")
_CLIPPED = re.compile(
    r"rect\(0(px)?[, ]+0|rect\(1px[, ]+1px[, ]+1px|(?:inset\((?:50|100)%|circle\(0)"
)
_PIXELS = {"em": 16.0, "rem": 16.0, "ch": 8.0, "%": 10.0, "vw": 10.0, "vh": 10.0, "pt": 1.33}
_NO_SIZE = re.compile(r"(?:^|\s)0(?:px|pt|em|rem|%)?(?:/|\s)")
"""A size of nothing among the values of `font`."""
_READABLE_PX = 2.0
_READABLE_OPACITY = 0.05
_NO_FILTER = re.compile(r"opacity\(0(?:\.0\d*)?%?\)")
_PICTURES = re.compile(r"url\(|gradient\(|var\(")
_OFF_SCREEN_PX = 800.0
"""Further than this left of or above its place, or five times as far right or below, nothing of
an element is on the screen any more."""


@dataclass(frozen=True)
class _Look:
    """What an element hands down to those in it: how its words would look."""

    colour: Colour | None = BLACK
    behind: Colour | None = WHITE
    is_unseen: bool = False
    """None stands for a colour that can't be read, and for a picture."""


def drop_hidden(root: Element) -> None:
    """Take out of a tree, in place, everything a reader of the page does not see."""
    sheet = StyleSheet(node.text or "" for node in root.iter("style"))
    dropped: list[Element] = []
    looks: dict[Element | None, _Look] = {}
    for element in root.iter():
        style = sheet.style_of(element)
        look = looks[element] = _look(element, style, looks.get(element.getparent(), _Look()))
        if element.tag in ("html", "body"):
            # A page that hides its body shows it again by script; its colours hold all the same.
            looks[element] = _Look(look.colour, look.behind)
        elif element is not root and (_is_unshown(element) or is_hidden(style)):
            dropped.append(element)
    for element in root.iter():
        if looks[element].is_unseen or _is_camouflaged(looks[element]):
            element.text = None
            for child in element:
                child.tail = None
    for element in dropped:
        element.drop_tree()


def _look(element: Element, style: Style, above: _Look) -> _Look:
    background = element.get("bgcolor", "")
    if not (style or background or element.tag == "font"):
        return above
    return _Look(
        _colour(element, style, above.colour),
        _behind(style, background.strip().lower(), above.behind),
        _is_unseen(style, above.is_unseen),
    )


def _colour(element: Element, style: Style, above: Colour | None) -> Colour | None:
    given = element.get("color", "").strip().lower() if element.tag == "font" else ""
    value = style.get("-webkit-text-fill-color", style.get("color", given))
    return above if value in ("", "inherit", "currentcolor") else read_colour(value)


def _behind(style: Style, given: str, above: Colour | None) -> Colour | None:
    """Find what is behind the words: the last colour that is declared and can be seen."""
    names = ("background", "background-color", "background-image")
    declared = [given, *(style[name] for name in names if name in style)]
    if any(map(_PICTURES.search, declared)):
        return None
    colours = [colour for value in declared if (colour := read_colour(value))]
    seen = [colour for colour in colours if not colour.is_invisible]
    return seen[-1] if seen else above


def _is_camouflaged(look: _Look) -> bool:
    if look.colour is None:
        return False
    return look.colour.is_invisible or (
        look.behind is not None and look.colour.is_like(look.behind)
    )


def is_hidden(style: Style) -> bool:
    """Say whether a style hides an element with all that is in it."""
    return bool(style) and (
        style.get("display") == "none"
        or style.get("content-visibility") == "hidden"
        or _is_tiny(style.get("opacity"), _READABLE_OPACITY)
        or any(_is_tiny(style.get(name), 0.0) for name in ("scale", "zoom"))
        or _NO_FILTER.search(style.get("filter", "")) is not None
        or any(_is_off_screen(style.get(name)) for name in _OFFSETS)
        or _MOVED_AWAY.search(style.get("transform", "")) is not None
        or _CLIPPED.search(style.get("clip", "") + style.get("clip-path", "")) is not None
        or _is_squeezed(style)
    )


def _is_squeezed(style: Style) -> bool:
    sizes = (style.get(name) for name in ("width", "height", "max-width", "max-height"))
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
    if visibility in ("hidden", "collapse") or _is_unreadably_small(size):
        return True
    if size is None and _NO_SIZE.search(style.get("font", "")):
        return True
    restored = visibility == "visible" or (size is not None and size.endswith(("px", "pt", "rem")))
    return inherited and not restored


def _is_unreadably_small(size: str | None) -> bool:
    if size is not None and size.endswith("%"):
        return _is_tiny(size.removesuffix("%"), 10)
    return _is_tiny(size, _READABLE_PX)


def _is_tiny(value: str | None, up_to_px: float) -> bool:
    pixels = _pixels(value)
    return pixels is not None and abs(pixels) <= up_to_px


def _is_off_screen(value: str | None) -> bool:
    pixels = _pixels(value)
    return pixels is not None and not -_OFF_SCREEN_PX < pixels < 5 * _OFF_SCREEN_PX


def _pixels(value: str | None) -> float | None:
    match = _LENGTH.fullmatch(value or "")
    return float(match[1]) * _PIXELS.get(match[2] or "px", 1.0) if match else None
