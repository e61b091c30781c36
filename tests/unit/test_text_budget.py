from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alfred.engine.extraction import MAX_ANSWER_TOKENS
from alfred.engine.text_budget import PROMPT_TOKENS, estimate_tokens, fit_text

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: time says nothing about these properties."""
CONTEXT = 4096
ROOM = CONTEXT - MAX_ANSWER_TOKENS - PROMPT_TOKENS


def test_a_text_that_fits_is_left_alone_without_a_word() -> None:
    assert fit_text("short", CONTEXT) == ("short", [])
    assert fit_text("", CONTEXT) == ("", [])


@pytest.mark.parametrize("line", ["熟悉潮汐表与港口调度。", "You know tide tables and piers."])
def test_a_long_text_is_cut_at_the_end_of_a_line_and_says_how_much_was_read(line: str) -> None:
    text = f"{line}\n" * 2000
    kept, (note,) = fit_text(text, CONTEXT)
    assert text.startswith(kept)
    assert kept.endswith("\n")
    assert 0.5 * ROOM < estimate_tokens(kept) <= ROOM
    assert f"{len(kept):,} of {len(text):,} characters" in note


@UNHURRIED
@given(st.lists(st.sampled_from(["tide tables ", "潮汐", "\n"]), max_size=3).map("".join))
def test_whatever_the_text_what_is_kept_begins_it_and_fits(piece: str) -> None:
    text = piece * 1500
    kept, notes = fit_text(text, CONTEXT)
    assert bool(notes) == (kept != text)
    assert text.startswith(kept)
    assert estimate_tokens(kept) <= ROOM


def test_a_text_whose_beginning_is_denser_than_its_end_fits_all_the_same() -> None:
    text = "潮汐港口调度" * 2000 + "tide tables " * 4000
    kept, _ = fit_text(text, CONTEXT)
    assert estimate_tokens(kept) <= ROOM


def test_one_endless_line_behind_a_heading_is_cut_in_its_middle_and_not_lost() -> None:
    text = "Harbour Planner\n" + "tide tables " * 4000
    kept, _ = fit_text(text, CONTEXT)
    assert estimate_tokens(kept) > 0.9 * ROOM
