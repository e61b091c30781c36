"""`alfred capture`: read a text, a file or a link, show what would be written, decide if wanted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from uuid import UUID

import click

from alfred.cli.entry import STILL_PENDING
from alfred.cli.session import console, json_option, print_json, run_with_app, short
from alfred.errors import InputRefused

MAX_PATH_CHARS = 200
ENDINGS = (".txt", ".html", ".htm", ".pdf", ".md", ".docx")
MAX_BYTES = 64_000_000
"""More than any input that is kept, though most of it could not be read."""


@click.command("capture")
@click.argument("input_", metavar="TEXT|FILE|LINK|-", required=False)
@click.option(
    "--again", metavar="TURN", help="Run an earlier message again, for example with a model."
)
@click.option("--domain", metavar="NAME", help="The domain that reads it; else its words decide.")
@click.option(
    "--review/--no-review", "then_review", default=None, help="Ask for decisions at once."
)
@json_option
def command(
    input_: str | None,
    again: str | None,
    domain: str | None,
    then_review: bool | None,
    *,
    as_json: bool,
) -> None:
    """Read a posting as TEXT, from a FILE (text or saved page), behind a LINK, or from standard
    input (-).

    The page behind a link is fetched if it is on the public internet and its site allows it.
    Prints what would be written and on which words of the source it rests. Nothing is written to
    your records before you approve it with `alfred review`.
    """
    from alfred.app import App, Received
    from alfred.cli.decide import interview
    from alfred.cli.document import proposal_document, turn_document
    from alfred.cli.lookup import find_turn
    from alfred.cli.preview import print_proposal
    from alfred.cli.progress import FieldPrinter

    if (input_ is None) == (again is None):
        raise click.UsageError("Give a TEXT, a FILE, a LINK or -; or --again TURN.")
    content, source = read_argument(input_) if input_ is not None else (b"", None)
    out, err = console(), console(stderr=True)

    async def work(app: App) -> int:
        await app.drain()
        if again is not None:
            received: Received = await app.again(await find_turn(app, again), domain=domain)
        else:
            received = await app.receive(content, source=source, domain=domain)
        if received.refused is not None:
            raise stored_but_refused(received.refused, received.turn_id)
        standing = received.standing
        assert standing is not None
        turn = await app.load_turn(standing.turn_id)
        proposal = standing.proposal
        if as_json:
            body = proposal_document(proposal) if proposal else {"problems": standing.problems}
            replied = {"reply": standing.reply} if standing.reply else {}
            print_json({**turn_document(turn), **body, **replied})
        elif proposal is None and standing.reply:
            out.print(standing.reply, markup=False)
        elif proposal is None:
            err.print(nothing_found(standing.problems), markup=False)
            err.print(f"Your words are kept: turn {turn.id}.", markup=False)
        else:
            print_proposal(out, proposal, turn.text)
        if proposal is None:
            return 5 if standing.state == "failed" else 0
        wants_review = sys.stdin.isatty() if then_review is None else then_review
        if wants_review and not as_json and input_ != "-":
            return await interview(app, out, proposal, turn.text)
        if not as_json:
            err.print(f"Decide with: alfred review {str(proposal.id)[:8]}", markup=False)
        return STILL_PENDING

    sys.exit(run_with_app(work, on_progress=None if as_json else FieldPrinter(err)))


def nothing_found(problems: list[str]) -> str:
    """Say why there is nothing to decide."""
    if problems:
        return "Nothing is proposed: " + "; ".join(problems)
    return "Nothing is proposed: no posting, experience or application was found in the text."


def stored_but_refused(refused: InputRefused, turn_id: UUID) -> InputRefused:
    """Add to a refusal that the words are kept, and how to try again where that may help."""
    kept = f"Your words are kept: turn {turn_id}."
    if refused.retryable:
        kept += f" To try again: alfred capture --again {short(turn_id)}"
    return InputRefused(refused.code, refused.message, hint=f"{refused.hint} {kept}".strip())


def read_argument(argument: str) -> tuple[bytes, str | None]:
    """Read what the argument names: standard input, a file, or the words themselves.

    A link is words; what is behind it is fetched later, once they are stored.
    Errors: `input.unreadable` for a file that cannot be opened, and for a name that looks like a
    file's but is none; `input.address` for a link without its `https://`; `input.too_large` for
    what is too large even to be kept.
    """
    from alfred.inputs.link import is_bare_link

    if argument == "-":
        return _bounded(sys.stdin.buffer.read(MAX_BYTES + 1), "Standard input"), None
    path = Path(argument)
    if _is_file(path):
        try:
            with path.open("rb") as file:
                return _bounded(file.read(MAX_BYTES + 1), argument), path.name
        except OSError as error:
            raise InputRefused(
                "input.unreadable", f"{argument} can't be read: {error.strerror}."
            ) from error
    if is_bare_link(argument):
        raise InputRefused(
            "input.address",
            f"No file is called {argument}, and as a link it lacks its beginning.",
            hint=f"If it is a link: alfred capture https://{argument}",
        )
    if _looks_like_file(argument):
        raise InputRefused(
            "input.unreadable",
            f"{argument} is no file that can be read.",
            hint="Check the path; to capture these very words, pipe them into `alfred capture -`.",
        )
    # What the terminal could not decode came in as lone surrogates; these are its bytes again.
    return os.fsencode(argument), None


def _bounded(content: bytes, what: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise InputRefused(
            "input.too_large",
            f"{what} has more than {MAX_BYTES:,} bytes; it was not read, and nothing is kept.",
            hint="Hand in only the part that matters.",
        )
    return content


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or holds NUL: then it is no file's name
        return False


def _looks_like_file(argument: str) -> bool:
    """Say whether one word names a file or folder, or would, were it there; words are several."""
    if len(argument) >= MAX_PATH_CHARS or len(argument.split()) != 1 or "://" in argument:
        return False
    if argument.startswith(("/", "./", "../", "~")) or argument.lower().endswith(ENDINGS):
        return True
    try:
        return Path(argument).exists()
    except (OSError, ValueError):
        return False
