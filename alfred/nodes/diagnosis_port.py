"""How a step of a diagnosis reaches its run, and asks the model its one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from alfred.engine.extraction import Question, call_llm
from alfred.engine.manifest import Manifest
from alfred.nodes.diagnosis_context import DiagnosisContext


class Running(Protocol):
    """What a graph hands to a step beside its view: the dependencies of the diagnosis."""

    @property
    def context(self) -> DiagnosisContext: ...


Config = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One question of a step: what its prompt names, and the schema that the answer is held to.

    The answer is validated against the manifest's own schema; `schema` is a narrower one for the
    model, with the names that exist in this run. What a model invents all the same then reaches the
    step, which drops it with a reason. `part` tells several questions of one attempt apart.
    """

    manifest: Manifest
    gathered: Mapping[str, Any]
    schema: Mapping[str, Any]
    language: str
    part: str = ""


async def ask(context: DiagnosisContext, config: Config, asking: Asking) -> dict[str, Any]:
    """Ask the model, and count what it cost.

    Errors: those of `call_llm`.
    """
    manifest = asking.manifest
    variables = {"gathered": asking.gathered}
    question = Question(
        node=manifest.name,
        instance=f"{manifest.name}/{asking.part}" if asking.part else manifest.name,
        attempt=int(config.get("metadata", {}).get("langgraph_step", 0)),
        system=str(manifest.compiled.system.render(variables)),
        user=str(manifest.compiled.user.render(variables)),
        schema=asking.schema,
        validator=manifest.compiled.answers,
        source="",
        language=asking.language,
    )
    answered = await call_llm(context.run, question)
    context.spent.add(answered.usage, calls=answered.calls)
    return answered.out
