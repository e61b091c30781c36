"""`alfred new`: begin a package of one's own."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from alfred.cli.session import console

SKELETON = files("alfred.cli") / "skeleton"
MAX_NAME = 24
"""Alembic keeps a revision's name, here `0001_NAME`, in 32 characters."""
FILES = {
    "pyproject.toml": "pyproject.toml",
    "$package/__init__.py": "",
    "$package/actions.py": "actions.py",
    "$package/domain.py": "domain.py",
    "$package/graph.py": "graph.py",
    "$package/tables.py": "tables.py",
    "$package/migrations/0001_$name.py": "migration.py",
    "$package/nodes/read_$name/node.yaml": "node.yaml",
    "$package/nodes/read_$name/cases.jsonl": "cases.jsonl",
    "tests/test_$name.py": "test.py",
}
"""Each file that is written, with the file of the skeleton it is made from."""


@click.group("new")
def command() -> None:
    """Begin a package of one's own."""


@command.command("domain")
@click.argument("name")
def new_domain(name: str) -> None:
    """Write the skeleton of a domain NAME into a new folder of that name.

    It is a package with a table and its migration, an action, a node, a graph and a test, complete
    enough to be installed and to capture a note; from there it is yours.
    """
    check_name(name)
    folder = Path(name)
    if folder.exists() or folder.is_symlink():
        raise click.UsageError(f"{name} exists already in this folder; nothing was written.")
    write_skeleton(name, folder)
    out = console()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        out.print(str(path), markup=False)
    out.print(f"\nNext: pip install -e {name} && alfred check", markup=False)


def check_name(name: str) -> None:
    """Refuse what can be no domain's name, and one that is taken; errors: click's UsageError."""
    from alfred.engine.domain import ENTRY_POINTS, installed_names, name_problem

    problem = name_problem(name)
    if not problem and len(name) > MAX_NAME:
        problem = f"it has {len(name)} characters; {MAX_NAME} are the most"
    if not problem and name == "engine":
        problem = "its package would be called like Alfred's own, alfred-engine"
    if not problem and name in installed_names():
        problem = f"a domain of that name is installed (entry point group {ENTRY_POINTS})"
    if problem:
        wanted = (
            re.sub(r"[^a-z0-9]+", "_", name.lower()).lstrip("_0123456789")[:MAX_NAME].rstrip("_")
        )
        is_better = wanted != name and not name_problem(wanted)
        hint = f" For example: alfred new domain {wanted}" if is_better else ""
        raise click.UsageError(f"{name!r} cannot be the name of a domain: {problem}.{hint}")


def write_skeleton(name: str, folder: Path) -> None:
    """Write every file of a domain's package into a folder that does not exist yet."""
    values = {
        "name": name,
        "package": f"alfred_{name}",
        "distribution": f"alfred-{name.replace('_', '-')}",
        "words": name.replace("_", " "),
    }
    beside = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.absolute().parent))
    try:
        for target, source in FILES.items():
            path = beside / Template(target).substitute(values)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = (SKELETON / f"{source}.txt").read_text(encoding="utf-8") if source else ""
            path.write_text(Template(text).substitute(values), encoding="utf-8")
        beside.chmod(0o755)
        beside.rename(folder)  # whole or not at all
    except OSError:
        shutil.rmtree(beside, ignore_errors=True)
        raise
