"""Where a word of a text begins and ends, so that `Go` is not found in Google, nor 5 in 1.5."""

from __future__ import annotations

import re

from alfred.engine.normalised_text import NormalisedText, is_chinese, is_word


class WordBorders:
    """Says of any stretch of a normalised text whether it is made of whole words.

    Chinese sets no borders between words, so any of its characters may be one.
    """

    def __init__(self, original: str, normalised: NormalisedText) -> None:
        self._original = original
        self._normalised = normalised
        self._text = normalised.text

    def enclose(self, start: int, end: int) -> bool:
        """Say whether no word reaches across either end of `text[start:end]`."""
        text = self._text
        return not (
            _is_one_word(text[start - 1 : start], text[start])
            or _is_one_word(text[end - 1], text[end : end + 1])
            or self._begins_earlier(start)
            or self._ends_later(end)
        )

    def enclose_line(self, start: int, end: int) -> bool:
        """Say the same of a line that may have lost its line breaks: `in EnglishNative speaker`.

        There a small letter before a capital one is a border too.
        """
        text = self._text
        glued_before = _is_one_word(text[start - 1 : start], text[start])
        glued_behind = _is_one_word(text[end - 1], text[end : end + 1])
        return (
            (not glued_before or self._changes_case(start))
            and (not glued_behind or self._changes_case(end))
            and not self._begins_earlier(start)
            and not self._ends_later(end)
        )

    def _changes_case(self, at: int) -> bool:
        left, right = self._normalised.span(at - 1, at), self._normalised.span(at, at + 1)
        if left is None or right is None:
            return False
        return self._original[left["start"]].islower() and self._original[right["start"]].isupper()

    def _begins_earlier(self, start: int) -> bool:
        """Say whether what stands before belongs to the word: `1,` of 1,000, `-` of -5."""
        first, mark = self._text[start], self._text[start - 1 : start]
        earlier = self._text[start - 2 : start - 1] if start > 1 else ""
        if first == "-" and self._text[start + 1 : start + 2].isdigit():
            return is_word(mark)
        if first.isdigit():
            return self._continues_number(mark, earlier, start)
        if mark != "." or not first.isalpha() or is_chinese(first):
            return False
        return self._joins(start - 1) if is_word(earlier) else earlier in ("", " ", "(", ",", "/")

    def _continues_number(self, mark: str, earlier: str, start: int) -> bool:
        if mark in (",", "'"):
            return earlier.isdigit()
        if mark == ".":
            return earlier.isdigit() or not is_word(earlier)
        if mark == " ":
            return self._separates_thousands(start - 1)
        # A dash at the start of a line is a bullet, and one after a word is no sign.
        return mark == "-" and not is_word(earlier) and not self._begins_line(start - 1)

    def _ends_later(self, end: int) -> bool:
        """Say whether what follows belongs to the word: `++`, `#`, `.js`, `,000`."""
        last, mark, later = (
            self._text[end - 1],
            self._text[end : end + 1],
            self._text[end + 1 :][:1],
        )
        if last.isdigit():
            if mark == " ":
                return self._separates_thousands(end)
            return mark in (".", ",", "'") and later.isdigit()
        if not last.isalpha() or is_chinese(last):
            return False
        if mark == "+":
            return not is_word(later)
        return mark == "#" or (mark == "." and is_word(later) and self._joins(end))

    def _joins(self, dot: int) -> bool:
        """Say whether a dot between letters is part of a name, not a full stop without a space."""
        left, right = self._normalised.span(dot - 1, dot), self._normalised.span(dot + 1, dot + 2)
        if left is None or right is None or is_chinese(self._text[dot + 1]):
            return False
        before, after = self._original[left["start"]], self._original[right["start"]]
        return not (before.islower() and after.isupper())

    def _separates_thousands(self, blank: int) -> bool:
        before, after = self._text[max(0, blank - 4) : blank], self._text[blank + 1 : blank + 5]
        return (
            re.search(r"(?:^|\D)\d{1,3}$", before) is not None
            and re.match(r"\d{3}(?!\d)", after) is not None
        )

    def _begins_line(self, at: int) -> bool:
        span = self._normalised.span(at, at + 1)
        if span is None:
            return False
        line = self._original.rfind("\n", 0, span["start"]) + 1
        return not self._original[line : span["start"]].strip()


def _is_one_word(left: str, right: str) -> bool:
    if not (is_word(left) and is_word(right)):
        return False
    return not (is_chinese(left) or is_chinese(right))
