"""A small system that a real Prometheus watches: programs from Debian, run on free ports."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import threading
import time
import urllib.request
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import platformdirs

from alfred.store.file_lock import file_lock

CACHE = Path(platformdirs.user_cache_dir("alfred", appauthor=False)) / "debian"
READY_WITHIN_S = 30.0
"""How long Prometheus may take until its alert fires; it takes three seconds."""


def debian_program(name: str, package: str, inside: str) -> Path:
    """Find a program, or unpack Debian's package of it into a folder that later runs find again.

    Nothing is installed and no service started, so that it takes no root.
    """
    if found := shutil.which(name):
        return Path(found)
    return debian_folder(package) / inside


def debian_folder(package: str) -> Path:
    """Unpack one of Debian's packages into a folder of its own."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / package.replace("=", "_")
    with file_lock(CACHE / "lock", timeout_s=300, on_wait=lambda: None):
        if not folder.exists():
            fetching = CACHE / f"{folder.name}.part"
            shutil.rmtree(fetching, ignore_errors=True)
            fetching.mkdir()
            _fetch(package, fetching)
            archive = next(fetching.glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive.name, "."], cwd=fetching, check=True)
            archive.unlink()
            fetching.rename(folder)
    return folder


def _fetch(package: str, folder: Path) -> None:
    """Fetch a package; where apt knows none yet, it first asks what there is."""
    order = ["apt-get", "download", "-qq", package]
    if subprocess.run(order, cwd=folder, check=False, capture_output=True).returncode:
        subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True)
        subprocess.run(order, cwd=folder, check=True, capture_output=True)


def write_journal(path: Path, entries: Iterable[Mapping[str, str | bytes]]) -> None:
    """Write a real file of systemd's journal, by systemd's own program, from its export format.

    Its libraries come from the same packages, so that it fits no matter what this machine has.
    """
    remote = debian_folder("systemd-journal-remote") / "lib/systemd/systemd-journal-remote"
    libraries = [
        str(file.parent)
        for package, name in (
            ("libsystemd-shared", "libsystemd-shared-*.so"),
            ("libmicrohttpd12", "libmicrohttpd.so.12"),
        )
        for file in debian_folder(package).rglob(name)
    ]
    export = path.with_suffix(".export")
    export.write_bytes(b"".join(_exported(entry) for entry in entries))
    subprocess.run(
        [str(remote), "-o", str(path), str(export)],
        check=True,
        capture_output=True,
        env={"LD_LIBRARY_PATH": ":".join(libraries)},
    )


def _exported(entry: Mapping[str, str | bytes]) -> bytes:
    """Write an entry as `name=value` lines; a value with a newline is preceded by its length."""
    lines: list[bytes] = []
    for name, value in entry.items():
        raw = value.encode() if isinstance(value, str) else value
        if b"\n" in raw or not raw.isascii():
            lines.append(name.encode() + b"\n" + struct.pack("<Q", len(raw)) + raw)
        else:
            lines.append(name.encode() + b"=" + raw)
    return b"\n".join(lines) + b"\n\n"


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Exporter:
    """Serves metrics in Prometheus' text format; `text` may change while it is scraped."""

    def __init__(self, text: str) -> None:
        self.text = text
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def watched(exporter: Exporter, folder: Path, rules: str) -> Generator[str]:
    """Run Prometheus over two instances of the exporter; yield its URL once an alert fires."""
    program = debian_program("prometheus", "prometheus", "usr/bin/prometheus")
    port = free_port()
    (folder / "rules.yml").write_text(rules)
    targets = json.dumps([f"127.0.0.1:{exporter.port}", f"localhost:{exporter.port}"])
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        "rule_files: [rules.yml]\n"
        f"scrape_configs: [{{job_name: checkout, static_configs: [{{targets: {targets}}}]}}]\n"
    )
    command = [str(program), "--config.file=prometheus.yml", "--storage.tsdb.path=metrics"]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_firing(url, process, folder)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_firing(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if sum(alert["state"] == "firing" for alert in _alerts(url)) >= 2:
            return
        time.sleep(0.1)
    raise AssertionError((folder / "prometheus.log").read_text())


def _alerts(url: str) -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{url}/api/v1/alerts", timeout=2) as answer:
            return json.load(answer)["data"]["alerts"]
    except OSError:
        return []
