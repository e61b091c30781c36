"""The documents that the API answers with, as its own description has them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from alfred.engine.proposal import ActionState, ProposalState
from alfred.store.tokens import Scope

Object = dict[str, Any]


class Health(BaseModel):
    """Whether the server can work."""

    status: Literal["ok"]
    version: str


class Me(BaseModel):
    """Who asks."""

    user: str
    language: str
    csrf: str | None = Field(description="What a change in the session sends as X-Alfred-CSRF")
    scopes: list[Scope]
    domains: list[str]


class TurnDocument(BaseModel):
    """A message and how far the run that it started is."""

    turn: UUID
    thread: UUID
    state: str
    outcome: str | None
    domain: str | None
    source: str | None
    received_at: datetime
    problem: str | None
    text: str = Field(description="The words; in a list their beginning")
    proposal: UUID | None = Field(description="The newest proposal of the turn")


class FullTurn(TurnDocument):
    """A turn with everything that came of it."""

    reply: str | None = Field(description="What the domain answered in words")
    problems: list[str]


class Posted(BaseModel):
    """Words that were stored; the run that reads them follows."""

    turn: UUID
    message: UUID
    state: str


class Trace(BaseModel):
    """The path of a turn, without its words."""

    turn: UUID
    state: str
    outcome: str | None
    domain: str | None
    source: str | None
    received_at: datetime
    problem: str | None
    events: list[Object]
    transitions: list[Object]


class ActionDocument(BaseModel):
    """One write that is proposed; `depends_on` names the ordinals of those it falls with."""

    id: UUID
    ordinal: int
    kind: str
    node: str
    state: ActionState
    status: str
    ticked: bool = Field(description="Whether it is complete and rests on the source")
    problem: str
    missing: list[str]
    depends_on: list[int]
    args: Object
    evidence: dict[str, Object]
    effects: list[Object]


class ProposalDocument(BaseModel):
    """What a turn proposes. `digest` names exactly this, and a decision has to give it."""

    proposal: UUID
    turn: UUID
    state: ProposalState
    revision: int
    digest: str
    expires_at: datetime
    notices: list[str]
    actions: list[ActionDocument]


class ListedProposal(ProposalDocument):
    """A proposal in a list, with the beginning of the words it came from."""

    text: str


class FullProposal(ProposalDocument):
    """A proposal with the words it came from; evidence points into them by code points."""

    text: str
    thread: UUID


class Decided(BaseModel):
    """A proposal after a decision, and its turn."""

    proposal: ProposalDocument
    turn: TurnDocument


class Kind(BaseModel):
    """A kind of action: what it takes, and what people call what it writes."""

    arguments: Object = Field(alias="schema", description="JSON Schema of the arguments")
    called: list[str]


class Drawing(BaseModel):
    """A graph: its nodes, and the edges that a run may take."""

    nodes: list[str]
    edges: list[tuple[str, str]]


class Thread(BaseModel):
    """A conversation."""

    id: UUID
    title: str | None
    created_at: datetime
    messages: int


class Message(BaseModel):
    """What was said in a conversation, with what became of it."""

    id: UUID
    role: str
    modality: str
    text: str
    source: str | None
    link: str | None
    received_at: datetime
    annotations: list[Any]


class TokenDocument(BaseModel):
    """A token of a program, without what it shows."""

    id: UUID
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used: datetime | None


class NewToken(TokenDocument):
    """A token with the text to show, which is told this once."""

    token: str
