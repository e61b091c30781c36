"""The documents of the job domain's addresses."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from alfred.services.application import Status


class PostingDocument(BaseModel):
    """A posting in a list; `requirements` counts them, `status` is the application's."""

    id: UUID
    company: str
    title: str
    location: str | None
    deadline: date | None
    url: str | None
    requirements: int
    status: Status | None
    created_at: datetime


class RequirementDocument(BaseModel):
    """What a posting asks for."""

    id: UUID
    text: str
    kind: str
    importance: str


class OneApplication(BaseModel):
    """The application to a posting."""

    id: UUID
    status: Status
    channel: str | None
    applied_on: date | None


class FullPosting(BaseModel):
    """A posting with everything that belongs to it, and the messages that told of it."""

    id: UUID
    company: str
    title: str
    location: str | None
    place: str | None
    deadline: date | None
    url: str | None
    website: str | None
    created_at: datetime
    application: OneApplication | None
    requirements: list[RequirementDocument]
    interviews: list[dict[str, Any]]
    reminders: list[dict[str, Any]]
    provenance: list[dict[str, Any]]


class ApplicationDocument(OneApplication):
    """An application in a list, with its posting."""

    posting_id: UUID
    company: str
    title: str
    deadline: date | None
    created_at: datetime


class DueDocument(BaseModel):
    """Something with a day; `days` counts from today and is negative for what is overdue."""

    kind: Literal["reminder", "deadline", "interview"]
    id: UUID
    on: date
    at: datetime | None
    days: int
    overdue: bool
    about: str
    posting_id: UUID | None
    company: str | None
    title: str | None
    url: str | None


class FunnelDocument(BaseModel):
    """How far applications got."""

    since: date | None
    applications: int
    stages: list[dict[str, Any]]
    ended: dict[str, dict[str, int]]
    months: list[dict[str, Any]]
