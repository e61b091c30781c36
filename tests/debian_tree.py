"""A program of Debian's with everything it needs, run where nothing of it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from alfred.store.file_lock import file_lock
from tests.monitored import CACHE

PLANNED = re.compile(r"^Inst (\S+) ", re.MULTILINE)
FONTS = Path("/etc/fonts/fonts.conf")


@dataclass(frozen=True, kw_only=True)
class DebianTree:
    """A program, and the environment in which it finds its libraries and fonts."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])


def debian_tree(package: str, inside: str) -> DebianTree:
    """Find a program that is called as its package, or unpack that and what it needs.

    Nothing is installed, so that it takes no root; a later run finds the folder again. `inside`
    names the program in it.
    """
    if found := shutil.which(package):
        return DebianTree(program=Path(found))
    CACHE.mkdir(parents=True, exist_ok=True)
    tree = CACHE / f"{package}-tree"
    with file_lock(CACHE / "lock", timeout_s=300, on_wait=lambda: None):
        if not tree.exists():
            fetching = tree.with_suffix(".part")
            shutil.rmtree(fetching, ignore_errors=True)
            fetching.mkdir()
            _unpack(_missing(package), fetching)
            fetching.rename(tree)
    return DebianTree(program=tree / inside, environment=_environment(tree))


def _missing(package: str) -> list[str]:
    """Ask apt what it would install for a package; where it knows none, what there is at all."""
    order = ["apt-get", "install", "--simulate", "--quiet=2", "--no-install-recommends", package]
    planned = subprocess.run(order, check=False, capture_output=True, text=True)
    if planned.returncode:
        subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True)
        planned = subprocess.run(order, check=True, capture_output=True, text=True)
    return PLANNED.findall(planned.stdout)


def _unpack(packages: list[str], folder: Path) -> None:
    order = ["apt-get", "download", "-qq", *packages]
    subprocess.run(order, cwd=folder, check=True, capture_output=True)
    for archive in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive.name, "."], cwd=folder, check=True)
        archive.unlink()


def _environment(tree: Path) -> dict[str, str]:
    """Lead to the libraries in a tree; to its fonts by the folder of a user's own ones."""
    # Some are called NAME.so, in folders of their own that installed ones are linked to by.
    libraries = sorted({str(file.parent) for file in tree.rglob("*.so*") if file.is_file()})
    environment = {"LD_LIBRARY_PATH": os.pathsep.join(libraries)}
    if not FONTS.exists():
        environment["FONTCONFIG_FILE"] = str(tree / FONTS.relative_to("/"))
        environment["XDG_DATA_HOME"] = str(tree / "usr/share")
    return environment
