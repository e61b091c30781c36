"""Which status a failure means: worth another try, an answer out of shape, or neither."""

from __future__ import annotations

from typing import Any, Literal

import httpx
import jsonschema_rs
import pydantic

from alfred.errors import AnswerInvalid, ModelFailed

FailureStatus = Literal["RETRYABLE_FAILED", "INVALID_OUTPUT", "FAILED"]

TOO_MANY_REQUESTS = 429
_SHAPE = (AnswerInvalid, pydantic.ValidationError, jsonschema_rs.ValidationError)
_TRANSIENT = (TimeoutError, ConnectionError, httpx.TransportError)


def failure_status(error: Exception) -> FailureStatus:
    """Judge a failure by its kind, never by its words.

    Time-outs, lost connections, rate limits and answers of 500 and above may pass; an answer that
    breaks its schema may come out right; anything else would fail again.
    """
    if isinstance(error, _SHAPE):
        return "INVALID_OUTPUT"
    if isinstance(error, ModelFailed):
        return "RETRYABLE_FAILED" if error.retryable else "FAILED"
    if isinstance(error, _TRANSIENT):
        return "RETRYABLE_FAILED"
    status = _http_status(error)
    may_pass = status is not None and (status == TOO_MANY_REQUESTS or status >= 500)
    return "RETRYABLE_FAILED" if may_pass else "FAILED"


def _http_status(error: Any) -> int | None:
    """Read the HTTP status that an error of a client library carries, if it carries one."""
    for bearer in (error, getattr(error, "response", None)):
        status = getattr(bearer, "status_code", None)
        if isinstance(status, int):
            return status
    return None
