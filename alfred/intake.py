"""How what comes in becomes a message: as it was read, or with the reason why it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from alfred.engine.canonical import derive_id
from alfred.engine.command import COMMAND
from alfred.engine.skill_input import SkillInput
from alfred.engine.turn import NewMessage, Turn
from alfred.errors import InputRefused
from alfred.inputs.decoding import clean_text
from alfred.inputs.language import detect_language
from alfred.inputs.link import find_link, parse_link
from alfred.inputs.linked_page import FetchedPage, read_fetched
from alfred.inputs.reader import read_input
from alfred.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Given:
    """What came in: words or a file, or a link and, once it is fetched, the page behind it."""

    content: bytes
    source: str | None = None
    link: str | None = None
    media_type: str | None = None
    domain: str | None = None

    @property
    def is_unfetched(self) -> bool:
        return self.link is not None and self.media_type is None


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A message that can be stored, with what was read of it, or why it cannot be read."""

    message: NewMessage
    read: SkillInput | None = None
    refused: InputRefused | None = None


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Makes messages of what one user sends; nothing is stored here.

    `domains` are the names of those that are installed, `manifests` the digest of each node's.
    """

    settings: Settings
    user_id: UUID
    domains: Sequence[str]
    clock: Callable[[], datetime]
    manifests: Mapping[str, str]

    def given(self, content: bytes, *, source: str | None, domain: str | None) -> Given:
        """Tell a message that is nothing but a link from any other.

        Errors: `input.unknown_domain`.
        """
        self._require_domain(domain)
        return Given(content=content, source=source, link=find_link(content), domain=domain)

    def again(self, turn: Turn, domain: str | None) -> Given:
        """Give once more what an earlier turn was about.

        Errors: `input.unsupported` for a command's words, which no node reads;
        `input.unknown_domain`.
        """
        self._require_domain(domain)
        if turn.modality == COMMAND:
            raise InputRefused(
                "input.unsupported",
                f"Turn {turn.id} is the command {turn.text!r}, not a text to read.",
                hint="Give the command again.",
            )
        return replace(_given_of(turn), domain=domain)

    def note(self, given: Given, turn_id: UUID | None = None) -> Noted:
        """Make the message of what came in; what cannot be read becomes one as well."""
        refused: InputRefused | None = None
        read: SkillInput | None = None
        received_at = self.clock()
        try:
            if given.link is not None:
                parse_link(given.link)
            read = None if given.is_unfetched else self.read(given, received_at)
        except InputRefused as error:
            refused = error
        words = read["text"] if read else clean_text(given.content.decode("utf-8", "replace"))
        is_text = words.encode() == given.content and given.link is None
        message = replace(
            self.message(words, given.domain, turn_id),
            original=None if is_text or given.is_unfetched else given.content,
            source=clean_text(given.source) if given.source is not None else None,
            link=given.link,
            media_type=given.media_type,
            modality=read["modality"] if read else "link" if given.link else "text",
            language=read["language"] if read else self.settings.language,
            received_at=received_at,
        )
        return Noted(message=message, read=read, refused=refused)

    def message(self, words: str, domain: str | None, turn_id: UUID | None = None) -> NewMessage:
        """Make a message of words, and of its own turn unless one is named."""
        turn_id = turn_id or uuid4()
        text = clean_text(words)
        return NewMessage(
            user_id=self.user_id,
            thread_id=derive_id("thread", self.user_id),
            turn_id=turn_id,
            message_id=derive_id("message", turn_id),
            domain=domain,
            text=text,
            original=None,
            source=None,
            modality="text",
            language=detect_language(text),
            received_at=self.clock(),
            timezone=self.settings.timezone,
            manifests=self.manifests,
        )

    def read(self, given: Given, received_at: datetime) -> SkillInput:
        """Normalise what came in; errors: those of `input.*`."""
        timezone = self.settings.timezone
        stamp = received_at.astimezone(ZoneInfo(timezone))
        if given.link is not None:
            page = FetchedPage(
                url=given.source or given.link,
                media_type=given.media_type or "",
                content=given.content,
            )
            return read_fetched(page, received_at=stamp, timezone=timezone)
        return read_input(
            given.content, filename=given.source, received_at=stamp, timezone=timezone
        )

    def read_turn(self, turn: Turn) -> SkillInput:
        """Normalise a stored message again, exactly as when it came in."""
        return self.read(_given_of(turn), turn.received_at)

    def _require_domain(self, name: str | None) -> None:
        if name is not None and name not in self.domains:
            raise InputRefused(
                "input.unknown_domain",
                f"There is no domain {name!r}.",
                hint=f"Installed are: {', '.join(self.domains)}.",
            )


def _given_of(turn: Turn) -> Given:
    """Give what came in as it was stored."""
    content = turn.original if turn.original is not None else turn.text.encode()
    return Given(content=content, source=turn.source, link=turn.link, media_type=turn.media_type)
