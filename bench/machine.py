"""The machine and the versions that figures belong to."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psycopg

from alfred.store.address import Address

PACKAGES = ("langgraph", "langgraph-checkpoint-postgres", "langchain-openai", "psycopg", "httpx")


def machine(address: Address) -> dict[str, Any]:
    """Describe processor, Python, PostgreSQL and the packages that matter."""
    with psycopg.connect(address.admin_dsn()) as connection:
        server = connection.info.server_version
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "postgresql": f"{server // 10_000}.{server % 10_000}",
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
