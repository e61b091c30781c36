"""Prometheus for the demonstration: Debian's package, unpacked into a folder, installed nowhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

DOWNLOAD_MB = 29
"""Debian's package, 19 MB, and its list of packages where the machine has none.

The dependencies of the package are scripts of its pages, without which it runs.
"""

CONFIG = """\
global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files: [rules.yml]
scrape_configs:
  - job_name: checkout
    static_configs:
      - targets: ["127.0.0.1:{port}"]
        labels: {{service: checkout}}
"""
# Each alert must hold for longer than the window it looks at: a single stall fires none.
RULES = """\
groups:
  - name: checkout
    rules:
      - alert: CheckoutLatencyHigh
        expr: >-
          histogram_quantile(0.99, sum by (service, le)
          (rate(checkout_request_duration_seconds_bucket[5s]))) > 0.5
        for: 8s
        labels: {severity: page}
        annotations: {summary: p99 latency of checkout is above 0.5 s}
      - alert: CheckoutErrors
        expr: >-
          sum by (service) (rate(checkout_requests_total{status="503"}[5s]))
          / sum by (service) (rate(checkout_requests_total[5s])) > 0.05
        for: 8s
        labels: {severity: page}
        annotations: {summary: more than 5 % of checkout requests are answered 503}
      - alert: CheckoutMemoryGrows
        expr: checkout_basket_bytes > 6e7
        for: 3s
        labels: {severity: ticket}
        annotations: {summary: the basket cache of checkout holds more than 60 MB}
"""


def find_prometheus() -> Path | None:
    """Return the program if it is on the PATH or was unpacked before."""
    if found := shutil.which("prometheus"):
        return Path(found)
    unpacked = _folder() / "usr" / "bin" / "prometheus"
    return unpacked if unpacked.exists() else None


def fetch_prometheus() -> Path | None:
    """Download Debian's package and unpack it beside other caches; None where that is impossible.

    Nothing is installed and no service starts. apt checks the package against its signed list,
    which is fetched into a folder of our own where the machine has none.
    """
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    with tempfile.TemporaryDirectory(prefix="alfred-prometheus-") as made:
        work = Path(made)
        if not (_download(work, ()) or _download(work, _own_lists(work))):
            return None
        (package,) = work.glob("prometheus_*.deb")
        unpacked = work / "unpacked"
        if _run(["dpkg-deb", "-x", str(package), str(unpacked)], work):
            return None
        shutil.rmtree(_folder(), ignore_errors=True)
        _folder().parent.mkdir(parents=True, exist_ok=True)
        shutil.move(unpacked, _folder())
    return find_prometheus()


def configure_prometheus(folder: Path, target_port: int) -> None:
    """Write what it scrapes and the alert rules."""
    (folder / "prometheus.yml").write_text(CONFIG.format(port=target_port), encoding="utf-8")
    (folder / "rules.yml").write_text(RULES, encoding="utf-8")


def prometheus_command(program: Path, folder: Path, port: int) -> list[str]:
    """Return the command that serves the configuration of a folder and stores its figures there."""
    return [
        str(program),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'figures'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]


def _folder() -> Path:
    return Path(platformdirs.user_cache_dir("alfred", appauthor=False)) / "prometheus"


def _download(work: Path, options: tuple[str, ...]) -> bool:
    # Root would hand the download to a system user who cannot write into the folder.
    sandbox = ("-o", "APT::Sandbox::User=root") if os.geteuid() == 0 else ()
    if options and _run(["apt-get", "-qq", *sandbox, *options, "update"], work):
        return False
    return not _run(["apt-get", "-qq", *sandbox, *options, "download", "prometheus"], work)


def _own_lists(work: Path) -> tuple[str, ...]:
    for part in ("lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True)
    options = {
        "Dir::State::lists": work / "lists",
        "Dir::Cache": work / "cache",
        "Acquire::Languages": "none",
    }
    return tuple(word for name, value in options.items() for word in ("-o", f"{name}={value}"))


def _run(command: list[str], folder: Path) -> int:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode
