"""Record what a capable model would answer to the cases of a diagnosis, written by hand.

Each case has an `answers.yaml`:

    plans      the planner's steps, one list for each round
    claims     the executor's claims: role, fact, evidence; with `verification` where the verifier
               finds something else than direct_support
    verdict    the verifier's word; PASS where left out
    sentences  the composer's: text, and the numbers of the claims that it rests on, from 1

The machine is run over each case, as it is and under every perturbation, with a model that gives
these answers whatever it is shown: what the guards let through then is their doing. The answers
are written beside the case as `recording.jsonl`, each under the hash of its prompt. When a prompt
or a tool's description changes, the recordings have to be made anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from alfred.engine.language_model import Completion, ModelRequest, TextSink
from alfred.engine.yaml_text import read_yaml
from alfred.evaluation.diagnosis_case import RECORDED_ANSWERS, read_diagnosis_cases
from alfred.evaluation.diagnosis_evaluate import evaluate_diagnosis, make_diagnosis_bench
from alfred.evaluation.diagnosis_perturbation import plan_runs
from alfred.evaluation.diagnosis_report import score_lines
from alfred.installed import load_domains
from alfred.models.recorded import RecordedModel

ANSWERS = "answers.yaml"
MODEL = "written by hand"
SUPPORTED, PASS = "direct_support", "PASS"


class AnsweringModel:
    """A `LanguageModel` that answers each node of one case from its `answers.yaml`.

    It looks at nothing but who asks, and whether the planner asks for the second time, which its
    prompt says by naming gaps.
    """

    name = MODEL
    context_tokens = 8192
    parallel_calls = 1

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer in the name of the case's author."""
        system, user = (message.content for message in request.messages)
        node = system.split("\n", 1)[0].removeprefix("Alfred · ").strip()
        text = json.dumps(self._answer(node, user), ensure_ascii=False)
        return Completion(text=text, finish_reason="stop")

    async def aclose(self) -> None:
        """Hold nothing."""

    def _answer(self, node: str, user: str) -> dict[str, Any]:
        claims: Sequence[Mapping[str, Any]] = self._answers["claims"]
        if node == "planner":
            rounds: Sequence[Any] = self._answers["plans"]
            is_second = len(rounds) > 1 and "Tools not asked yet:" in user
            return {"steps": rounds[1 if is_second else 0]}
        if node == "executor":
            stated = ("role", "fact", "evidence")
            return {"claims": [{key: claim[key] for key in stated} for claim in claims]}
        if node == "verifier":
            return {
                "facts": {
                    f"F{number}": {
                        "verification": claim.get("verification", SUPPORTED),
                        "evidence": claim["evidence"],
                    }
                    for number, claim in enumerate(claims, start=1)
                },
                "verdict": self._answers.get("verdict", PASS),
            }
        if node == "composer":
            return {
                "sentences": [
                    {"text": each["text"], "facts": [f"F{number}" for number in each["claims"]]}
                    for each in self._answers["sentences"]
                ]
            }
        raise SystemExit(f"No answer is written for the node {node!r}.")


def main() -> None:
    """Record the cases of a folder, or say which of its recordings are out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(__file__).parent / "cases" / "diagnosis"
    parser.add_argument("--cases", type=Path, default=default, metavar="DIR")
    asyncio.run(record(parser.parse_args().cases))


async def record(folder: Path) -> None:
    """Run every case that has written answers, and write its recording anew."""
    cases = read_diagnosis_cases(folder)
    bench = make_diagnosis_bench(load_domains(), model_timeout_s=60.0)
    for case in cases:
        written = folder / case.id / ANSWERS
        if not written.is_file():
            print(f"{case.id} has no {ANSWERS}.")
            continue
        path = folder / case.id / RECORDED_ANSWERS
        path.unlink(missing_ok=True)
        answers = read_yaml(written.read_text(encoding="utf-8"))
        if answers.mistakes:
            raise SystemExit(f"{written}: {answers.mistakes[0]}")
        model = RecordedModel(path, AnsweringModel(answers.value))
        for score in await evaluate_diagnosis(
            plan_runs([case], cases, "all"), lambda _, model=model: model, bench, lambda *_: None
        ):
            print("\n".join(score_lines(score)))


if __name__ == "__main__":
    main()
