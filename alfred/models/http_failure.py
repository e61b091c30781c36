"""What went wrong at a model's server, in Alfred's words: one place for statuses and bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from alfred.errors import ModelFailed

MAX_QUOTE = 300
OVERLOADED = frozenset({429, 500, 502, 503, 504, 529})
EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes that come with status 429 and that no later call will clear."""
TRANSIENT = frozenset({"overloaded_error", "rate_limit_error", "server_error", "api_error"})
"""Error codes in the midst of a stream, where there is no status to go by."""
HINTS: Mapping[int, str] = {
    401: "Check the key: ALFRED_API_KEY, or the provider's own variable.",
    402: "The account has no credit left with this provider.",
    403: "Check that the key may use this model.",
    404: "Check the address and the model's name in ALFRED_MODEL.",
    405: "Check the address in ALFRED_MODEL; it usually ends in /v1.",
    413: "The text is too long for this server; hand in less of it.",
}


@dataclass(frozen=True, kw_only=True)
class Server:
    """Whom a message is about: the model's name and address, and the key that must not be shown."""

    name: str
    address: str
    key: str | None = None

    def quoted(self, text: str) -> str:
        """Shorten a server's own words and take the key out of them."""
        words = " ".join(text.split())
        if self.key:
            words = words.replace(self.key, "[key]")
        return words if len(words) <= MAX_QUOTE else f"{words[: MAX_QUOTE - 1]}…"


def parsed_object(server: Server, body: bytes) -> dict[str, Any]:
    """Parse a body that has to be a JSON object.

    Errors: `model.refused` for a web page, for bytes that are not UTF-8, and for anything else.
    """
    try:
        value = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise _unusable(server, "answered with bytes that are not UTF-8") from exc
    except (ValueError, RecursionError) as exc:
        page = body.lstrip()[:1] == b"<"
        what = "answered with a web page, not with JSON" if page else "gave an answer without JSON"
        raise _unusable(server, what) from exc
    if not isinstance(value, dict):
        raise _unusable(server, "answered with JSON that is no object")
    return cast("dict[str, Any]", value)


def _unusable(server: Server, what: str) -> ModelFailed:
    return ModelFailed(
        "model.refused",
        f"{server.name} at {server.address} {what}.",
        hint="Check the address in ALFRED_MODEL; it usually ends in /v1.",
    )


def status_failure(server: Server, status: int, body: bytes) -> ModelFailed:
    """Translate an error status; the server's message is quoted, shortened."""
    code, message = error_words(body)
    quote = f": {server.quoted(message)}" if message else "."
    said = f"{server.name} answered with status {status}{quote}"
    if status in OVERLOADED and code not in EXHAUSTED:
        return ModelFailed("model.overloaded", said, hint="Try again later.", status=status)
    if status == 408:
        return ModelFailed("model.timeout", said, hint="Try again later.", status=status)
    if 300 <= status < 400:
        return _unusable(server, f"answered with status {status}, a redirect to elsewhere")
    return ModelFailed("model.refused", said, hint=HINTS.get(status, ""), status=status)


def error_in(server: Server, body: Mapping[str, Any]) -> ModelFailed | None:
    """Find an error object that came with a status of success, as in the midst of a stream."""
    error = body.get("error")
    if not error:
        return None
    wire = json.dumps({"error": error}).encode()
    stated: Any = cast("Mapping[str, Any]", error).get("code") if isinstance(error, Mapping) else 0
    if isinstance(stated, int) and stated >= 400:
        return status_failure(server, stated, wire)
    return status_failure(server, 503 if error_words(wire)[0] in TRANSIENT else 400, wire)


def error_words(body: bytes) -> tuple[str, str]:
    """Read code and message out of an error's body; both empty where it has another form."""
    try:
        value: Any = json.loads(body.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return "", ""
    if isinstance(value, list) and value:  # Google wraps the object into a list.
        value = cast("list[Any]", value)[0]
    error: Any = (
        cast("Mapping[str, Any]", value).get("error") if isinstance(value, Mapping) else None
    )
    if isinstance(error, str):
        return "", error
    if not isinstance(error, Mapping):
        return "", ""
    fields = cast("Mapping[str, Any]", error)
    param = f" ({fields['param']})" if isinstance(fields.get("param"), str) else ""
    return str(
        fields.get("code") or fields.get("type") or ""
    ), f"{fields.get('message', '')}{param}"
