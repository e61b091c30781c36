"""What `import alfred` offers, pinned: a name that is added here has to be kept."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import alfred
import alfred.testing
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


def test_the_public_fakes_are_the_two_models() -> None:
    assert public_names(alfred.testing) - {"annotations"} == {"RecordedModel", "ScriptedModel"}
    assert sorted(alfred.testing.__all__) == ["RecordedModel", "ScriptedModel"]


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
