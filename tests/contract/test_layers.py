"""The order of layers, and the few places where a rule has an exception, over the syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import alfred

PACKAGE = Path(alfred.__file__).parent

LAYERS = (
    ("errors", "settings"),
    ("engine",),
    ("store", "models", "inputs", "memory", "probes", "queue"),
    ("services",),
    ("nodes",),
    ("dispatch", "graphs"),
    (
        *("app", "installed", "preparation", "intake", "inbox", "testing", "diagnoses"),
        *("evaluation", "domain", "graph", "gate"),
    ),
    ("server", "api", "worker", "cli", "__main__"),
)
"""From the lowest to the highest; a part may import its own layer and those before it."""
LEVELS = {part: level for level, parts in enumerate(LAYERS) for part in parts}

GRAPH_LIBRARIES = ("langgraph", "langchain_core", "langchain", "langsmith")
GRAPH_FILES = {
    "engine/attempt.py": "wraps the steps of a machine for a graph",
    "engine/check.py": "reads what a graph declares",
    "engine/guards.py": "adds a node with a budget to a graph",
    "engine/node.py": "makes the function that a graph registers",
    "engine/node_step.py": "wraps the steps of a graph",
    "engine/review.py": "interrupts a run",
    "gate.py": "interrupts a run of somebody's own graph",
    "graph.py": "what domains outside write their graphs with",
    "store/checkpoints.py": "implements the library's saver",
    "store/migrate.py": "creates the saver's tables, imported only when it does",
}
"""The files outside `graphs/` that may import LangGraph, which costs a second of CPU."""

ENVIRONMENT_FILES = {
    "settings.py": "the only reader of the configuration",
    "models/package_index.py": "hands the whole environment on to pip and reads nothing of it",
}

BROAD_HANDLERS = {
    "engine/attempt.py": "whatever a step meets has a route",
    "server/frame.py": "the last handler of a server",
    "worker/turn_run.py": "the last handler of a worker",
}
"""Files that may catch everything and go on."""

NEUTRAL = ("engine", "dispatch", "inputs", "models", "store", "server")
"""Parts that name no domain, so that a new domain changes none of them."""
DOMAIN_FILES = ("store/tables/job.py", "store/migrations/job")
DOMAIN_WORDS = re.compile(
    r"(?<![a-z])(?:jobs?|postings?|vacanc(?:y|ies)|r\u00e9sum\u00e9s?|compan(?:y|ies)|employers?"
    r"|applicants?|recruit\w*|hiring|salar(?:y|ies)|careers?|interviews?)(?![a-z])"
    r"|岗位|职位|招聘|简历|求职|投递|公司|面试"
)


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def part_of(path: Path) -> str:
    """Name the part a file belongs to; empty for the package's own `__init__`."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield every imported module with its line, also inside functions and type checks."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module == "alfred":
                yield from ((f"alfred.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield module, node.lineno


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {part_of(path) for path in sources()} - {""}
    assert parts <= set(LEVELS)


def test_lower_layers_never_import_upper_ones() -> None:
    wrong: list[str] = []
    for path in sources():
        level = LEVELS.get(part_of(path), -1)
        for module, line in imports_of(path):
            imported = module.split(".")[1] if module.startswith("alfred.") else ""
            if LEVELS.get(imported, -1) > level:
                wrong.append(f"{name_of(path)}:{line} imports {module}")
    assert not wrong


def test_imports_are_absolute() -> None:
    relative = [
        f"{name_of(path)}:{line}"
        for path in sources()
        for module, line in imports_of(path)
        if module.startswith(".")
    ]
    assert not relative


def test_only_the_listed_files_import_the_graph_library() -> None:
    importers = {
        name_of(path)
        for path in sources()
        for module, _ in imports_of(path)
        if module.split(".")[0] in GRAPH_LIBRARIES and part_of(path) != "graphs"
    }
    assert importers == set(GRAPH_FILES)


def test_the_domains_are_described_without_importing_the_graph_library() -> None:
    for described in ("graphs/job_domain.py", "graphs/diagnosis/domain.py"):
        imported = {module.split(".")[0] for module, _ in imports_of(PACKAGE / described)}
        assert not imported & set(GRAPH_LIBRARIES)


def test_only_the_settings_read_the_environment() -> None:
    reads = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    readers: set[str] = set()
    for path in sources():
        for node in ast.walk(tree_of(path)):
            attribute = (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "os"
                and node.attr in reads
            )
            imported = isinstance(node, ast.ImportFrom) and node.module == "os"
            if attribute or (imported and reads & {alias.name for alias in node.names}):
                readers.add(name_of(path))
    assert readers == set(ENVIRONMENT_FILES)


def test_no_handler_swallows_every_error() -> None:
    swallowing: list[str] = []
    for path in sources():
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.ExceptHandler) or not is_broad(node.type):
                continue
            last = node.body[-1]
            if not (isinstance(last, ast.Raise) and last.exc is None):
                swallowing.append(f"{name_of(path)}:{node.lineno}")
    allowed = [place for place in swallowing if place.split(":")[0] in BROAD_HANDLERS]
    assert swallowing == allowed


def is_broad(caught: ast.expr | None) -> bool:
    """Say whether a handler catches what nobody thought of; `except:` does."""
    if caught is None:
        return True
    named = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(e, ast.Name) and e.id in ("Exception", "BaseException") for e in named)


def test_broad_handlers_that_only_clean_up_are_told_from_those_that_swallow() -> None:
    code = "try: f()\nexcept (ValueError, Exception): pass\nexcept OSError: pass\nexcept: raise"
    handlers = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.ExceptHandler)]
    assert [is_broad(handler.type) for handler in handlers] == [True, False, True]


def neutral_sources() -> list[Path]:
    return [
        path
        for path in sources()
        if part_of(path) in NEUTRAL and not name_of(path).startswith(DOMAIN_FILES)
    ]


def domain_words_in(text: str) -> set[str]:
    """Find words of the job domain, also inside names like `read_JobPosting`."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text)
    return set(DOMAIN_WORDS.findall(split.lower()))


def test_general_parts_name_no_domain() -> None:
    wrong: list[str] = []
    for path in neutral_sources():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if words := domain_words_in(line):
                wrong.append(f"{name_of(path)}:{number} says {', '.join(sorted(words))}")
    assert not wrong


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class JobPosting:", {"job", "posting"}),
        ("the résumé of an applicant", {"résumé", "applicant"}),
        ("resume_due, jobless", set()),
        ("从岗位描述", {"岗位"}),
    ],
)
def test_words_of_the_job_domain_are_recognised(text: str, found: set[str]) -> None:
    assert domain_words_in(text) == found
