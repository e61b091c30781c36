"""A random secret in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def read_or_create_secret(path: Path) -> str:
    """Return the secret at `path`, 256 random bits in hexadecimal, creating it where missing.

    Several processes that create it at once all return the same one.
    """
    if secret := read_secret(path):
        return secret
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        # An empty file is what a full disk leaves behind; a link never replaces a whole one.
        if path.exists() and not read_secret(path):
            os.replace(unfinished, path)
        else:
            with suppress(FileExistsError):
                os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path.read_text().strip()


def read_secret(path: Path) -> str | None:
    """Return the secret at `path`, or None where there is none."""
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None
