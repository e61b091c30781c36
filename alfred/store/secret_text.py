"""Secrets that let somebody in: what they look like, and what is kept of them."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from uuid import UUID

_FORM = re.compile(r"alfred_([0-9a-f]{32})_[\w-]{43}", re.ASCII)


def new_secret(user_id: UUID) -> str:
    """Make a secret of 256 random bits that says whose it is.

    It can so be looked up among that user's rows alone, before anybody is let in.
    """
    return f"alfred_{user_id.hex}_{secrets.token_urlsafe(32)}"


def claimed_user(secret: str) -> UUID | None:
    """Return whose a secret says it is; None for what is no secret of ours."""
    found = _FORM.fullmatch(secret)
    return UUID(found[1]) if found else None


def digest_of(secret: str) -> str:
    """Return what is kept of a secret; of so many random bits nobody finds it again."""
    return hashlib.sha256(secret.encode()).hexdigest()


def proof_of(secret: str) -> str:
    """Derive what a page shows with each change, and what another site cannot know."""
    return hmac.digest(secret.encode(), b"alfred change", "sha256").hex()
