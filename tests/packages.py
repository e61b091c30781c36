"""Installing a package for one test: no environment of its own, no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.shell import Shell

PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")


def install(package: Path, site: Path) -> None:
    """Build a package and put it into a folder, from which PYTHONPATH makes it found."""
    command = [sys.executable, *PIP, "install", *OFFLINE, "--target", str(site), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def newcomer(home: Path, site: Path, model: str) -> Shell:
    """Make a user with an embedded PostgreSQL of their own, who has the packages in `site`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")}
    return Shell(
        {
            **kept,
            "PYTHONPATH": str(site),
            "ALFRED_HOME": str(home),
            "ALFRED_MODEL": model,
            "ALFRED_USER": "newcomer",
            "ALFRED_LANGUAGE": "en",
            "ALFRED_TIMEZONE": "UTC",
            "COLUMNS": "200",
        }
    )
