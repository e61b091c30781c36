"""Commits of real git repositories and deployments, told without running what they configure."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alfred.errors import ProbeFailed
from alfred.probes.changes import Changes, ChangeSettings
from alfred.probes.git_log import command_line
from alfred.probes.probe import Finding, Window
from alfred.probes.toolbox import Toolbox, misfit

WINDOW = Window(
    start=datetime(2026, 3, 2, 13, 0, tzinfo=UTC), end=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
)


def git(folder: Path, *arguments: str, at: str = "2026-03-02T13:58:00Z") -> str:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "Tilda Quist",
        "GIT_AUTHOR_EMAIL": "tilda@example.test",
        "GIT_COMMITTER_NAME": "Tilda Quist",
        "GIT_COMMITTER_EMAIL": "tilda@example.test",
        "GIT_AUTHOR_DATE": at,
        "GIT_COMMITTER_DATE": at,
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def commit(folder: Path, subject: str, files: dict[str, str | bytes], at: str) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", subject, at=at)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def basket(tmp_path: Path) -> Path:
    folder = tmp_path / "basket"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    config = "pool:\n  size: 50\n  timeout: 5s\n"
    commit(folder, "begin", {"config/app.yaml": config, "a.py": "x = 1\n"}, "2026-02-01T09:00:00Z")
    commit(folder, "tidy up", {"a.py": "x = 2\ny = 3\n"}, "2026-03-02T09:30:00Z")
    lower = config.replace("50", "5")
    commit(folder, "lower the pool", {"config/app.yaml": lower}, "2026-03-02T13:58:00Z")
    commit(folder, "after the question", {"a.py": "x = 9\n"}, "2026-03-02T16:00:00Z")
    return folder


def changes(markers: Path | None = None, **repositories: Path) -> Changes:
    return Changes(ChangeSettings(repositories=repositories, markers=markers))


async def look(probe: Changes, **arguments: Any) -> Finding:
    assert not misfit(probe, arguments)
    return await probe.look(arguments, WINDOW)


async def test_recent_commits_are_told_newest_first_with_the_values_they_changed(
    basket: Path,
) -> None:
    found = await look(changes(basket=basket))
    first, value, second = found.lines
    assert first.startswith("2026-03-02T13:58:00Z basket commit ")
    assert first.endswith(" by TQ: lower the pool [config/app.yaml +1 -1]")
    assert value.endswith(" config/app.yaml, in pool: size: 50 -> 5")
    assert second.endswith(" by TQ: tidy up [a.py +2 -1]")
    assert "Tilda" not in "".join(found.lines)
    assert found.asked == (
        "changes of git repository basket from 2026-03-01T13:00:00Z to 2026-03-02T15:00:00Z"
    )
    assert not found.truncated


async def test_one_commit_is_told_with_every_line_that_changed(basket: Path) -> None:
    tidy = git(basket, "rev-parse", "HEAD~2")
    found = await look(changes(basket=basket), repository="basket", commit=tidy[:8])
    assert [line.partition(" ")[2].partition(" ")[2] for line in found.lines[1:]] == [
        "a.py: x: 1 -> 2",
        "a.py: + y = 3",
    ]
    assert found.start == found.end == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


async def test_a_commit_that_is_nowhere_is_no_line_and_says_where_it_was_looked_for(
    basket: Path,
) -> None:
    found = await look(changes(basket=basket), commit="0123456789")
    assert found.lines == ()
    assert found.asked == "commit 0123456789 in basket"


@pytest.mark.parametrize("given", ["HEAD", "--all", "-p", "abc", "ABCDEF12", "main; rm", "a" * 41])
def test_a_commit_is_given_by_its_hash_alone(basket: Path, given: str) -> None:
    assert "does not take these arguments" in misfit(changes(basket=basket), {"commit": given})


async def test_binary_files_merges_and_odd_names_are_told(basket: Path) -> None:
    commit(basket, "图标", {"图 标.png": b"\0\1", "b\tc": "x\n"}, "2026-03-02T14:00:00Z")
    git(basket, "checkout", "--quiet", "-b", "side", "HEAD~1")
    commit(basket, "side work", {"s.txt": "s\n"}, "2026-03-02T14:01:00Z")
    git(basket, "checkout", "--quiet", "main")
    git(
        basket, "merge", "--quiet", "--no-ff", "-m", "merge side", "side", at="2026-03-02T14:02:00Z"
    )
    found = await look(changes(basket=basket))
    assert "merge side" in found.lines[0]
    assert "side work [s.txt +1 -0]" in found.lines[1]
    assert "图 标.png (not text)" in found.lines[2]
    merge = git(basket, "rev-parse", "HEAD")
    one = await look(changes(basket=basket), commit=merge)
    assert one.lines[1].endswith("s.txt: + s")


async def test_many_files_and_many_commits_are_counted_and_cut(basket: Path) -> None:
    files: dict[str, str | bytes] = {f"conf/{n}.yaml": f"size: {n}\n" for n in range(9)}
    commit(basket, "add many", files, "2026-03-02T14:00:00Z")
    for number in range(70):
        subject = f"number {number}"
        git(basket, "commit", "--quiet", "--allow-empty", "-m", subject, at="2026-03-02T14:01:00Z")
    found = await look(changes(basket=basket))
    assert found.truncated
    assert len(found.lines) == 60
    newest = git(basket, "rev-parse", "HEAD~70")
    one = await look(changes(basket=basket), commit=newest)
    assert one.lines[0].endswith("and 5 more files]")
    assert len(one.lines) == 10


async def test_secrets_in_a_changed_value_are_masked(basket: Path) -> None:
    files: dict[str, str | bytes] = {"app.env": "DB_PASSWORD=tulip9x\nPOOL=5\n"}
    added = commit(basket, "add env", files, "2026-03-02T14:00:00Z")
    call = await Toolbox([changes(basket=basket)]).call(
        "changes", {"commit": added}, WINDOW, [], round_=1
    )
    assert "tulip9x" not in json.dumps(call)
    assert any("POOL" in line for line in call["lines"])


async def test_a_hostile_repository_runs_nothing(basket: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "pager.log", "diff.x.textconv"):
        git(basket, "config", name, str(program))
    git(basket, "config", "gpg.program", str(program))
    git(basket, "config", "log.showSignature", "true")
    (basket / ".gitattributes").write_text("* diff=x\n")
    head = git(basket, "-c", "core.fsmonitor=false", "rev-parse", "HEAD~1")
    ran.unlink(missing_ok=True)
    probe = changes(basket=basket)
    assert (await look(probe)).lines
    assert (await look(probe, commit=head)).lines
    assert not ran.exists()


def test_the_command_names_the_repository_as_safe_and_nothing_else(tmp_path: Path) -> None:
    argv = command_line(tmp_path, ["log"])
    assert Path(argv[0]).name == "git"
    assert [a for a in argv if "safe.directory" in a] == [f"safe.directory={tmp_path}"]
    assert argv[-3:] == ["-C", str(tmp_path), "log"]
    assert {"core.fsmonitor=false", "core.hooksPath=/dev/null", "--no-pager"} <= set(argv)


async def test_a_folder_that_is_no_repository_is_told(basket: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(ProbeFailed, match=r"plain is not a git repository\. Name the folder"):
        await look(changes(plain=tmp_path / "plain"))
    with pytest.raises(ProbeFailed, match="is not a git repository"):
        await look(changes(inner=basket / "config"))
    with pytest.raises(ProbeFailed, match="is no folder"):
        await look(changes(gone=tmp_path / "gone"))


async def test_one_unreadable_repository_does_not_hide_the_others(
    basket: Path, tmp_path: Path
) -> None:
    found = await look(changes(basket=basket, gone=tmp_path / "gone"))
    assert len(found.lines) == 3
    assert "not read: gone:" in found.where
    assert found.truncated


async def test_an_empty_repository_has_no_changes(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    found = await look(changes(new=tmp_path))
    assert (found.lines, found.truncated) == ((), False)


async def test_a_bare_repository_can_be_asked(basket: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(basket), str(tmp_path / "bare.git"))
    assert len((await look(changes(bare=tmp_path / "bare.git"))).lines) == 3


MARKERS = """\
{"time": "2026-02-20T10:00:00Z", "service": "basket", "version": "1.0"}
{"time": "2026-03-02T13:59:30+01:00", "service": "ledger", "version": "2.1", "by": "pipeline"}
{"time": "2026-03-02T14:00:00Z", "service": "basket", "version": 7}
{"time": "2026-03-02T17:00:00Z", "service": "basket", "version": "9"}
"""


async def test_deployments_are_told_among_the_commits(basket: Path, tmp_path: Path) -> None:
    markers = tmp_path / "deployments.jsonl"
    markers.write_text(MARKERS)
    found = await look(changes(markers, basket=basket))
    assert found.lines[0] == "2026-03-02T14:00:00Z deployment of basket version 7"
    assert "lower the pool" in found.lines[1]
    assert found.lines[3] == "2026-03-02T12:59:30Z deployment of ledger version 2.1 by pipeline"
    assert len(found.lines) == 5
    alone = await look(changes(markers))
    assert len(alone.lines) == 2
    chosen = await look(changes(markers, basket=basket), repository="basket")
    assert not any("deployment" in line for line in chosen.lines)


async def test_bad_lines_of_deployments_are_counted_and_a_file_of_nothing_else_fails(
    tmp_path: Path,
) -> None:
    markers = tmp_path / "deployments.jsonl"
    markers.write_text(MARKERS + '[]\n{"time": "now", "service": "x"}\nnonsense\n\n')
    found = await look(changes(markers))
    assert len(found.lines) == 2
    assert found.where == "deployments; not read: 3 lines of deployments"
    markers.write_text("<html>\n")
    with pytest.raises(ProbeFailed, match="holds no deployments") as caught:
        await look(changes(markers))
    assert caught.value.code == "probe.answer"
    with pytest.raises(ProbeFailed, match="No such file"):
        await look(changes(tmp_path / "gone"))


async def test_the_first_look_asks_for_all_changes(basket: Path) -> None:
    calls = await Toolbox([changes(basket=basket)]).first_look(WINDOW, {"service": "other"})
    assert [(call["tool"], call["outcome"], len(call["lines"])) for call in calls] == [
        ("changes", "ok", 3)
    ]


def test_changes_need_something_to_look_at() -> None:
    with pytest.raises(ProbeFailed, match="Neither repositories nor markers"):
        changes()


async def test_a_changed_secret_is_masked_before_and_after(basket: Path) -> None:
    commit(
        basket,
        "a",
        {"app.env": 'DB_PASSWORD=tulip9x\n{"api_key": "k3yk3yk3y",\n'},
        "2026-03-02T14:00:00Z",
    )
    after = commit(
        basket,
        "b",
        {"app.env": 'DB_PASSWORD=crocus7y\n{"api_key": "n3wn3wn3w",\n'},
        "2026-03-02T14:01:00Z",
    )
    for arguments in ({}, {"commit": after}):
        call = await Toolbox([changes(basket=basket)]).call(
            "changes", arguments, WINDOW, [], round_=1
        )
        told = json.dumps(call)
        assert "DB_PASSWORD: [secret] -> [secret]" in told
        assert not [word for word in ("tulip9x", "crocus7y", "k3yk", "n3wn") if word in told]


async def test_no_subject_author_or_file_can_pass_for_another_commit(basket: Path) -> None:
    forged = "1" * 40
    subject = f"x\x1e{forged}\x1f2026-03-02T14:10:00Z\x1fM\x1fforged"
    text = "a\rdiff --git a/z b/prod.yaml\r@@ -1 +1 @@\r-size: 50\x0c+size: 1\n"
    real = commit(basket, subject, {"b.yaml": text}, "2026-03-02T14:00:00Z")
    lines = (await look(changes(basket=basket))).lines
    assert not any(forged[:12] in line.split(" ")[3] for line in lines if " commit " in line)
    shown = (await look(changes(basket=basket), commit=real)).lines
    assert len(shown) == 2
    assert shown[1].startswith(f"commit {real[:12]} b.yaml: + a")


async def test_a_commit_of_an_impossible_zone_hides_no_other(basket: Path) -> None:
    raw = git(basket, "cat-file", "commit", "HEAD").replace("+0000", "+9999")
    made = subprocess.run(
        ["git", "-C", str(basket), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        input=raw + "\n",
        check=True,
        capture_output=True,
        text=True,
    )
    git(basket, "update-ref", "refs/heads/main", made.stdout.strip())
    lines = (await look(changes(basket=basket))).lines
    assert any("lower the pool" in line for line in lines)


async def test_settings_of_a_repository_change_nothing_of_what_is_told(basket: Path) -> None:
    before = await look(changes(basket=basket))
    for name, value in (
        *(("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always")),
        *(("i18n.logOutputEncoding", "UTF-16"), ("log.date", "relative")),
        *(("log.showRoot", "false"), ("diff.orderFile", "/nonexistent/order")),
    ):
        git(basket, "config", name, value)
    assert (await look(changes(basket=basket))).lines == before.lines


async def test_a_repository_is_found_through_a_link(basket: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(basket)
    assert (await look(changes(basket=link))).lines == (await look(changes(basket=basket))).lines
    assert f"safe.directory={basket.resolve()}" in command_line(link, ["log"])


async def test_a_commit_that_rewrites_a_large_file_is_told_at_once(basket: Path) -> None:
    old = "".join(f"name_{n}: {' ' * 40}{n}\n" for n in range(8_000))
    spaces = "key: " + " " * 20_000 + "x\n"
    commit(basket, "a", {"big.yaml": old + spaces}, "2026-03-02T14:00:00Z")
    new = old.replace(" 1", " 2").replace("name_7", "other_7")
    after = commit(basket, "b", {"big.yaml": new + " " * 20_000}, "2026-03-02T14:01:00Z")
    call = await Toolbox([changes(basket=basket)]).call(
        "changes", {"commit": after}, WINDOW, [], round_=1
    )
    assert call["outcome"] == "ok"
    assert call["truncated"]


@pytest.mark.parametrize("place", ["pipe", "folder", "/dev/zero"])
async def test_deployments_that_are_no_file_hold_nothing_up(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProbeFailed, match="it is no regular file"):
        await look(changes(markers=tmp_path / place))


async def test_what_nests_without_end_is_no_deployment(tmp_path: Path) -> None:
    markers = tmp_path / "deployments.jsonl"
    real = '{"time": "2026-03-02T14:00:00Z", "service": "basket"}'
    markers.write_text(f"{'[' * 100_000}\n{real}\n")
    found = await look(changes(markers=markers))
    assert found.lines == ("2026-03-02T14:00:00Z deployment of basket",)
