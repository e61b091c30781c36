"""`alfred alerts listen` in a process: notifications over real HTTP, one diagnosis an alert."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from alfred.server.frame import BODY_LIMITS
from alfred.store.address import Address
from tests.conftest import Answer, LocalServer
from tests.diagnosis_shell import DiagnosisShell, NodeServer, open_shell
from tests.monitored import debian_program, free_port

WITHIN_S = 100.0
TOKEN = "kestrel-41"
Serve = Callable[[Answer], LocalServer]


class Listening:
    """A process that takes alerts; what it says is heard line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._said: queue.Queue[str] = queue.Queue()
        self._kept: list[str] = []
        assert process.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(process.stderr,))
        self._reader.start()
        self.url = self.hear("Listening for alerts on ").split()[-1]

    def _read(self, stream: Any) -> None:
        for line in stream:
            self._said.put(line.rstrip("\n"))

    def hear(self, part: str) -> str:
        """Give the first line that holds some words and was not given yet; wait for it.

        Lines that come before one that is waited for are kept: what goes on at once is said in no
        order.
        """
        deadline = time.monotonic() + WITHIN_S
        while (line := next((each for each in self._kept if part in each), None)) is None:
            left = deadline - time.monotonic()
            assert left > 0, f"{part!r} was not said, but {self._kept[-5:]}"
            with suppress(queue.Empty):
                self._kept.append(self._said.get(timeout=left))
        self._kept.remove(line)
        return line

    def stop(self) -> int:
        """Press Ctrl-C and give the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WITHIN_S)
        self._reader.join()
        return code

    def post(
        self,
        body: bytes | dict[str, Any],
        *,
        token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str, dict[str, Any]]:
        """Post a notification; give status, media type and document of the answer."""
        headers = {"Content-Type": "application/json", **(headers or {})}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url, raw, headers)
        try:
            with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
                return answer.status, answer.headers.get_content_type(), json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers.get_content_type(), json.load(error)


@contextmanager
def listening(shell: DiagnosisShell, *options: str) -> Generator[Listening]:
    """Listen for alerts until the block ends; then the process must leave cleanly."""
    with shell.started("alerts", "listen", "--port", "0", *options) as process:
        found = Listening(process)
        yield found
        assert found.stop() == 0


@pytest.fixture
def model() -> NodeServer:
    """Answer as the author of the case would."""
    return NodeServer()


@pytest.fixture
def shell(database: Address, tmp_path: Path, serve: Serve, model: NodeServer) -> DiagnosisShell:
    """Make a user of whom nothing is known yet."""
    return open_shell(database, tmp_path, serve, model)


def alert(status: str = "firing", **labels: str) -> dict[str, Any]:
    """Write one alert as Alertmanager does."""
    began = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=10)
    return {
        "status": status,
        "labels": {"alertname": "BasketLatencyHigh", "service": "basket-api", **labels},
        "annotations": {"summary": "p99 above 2 s"},
        "startsAt": began.isoformat(),
        "endsAt": "0001-01-01T00:00:00Z",
        "fingerprint": "5f0c0a",
    }


def notification(*alerts: dict[str, Any]) -> dict[str, Any]:
    """Write a notification as Alertmanager does."""
    return {"version": "4", "receiver": "alfred", "status": "firing", "alerts": [*alerts]}


def test_a_posted_alert_is_diagnosed_once_and_what_is_no_notification_is_refused(
    shell: DiagnosisShell, model: NodeServer, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    firing = alert()
    with listening(shell, "--token-file", str(tmp_path / "token")) as alfred:
        status, _, answer = alfred.post(notification(firing))
        (taken,) = answer["taken"]
        assert (status, taken["alert"], taken["is_new"]) == (200, "BasketLatencyHigh", True)
        alfred.hear(f"{taken['run'][:8]}: Cause found: Commit c81f0aa")
        status, _, again = alfred.post(notification(firing))
        assert (status, again["taken"]) == (200, [{**taken, "is_new": False}])
        status, _, ended = alfred.post(notification({**firing, "status": "resolved"}))
        assert (status, ended["taken"][0]["run"]) == (200, None)
        limit = BODY_LIMITS["/v1/alerts"]
        for body, status_of_it, code, detail in (
            (b"<html>no alerts here</html>", 422, "input.alert", "is not JSON"),
            (notification({"labels": {}}), 422, "input.alert", "alerts[0].labels has no alertname"),
            (b"[" * 100_000, 422, "input.alert", "is not JSON"),
            (b'"' + b"x" * 10_000_000, 413, "request.too_large", f"{limit:,} bytes"),
        ):
            status, kind, problem = alfred.post(body)
            assert (status, kind) == (status_of_it, "application/problem+json")
            assert (problem["status"], problem["code"]) == (status_of_it, code)
            assert detail in problem["detail"]
        for token in (None, "kestrel-42", "kestrel-é"):
            status, kind, problem = alfred.post(notification(alert(service="x")), token=token)
            assert (status, kind) == (401, "application/problem+json")
            assert problem["code"] == "access.invalid"
        for name, value, code in (
            ("Origin", "https://evil.example", "access.forgery"),
            ("Host", "evil.example", "request.host"),
        ):
            _, _, problem = alfred.post(notification(alert(service="x")), headers={name: value})
            assert problem["code"] == code
        assert alfred.post(notification())[0] == 200
    (run,) = shell.json("diagnosis", "list")
    assert (run["origin"], run["finding"]) == ("alert", "cause")
    assert run["question"].startswith("Why is the alert BasketLatencyHigh firing for service=")
    assert model.asked["planner"] == 1


def test_an_alert_whose_answer_was_cut_off_is_answered_at_the_next_start(
    shell: DiagnosisShell, model: NodeServer
) -> None:
    model.hangs_at = "verifier"
    with listening(shell) as alfred:
        _, _, answer = alfred.post(notification(alert()), token=None)
        assert model.reached.wait(WITHIN_S)
    model.hangs_at = ""
    model.released.set()
    with listening(shell) as alfred:
        alfred.hear(f"{answer['taken'][0]['run'][:8]}: Cause found")
    assert model.asked["planner"] == 1


def test_an_alert_of_long_ago_and_one_of_a_fast_clock_have_a_window_that_can_be_asked_about(
    shell: DiagnosisShell, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    old = {**alert(service="old"), "startsAt": "2020-01-01T00:00:00Z", "fingerprint": "aa01"}
    ahead = (now + timedelta(hours=5)).isoformat()
    fast = {**alert(service="fast"), "startsAt": ahead, "fingerprint": "aa02"}
    (tmp_path / "posted.json").write_text(json.dumps(notification(old, fast)))
    taken = shell.json("alerts", "take", str(tmp_path / "posted.json"))
    assert [each["is_new"] for each in taken] == [True, True]
    for run in shell.json("diagnosis", "list"):
        start = datetime.fromisoformat(run["window_start"])
        end = datetime.fromisoformat(run["window_end"])
        assert now - timedelta(days=32) < start < end < now + timedelta(minutes=10)


def test_beyond_the_loopback_address_a_token_is_needed(
    shell: DiagnosisShell, tmp_path: Path
) -> None:
    words = ["alerts", "listen", "--host", "0.0.0.0", "--port", "0"]
    refused = shell.run(*words, code=2)
    assert "0.0.0.0 is not the loopback address: give --token-file." in refused.stderr
    (tmp_path / "empty").write_text("\n")
    empty = shell.run(*words, "--token-file", str(tmp_path / "empty"), code=2)
    assert "holds no token" in empty.stderr


def test_a_port_that_is_taken_is_told(shell: DiagnosisShell, serve: Serve) -> None:
    port = serve(lambda _: pytest.fail("nobody asks")).url.rsplit(":", 1)[1]
    done = shell.run("alerts", "listen", "--port", port, code=2)
    assert f"127.0.0.1, port {port}, can't be listened on: " in done.stderr


ALERTMANAGER = """\
route: {{receiver: alfred, group_by: [alertname], group_wait: 0s, group_interval: 1s,
  repeat_interval: 1s}}
receivers:
  - name: alfred
    webhook_configs:
      - url: {url}
        send_resolved: true
        http_config: {{authorization: {{credentials: {token}}}}}
"""


def test_a_real_alertmanager_begins_one_diagnosis_for_an_alert_that_it_repeats(
    shell: DiagnosisShell, model: NodeServer, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    options = ("--token-file", str(tmp_path / "token"))
    with listening(shell, *options) as alfred, alertmanager(tmp_path, alfred.url) as manager:
        began = datetime.now(UTC) - timedelta(minutes=5)
        post_alerts(manager, [{"labels": alert()["labels"], "startsAt": began.isoformat()}])
        begins = alfred.hear("BasketLatencyHigh: begins run ")
        repeated = alfred.hear("BasketLatencyHigh: is being looked into already by run ")
        assert repeated.split()[-1] == begins.split()[-1]
        alfred.hear(f"{begins.split()[-1]}: Cause found: Commit c81f0aa")
    (run,) = shell.json("diagnosis", "list")
    assert (run["origin"], run["scope"]) == ("alert", {"service": "basket-api"})
    assert model.asked["planner"] == 1


INSTALLED = b"/usr/share/prometheus/alertmanager"


@contextmanager
def alertmanager_program(folder: Path) -> Generator[Path]:
    """Find Alertmanager; one that is only unpacked looks for its templates where they lie.

    Debian's program knows one path for them, so that a copy of it is given another of that length.
    """
    name = "prometheus-alertmanager"
    program = debian_program(name, name, f"usr/bin/{name}")
    templates = program.parents[2] / INSTALLED.decode().lstrip("/")
    if templates == Path(INSTALLED.decode()):
        yield program
        return
    link = Path("/tmp") / uuid4().hex[: len(INSTALLED) - len("/tmp/")]
    link.symlink_to(templates)
    moved = folder / name
    moved.write_bytes(program.read_bytes().replace(INSTALLED, str(link).encode()))
    moved.chmod(0o755)
    try:
        yield moved
    finally:
        link.unlink()


@contextmanager
def alertmanager(folder: Path, webhook: str) -> Generator[str]:
    """Run Debian's Alertmanager, which posts to a webhook."""
    (folder / "alertmanager.yml").write_text(ALERTMANAGER.format(url=webhook, token=TOKEN))
    port = free_port()
    options = ["--config.file=alertmanager.yml", "--storage.path=silences"]
    options += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with (
        alertmanager_program(folder) as program,
        (folder / "alertmanager.log").open("wb") as log,
        subprocess.Popen([str(program), *options], cwd=folder, stdout=log, stderr=log) as process,
    ):
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_ready(url, folder)
            yield url
        finally:
            process.terminate()


def wait_until_ready(url: str, folder: Path) -> None:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise AssertionError((folder / "alertmanager.log").read_text())


def post_alerts(url: str, alerts: list[dict[str, Any]]) -> None:
    headers = {"Content-Type": "application/json"}
    body = json.dumps(alerts).encode()
    request = urllib.request.Request(f"{url}/api/v2/alerts", body, headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200
