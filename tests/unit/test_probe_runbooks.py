"""Runbooks are searched by words, in both languages, and never outside their folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.runbooks import Runbooks, RunbookSettings, read_sections
from alfred.probes.toolbox import misfit

WINDOW = Window(
    start=datetime(2026, 3, 2, 13, 0, tzinfo=UTC), end=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
)
BASKET = """\
# Basket

The basket keeps what customers chose.

## Pool exhausted

Check the setting pool_size first.
Then look at slow statements.

```sh
# this is no heading
psql -c 'select 1'
```

## Disk full

Remove old segments of the pool.
"""
CHINESE = """\
# 结算服务

## 连接池耗尽

先看连接池的大小，再看慢查询。

## 磁盘已满

清理旧日志。
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "books" / "zh").mkdir(parents=True)
    (tmp_path / "books" / "basket.md").write_text(BASKET)
    (tmp_path / "books" / "zh" / "settle.md").write_text(CHINESE)
    (tmp_path / "books" / "notes.txt").write_text("pool exhausted")
    return tmp_path / "books"


async def look(folder: Path, words: str) -> Finding:
    probe = Runbooks(RunbookSettings(folder=folder))
    assert not misfit(probe, {"words": words})
    return await probe.look({"words": words}, WINDOW)


async def test_the_best_section_comes_first_with_its_place(folder: Path) -> None:
    found = await look(folder, "pool exhausted")
    assert found.lines[0] == (
        "basket.md › Basket › Pool exhausted: Check the setting pool_size first."
    )
    assert "basket.md › Basket › Pool exhausted: # this is no heading" in found.lines
    assert found.lines[-1] == "basket.md › Basket › Disk full: Remove old segments of the pool."
    assert found.asked == "runbook sections about 'pool exhausted'"


async def test_chinese_words_are_found_without_spaces(folder: Path) -> None:
    found = await look(folder, "为什么连接池满了")
    assert found.lines == ("zh/settle.md › 结算服务 › 连接池耗尽: 先看连接池的大小，再看慢查询。",)


async def test_words_of_no_runbook_find_nothing_and_say_what_was_searched(folder: Path) -> None:
    found = await look(folder, "certificate expired")
    assert (found.lines, found.where) == ((), "5 sections of the runbooks")
    assert (await look(folder, "?! 。")).lines == ()


async def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("# Zebra\n\nzebra stripes\n")
    (folder / "linked.md").symlink_to(outside / "private.md")
    (folder / "linked").symlink_to(outside)
    (folder / "inside.md").symlink_to(folder / "basket.md")
    assert (await look(folder, "zebra")).lines == ()
    assert any("inside.md" in line for line in (await look(folder, "pool exhausted")).lines)


async def test_a_huge_file_and_broken_text_are_read_as_far_as_it_goes(folder: Path) -> None:
    (folder / "huge.md").write_bytes(b"# Walrus\n\nwalrus \xff\xfe tusk\n" + b"x\n" * 300_000)
    found = await look(folder, "walrus tusk")
    assert found.lines[0] == "huge.md › Walrus: walrus \ufffd\ufffd tusk"
    assert found.truncated
    assert len(found.lines) == 12


async def test_a_folder_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match="does not exist") as caught:
        await look(tmp_path / "gone", "pool")
    assert caught.value.code == "probe.unreachable"


def test_runbooks_advise_and_are_no_evidence(folder: Path) -> None:
    probe = Runbooks(RunbookSettings(folder=folder))
    assert (probe.kind, probe.is_primary) == ("guidance", False)
    assert "does not take these arguments" in misfit(probe, {"words": ""})
    assert "does not take these arguments" in misfit(probe, {"words": "x" * 121})


def test_text_before_the_first_heading_and_deeper_headings_keep_their_place() -> None:
    text = "intro\n# A\n## B ##\nb\n### C\nc\n# D\nd\n#nothing\n"
    sections = [(s.titles, s.lines) for s in read_sections("f.md", text)]
    assert sections == [
        ((), ("intro",)),
        (("A", "B"), ("b",)),
        (("A", "B", "C"), ("c",)),
        (("D",), ("d", "#nothing")),
    ]


async def test_headings_of_many_spaces_and_marks_take_no_time(folder: Path) -> None:
    (folder / "odd.md").write_text("# " + " " * 100_000 + "x\n# " + "# " * 50_000 + "x\nzebra\n")
    found = await Runbooks(RunbookSettings(folder=folder)).look({"words": "zebra"}, WINDOW)
    assert len(found.lines) == 1
