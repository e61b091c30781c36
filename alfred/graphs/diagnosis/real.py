"""The eight nodes that a real diagnosis runs in the machine's ports."""

from __future__ import annotations

from alfred.graphs.diagnosis.ports import DiagnosisActions
from alfred.nodes.composer import composer_node
from alfred.nodes.evidence_retry import evidence_retry_node
from alfred.nodes.executor import executor_node
from alfred.nodes.fallback import fallback_node
from alfred.nodes.gatekeeper import gatekeeper_node
from alfred.nodes.planner import planner_node
from alfred.nodes.verified_input import verified_input_node
from alfred.nodes.verifier import verifier_node


def real_actions() -> DiagnosisActions:
    """Return the nodes of `alfred.nodes` as the ports of a diagnosis."""
    return DiagnosisActions(
        planner=planner_node,
        executor=executor_node,
        gatekeeper=gatekeeper_node,
        verified_input=verified_input_node,
        verifier=verifier_node,
        evidence_retry=evidence_retry_node,
        composer=composer_node,
        fallback=fallback_node,
    )
