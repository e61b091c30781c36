"""A user who diagnoses in processes of their own, with recorded tools and a model over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from alfred.engine.language_model import Message, ModelRequest
from alfred.engine.yaml_text import read_yaml
from alfred.store.address import Address
from evals.record_answers import ANSWERS, AnsweringModel
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.diagnosis_turns import POOL
from tests.shell import Shell, completion, url_of

HANGS_FOR_S = 60.0
Change = Callable[[dict[str, Any]], None]


class NodeServer:
    """What an HTTP model answers for each node of a case; a test may change or hold any answer.

    `said` replaces a node's answers, one after the other, the last one for good. A node in
    `hangs_at` is heard (`reached`) and not answered while it is there.
    """

    def __init__(self, case: Path = POOL) -> None:
        self.asked: Counter[str] = Counter()
        self.prompts: list[str] = []
        self.said: dict[str, list[Any]] = {}
        self.hangs_at = ""
        self.reached = threading.Event()
        self.released = threading.Event()
        self._answers = AnsweringModel(read_yaml((case / ANSWERS).read_text("utf-8")).value)

    def __call__(self, asked: Asked) -> Reply:
        """Answer one request as the case's author would."""
        messages = asked.json()["messages"]
        node = messages[0]["content"].split("\n", 1)[0].removeprefix("Alfred · ").strip()
        self.asked[node] += 1
        if node == self.hangs_at:
            self.reached.set()
            self.released.wait(HANGS_FOR_S)
        return Reply(kind="text/event-stream", body=completion(self._answer(node, messages)))

    def _answer(self, node: str, messages: list[dict[str, str]]) -> Any:
        if given := self.said.get(node):
            return given.pop(0) if len(given) > 1 else given[0]
        told = tuple(Message(role=_ROLE[m["role"]], content=m["content"]) for m in messages)
        return asyncio.run(self._answers.complete(ModelRequest(messages=told))).text


_ROLE: dict[str, Any] = {role: role for role in ("system", "user", "assistant")}


class DiagnosisShell(Shell):
    """Runs `alfred` for one user whose tools replay a case without its times."""

    @contextmanager
    def started(self, *arguments: str) -> Generator[subprocess.Popen[str]]:
        """Start a command whose output is read from pipes; it ends with the block."""
        with subprocess.Popen(
            [sys.executable, "-m", "alfred", *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def write_tools(self, text: str) -> None:
        """Replace the tools file."""
        Path(self.environment["ALFRED_TOOLS"]).write_text(text, "utf-8")


def open_shell(
    database: Address,
    folder: Path,
    serve: Callable[[Answer], LocalServer],
    model: NodeServer,
    *,
    case: Path = POOL,
    change: Change | None = None,
) -> DiagnosisShell:
    """Make such a user; `change` may alter each recorded call."""
    write_recording(case, folder / "recorded", change)
    (folder / "tools.yaml").write_text("replay: recorded\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ALFRED_")}
    return DiagnosisShell(
        {
            **kept,
            "ALFRED_HOME": str(folder / "home"),
            "ALFRED_TOOLS": str(folder / "tools.yaml"),
            "ALFRED_DATABASE_URL": url_of(database),
            "ALFRED_MODEL": f"{serve(model).url}/v1#scripted",
            "ALFRED_USER": f"user-{uuid4()}",
            "ALFRED_LANGUAGE": "en",
            "ALFRED_TIMEZONE": "UTC",
            "COLUMNS": "200",
        }
    )


def write_recording(case: Path, folder: Path, change: Change | None = None) -> None:
    """Copy a case's tools without the times of their answers, which every window then admits."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "specs.yaml").write_text((case / "specs.yaml").read_text("utf-8"), "utf-8")
    calls = [json.loads(line) for line in (case / "calls.jsonl").read_text("utf-8").splitlines()]
    for call in calls:
        call.pop("start", None)
        call.pop("end", None)
        if change is not None:
            change(call)
    lines = [json.dumps(call, ensure_ascii=False) for call in calls]
    (folder / "calls.jsonl").write_text("\n".join(lines), "utf-8")
