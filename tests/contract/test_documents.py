"""The documents say what the code does: codes, commands, options, settings, links, decisions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest

from alfred.cli.entry import COMMANDS, EXIT_CODES, STILL_PENDING, cli
from alfred.errors import all_codes
from alfred.settings import PROVIDER_KEYS, VARIABLES

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PLACES = (".", "alfred", "examples/expenses")
"""Where a file that a document names may stand."""
NOT_OURS = {".git", ".venv", "node_modules", "dist", "build", "__pycache__"}
NOT_OURS |= {".pytest_cache", ".ruff_cache", ".hypothesis"}
NOT_OURS |= {"package-lock.json"}  # npm's words

DECISIONS = 14
ADR_PARTS = ["Context", "Decision", "Price", "What would reverse it"]

FORBIDDEN = re.compile(
    r"(?<![\w.])/(?:work|root|home/\w+)/|/opt/|\b(?:pypi|pythonhosted|npmjs)\.[a-z]{2,3}\b"
    r"|\bworkplace\b|\bhelpers?\b"
    r"|\b(?:this|another|other|earlier|previous|next|later) sessions?\b",
    re.IGNORECASE,
)


def text_files() -> Iterator[Path]:
    """Walk over every file of the repository that is text."""
    for folder, folders, names in os.walk(REPOSITORY):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        for name in set(names) - NOT_OURS:  # in a linked worktree `.git` is a file
            path = Path(folder, name)
            if path.is_file() and b"\0" not in path.read_bytes()[:8192]:
                yield path


def markdown_files() -> list[Path]:
    return [path for path in text_files() if path.suffix == ".md"]


def relative(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def table_rows(path: Path, first: str) -> list[list[str]]:
    """Read the cells of the table rows whose first cell matches."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if "|" in line
    ]
    return [row for row in rows if re.fullmatch(first, row[0])]


def test_the_table_of_errors_lists_every_code_with_its_meaning() -> None:
    rows = table_rows(DOCS / "errors.md", r"`[a-z_]+\.[a-z_]+`")
    assert {row[0].strip("`"): row[1] for row in rows} == all_codes()
    assert len(rows) == len(all_codes())


def test_every_error_says_what_to_do_and_has_an_http_status() -> None:
    for row in table_rows(DOCS / "errors.md", r"`[a-z_]+\.[a-z_]+`"):
        assert row[2], row
        assert 400 <= int(row[3]) <= 599, row


def leaf_commands() -> dict[str, click.Command]:
    """Collect every command that does something, under the words that are typed."""
    found: dict[str, click.Command] = {}
    for name, (module, _) in COMMANDS.items():
        command: click.Command = import_module(module).command
        if isinstance(command, click.Group):
            found |= {f"alfred {name} {sub}": leaf for sub, leaf in command.commands.items()}
        else:
            found[f"alfred {name}"] = command
    return found


def command_sections() -> dict[str, str]:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    sections = zip(parts[1::2], parts[2::2], strict=True)
    return {title: body for title, body in sections if title.startswith("alfred ")}


def test_every_command_is_documented_and_no_other() -> None:
    assert set(command_sections()) == set(leaf_commands())


def test_every_option_is_documented_and_no_other() -> None:
    documented = {
        title: {o for line in body.splitlines() if line.startswith("- `") for o in options(line)}
        for title, body in command_sections().items()
    }
    existing = {
        title: {
            option
            for parameter in command.params
            if isinstance(parameter, click.Option)
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        for title, command in leaf_commands().items()
    }
    assert documented == existing


def options(line: str) -> set[str]:
    """Find the options that the beginning of a list item names."""
    return set(re.findall(r"`(--[a-z-]+)", line.partition(": ")[0]))


def test_every_argument_of_a_command_is_in_its_documented_usage() -> None:
    for title, command in leaf_commands().items():
        context = click.Context(command, info_name=title)
        names = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
        usage = f"`{' '.join([title, *names])}`"
        assert usage in command_sections()[title], usage


def test_every_exit_code_is_documented() -> None:
    documented = {int(row[0]) for row in table_rows(DOCS / "cli.md", r"\d+")}
    assert documented == {0, 1, 2, 130, STILL_PENDING, *EXIT_CODES.values()}
    assert {int(code) for code in re.findall(r"\b\d+\b", cli.help or "")} == documented


def test_every_setting_is_documented() -> None:
    rows = table_rows(DOCS / "cli.md", r"`ALFRED_[A-Z_]+`")
    assert [row[0].strip("`") for row in rows] == list(VARIABLES)
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert [key for key in PROVIDER_KEYS if f"`{key}`" not in text] == []


def test_documents_name_no_setting_that_does_not_exist() -> None:
    unknown = {
        f"{relative(path)}: {name}"
        for path in markdown_files()
        for name in re.findall(r"\bALFRED_[A-Z_]+\b", path.read_text(encoding="utf-8"))
        if name not in VARIABLES
    }
    assert unknown == set()


def test_every_relative_link_leads_somewhere() -> None:
    broken: list[str] = []
    for path in markdown_files():
        for target in re.findall(r"\]\(([^()\s]+)\)", path.read_text(encoding="utf-8")):
            address = urlsplit(target)
            if address.scheme or address.netloc:
                continue
            linked = (path.parent / unquote(address.path)).resolve() if address.path else path
            if not linked.exists() or not has_anchor(linked, address.fragment):
                broken.append(f"{relative(path)} → {target}")
    assert broken == []


def has_anchor(path: Path, fragment: str) -> bool:
    if not fragment:
        return True
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return fragment in {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def test_every_file_that_a_document_names_exists() -> None:
    missing: list[str] = []
    for path in [*DOCS.rglob("*.md"), REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "SECURITY.md"]:
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"`((?:[a-z_]+/)+[a-z_0-9]+\.(?:py|yaml|sh|txt))`", text):
            if not any((REPOSITORY / place / name).exists() for place in PLACES):
                missing.append(f"{relative(path)}: {name}")
    assert missing == []


def test_every_test_that_a_document_names_exists() -> None:
    there = {path.stem for path in (REPOSITORY / "tests").rglob("test_*.py")}
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        there.update(re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8")))
    named = [
        (relative(path), name)
        for path in markdown_files()
        for name in re.findall(r"`(test_\w+)(?:\.py)?`", path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 20
    assert [each for each in named if each[1] not in there] == []


def test_every_decision_has_a_page_and_stands_in_the_index() -> None:
    pages = sorted(path.name for path in (DOCS / "adr").glob("[0-9]*.md"))
    numbers = [int(name[:4]) for name in pages]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= DECISIONS
    index = (DOCS / "adr" / "README.md").read_text(encoding="utf-8")
    assert [name for name in pages if f"({name})" not in index] == []


@pytest.mark.parametrize("number", range(1, DECISIONS + 1))
def test_a_decision_says_why_what_it_costs_and_what_would_reverse_it(number: int) -> None:
    (page,) = (DOCS / "adr").glob(f"{number:04}-*.md")
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {number:04}. ")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == ADR_PARTS
    assert re.search(r"^Status: (?:proposed|accepted|superseded by \d{4})", text, re.MULTILINE)


def test_no_file_mentions_the_place_it_was_written_at() -> None:
    said: list[str] = []
    for path in text_files():
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in FORBIDDEN.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            said.append(f"{relative(path)}:{line} says {match.group()!r}")
    assert said == []
