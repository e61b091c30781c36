"""The headers that protect a browser's user, on every answer of the server."""

from __future__ import annotations

from alfred.server.site import Site

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "object-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""Nothing from elsewhere, and no script or style that stands in the page itself."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def headers_for(path: str, site: Site) -> dict[str, str]:
    """Give the headers of an answer that has no others under these names."""
    headers = dict(HEADERS)
    if path.startswith("/v1/"):
        headers["Cache-Control"] = "no-store"
    if site.is_secure:
        headers["Strict-Transport-Security"] = "max-age=31536000"
    return headers
