"""Model states after a constant prompt prefix, kept as files so that one-shot commands skip it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

KEPT_FILES = 12
"""A state takes 12 to 28 kB a token: a dozen prefixes of 700 tokens are 100 to 240 MB at most."""


@dataclass(frozen=True)
class PrefixCache:
    """States in one folder, named by what they depend on and by the hash of their own bytes.

    Only constant prefixes are kept, never what a user wrote. `model` is everything besides the
    prefix that a state depends on. A file that was altered, cut or cannot be read is not used.
    """

    folder: Path
    model: str

    def find(self, prefix: str) -> Path | None:
        """Find the intact state of a prefix; a damaged one is removed."""
        for path in sorted(self.folder.glob(f"{self._key(prefix)}-*.state")):
            try:
                if path.stem.rpartition("-")[2] == _digest(path):
                    os.utime(path)
                    return path
                path.unlink()
            except OSError:
                continue
        return None

    def draft(self) -> Path:
        """Name a file to save a state into; `keep` gives it its lasting name."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder / f"draft-{os.getpid()}"

    def keep(self, prefix: str, draft: Path) -> Path:
        """Rename a saved state and remove the files that were not used for longest."""
        path = self.folder / f"{self._key(prefix)}-{_digest(draft)}.state"
        draft.replace(path)
        files = sorted(self.folder.glob("*.state"), key=_last_use, reverse=True)
        for old in files[KEPT_FILES:]:
            old.unlink(missing_ok=True)
        return path

    def _key(self, prefix: str) -> str:
        text = f"{self.model}\0{prefix}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # Another process removed it meanwhile.
        return 0.0
