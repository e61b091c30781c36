"""An Alfred whose diagnoses look at a recorded case, with a model that answers for each node."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from alfred.app import App, Ports
from alfred.diagnoses import Diagnoses
from alfred.engine.context import Progress, Told
from alfred.engine.language_model import Completion, ModelRequest, TextSink
from alfred.engine.yaml_text import read_yaml
from alfred.evaluation.diagnosis_case import read_diagnosis_case
from alfred.graphs.diagnosis.tools import DiagnosisTools
from alfred.installed import load_domains
from alfred.nodes.diagnosis_context import Limits
from alfred.probes.toolbox import Toolbox
from alfred.store.address import Address
from alfred.store.pools import Pools
from evals.record_answers import ANSWERS, AnsweringModel
from tests.world import Clock, settings_for

CASES = Path("evals/cases/diagnosis")
POOL = CASES / "en-connection-pool"


class NodeModel(AnsweringModel):
    """Answers each node of a case, counts who asked, and stops where a test wants it to.

    `said` holds what a node answers instead, whatever it is.
    """

    def __init__(self, case: Path = POOL) -> None:
        super().__init__(read_yaml((case / ANSWERS).read_text(encoding="utf-8")).value)
        self.asked: Counter[str] = Counter()
        self.said: dict[str, str] = {}
        self.prompts: list[str] = []
        self.hangs_at: str | None = None
        self.reached = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer as the case's author would, unless it hangs here."""
        system, user = (message.content for message in request.messages)
        node = system.split("\n", 1)[0].removeprefix("Alfred · ").strip()
        self.asked[node] += 1
        self.prompts.append(user)
        if node == self.hangs_at:
            self.reached.set()
            await asyncio.sleep(3_600)
        if node in self.said:
            return Completion(text=self.said[node], finish_reason="stop")
        return await super().complete(request, on_text)


class Turns:
    """Diagnoses of one user over one case, at the moment when the case was asked about."""

    def __init__(self, app: App, model: NodeModel, question: str, heard: list[str]) -> None:
        self.app = app
        self.model = model
        self.question = question
        self.heard = heard
        self.diagnoses = Diagnoses(app)


@asynccontextmanager
async def open_turns(
    database: Address,
    home: Path,
    *,
    case: Path = POOL,
    limits: Limits | None = None,
    user: str | None = None,
    toolbox: Toolbox | None = None,
    now: datetime | None = None,
) -> AsyncGenerator[Turns]:
    """Open an Alfred whose clock stands where the case was asked about.

    `toolbox` replaces the case's tools, `now` its time.
    """
    read = read_diagnosis_case(case)
    model, heard = NodeModel(case), list[str]()
    tools = DiagnosisTools(toolbox or read.recording.toolbox(), limits or Limits())
    ports = Ports(
        clock=Clock(now or read.window.end),
        model=model,
        on_progress=_into(heard),
        resources={"diagnosis": tools},
    )
    async with Pools(database) as pools:
        app = App(settings_for(home, user), load_domains(), pools, ports)
        try:
            yield Turns(app, model, read.question, heard)
        finally:
            await app.aclose()


def _into(heard: list[str]) -> Callable[[Told], None]:
    def hear(seen: Told) -> None:
        if isinstance(seen, Progress):
            heard.append(seen.text)

    return hear


def moment(text: str) -> datetime:
    """Read a moment in ISO 8601."""
    return datetime.fromisoformat(text)
