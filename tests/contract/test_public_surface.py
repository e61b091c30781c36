"""What `import alfred` offers, pinned: a name that is added here has to be kept."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

import pytest

import alfred
import alfred.testing
from alfred.engine.domain import RESERVED
from alfred.engine.language_model import Message, ModelRequest


def public_names(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


def test_the_package_exports_its_version_and_nothing_else() -> None:
    assert public_names(alfred) == set()
    assert alfred.__version__ == version("alfred-engine")


DOMAIN = {
    *("ActionKind", "ActionRefused", "Arguments", "Connection", "Day", "Domain", "Filter"),
    *("Moment", "Role", "Row", "RowId", "WithVariables", "Writer", "belongs_to", "json_column"),
    *("one_line", "private_table", "private_table_ddl", "rows", "text", "text_column", "text_key"),
    *("timestamp", "uuid_column"),
}
GRAPH = {
    *("AlfredGraph", "AlfredState", "Counted", "Hooks", "LoopBudget", "RunContext", "Skip"),
    *("add_bounded_node", "node_step", "read_extracted", "read_pending_actions"),
}
GATE = {
    *("Act", "ActionRefused", "Arguments", "Gate", "HostRows", "Proposal", "ProposedAction"),
    *("ReviewRefused", "gate_kind", "open_gate", "text"),
}
TESTING = {"NOON", "RecordedModel", "ScriptedModel", "open_test_app"}


@pytest.mark.parametrize(
    ("name", "names"),
    [("domain", DOMAIN), ("graph", GRAPH), ("gate", GATE), ("testing", TESTING)],
)
def test_a_public_module_exports_these_names_and_no_others(name: str, names: set[str]) -> None:
    module = import_module(f"alfred.{name}")
    assert set(module.__all__) == names
    assert all(hasattr(module, each) for each in names)


def test_a_domain_is_declared_without_the_slow_graph_library() -> None:
    code = "import sys, alfred.domain; print('langgraph' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_no_domain_can_be_named_like_a_step_of_the_root_graph() -> None:
    from alfred.dispatch.prefilter import Prefilter
    from alfred.graphs.root import build_root_graph

    assert set(build_root_graph({}, Prefilter([])).nodes) == RESERVED


async def test_a_public_fake_answers_as_scripted() -> None:
    model = alfred.testing.ScriptedModel(['{"title": "Keeper"}'])
    request = ModelRequest(messages=(Message(role="user", content="What is the title?"),))
    assert (await model.complete(request)).text == '{"title": "Keeper"}'


def test_the_command_line_starts_without_the_slow_libraries() -> None:
    slow = ["langgraph", "langchain_core", "sqlalchemy", "alembic", "psycopg", "trafilatura"]
    code = (
        "import sys, alfred.cli.entry as entry\n"
        "entry.cli.main(['--help'], standalone_mode=False)\n"
        f"print('loaded:', *(name for name in {slow!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert "capture" in done.stdout
