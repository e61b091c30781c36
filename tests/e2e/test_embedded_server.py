"""The embedded server's life: starts, crashes, leftovers, and where its files lie."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

from alfred.errors import StoreFailed
from alfred.store.account import server_account
from alfred.store.address import Address
from alfred.store.embedded import EmbeddedServer
from alfred.store.file_lock import file_lock
from alfred.store.installation import Installation, find_installation, shared_installation
from alfred.store.postmaster import PID_FILE, read_postmaster, server_processes, serves
from alfred.store.roles import provision
from alfred.store.socket_directory import socket_directory
from tests.postgres import FAST, short_home

ENSURE = """
import sys
from pathlib import Path
from alfred.store.embedded import EmbeddedServer, ServerOptions
server = EmbeddedServer(Path(sys.argv[1]), options=ServerOptions(durable=False))
server.ensure()
print(server.status().pid, flush=True)
"""


@pytest.fixture
def home() -> Generator[Path]:
    with short_home() as path:
        yield path


@pytest.fixture(scope="module")
def pristine() -> Generator[Path]:
    """A home with a cluster that was never used, to be copied: faster than making each anew."""
    with short_home() as path:
        server = EmbeddedServer(path, options=FAST)
        server.ensure()
        server.stop()
        yield path


@pytest.fixture
def server(home: Path, pristine: Path) -> EmbeddedServer:
    subprocess.run(["cp", "-a", f"{pristine}/.", str(home)], check=True)
    (home / "postgres" / "alfred.conf").unlink()
    return EmbeddedServer(home, options=FAST)


def run_ensure(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE, str(home)], stdout=subprocess.PIPE, text=True
    )


def answer(address: Address, query: str = "SELECT 1") -> object:
    with psycopg.connect(address.in_database("postgres").admin_dsn()) as connection:
        row = connection.execute(query).fetchone()
        return row[0] if row else None


def change(address: Address, statement: str) -> None:
    with psycopg.connect(address.in_database("postgres").admin_dsn()) as connection:
        connection.execute(statement)


def data_of(server: EmbeddedServer) -> Path:
    data = server.status().data_directory
    assert data is not None
    return data


def count_postmasters(data: Path) -> int:
    """Count the servers of a directory: their own processes are children of one of them."""
    processes = {process.pid: process for process in server_processes(data)}
    count = 0
    for process in processes.values():
        with suppress(psutil.NoSuchProcess):
            count += process.ppid() not in processes
    return count


def wait_for(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def test_second_call_finds_the_server_of_the_first(home: Path):
    said: list[str] = []
    server = EmbeddedServer(home, options=FAST, progress=said.append)
    assert server.ensure() == server.ensure()
    assert [words.split()[0] for words in said] == ["Creating", "Starting"]
    status = server.status()
    assert status.running
    assert status.version == "18"
    assert status.size_bytes > 10_000_000
    assert status.pid is not None
    assert psutil.Process(status.pid).name() == "postgres"


def test_looking_at_a_server_that_was_never_created_creates_nothing(home: Path):
    server = EmbeddedServer(home / "none", options=FAST)
    status = server.status()
    assert (status.running, status.pid, status.data_directory) == (False, None, None)
    assert server.stop() is False
    assert not (home / "none").exists()


def test_stop_ends_every_process_and_says_whether_there_was_one(server: EmbeddedServer):
    address = server.ensure()
    data = data_of(server)
    with psycopg.connect(address.in_database("postgres").admin_dsn()):
        assert server.stop() is True
    assert server_processes(data) == []
    assert server.status().running is False
    assert server.stop() is False
    server.ensure()
    assert server.status().running


def test_server_survives_the_process_that_started_it(home: Path, server: EmbeddedServer):
    child = run_ensure(home)
    pid, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    server.ensure()
    assert server.status().pid == int(pid)
    assert psutil.Process(int(pid)).ppid() != os.getpid()


def test_processes_that_start_at_once_reach_one_server(home: Path, server: EmbeddedServer):
    children = [run_ensure(home) for _ in range(5)]
    pids = {child.communicate(timeout=120)[0].strip() for child in children}
    assert [child.returncode for child in children] == [0] * 5
    assert pids == {str(server.status().pid)}
    assert count_postmasters(data_of(server)) == 1


def test_start_after_kill_9_of_the_server_keeps_what_was_committed(home: Path):
    server = EmbeddedServer(home)
    address = server.ensure()
    change(address, "CREATE TABLE kept AS SELECT 7 AS n")
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not serves(pid, data_of(server)))
    assert server.status().running is False
    assert answer(server.ensure(), "SELECT n FROM kept") == 7


def test_orphaned_backend_of_a_killed_server_is_ended_before_the_next_start(
    server: EmbeddedServer,
):
    address = server.ensure()
    data, pid = data_of(server), server.status().pid
    assert pid is not None
    with psycopg.connect(address.in_database("postgres").admin_dsn()) as connection:
        backend = connection.info.backend_pid
        # A stopped backend cannot notice that its postmaster has died.
        os.kill(backend, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not serves(pid, data))
        assert serves(backend, data)
        fresh = server.ensure()
    assert answer(fresh) == 1
    assert not serves(backend, data)
    assert count_postmasters(data) == 1


@pytest.mark.parametrize("moment", ["", "/data/PG_VERSION", "/data/base/4"])
def test_start_after_kill_9_of_a_client_in_the_middle_of_creating(home: Path, moment: str):
    child = run_ensure(home)
    wait_for(lambda: list(home.glob(f".postgres.new-*{moment}")))
    child.kill()
    child.communicate()
    server = EmbeddedServer(home, options=FAST)
    assert answer(server.ensure()) == 1
    assert list(home.glob(".postgres.new-*")) == []


def test_lock_of_a_killed_client_is_free(home: Path, server: EmbeddedServer):
    holder = "import sys,time; from pathlib import Path; from alfred.store.file_lock import *\n"
    holder += "with file_lock(Path(sys.argv[1]), timeout_s=5, on_wait=lambda: None):\n"
    holder += "    print('held', flush=True); time.sleep(60)"
    arguments = [sys.executable, "-c", holder, str(home / "postgres.lock")]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    waited: list[str] = []
    with (
        pytest.raises(StoreFailed, match="Another process has held") as caught,
        file_lock(home / "postgres.lock", timeout_s=0.1, on_wait=lambda: waited.append("once")),
    ):
        pytest.fail("the lock was free")
    assert caught.value.code == "store.busy"
    assert waited == ["once"]
    child.kill()
    child.communicate()
    assert answer(server.ensure()) == 1


def test_broken_pid_file_of_a_running_server_leads_to_one_good_server(server: EmbeddedServer):
    server.ensure()
    data = data_of(server)
    for text in ("", "17", "no number\n\n\n"):
        (data / PID_FILE).write_text(text)
        assert server.status().running is False
        assert answer(server.ensure()) == 1
        assert count_postmasters(data) == 1
        assert server.status().running


def test_pid_file_that_names_another_program_is_stale_and_that_program_lives(
    server: EmbeddedServer,
):
    server.ensure()
    data = data_of(server)
    lines = (data / PID_FILE).read_text().splitlines()
    server.stop()
    other = subprocess.Popen(["sleep", "60"], cwd="/")
    try:
        (data / PID_FILE).write_text("\n".join([str(other.pid), *lines[1:]]) + "\n")
        assert server.status().running is False
        assert answer(server.ensure()) == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_pid_file_that_names_the_server_of_another_home_is_stale(server: EmbeddedServer):
    with short_home() as other_home:
        other = EmbeddedServer(other_home, options=FAST)
        other_address = other.ensure()
        server.ensure()
        server.stop()
        data = data_of(server)
        shutil.copy(data_of(other) / PID_FILE, data / PID_FILE)
        shutil.chown(data / PID_FILE, server_account().uid)
        address = server.ensure()
        assert address.parameters["host"] != other_address.parameters["host"]
        assert answer(other_address) == 1
        assert server.status().pid != other.status().pid


def test_zombie_does_not_count_as_a_server(tmp_path: Path):
    program = tmp_path / "postgres"
    shutil.copy("/bin/sleep", program)
    process = subprocess.Popen([program, "60"], cwd=tmp_path)
    try:
        wait_for(lambda: serves(process.pid, tmp_path))
        process.send_signal(signal.SIGKILL)
        wait_for(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert not serves(process.pid, tmp_path)
    finally:
        process.wait()


def test_server_whose_socket_was_removed_is_started_again(server: EmbeddedServer):
    address = server.ensure()
    before = server.status().pid
    Path(address.parameters["host"], ".s.PGSQL.5432").unlink()
    assert answer(server.ensure()) == 1
    assert server.status().pid != before


def test_home_that_was_moved_while_the_server_runs_is_found_again(server: EmbeddedServer):
    server.ensure()
    with short_home() as parent:
        moved = parent / "moved"
        shutil.move(server.ensure().parameters["host"].removesuffix("/socket"), moved)
        try:
            again = EmbeddedServer(moved, options=FAST)
            assert answer(again.ensure()) == 1
            assert count_postmasters(data_of(again)) == 1
        finally:
            EmbeddedServer(moved, options=FAST).stop()


def test_home_that_was_deleted_while_the_server_runs_begins_empty(
    home: Path, server: EmbeddedServer
):
    address = server.ensure()
    change(address, "CREATE TABLE lost AS SELECT 1 AS n")
    data = data_of(server)
    for entry in home.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    assert answer(server.ensure(), "SELECT to_regclass('lost')") is None
    assert count_postmasters(data) == 1


@pytest.mark.parametrize(("version", "words"), [("19", "newer"), ("16", "Dump it")])
def test_data_of_another_version_is_named_and_not_touched(
    server: EmbeddedServer, version: str, words: str
):
    server.ensure()
    server.stop()
    data = data_of(server)
    (data / "PG_VERSION").write_text(f"{version}\n")
    with pytest.raises(StoreFailed) as caught:
        server.ensure()
    assert caught.value.code == "store.version"
    assert str(data) in caught.value.message
    assert f"PostgreSQL {version}" in caught.value.message
    assert words in caught.value.hint
    assert server_processes(data) == []


def test_lost_password_file_is_named(home: Path, server: EmbeddedServer):
    server.ensure()
    (home / "postgres.password").unlink()
    with pytest.raises(StoreFailed, match=r"postgres\.password") as caught:
        server.ensure()
    assert caught.value.code == "store.authentication"


def test_wrong_password_file_is_named(home: Path, server: EmbeddedServer):
    server.ensure()
    (home / "postgres.password").write_text("0" * 64)
    with pytest.raises(StoreFailed, match="refuses the password") as caught:
        server.ensure()
    assert caught.value.code == "store.authentication"


def test_configuration_that_stops_the_server_is_told_with_its_log(server: EmbeddedServer):
    server.ensure()
    server.stop()
    data = data_of(server)
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write("shared_buffers = 'plenty'\n")
    began = time.monotonic()
    with pytest.raises(StoreFailed, match="plenty") as caught:
        server.ensure()
    assert caught.value.code == "store.start"
    assert time.monotonic() - began < 10


def test_server_listens_on_a_private_socket_only_and_trusts_nobody(
    home: Path, server: EmbeddedServer
):
    address = server.ensure()
    assert answer(address, "SHOW listen_addresses") == ""
    pid = server.status().pid
    assert pid is not None
    kinds = {c.family.name for c in psutil.Process(pid).net_connections("all")}
    assert kinds <= {"AF_UNIX"}
    sockets = Path(address.parameters["host"])
    for path in (data_of(server), sockets):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert path.stat().st_uid == server_account().uid
    assert stat.S_IMODE((home / "postgres.password").stat().st_mode) == 0o600
    rules = answer(address, "SELECT string_agg(auth_method, ' ') FROM pg_hba_file_rules")
    assert rules == "scram-sha-256"
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(f"host={sockets} user=postgres dbname=postgres")


def test_log_keeps_neither_statements_nor_values(server: EmbeddedServer):
    address = server.ensure()
    with psycopg.connect(address.in_database("postgres").admin_dsn()) as connection:
        connection.execute("CREATE TEMP TABLE note (words text UNIQUE)")
        connection.execute("INSERT INTO note VALUES ('violet-elephant')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO note VALUES ('violet-elephant')")
    logs = list((data_of(server) / "log").glob("server-*.log"))
    wait_for(lambda: any("duplicate key" in log.read_text() for log in logs))
    assert not any("violet" in log.read_text() for log in logs)


@pytest.mark.parametrize("name", ["with space", "com,ma", "词", "x" * 90])
def test_home_whose_path_a_socket_cannot_have_gets_a_short_private_directory(home: Path, name: str):
    server = EmbeddedServer(home / name, options=FAST)
    try:
        sockets = Path(server.ensure().parameters["host"])
        assert " " not in str(sockets)
        assert len(str(sockets)) < 80
        assert stat.S_IMODE(sockets.lstat().st_mode) == 0o700
        assert server.ensure().parameters["host"] == str(sockets)
    finally:
        server.stop()
    shutil.rmtree(sockets)


def test_socket_directory_that_somebody_else_made_is_not_used(home: Path):
    account = server_account()
    data = home / ("long" * 25) / "postgres"
    expected = socket_directory(data, account)
    expected.rmdir()
    trap = home / "trap"
    trap.mkdir(mode=0o700)
    expected.symlink_to(trap)
    chosen = [expected]
    try:
        chosen.append(socket_directory(data, account))
        assert chosen[1] != expected
        assert stat.S_IMODE(chosen[1].lstat().st_mode) == 0o700
        assert chosen[1].lstat().st_uid == account.uid
    finally:
        expected.unlink()
        chosen[-1].rmdir()


def test_home_behind_a_closed_directory_works_and_that_directory_stays_closed():
    with tempfile.TemporaryDirectory(dir="/tmp") as closed, short_home() as system_directory:
        options = replace(FAST, system_directory=system_directory)
        server = EmbeddedServer(Path(closed) / "home", options=options)
        try:
            assert answer(server.ensure()) == 1
            assert stat.S_IMODE(Path(closed).stat().st_mode) == 0o700
            data = data_of(server)
            assert data.stat().st_uid == server_account().uid
            server.stop()
            assert answer(EmbeddedServer(Path(closed) / "home", options=options).ensure()) == 1
            assert data_of(server) == data
        finally:
            server.stop()


def test_link_to_data_that_is_gone_is_told_instead_of_beginning_empty(home: Path):
    (home / "postgres").symlink_to(home / "elsewhere")
    server = EmbeddedServer(home, options=FAST)
    with pytest.raises(StoreFailed, match="elsewhere") as caught:
        server.ensure()
    assert caught.value.code == "store.start"
    (home / "postgres").unlink()


def test_home_that_is_a_file_is_told(home: Path):
    (home / "file").write_text("not a directory")
    with pytest.raises(StoreFailed, match="ALFRED_HOME") as caught:
        EmbeddedServer(home / "file", options=FAST).ensure()
    assert caught.value.code == "store.start"


def test_programs_that_other_users_cannot_reach_are_copied_once(home: Path):
    found = find_installation()
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    private = Installation(
        root=closed / found.root.name, label=found.label, libraries=found.libraries
    )
    for name in ("bin", "lib", "share"):
        shutil.copytree(found.root / name, private.root / name)
    shared = home / "shared"
    shared.mkdir(mode=0o755)
    copied = shared_installation(private, shared)
    assert copied.root.is_relative_to(shared)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert not any(path.stat().st_mode & 0o022 for path in shared.rglob("*"))
    marker = copied.program("initdb").stat().st_ino
    assert shared_installation(private, shared) == copied
    assert copied.program("initdb").stat().st_ino == marker
    done = server_account().run([copied.program("initdb"), "--version"], cwd=home, timeout_s=30)
    assert done.stdout.startswith("initdb (PostgreSQL) 18")


def test_server_restarts_within_a_second_and_answers_at_once_when_it_runs(
    server: EmbeddedServer,
):
    provision(server.ensure())
    server.stop()
    began = time.monotonic()
    server.ensure()
    restarted = time.monotonic()
    server.ensure()
    assert restarted - began < 5
    assert time.monotonic() - restarted < 1


def test_pid_file_is_read_only_when_it_is_whole(server: EmbeddedServer):
    server.ensure()
    found = read_postmaster(data_of(server))
    assert found is not None
    assert found.is_ready
    assert found.port == 5432
