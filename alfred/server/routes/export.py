"""Everything of the user's, streamed as one JSON document or as CSV files in a ZIP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from alfred import __version__
from alfred.app import App
from alfred.server.refusals import refusals
from alfred.server.who import Reader, door_of
from alfred.store.export_file import new_file, write_csv, write_json

Form = Literal["json", "csv"]
router = APIRouter(tags=["export"])
CHUNK_BYTES = 64 * 1024
NAMES = {"json": "alfred.json", "csv": "alfred-csv.zip"}
KINDS = {"json": "application/json", "csv": "application/zip"}
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file",
        "content": {
            KINDS["json"]: {"schema": {"type": "object"}},
            KINDS["csv"]: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.get(
    "/export",
    status_code=200,
    response_class=StreamingResponse,
    responses={**refusals(), **_CONTENT},
)
async def get_export(
    visitor: Reader, request: Request, form: Annotated[Form, Query(alias="format")] = "json"
) -> StreamingResponse:
    """Hand out messages, decisions and everything that domains keep, as at one moment."""
    headers = {"Content-Disposition": f'attachment; filename="{NAMES[form]}"'}
    pieces = _pieces(visitor.app, form, door_of(request).hall.exports)
    first = await anext(pieces)  # whatever fails does so before an answer has begun
    return StreamingResponse(_joined(first, pieces), headers=headers, media_type=KINDS[form])


async def _joined(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


async def _pieces(app: App, form: Form, turnstile: asyncio.Semaphore) -> AsyncGenerator[bytes]:
    """Write the export to a private folder first: no connection waits for a slow client."""
    with TemporaryDirectory(prefix="alfred-export-") as name:
        async with turnstile:
            written = await _write(app, form, Path(name))
        async with await anyio.open_file(written, "rb") as file:
            while piece := await file.read(CHUNK_BYTES):
                yield piece


async def _write(app: App, form: Form, folder: Path) -> Path:
    heading = {
        "alfred": __version__,
        "exported_at": app.now().isoformat(),
        "user": {"id": str(app.user_id), "name": app.settings.user},
    }
    target = folder / NAMES[form]
    async with app.snapshot() as snapshot:
        if form == "json":
            with new_file(target) as out:
                await write_json(snapshot, heading, out)
            return target
        tables = folder / "csv"
        tables.mkdir(mode=0o700)
        await write_csv(snapshot, heading, tables)
    await anyio.to_thread.run_sync(_pack, tables, target)
    return target


def _pack(tables: Path, target: Path) -> None:
    with ZipFile(target, "w", ZIP_DEFLATED) as packed:
        for file in sorted(tables.iterdir()):
            packed.write(file, file.name)
