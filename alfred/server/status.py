"""Which HTTP status each error code is answered with, as docs/errors.md has it."""

from __future__ import annotations

from collections.abc import Mapping

OF_FAMILY: Mapping[str, int] = {
    "access": 401,
    "action": 422,
    "eval": 422,
    "graph": 500,
    "input": 422,
    "manifest": 500,
    "model": 502,
    "probe": 422,
    "queue": 429,
    "request": 422,
    "review": 409,
    "server": 500,
    "settings": 500,
    "store": 503,
    "template": 500,
}
"""What most codes of a family are answered with, by the code's first word."""

OF_CODE: Mapping[str, int] = {
    "access.exposed": 500,
    "access.forgery": 403,
    "access.scope": 403,
    "access.token": 404,
    "access.user": 404,
    "action.append_only": 500,
    "action.conflict": 409,
    "action.not_automatic": 500,
    "action.state": 409,
    "eval.run": 404,
    "input.redirects": 502,
    "input.site_busy": 502,
    "input.site_refused": 502,
    "input.timeout": 504,
    "input.tls": 502,
    "input.too_large": 413,
    "input.unreachable": 502,
    "input.unsupported": 415,
    "manifest.missing": 404,
    "model.corrupt": 500,
    "model.missing": 503,
    "model.no_key": 500,
    "model.not_installed": 500,
    "model.not_scripted": 500,
    "model.overloaded": 503,
    "model.timeout": 504,
    "model.unknown": 500,
    "probe.answer": 502,
    "probe.too_much": 502,
    "probe.unreachable": 503,
    "request.host": 421,
    "request.key": 409,
    "request.media": 415,
    "request.method": 405,
    "request.too_large": 413,
    "request.too_many": 429,
    "request.too_slow": 408,
    "request.unknown": 404,
    "review.edit": 422,
    "review.expired": 410,
    "review.incomplete": 422,
    "review.kind": 422,
    "review.unknown": 404,
    "review.unknown_action": 404,
    "review.words": 422,
    "store.disk_full": 507,
    "store.dump": 500,
    "store.embedded_only": 400,
    "store.encoding": 500,
    "store.platform": 500,
    "store.url": 500,
}
"""The codes that are answered otherwise than their family."""


def status_of(code: str) -> int:
    """Return the HTTP status of an error code."""
    return OF_CODE.get(code, OF_FAMILY[code.partition(".")[0]])
