"""The running system of the demonstration: service, load, Prometheus, git history, log, tools."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.diagnosis.history import Fault, add_commit, make_history
from demo.diagnosis.prometheus import configure_prometheus, prometheus_command

HERE = Path(__file__).parent
STARTS_WITHIN_S = 30.0
ENDS_WITHIN_S = 10.0
ALERTS_WITHIN_S = 240.0
"""A quiet machine needs ten to twenty seconds; a busy one sends fewer requests a second."""


class SystemFailed(Exception):
    """A part did not start, or an alert did not fire; the message says which."""


class System:
    """A healthy system in a folder, until something breaks it.

    `folder` then holds `repository`, `checkout.log`, `deploys.jsonl` and `tools.yaml`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / "repository"
        self.service_port = 0
        self.prometheus_port = 0
        self._parts: dict[str, subprocess.Popen[str]] = {}

    def start(self, prometheus: Path) -> None:
        """Start every part; each is serving when this returns.

        Errors: `SystemFailed` with the part that did not start and where it says why.
        """
        make_history(self.repository, datetime.now(UTC))
        where = ("--repository", str(self.repository), "--log", str(self.folder / "checkout.log"))
        self._start("shop", [sys.executable, str(HERE / "shop.py"), *where])
        self.service_port = self._port_of_the_shop()
        port = str(self.service_port)
        self._start("load", [sys.executable, str(HERE / "load.py"), "--port", port])
        configure_prometheus(self.folder, self.service_port)
        self.prometheus_port = _free_port()
        command = prometheus_command(prometheus, self.folder, self.prometheus_port)
        self._start("prometheus", [sys.executable, str(HERE / "keep.py"), *command])
        self._wait("prometheus to be ready", STARTS_WITHIN_S, self._is_ready)
        self._write_tools()

    def break_it(self, fault: Fault) -> tuple[str, datetime]:
        """Commit and deploy a change; return its short hash and when it took effect."""
        moment = datetime.now(UTC)
        commit = add_commit(self.repository, fault.commit, moment)
        self._parts["shop"].send_signal(signal.SIGHUP)
        deploy = {"time": moment.isoformat(), "service": "checkout", "version": commit, "by": "ci"}
        with (self.folder / "deploys.jsonl").open("a", encoding="utf-8") as markers:
            markers.write(json.dumps(deploy) + "\n")
        return commit, moment

    def firing(self) -> list[str]:
        """Name the alerts that fire now."""
        alerts = self._ask("/api/v1/alerts")["data"]["alerts"]
        return sorted(a["labels"]["alertname"] for a in alerts if a["state"] == "firing")

    def wait_for_alerts(self, names: Sequence[str]) -> None:
        """Wait until all of these fire.

        Errors: `SystemFailed` where they do not within four minutes.
        """
        what = f"{' and '.join(names)} to fire"
        self._wait(what, ALERTS_WITHIN_S, lambda: set(names) <= set(self.firing()))

    def value(self, query: str) -> float | None:
        """Ask Prometheus for one figure; None where there is none yet."""
        answer = self._ask(f"/api/v1/query?query={urllib.parse.quote(query)}")
        found = answer["data"]["result"]
        return float(found[0]["value"][1]) if found else None

    def stop(self) -> None:
        """End every part, the last started first; closing its input asks it to."""
        while self._parts:
            _, part = self._parts.popitem()
            try:
                part.communicate(timeout=ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(part.pid, signal.SIGKILL)
                part.communicate()

    def _start(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.err").open("w", encoding="utf-8") as errors:
            self._parts[name] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C reaches whoever started it, who then stops it
            )

    def _port_of_the_shop(self) -> int:
        output = self._parts["shop"].stdout
        line = output.readline() if output else ""
        if not line:
            raise SystemFailed(f"shop did not start: {self._said('shop')}")
        return int(line)

    def _wait(self, what: str, within_s: float, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + within_s
        while not is_so():
            self.require_running()
            if time.monotonic() > end:
                raise SystemFailed(f"Waited {within_s:.0f} s for {what}; it did not happen.")
            time.sleep(0.3)

    def require_running(self) -> None:
        """Refuse to go on with a part that has ended.

        Errors: `SystemFailed` with its last words.
        """
        for name, part in self._parts.items():
            if part.poll() is not None:
                raise SystemFailed(f"{name} ended by itself: {self._said(name)}")

    def _said(self, name: str) -> str:
        words = (self.folder / f"{name}.err").read_text(encoding="utf-8", errors="replace")
        return words.strip()[-500:] or "it said nothing."

    def _is_ready(self) -> bool:
        try:
            return self.value('up{job="checkout"}') == 1
        except OSError:
            return False

    def _ask(self, path: str) -> Any:
        address = f"http://127.0.0.1:{self.prometheus_port}{path}"
        with urllib.request.urlopen(address, timeout=5) as answer:
            return json.load(answer)

    def _write_tools(self) -> None:
        text = (HERE / "tools.yaml").read_text(encoding="utf-8")
        shutil.copytree(HERE / "runbooks", self.folder / "runbooks")
        addresses = {
            "SERVICE": f"http://127.0.0.1:{self.service_port}",
            "PROMETHEUS": f"http://127.0.0.1:{self.prometheus_port}",
        }
        for word, address in addresses.items():
            text = text.replace(f"${word}", address)
        (self.folder / "tools.yaml").write_text(text, encoding="utf-8")


@contextmanager
def running_system(prometheus: Path, folder: Path | None = None) -> Generator[System]:
    """Start a healthy system, in a temporary folder if none is given, and leave nothing running.

    A temporary folder is removed at the end; a given one stays, without any running part.
    """
    made = folder or Path(tempfile.mkdtemp(prefix="alfred-checkout-"))
    made.mkdir(parents=True, exist_ok=True)
    system = System(made)
    try:
        system.start(prometheus)
        yield system
    finally:
        system.stop()
        if folder is None:
            shutil.rmtree(made)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
