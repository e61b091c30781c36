"""Who asks: a program by its token, a person by the session of their browser."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer, SecurityScopes
from starlette.types import ASGIApp, Receive, Scope, Send

from alfred.app import App
from alfred.errors import AccessRefused
from alfred.server.hall import Hall, UserRow
from alfred.server.pace import Pace
from alfred.server.site import Site
from alfred.store.secret_text import proof_of
from alfred.store.tokens import SCOPES, admit_bearer
from alfred.store.web_sessions import Visit, admit_visit

COOKIE = "alfred_session"
PROOF = "X-Alfred-CSRF"
ROOT = "/v1/"
OPEN = frozenset({("GET", "/v1/health"), ("POST", "/v1/session"), ("GET", "/v1/openapi.json")})
"""What anybody may ask for."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_BEARER = HTTPBearer(auto_error=False, description="`alfred token create` makes one.")
_SESSION = APIKeyCookie(
    name=COOKIE,
    auto_error=False,
    description=f"`POST /v1/session` sets it. A change also needs the header `{PROOF}`.",
)


@dataclass(frozen=True, kw_only=True)
class Door:
    """What the server knows about letting in: it stands in the application's state."""

    hall: Hall
    site: Site
    users: Pace
    strangers: Pace


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Who asks, with their Alfred. `visit` is None for a token."""

    user: UserRow
    app: App
    scopes: frozenset[str]
    visit: Visit | None = None

    @property
    def user_id(self) -> UUID:
        return self.user.id

    @property
    def proof(self) -> str | None:
        """What a change in the session has to show; None for a token, which shows itself."""
        return proof_of(self.visit.secret) if self.visit else None


def door_of(request: Request) -> Door:
    """Find what lets in."""
    door: Door = request.app.state.door
    return door


async def current_user(
    request: Request,
    needed: SecurityScopes,
    bearer: Annotated[object, Depends(_BEARER)],  # named so that the API's document tells of them
    session: Annotated[object, Depends(_SESSION)],
) -> Visitor:
    """Return who asks, whom the gate has let in; errors: `access.scope`."""
    visitor: Visitor = request.state.visitor
    lacking = [scope for scope in needed.scopes if scope not in visitor.scopes]
    if lacking:
        raise AccessRefused("access.scope", f"The token has not the scope {', '.join(lacking)}.")
    return visitor


class Gate:
    """Finds out who asks before anything of a request's body is read: an ASGI application.

    What it refuses it raises, for the frame around it to answer.
    """

    def __init__(self, inner: ASGIApp, *, door: Door) -> None:
        self._inner = inner
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _asks_for_a_name(scope["method"], scope["path"]):
            request = Request(scope)
            request.state.visitor = await self._let_in(request)
        await self._inner(scope, receive, send)

    async def _let_in(self, request: Request) -> Visitor:
        """Errors: those of `access.*`; `request.too_many`."""
        try:
            visitor = await _admit(self._door, request)
        except AccessRefused:
            note_stranger(self._door, request)
            raise
        self._door.users.take(visitor.user_id)
        return visitor


def note_stranger(door: Door, request: Request) -> None:
    """Count a vain try: whoever guesses is slowed down; errors: `request.too_many`."""
    door.strangers.take(request.client.host if request.client else "")


def _asks_for_a_name(method: str, path: str) -> bool:
    return path.startswith(ROOT) and (method, path) not in OPEN


async def _admit(door: Door, request: Request) -> Visitor:
    """Admit by the token if one is shown, by the session otherwise."""
    hall = door.hall
    if (given := request.headers.get("authorization")) is not None:
        kind, _, secret = given.partition(" ")
        if kind.lower() != "bearer":
            raise AccessRefused("access.invalid", "Only bearer tokens are known here.")
        bearer = await admit_bearer(hall.pools, secret.strip(), hall.now())
        user = UserRow(id=bearer.user_id, name=bearer.user)
        return Visitor(user=user, app=hall.app_of(user), scopes=bearer.scopes)
    session = request.cookies.get(COOKIE)
    if session is None:
        raise AccessRefused(
            "access.missing",
            "The request shows neither a token nor a session.",
            hint="Send a bearer token, or sign in with the link that `alfred serve` prints.",
        )
    visit = await admit_visit(hall.pools, session, hall.now())
    if request.method not in SAFE:
        _require_own_page(door.site, request, visit)
    user = UserRow(id=visit.user_id, name=visit.user)
    return Visitor(user=user, app=hall.app_of(user), scopes=frozenset(SCOPES), visit=visit)


def _require_own_page(site: Site, request: Request, visit: Visit) -> None:
    """Refuse a change that another site's page makes a browser ask for."""
    require_own_origin(site, request)
    shown = request.headers.get(PROOF, "")
    if not hmac.compare_digest(shown.encode(), proof_of(visit.secret).encode()):
        raise AccessRefused(
            "access.forgery",
            f"The header {PROOF} is missing or not the one of the session.",
            hint="Send what GET /v1/me gives as `csrf`.",
        )


def require_own_origin(site: Site, request: Request) -> None:
    """Refuse what a browser sends for a page that is not ours; errors: `access.forgery`."""
    origin = request.headers.get("origin", "")
    if not site.owns(origin, request.headers.get("host", "")):
        raise AccessRefused(
            "access.forgery",
            f"The request comes from {origin or 'a page that does not say whose it is'}.",
            hint=f"Open {site.url} itself.",
        )


Reader = Annotated[Visitor, Security(current_user, scopes=["read"])]
Proposer = Annotated[Visitor, Security(current_user, scopes=["propose"])]
Decider = Annotated[Visitor, Security(current_user, scopes=["decide"])]
Admin = Annotated[Visitor, Security(current_user, scopes=["admin"])]
