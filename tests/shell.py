"""Running `alfred` in processes of its own, and what a scripted HTTP model answers it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from alfred.store.address import Address

PENDING, REFUSED_INPUT, MODEL_FAILED, REFUSED_REVIEW = 3, 4, 5, 7
"""Exit codes, as docs/cli.md has them."""


def url_of(address: Address) -> str:
    """Write the test server's address as a person would put it into ALFRED_DATABASE_URL."""
    host = quote(address.parameters["host"], safe="")
    login = f"{address.user}:{quote(address.password or '', safe='')}"
    return f"postgresql://{login}@/{address.dbname}?host={host}&port={address.parameters['port']}"


@dataclass(frozen=True)
class Shell:
    """Runs `alfred` for one user."""

    environment: dict[str, str]

    def run(
        self, *arguments: str, code: int = 0, words: bytes | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "alfred", *arguments],
            env=self.environment,
            input=words,
            stdin=subprocess.DEVNULL if words is None else None,
            capture_output=True,
            check=False,
            timeout=120,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, (done.returncode, out, err)
        assert "Traceback" not in err
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code).stdout)

    def python(self, program: str) -> None:
        """Run a program in this user's environment."""
        subprocess.run(
            [sys.executable, "-c", program], env=self.environment, check=True, timeout=120
        )

    @property
    def user(self) -> str:
        return self.environment["ALFRED_USER"]


def completion(answer: dict[str, Any] | str) -> bytes:
    """Stream one answer as an OpenAI-compatible server does."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    lines = [f"data: {json.dumps(part)}\n\n" for part in (chunk, stop)]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def posting(company: str) -> tuple[str, dict[str, Any]]:
    text = f"We are hiring: {company} seeks a Data Engineer in Leeds. You know SQL."
    answer = {
        "company": company,
        "title": "Data Engineer",
        "location": "Leeds",
        "deadline": None,
        "user_intent": None,
        "requirements": [{"kind": "skill", "text": "You know SQL", "importance": "must"}],
    }
    return text, answer
