"""Runs the plan, lets the model state what the evidence shows, and adapts once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from alfred.engine.manifest import Manifest
from alfred.errors import ModelFailed
from alfred.nodes.diagnosis_excerpt import (
    MAX_QUESTION_CHARS,
    barred,
    call_line,
    evidence_block,
    excerpt_of,
    shortened,
    usable_calls,
)
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_port import Asking, Config, Running, ask
from alfred.nodes.diagnosis_shapes import Claim, View, items, language_of, mapping, text
from alfred.nodes.diagnosis_tools import tool_line
from alfred.nodes.executor.calls import Calls
from alfred.nodes.executor.claims import (
    claims_of_code,
    claims_of_model,
    claims_schema,
    joined_claims,
)
from alfred.probes.probe import Probe

GONE_WRONG = ("failed", "timeout", "refused")


async def executor_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Make the calls of the plan and state claims over the evidence of the whole run.

    FAILED where no call of the run has come back; PARTIAL where one of this round went wrong, or
    a limit ended it. What a model cannot state is left to the claims that code reads off.
    Errors: the model's, where there is no claim without it.
    """
    context = runtime.context
    manifest = context.run.manifest("executor")
    manifest.check_input(view)
    incident = mapping(view, "incident_context")
    is_second = view.get("planner_mode") == "EVIDENCE_GAP_ONLY"
    calls = Calls(
        context=context,
        incident=incident,
        round_=2 if is_second else 1,
        before=items(view, "tool_trace"),
    )
    for step in items(mapping(view, "planner_output"), "steps"):
        await calls.make(step)
    claims: list[Claim] = []
    status = "FAILED"
    if usable_calls(calls.all):
        stating = _Stating(manifest, view, config, calls, language_of(incident))
        claims = await stating.state()
        has_failed = any(call["outcome"] in GONE_WRONG for call in calls.made)
        status = "PARTIAL" if has_failed or calls.stopped else "COMPLETED"
    output = {"claims": claims, "stopped": calls.stopped, "calls": len(calls.made)}
    return {"executor_status": status, "executor_output": output, "tool_trace": calls.made}


@dataclass
class _Stating:
    """The questions to the model over the evidence of a run."""

    manifest: Manifest
    view: View
    config: Config
    calls: Calls
    language: Literal["zh", "en"]

    async def state(self) -> list[Claim]:
        """State claims; where the model asks for one more call, make it and ask it once more.

        What the model said before a call that comes to nothing stands.
        """
        context = self.calls.context
        context.told(phrase(self.language, "claiming"))
        answer: dict[str, Any] = {}
        try:
            answer = await self._ask(context.toolbox.probes if self._may_adapt() else [])
            more = mapping(answer, "more")
            if text(more, "tool") in context.toolbox and await self.calls.make(more):
                answer = await self._ask([])
        except ModelFailed:
            if not answer and not self._read_off():
                raise
        return joined_claims(claims_of_model(answer), self._read_off())

    def _may_adapt(self) -> bool:
        """Say whether the plan left something open that one more call within the limits may close.

        Where every call of it found something, there is nothing to adapt to.
        """
        context = self.calls.context
        if context.spent.exhausted(context.limits):
            return False
        return not self.calls.made or any(call["outcome"] != "ok" for call in self.calls.made)

    def _read_off(self) -> list[Claim]:
        return claims_of_code(usable_calls(self.calls.all), self.language)

    async def _ask(self, probes: Sequence[Probe]) -> dict[str, Any]:
        evidence = usable_calls(self.calls.all)
        failed = [call for call in self.calls.all if call["outcome"] in GONE_WRONG]
        window = mapping(self.calls.incident, "window")
        gathered = {
            "question": shortened(text(self.view, "user_query"), MAX_QUESTION_CHARS),
            "window": f"{text(window, 'start')} – {text(window, 'end')}",
            "evidence": evidence_block(
                [excerpt_of(call) for call in evidence], self.calls.context.evidence_chars
            ),
            "failed": barred(map(call_line, failed)),
            "tools": "\n".join(map(tool_line, probes)),
            "language": phrase(self.language, "language_name"),
        }
        asking = Asking(
            manifest=self.manifest,
            gathered=gathered,
            schema=claims_schema([call["id"] for call in evidence], probes, self.calls.all),
            language=self.language,
            part="" if probes else "final",
        )
        return await ask(self.calls.context, self.config, asking)
