"""`alfred new domain`: what it writes installs, passes the checks, captures and stores."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from click.testing import CliRunner

from alfred.cli.new import MAX_NAME, command
from alfred.engine.domain import RESERVED
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.packages import install, newcomer
from tests.postgres import short_home
from tests.shell import PENDING, Shell, completion

NAME = "tool_shed"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder in which commands are given."""
    empty = tmp_path / "projects"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return empty


def new(name: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["domain", name])
    return done.exit_code, done.output


def test_a_bad_name_is_refused_with_a_sentence_and_nothing_is_written(folder: Path) -> None:
    names = ["Garden", "my-garden", "x", "", "../up", "a b", "花园", "{{ 7*7 }}", "$name", "9to5"]
    names += ["garden_", "job", "engine", "a" * (MAX_NAME + 1), *RESERVED]
    for name in names:
        code, said = new(name)
        assert code == 2, name
        assert f"{name!r} cannot be the name of a domain: " in said
    assert list(folder.parent.glob("*")) == [folder]
    assert list(folder.iterdir()) == []


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(folder: Path) -> None:
    for given, meant in [("My-Garden", "my_garden"), ("9to5", "to5"), ("a b", "a_b")]:
        assert f"alfred new domain {meant}\n" in new(given)[1]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_stands_at_its_place_already_is_left_alone(folder: Path, kind: str) -> None:
    place = folder / "garden"
    if kind == "folder":
        (place / "kept").mkdir(parents=True)
    elif kind == "file":
        place.write_text("kept")
    else:
        place.symlink_to("nowhere")
    code, said = new("garden")
    assert code == 2
    assert "garden exists already" in said
    assert [path.name for path in folder.rglob("*")] == ["garden", *["kept"] * (kind == "folder")]


def test_every_longest_name_makes_files_without_a_placeholder_left(folder: Path) -> None:
    name = "a" * MAX_NAME
    assert new(name)[0] == 0
    written = [path for path in (folder / name).rglob("*") if path.is_file()]
    assert len(written) == 10
    for path in written:
        assert "$" not in path.read_text(encoding="utf-8")
        assert "$" not in path.as_posix()
        if path.suffix == ".py":
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
    assert list(folder.iterdir()) == [folder / name]


@pytest.fixture
def shell(folder: Path, tmp_path: Path, serve: Callable[[Answer], LocalServer]) -> Generator[Shell]:
    """Give a shell to somebody who has written and installed the domain."""

    def reply(_: Asked) -> Reply:
        answer = {"title": "oil the hinges", "day": "9 March 2026"}
        return Reply(kind="text/event-stream", body=completion(answer))

    assert new(NAME)[0] == 0
    install(folder / NAME, tmp_path / "site")
    with short_home() as home:
        yield newcomer(home, tmp_path / "site", f"{serve(reply).url}/v1#scripted")


def test_what_is_written_installs_passes_its_checks_and_captures(
    folder: Path, shell: Shell
) -> None:
    checked = shell.json("check")
    assert checked["problems"] == []
    assert f"read_{NAME}" in checked["nodes"]
    assert {graph["name"] for graph in checked["graphs"]} >= {NAME, "job", "root"}

    preview = shell.run("capture", "Tool shed: oil the hinges by 9 March 2026.", code=PENDING)
    assert f"1 [x] keep_{NAME}_note" in preview.stdout
    assert f"→ create {NAME}_note:oil the hinges" in preview.stdout
    shell.run("review", "--yes")
    again = shell.run("capture", "Tool shed: oil the hinges by 9 March 2026.", code=PENDING)
    assert f"→ already there: {NAME}_note:oil the hinges" in again.stdout
    assert shell.json("job", "list") == {"postings": []}

    unclear = shell.run("capture", "Please oil the hinges.", "--no-review", code=5)
    assert f"{NAME} (tool shed, …)" in unclear.stderr
    turn = unclear.stderr.rpartition("turn ")[2].rstrip(".\n")
    named = shell.json("capture", "--again", turn, "--domain", NAME, code=PENDING)
    assert named["domain"] == NAME
    wrong = shell.run("capture", "words", "--domain", "atlantis", code=4)
    assert f"Installed are: diagnosis, job, {NAME}." in wrong.stderr


def test_the_written_test_passes(folder: Path, shell: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder / NAME,
        env=shell.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_domain_that_is_uninstalled_keeps_its_rows_and_stops_no_other(
    folder: Path, tmp_path: Path, shell: Shell
) -> None:
    shell.run("capture", "Tool shed: oil the hinges by 9 March 2026.", code=PENDING)
    shell.run("review", "--yes")
    shutil.rmtree(tmp_path / "site")
    assert new("garden")[0] == 0
    install(folder / "garden", tmp_path / "site")
    shell.run("capture", "Garden: oil the hinges by 9 March 2026.", code=PENDING)
    shell.run("review", "--yes")
    install(folder / NAME, tmp_path / "site")
    again = shell.run("capture", "Tool shed: oil the hinges by 9 March 2026.", code=PENDING)
    assert "→ already there: tool_shed_note:oil the hinges" in again.stdout


def test_a_domain_that_cannot_be_loaded_is_named_by_every_command(
    folder: Path, tmp_path: Path, shell: Shell
) -> None:
    broken = tmp_path / "site" / f"alfred_{NAME}" / "actions.py"
    broken.write_text("from alfred.domain import Wirter\n", encoding="utf-8")
    for arguments in (["check"], ["pending"], ["capture", "words"]):
        said = shell.run(*arguments, code=1).stderr
        assert "manifest.domain: The domain of alfred-tool-shed cannot be loaded" in said
        assert "Wirter" in said


def test_two_packages_with_one_domain_are_told_apart(tmp_path: Path, shell: Shell) -> None:
    site = tmp_path / "site"
    (twin := site / "twin-1.0.dist-info").mkdir()
    (twin / "METADATA").write_text("Metadata-Version: 2.1\nName: twin\nVersion: 1.0\n")
    entry = f"[alfred.domains]\nother = alfred_{NAME}.domain:DOMAIN\n"
    (twin / "entry_points.txt").write_text(entry)
    said = shell.run("check", "--json", code=1).stderr
    assert json.loads(said)["error"]["code"] == "manifest.domain"
    assert "twin" in said
    assert "alfred-tool-shed" in said
