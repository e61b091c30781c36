"""SCRAM verifiers, computed here so that no password travels to a server in clear text."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

# Stretching slows down guessing. These passwords are 256 random bits, which nobody guesses, and
# every new connection would pay for it on both sides.
ITERATIONS = 1


def scram_verifier(password: str) -> str:
    """Compute what PostgreSQL stores for a password: `SCRAM-SHA-256$ITERATIONS:SALT$KEY:KEY`.

    `password` is ASCII, since SASLprep is not applied. Source: RFC 5802, RFC 7677.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, ITERATIONS)
    client_key = hmac.new(salted, b"Client Key", hashlib.sha256).digest()
    stored_key = hashlib.sha256(client_key).digest()
    server_key = hmac.new(salted, b"Server Key", hashlib.sha256).digest()
    encoded = [base64.b64encode(part).decode() for part in (salt, stored_key, server_key)]
    return f"SCRAM-SHA-256${ITERATIONS}:{encoded[0]}${encoded[1]}:{encoded[2]}"
