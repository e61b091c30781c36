"""Dividing long texts: chunks cover the text, tear no sentence, and keep their answers apart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alfred.engine.chunk_merge import MAX_ENTRIES, ChunkAnswer, merge_answers
from alfred.engine.chunking import chunk_text, middle_of
from alfred.engine.evidence import Evidence, Span
from alfred.engine.excerpt import Excerpt, joined, opening, shifted
from alfred.engine.grounding import SourceText, ground
from alfred.engine.manifest import Chunking
from alfred.engine.text_borders import TextBorders, is_heading, is_separator
from alfred.engine.text_budget import estimate_tokens, fitting_end

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: time says nothing about these properties."""
BY_SECTION = Chunking(enabled=True, strategy="by_section")
PIECES = st.sampled_from(
    [
        *("You know tide tables. ", "She said: stop! ", "Piers, quays and dr. Ebb\n", "harbour "),
        *(
            "熟悉潮汐表。",
            "港口调度；",
            "负责排班\n",
            "# Tides\n",
            "二、任职要求\n",
            "\n\n",
            "- ropes\n",
        ),
        *("1. 会游泳\n", "e.g. knots ", "x" * 90, "汐" * 40, "---\n", "Requirements:\n", " ", "\t"),
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)
ROOMS = st.integers(min_value=4, max_value=120)


def fixed(max_chars: int, overlap: int) -> Chunking:
    return Chunking(enabled=True, strategy="fixed", max_chars=max_chars, overlap=overlap)


def words(text: str, spans: list[Span]) -> list[str]:
    return [text[span["start"] : span["end"]] for span in spans]


@UNHURRIED
@given(TEXTS, ROOMS)
def test_chunks_by_section_are_the_text_in_pieces_that_fit(text: str, room: int) -> None:
    chunks = words(text, chunk_text(text, BY_SECTION, room))
    assert "".join(chunks) == text
    assert all(chunks) or text == ""
    assert all(estimate_tokens(chunk) <= room or len(chunk) == 1 for chunk in chunks)


@UNHURRIED
@given(TEXTS, ROOMS)
def test_a_sentence_is_torn_apart_only_where_it_exceeds_the_room(text: str, room: int) -> None:
    spans = chunk_text(text, BY_SECTION, room)
    between = {0, len(text), *TextBorders(text).between(0, len(text))}
    for before, after in pairwise(spans):
        cut = after["start"]
        if cut not in between:
            start = max(place for place in between if place < cut)
            end = min(place for place in between if place > cut)
            assert estimate_tokens(text[max(start, before["start"]) : end]) > room


@UNHURRIED
@given(TEXTS, ROOMS, st.integers(200, 400), st.integers(0, 199))
def test_fixed_chunks_cover_the_text_and_share_their_overlap(
    text: str, room: int, max_chars: int, overlap: int
) -> None:
    spans = chunk_text(text, fixed(max_chars, overlap), room)
    assert spans[0]["start"] == 0
    assert spans[-1]["end"] == len(text)
    for before, after in pairwise(spans):
        length = before["end"] - before["start"]
        assert 0 < length <= max_chars
        shared = overlap if length == max_chars else min(overlap, length // 2)
        assert after["start"] == before["end"] - shared
        assert after["start"] > before["start"]


def test_a_text_that_fits_is_one_chunk_whatever_the_strategy() -> None:
    text = "# One\n\n" + "tide tables " * 60
    for chunking in (BY_SECTION, fixed(200, 50)):
        assert chunk_text(text, chunking, 1000) == [{"start": 0, "end": len(text)}]


@pytest.mark.parametrize(
    ("heading", "body"),
    [
        ("## Requirements", "You know tide tables. You read charts at night.\n"),
        ("二、任职要求", "熟悉潮汐表，能看懂海图。夜里也能排班。\n"),
        ("【岗位职责】", "负责港口调度，安排引水员与拖轮。\n"),
        ("ABOUT THE HARBOUR", "The quay is old. The crane is new.\n"),
        ("Section 3", "Pilots are on call. Tugs are not.\n"),
    ],
)
def test_chunks_begin_at_headings_where_there_are_some(heading: str, body: str) -> None:
    text = f"{heading}\n{body * 6}\n" * 6
    chunks = words(text, chunk_text(text, BY_SECTION, estimate_tokens(text) // 2))
    assert len(chunks) > 1
    assert all(chunk.startswith(heading) for chunk in chunks)


def test_without_headings_a_blank_line_divides_and_without_one_a_sentence() -> None:
    paragraph = "You know tide tables and charts. You like the night. "
    by_blank = f"{paragraph * 3}\n\n" * 8
    room = estimate_tokens(by_blank) // 3
    assert all(c.endswith("\n\n") for c in words(by_blank, chunk_text(by_blank, BY_SECTION, room)))
    by_sentence = paragraph * 24
    chunks = words(by_sentence, chunk_text(by_sentence, BY_SECTION, room))
    assert all(chunk.endswith(". ") for chunk in chunks)


def test_an_initial_or_a_title_before_a_full_stop_ends_no_sentence() -> None:
    text = "Ask Dr. Ebb or J. Flood at Tide Inc. Berlin about it. Then sail."
    assert TextBorders(text).between(0, len(text)) == [text.index("Then")]


@pytest.mark.parametrize("line", ["---", "= = = =", "＊＊＊", "────", "~~~~"])
def test_a_drawn_line_separates_and_is_no_heading(line: str) -> None:
    assert is_separator(line)
    assert not is_heading(line)


@pytest.mark.parametrize("line", ["- ropes", "1. 会游泳", "ab-", "--", "We sail."])
def test_other_lines_neither_separate_nor_name_what_is_below(line: str) -> None:
    assert not is_separator(line)
    assert not is_heading(line)


def test_a_chunk_is_halved_near_its_middle_between_sentences() -> None:
    text = "Before. " + "You know tide tables. " * 10 + "After."
    start, end = 8, len(text) - 6
    middle = middle_of(text, start, end)
    assert middle is not None
    assert text[:middle].endswith(". ")
    assert abs((middle - start) - (end - middle)) <= 2 * len("You know tide tables. ")
    assert middle_of("one sentence without any end", 0, 28) is None


@UNHURRIED
@given(TEXTS, st.integers(0, 40), ROOMS)
def test_what_fits_from_a_place_on_has_the_room_and_one_character_more_has_not(
    text: str, start: int, room: int
) -> None:
    start = min(start, len(text))
    end = fitting_end(text, start, room)
    assert estimate_tokens(text[start:end]) <= room or end == start
    assert end == len(text) or estimate_tokens(text[start : end + 1]) >= room


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": "string"},
        "mood": {"enum": ["calm", "rough"]},
        "wants": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "kind": {"enum": ["a", "b"]}},
            },
        },
    },
}
LONG = "Marram Ferries seeks a pilot. Tide tables and ropes. Marram Ferries pays. Ropes again."


def answer(start: int, end: int, **out: Any) -> ChunkAnswer:
    evidence = ground(out, SCHEMA, SourceText(LONG[start:end]))
    return ChunkAnswer(out, shifted(evidence, start))


def test_a_scalar_is_that_of_the_first_chunk_that_has_words_for_it() -> None:
    invented = answer(0, 29, company="Cormorant Cruises", mood="rough")
    found = answer(29, len(LONG), company="Marram Ferries", mood="calm")
    merged, notes = merge_answers([invented, found])
    assert merged == {"company": "Marram Ferries", "mood": "rough"}
    assert notes == []
    assert merge_answers([answer(0, 29, company="Zephyr"), answer(29, 50)])[0] == {
        "company": "Zephyr"
    }


def test_the_same_words_at_the_same_place_are_counted_once_and_the_longer_stays() -> None:
    cut = LONG.index("and ropes")
    first = answer(0, cut + 3, wants=[{"text": "Tide tables", "kind": "a"}])
    second = answer(
        30, len(LONG), wants=[{"text": "Tide tables and ropes"}, {"text": "Ropes again"}]
    )
    merged, _ = merge_answers([first, second])
    assert merged["wants"] == [{"text": "Tide tables and ropes"}, {"text": "Ropes again"}]


def test_entries_that_say_the_same_are_one_whatever_their_spelling() -> None:
    wants = [{"text": "tide  TABLES", "kind": "a"}, {"text": "knots"}]
    merged, _ = merge_answers(
        [answer(0, 50, wants=[{"text": "Tide tables", "kind": "a"}]), answer(50, 80, wants=wants)]
    )
    assert merged["wants"] == [{"text": "Tide tables", "kind": "a"}, {"text": "knots"}]


def test_entries_of_one_chunk_stay_as_the_model_told_them_apart() -> None:
    wants = [{"text": "Tide tables and ropes"}, {"text": "ropes"}]
    assert merge_answers([answer(0, 60, wants=wants)])[0]["wants"] == wants


def test_more_entries_than_anybody_reviews_are_left_out_and_said() -> None:
    chunks = [
        ChunkAnswer({"wants": [{"text": f"knot {n} {m}"} for m in range(20)]}, {}) for n in range(9)
    ]
    merged, notes = merge_answers(chunks)
    assert len(merged["wants"]) == MAX_ENTRIES
    assert notes == ["Of 180 wants the first 100 are kept."]


@UNHURRIED
@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=4), min_size=1, max_size=5))
def test_merging_keeps_each_entry_once_in_the_order_of_the_text(lists: list[list[str]]) -> None:
    merged, _ = merge_answers([ChunkAnswer({"wants": entries}, {}) for entries in lists])
    flat = [entry for entries in lists for entry in entries]
    assert merged["wants"] == list(dict.fromkeys(flat))


def test_evidence_of_joined_parts_points_back_to_where_the_words_stand() -> None:
    source = "Alder Labs hires.\n\nOne: cook\n\nTwo: gardener  \n"
    at = source.index("Two")
    excerpt = joined([Span(start=0, end=19), Span(start=at, end=len(source))], source)
    assert excerpt.text == "Alder Labs hires.\n\nTwo: gardener"
    for value in ("Alder Labs", "gardener"):
        start = excerpt.text.index(value)
        span = Span(start=start, end=start + len(value))
        evidence: Evidence = {"support": "grounded", "spans": [span], "quote": value}
        (back,) = excerpt.evidence_in_source(evidence)["spans"]
        assert source[back["start"] : back["end"]] == value
    across = excerpt.to_source(Span(start=11, end=excerpt.text.index(":")))
    assert words(source, across) == ["hires.", "Two"]
    whole = Excerpt.whole(source)
    assert whole.to_source(Span(start=3, end=9)) == [{"start": 3, "end": 9}]


def test_an_opening_is_quoted_on_one_line() -> None:
    assert opening("Alder\n  Labs") == "Alder Labs"
    assert opening("tide tables " * 20, 20) == "tide tables tide ta…"
