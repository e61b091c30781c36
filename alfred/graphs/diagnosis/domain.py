"""The diagnosis domain as the engine sees it; importing it loads no graph library."""

from __future__ import annotations

from pathlib import Path

from alfred import nodes, store
from alfred.engine.domain import Domain
from alfred.services.alert import ALERT_KINDS
from alfred.services.diagnosis_run import DIAGNOSIS_KINDS
from alfred.services.incident_note import INCIDENT_KINDS

DOMAIN = Domain(
    name="diagnosis",
    kinds=(*DIAGNOSIS_KINDS, *ALERT_KINDS, *INCIDENT_KINDS),
    nodes=Path(nodes.__file__).parent,
    graph="alfred.graphs.diagnosis.domain_graph:build_diagnosis_domain",
    migrations=Path(store.__file__).parent / "migrations" / "diagnosis",
    revision="0001_diagnosis",
    needs_match=True,
    resources="alfred.graphs.diagnosis.tools:open_tools",
    api="alfred.api.diagnosis:make_router",
    machines="alfred.graphs.diagnosis.proof:machines",
)
