"""The tools file: docs/probes.md shows what is read, and mistakes are told with a remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from alfred.errors import ProbeFailed
from alfred.probes import tools_sections
from alfred.probes.probe import Window
from alfred.probes.replay import read_recording
from alfred.probes.tools_file import configured_tools, read_configured, read_tools
from alfred.probes.tools_sections import ToolsFields
from alfred.settings import Settings, read_settings

TEXT = (Path(__file__).parents[2] / "docs" / "probes.md").read_text(encoding="utf-8")
WINDOW = Window(
    start=datetime(2026, 3, 2, 13, 0, tzinfo=UTC), end=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
)
NO_MORE = {"dsn", "file"}
"""Fields that the example cannot hold beside the ones it has; its comments name them."""


def block(heading: str, language: str, number: int = 0) -> str:
    """Take an example of docs/probes.md."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    return found[number]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Write the documented file, with the files that it names and that are read at once."""
    recorded = tmp_path / "recorded" / "pool"
    recorded.mkdir(parents=True)
    (recorded / "specs.yaml").write_text(block("Recorded calls", "yaml"))
    (recorded / "calls.jsonl").write_text(block("Recorded calls", "json"))
    (tmp_path / "postgresql.dsn").write_text("host=db.example.test user=watcher password=x\n")
    path = tmp_path / "tools.yaml"
    path.write_text(block("The tools file", "yaml"))
    return path


def test_the_documented_file_makes_every_tool(example: Path) -> None:
    configured = read_configured(example)
    assert [probe.name for probe in configured.toolbox.probes] == [
        *("alerts", "metric", "metrics_range", "metrics_instant", "metrics_like", "changes"),
        *("log_patterns", "logs", "journal", "health", "database", "kubernetes", "runbooks"),
        *("mcp_tickets_find_tickets", "log_search"),
    ]
    assert [server.settings.name for server in configured.servers] == ["tickets", "inventory"]


def fields_of(model: type[BaseModel]) -> Iterator[str]:
    """Walk over the fields of a section and of what stands in it."""
    for name, field in model.model_fields.items():
        yield name
        for inner in re.findall(r"tools_sections\.(\w+)", str(field.annotation)):
            yield from fields_of(getattr(tools_sections, inner))


def test_every_field_is_in_the_documented_example() -> None:
    shown = block("The tools file", "yaml")
    missing = {
        name
        for name in fields_of(ToolsFields)
        if not re.search(rf"^\s*(?:- )?{name}:", shown, flags=re.MULTILINE)
    }
    assert missing == NO_MORE
    for name in NO_MORE:
        assert re.search(rf"# or {name}:", shown)


def test_every_tool_has_a_row_in_the_documents(example: Path) -> None:
    names = {probe.name for probe in read_tools(example).probes}
    names -= {"mcp_tickets_find_tickets", "log_search"}
    rows = set(re.findall(r"^\| `([a-z_]+)` \|", TEXT, flags=re.MULTILINE))
    assert rows == names


async def test_the_documented_recording_replays(example: Path) -> None:
    recording = read_recording(example.parent / "recorded" / "pool")
    arguments = {"source": "basket", "contains": "pool"}
    call = await recording.toolbox().call("log_search", arguments, WINDOW, [], round_=1)
    assert call["lines"] == ["14:01:09Z ERROR pool exhausted (5 of 5)"]


@pytest.mark.parametrize("text", ["", "\n# nothing yet\n", "{}\n"])
def test_a_file_without_sections_makes_no_tools(tmp_path: Path, text: str) -> None:
    (tmp_path / "tools.yaml").write_text(text)
    assert read_tools(tmp_path / "tools.yaml").probes == []


def test_no_file_makes_no_tools_unless_it_was_named(tmp_path: Path) -> None:
    home = Settings(home=tmp_path)
    assert home.tools_file == tmp_path / "tools.yaml"
    assert configured_tools(home).toolbox.probes == []
    named = read_settings({"ALFRED_HOME": str(tmp_path), "ALFRED_TOOLS": str(tmp_path / "my.yaml")})
    assert named.tools_file == tmp_path / "my.yaml"
    with pytest.raises(ProbeFailed, match=r"ALFRED_TOOLS names .*my\.yaml, which does not exist"):
        configured_tools(named)


def test_paths_begin_at_the_files_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "books").mkdir()
    (folder / "tools.yaml").write_text("runbooks:\n  folder: books\nlogs: {sources: {a: a.log}}\n")
    assert [p.name for p in read_tools(folder / "tools.yaml").probes] == [
        *("log_patterns", "logs", "runbooks")
    ]


def test_promql_is_there_where_no_query_is_ready_made(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"

    def names(more: str) -> list[str]:
        path.write_text(f"prometheus:\n  url: http://p.example.test\n{more}")
        return [probe.name for probe in read_tools(path).probes]

    promql = ["metrics_range", "metrics_instant", "metrics_like"]
    assert names("") == ["alerts", *promql]
    assert names("  queries: {up: up}\n") == ["alerts", "metric"]
    assert names("  queries: {up: up}\n  promql: true\n") == ["alerts", "metric", *promql]
    assert names("  promql: false\n") == ["alerts"]


HASH = "ab" * 32
MCP = f"mcp:\n  s:\n    command: [x]\n    tools:\n      - name: t\n        schema_sha256: {HASH}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prometeus: {}\n", "line 1, prometeus: unknown field. Did you mean 'prometheus'?"),
        ("\nlogs:\n  source: {}\n", "line 3, logs.source: unknown field. Did you mean 'sources'?"),
        ("prometheus: {}\n", "prometheus.url: is missing."),
        ("prometheus: http://p\n", "line 1, prometheus: expected fields, found text."),
        ("journald: {units: nginx}\n", "journald.units: expected a list, found text."),
        ("journald: {units: []}\n", "line 1, journald: No units are configured."),
        ("journald: {units: [--all]}\n", "'--all' is no name of a unit"),
        ("kubernetes: {namespaces: []}\n", "kubernetes: No namespaces are configured."),
        ("kubernetes: {namespaces: [5]}\n", "expected text, found a number; quote it."),
        ("changes: {}\n", "changes: Neither repositories nor markers are configured."),
        ("http: {targets: {a: http://a.test}, head_only: [b]}\n", "head_only names 'b'"),
        ("http: {targets: {a: ftp://a.test}}\n", "line 1, http: "),
        ("http: {targets: {}}\n", "line 1, http: 0 web addresses"),
        ("postgresql: {}\n", "postgresql: give either dsn or dsn_file."),
        ("postgresql: {dsn: a, dsn_file: b}\n", "postgresql: give either dsn or dsn_file."),
        ("postgresql: {dsn_file: gone}\n", "dsn_file: nothing can be read from"),
        ("postgresql: {dsn: nonsense}\n", "line 1, postgresql: The dsn of postgresql is not"),
        ("logs: {sources: {a: x}, zone: Mars/Olympus}\n", "line 1, logs: "),
        ("logs: {sources: {a: x}, timeout_s: 0}\n", "greater than or equal to 0.5"),
        ("logs: {sources: {'a b': x}}\n", "logs.sources.a b"),
        ("mcp: {s: {}}\n", "line 1, mcp.s: give either command or url."),
        ("mcp: {s: {url: 'file:///x'}}\n", "neither http:// nor https://"),
        (MCP, "mcp.s.tools[0].description: is missing."),
        (f"{MCP}        descripton: x\n", "Did you mean 'description'?"),
        (f"{MCP}        description: x\n        kind: log\n", "kind: expected 'alerts'"),
        (f"{MCP}        description: x\n        parameters: {{}}\n", "no JSON Schema of an object"),
        (MCP.replace(HASH, "abc"), "schema_sha256: "),
        ("replay: gone\n", "specs.yaml, there is no such file"),
        ("runbooks: {folder: 5}\n", "runbooks.folder: expected text, found a number; quote it."),
        ("logs: [\n", "not YAML, line 2"),
        ("- logs\n", "expected fields, found a list."),
        ("logs:\n\tsources: {a: x}\n", "not YAML, line 2"),
        ("logs: &a {sources: {a: x}}\nhttp: *a\n", "found an alias; write the value out."),
        (
            "logs: {<<: {sources: {a: x}}}\n",
            "logs.<<: expected text as a field's name, found merge",
        ),
        ("logs: {sources: {a: !!python/name:os.system x}}\n", "python/name:os.system"),
        ('logs: {sources: {a: "x\\0"}}\n', "logs.sources.a: holds a control character"),
        ('logs: {sources: {a: "\\ud800"}}\n', "line 1"),
        ("logs: {sources: {a: ~nobody-of-that-name/x}}\n", "line 1, logs: ~nobody-of-that-name/x"),
        ("logs: {timeout_s: .inf, sources: {a: x}}\n", "no plain decimal number"),
        ("[" * 5_000 + "\n", "not YAML"),
        ("a: " + "[" * 60 + "]" * 60 + "\n", "nested more than 40 levels deep"),
        ("# " + "x" * 300_000 + "\nlogs: {}\n", "more than 262,144 characters"),
        (
            f"{MCP}        description: x\n        parameters: {{type: object, $ref: 'file:///x'}}\n",
            "write out what a $ref points to",
        ),
        ("logs: {sources: {a: x}}\nlogs: {sources: {a: x}}\n", "given twice, on lines 1 and 2"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_a_remedy(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(text)
    with pytest.raises(ProbeFailed) as caught:
        read_tools(path)
    assert caught.value.code == "probe.settings"
    assert "tools.yaml" in str(caught.value)
    assert said in str(caught.value)


def test_every_mistake_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text("log: {}\nprometheus: {}\nrunbooks: {folder: 5}\n")
    with pytest.raises(ProbeFailed, match="has 3 mistakes"):
        read_tools(path)


def test_two_tools_of_one_name_are_told(tmp_path: Path, example: Path) -> None:
    specs = example.parent / "recorded" / "pool" / "specs.yaml"
    specs.write_text(specs.read_text().replace("log_search", "runbooks"))
    (specs.parent / "calls.jsonl").write_text("")
    with pytest.raises(ProbeFailed, match="two tools are called 'runbooks'"):
        read_tools(example)


@pytest.mark.parametrize("place", ["pipe", "folder", "/dev/zero"])
def test_a_place_that_is_no_file_holds_nothing_up(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProbeFailed, match="it cannot be read: it is no regular file"):
        read_tools(tmp_path / place)


def test_a_file_that_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProbeFailed, match="not UTF-8"):
        read_tools(tmp_path / "tools.yaml")
    with pytest.raises(ProbeFailed, match="it cannot be read"):
        read_tools(tmp_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("postgresql: {dsn: 'postgresql://ops:tulip@db/o'}\n", "postgresql.dsn"),
        ("postgresql: {dsn: 'host=db password=tulip'}\n", "postgresql.dsn"),
        ("prometheus: {url: 'http://ops:tulip@p.test'}\n", "prometheus.url"),
        ("mcp: {s: {command: [x], environment: {KEY: tulip}}}\n", "mcp.s.environment"),
    ],
)
def test_a_secret_that_others_can_read_is_noticed_and_works(
    tmp_path: Path, text: str, place: str
) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(text)
    path.chmod(0o644)
    (notice,) = read_configured(path).notices
    assert f"holds secrets ({place})" in notice
    assert "chmod 600" in notice
    assert "tulip" not in notice
    path.chmod(0o600)
    assert read_configured(path).notices == ()


def test_a_file_without_secrets_may_be_read_by_all(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text("postgresql: {dsn: 'postgresql://watcher@db/o'}\nmcp: {s: {command: [x]}}\n")
    path.chmod(0o644)
    assert read_configured(path).notices == ()
