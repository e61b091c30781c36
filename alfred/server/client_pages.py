"""The web client's files, as `make web` built them; every other address is its first page."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from alfred.errors import RequestRefused

FOLDER = (Path(__file__).parent / "client").resolve()
FIRST = "index.html"
FOREVER = "public, max-age=31536000, immutable"
"""For files whose names say what they hold."""
MISSING = "The web client is not built. `make web` builds it; the API is at /v1.\n"
router = APIRouter(include_in_schema=False)


@router.get("/{path:path}")
async def get_page(path: str, request: Request) -> Response:
    """Send a file of the client, or its first page, which knows its own addresses."""
    if path == "v1" or path.startswith("v1/"):
        raise RequestRefused("request.unknown", f"There is nothing at {request.url.path}.")
    if not (FOLDER / FIRST).is_file():
        return PlainTextResponse(MISSING, status_code=503)
    if (file := _find(path)) is not None:
        hashed = path.startswith("assets/")
        return FileResponse(file, headers={"Cache-Control": FOREVER if hashed else "no-cache"})
    if path.startswith("assets/"):
        return PlainTextResponse("There is no such file.\n", status_code=404)
    return FileResponse(FOLDER / FIRST, headers={"Cache-Control": "no-cache"})


def _find(path: str) -> Path | None:
    """Find a file of the client; None for whatever else an address may say."""
    try:
        file = (FOLDER / path).resolve()
        is_ours = file.is_relative_to(FOLDER) and file.is_file()
    except (OSError, ValueError):  # a name that is too long, or no name at all
        return None
    return file if is_ours else None
