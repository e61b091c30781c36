"""Model files on disk: present, whole, and with the published hash, which is computed only once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from alfred.errors import ModelFailed
from alfred.models.catalog import CatalogModel


def require_verified(model: CatalogModel, folder: Path) -> Path:
    """Give the path of a model's file after its hash was checked, now or earlier.

    The check is remembered beside the file with its size and time of change.
    Errors: `model.missing`, `model.corrupt`.
    """
    path = folder / model.file_name
    try:
        marks = file_marks(path)
    except OSError as exc:
        raise ModelFailed(
            "model.missing",
            f"The model {model.name} is not on this machine ({path} cannot be read).",
            hint=f"Fetch it: alfred model pull {model.name}.",
        ) from exc
    known = {**marks, "sha256": model.sha256}
    if _remembered(path) == known:
        return path
    found = sha256_of(path) if marks["bytes"] == model.bytes else f"{marks['bytes']} bytes"
    if found != model.sha256:
        raise ModelFailed(
            "model.corrupt",
            f"{path} is not the published {model.name}: {found} instead of {model.sha256}.",
            hint=f"Delete it and fetch it again: alfred model pull {model.name}.",
        )
    remember(path, model.sha256)
    return path


def remember(path: Path, sha256: str) -> None:
    """Note that a file was found to have a hash; in a folder that cannot be written, nothing."""
    try:
        _sidecar(path).write_text(json.dumps({**file_marks(path), "sha256": sha256}))
    except OSError:
        return


def file_marks(path: Path) -> dict[str, int]:
    """Read what changes when a file is replaced or written to."""
    status = path.stat()
    return {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def sha256_of(path: Path) -> str:
    """Hash a file; a gigabyte takes one to three seconds."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remembered(path: Path) -> object:
    try:
        return json.loads(_sidecar(path).read_text())
    except (OSError, ValueError):
        return None


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")
