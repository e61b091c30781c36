"""Measures a node over cases, keeping each finished one; what was interrupted goes on later."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from alfred.engine.context import ProgressSink
from alfred.engine.domain import Domain, all_kinds
from alfred.engine.language_model import LanguageModel
from alfred.errors import EvaluationRefused
from alfred.evaluation.case_file import Case, digest_of
from alfred.evaluation.measurement import Bench, measure
from alfred.evaluation.metered_model import MeteredModel
from alfred.evaluation.run_file import Run, RunFolder, Subject, with_result
from alfred.evaluation.score import CaseResult
from alfred.graphs.single_node import SingleNode
from alfred.installed import load_builders, load_prefilter, load_registry
from alfred.store.file_lock import file_lock

_LOCK_PATIENCE_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cases to measure a node with; `source` names where they were read from."""

    node: str
    cases: Sequence[Case]
    source: str
    version: str
    model_timeout_s: float
    fresh: bool = False
    """Begin anew even where an interrupted run could go on."""


@dataclass(frozen=True, kw_only=True)
class Listener:
    """Who is told of a run's beginning, with what is kept of it, and of each result; the clock."""

    clock: Callable[[], datetime]
    began: Callable[[Run], None]
    measured: Callable[[Run, CaseResult], None]
    progress: ProgressSink


def choose_cases(
    cases: Sequence[Case], node: str, *, language: str | None, limit: int | None
) -> list[Case]:
    """Keep the cases that are about a node, of one language, at most `limit` of them.

    A limit takes the cases whose ids hash lowest, so that a sample is mixed and always the same.
    Errors: `eval.cases` where none is left.
    """
    about = [case for case in cases if case.node in (None, node)]
    chosen = [case for case in about if language in (None, case.language)]
    if not chosen:
        known = ", ".join(sorted({case.language for case in about})) or "none"
        raise EvaluationRefused(
            "eval.cases",
            f"No case is about {node}{f' in {language!r}' if language else ''}.",
            hint=f"Languages of this node's cases: {known}.",
        )
    if limit is None or limit >= len(chosen):
        return chosen
    lowest = sorted(chosen, key=lambda case: hashlib.sha256(case.id.encode()).digest())[:limit]
    return [case for case in chosen if case in lowest]


async def evaluate(
    plan: Plan,
    domains: Sequence[Domain],
    model: LanguageModel,
    folder: RunFolder,
    listener: Listener,
) -> Run:
    """Measure every case that is not measured yet, and store the run after each.

    Errors: `manifest.missing` and the node's own `ManifestInvalid`; those of `measure`;
    `store.busy` where another process evaluates in the same home.
    """
    metered = MeteredModel(model)
    bench = make_bench(plan, domains, metered, listener.progress)
    subject = _subject(plan, domains, bench)
    with file_lock(folder.lock_path, timeout_s=_LOCK_PATIENCE_S, on_wait=lambda: None):
        run = None if plan.fresh else folder.unfinished(subject)
        if run is None:
            run = Run(
                name=folder.new_name(plan.node, listener.clock()),
                subject=subject,
                source=plan.source,
                planned=len(plan.cases),
                started_at=listener.clock(),
                version=plan.version,
            )
        listener.began(run)
        done = {result.id for result in run.results}
        for case in plan.cases:
            if case.id not in done:
                result = await measure(case, bench)
                run = with_result(run, result)
                folder.save(run)
                listener.measured(run, result)
        run = replace(run, finished_at=listener.clock())
        folder.save(run)
    return run


def make_bench(
    plan: Plan, domains: Sequence[Domain], model: MeteredModel, on_progress: ProgressSink
) -> Bench:
    """Take a node out of its domain's graph; errors as `Registry.get`."""
    registry = load_registry(domains)
    node, manifest = plan.node, registry.get(plan.node)
    builders = load_builders([d for d in domains if d.name == manifest.domain])
    return Bench(
        node=node,
        domain=manifest.domain,
        step=SingleNode(builders[manifest.domain], node),
        registry=registry,
        prefilter=load_prefilter(registry),
        kinds=all_kinds(domains),
        model=model,
        on_progress=on_progress,
        model_timeout_s=plan.model_timeout_s,
    )


def _subject(plan: Plan, domains: Sequence[Domain], bench: Bench) -> Subject:
    folders = [d.nodes / plan.node for d in domains if d.name == bench.domain]
    return Subject(
        node=plan.node,
        model=bench.model.name,
        cases=digest_of(plan.cases),
        manifest=bench.registry.get(plan.node).digest,
        code=_digest_of_folders(folders),
    )


def _digest_of_folders(folders: Sequence[Path]) -> str:
    """Name a node's files by their content: what its Python changes is another subject."""
    hashed = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()
