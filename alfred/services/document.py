"""Documents in versions: every line of one carries the rows it rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.event import record_event
from alfred.services.job_posting import get_posting
from alfred.services.text_key import one_line
from alfred.store.tables.job import DOCUMENT, DOCUMENT_LINE, DOCUMENT_VERSION, EXPERIENCE
from alfred.store.tables.kernel import FACT

_SOURCES = {"experience": EXPERIENCE, "fact": FACT}


class LineSource(Arguments):
    """A row that a line of the Markdown rests on; lines count from 1."""

    line: Annotated[int, Field(ge=1, le=2000)]
    source_table: Literal["experience", "fact"]
    source_id: RowId


class CreateDocumentVersion(Arguments):
    """A new version of a document, for a posting where it is written for one."""

    title: Annotated[str, text(200)]
    kind: Literal["resume", "cover_letter"]
    markdown: Annotated[str, text(100_000)]
    lines: Annotated[list[LineSource], Field(max_length=2000)]
    posting: RowId | None = None


async def create_document_version(writer: Writer, args: CreateDocumentVersion) -> Row:
    """Add a version after the latest one; the same text for the same posting is the same version.

    Errors: `action.unsupported_line` if a line that is no heading rests on no row, or a source
    names a line without words; `action.reference` if a source or the posting does not exist.
    """
    check_lines(args)
    posting = None
    if args.posting is not None:
        posting = await get_posting(writer, args.posting, "The document")
    title = one_line(args.title)
    document_name = f"{args.kind}/{title}"
    key = {"kind": args.kind, "title": title}
    document = await writer.ensure(DOCUMENT, key, {}, name=document_name)
    parent = await writer.find_last(DOCUMENT_VERSION, {"document_id": document["id"]}, by="version")
    checksum = hashlib.sha256(args.markdown.encode()).hexdigest()
    posting_id = posting["id"] if posting else None
    version = parent
    if parent is None or (parent["checksum"], parent["job_posting_id"]) != (checksum, posting_id):
        number = parent["version"] + 1 if parent else 1
        values = {
            "document_id": document["id"],
            "version": number,
            "parent_id": parent["id"] if parent else None,
            "job_posting_id": posting_id,
            "markdown": args.markdown,
            "checksum": checksum,
        }
        name = f"{document_name}/version {number}"
        version = await writer.append(DOCUMENT_VERSION, values, name=name)
        await _link_lines(writer, args, version, name)
    assert version is not None
    body = {"version": version["version"], "posting": posting["fingerprint"] if posting else None}
    await record_event(writer, "document.written", f"document:{document_name}", body)
    return version


async def _link_lines(writer: Writer, args: CreateDocumentVersion, version: Row, name: str) -> None:
    for source in sorted(set(args.lines), key=lambda s: (s.line, s.source_table, s.source_id)):
        row = await writer.get(_SOURCES[source.source_table], source.source_id)
        values = {**source.model_dump(), "version_id": version["id"]}
        line_name = f"{name}/line {source.line}"
        await writer.append(DOCUMENT_LINE, values, name=line_name, distinct=str(row["id"]))


def check_lines(args: CreateDocumentVersion) -> None:
    """Refuse a document with a line that rests on nothing.

    Errors: `action.unsupported_line`.
    """
    supported = {source.line for source in args.lines}
    content = dict(_content_lines(args.markdown))
    if astray := sorted(supported - set(content)):
        raise ActionRefused(
            "action.unsupported_line",
            f"Line {astray[0]} of {args.title!r} has a source but no words of its own.",
            hint="Lines count from 1; headings and empty lines have no sources.",
        )
    if bare := sorted(set(content) - supported):
        raise ActionRefused(
            "action.unsupported_line",
            f"Line {bare[0]} of {args.title!r} rests on nothing stored: {content[bare[0]][:80]!r}.",
            hint="Record the experience first, or take the line out.",
            lines=bare,
        )
    if not content:
        raise ActionRefused("action.unsupported_line", f"{args.title!r} has no lines of content.")


def _content_lines(markdown: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(markdown.split("\n"), start=1):
        words = line.strip()
        if words and not words.startswith("#"):
            yield number, words


def _locks(args: CreateDocumentVersion) -> list[str]:
    return [f"document/{args.kind}/{one_line(args.title)}"]


DOCUMENT_KINDS = (
    ActionKind(
        arguments=CreateDocumentVersion,
        handler=create_document_version,
        binds={"posting": "upsert_job_posting"},
        locks=_locks,
        called=("résumé", "resume", "cv", "document", "简历"),
    ),
)
