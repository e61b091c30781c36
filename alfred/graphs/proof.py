"""The installed graphs, outer and domains' together, as `check` and `trace` see them."""

from __future__ import annotations

from collections.abc import Mapping

from alfred.dispatch.prefilter import Prefilter
from alfred.engine.check import Edges, GraphReport, check_graph, flatten, read_edges
from alfred.graphs.diagnosis.proof import prove_diagnosis
from alfred.graphs.root import RECURSION_LIMIT, Builder, build_root_graph


def check_all(domains: Mapping[str, Builder], prefilter: Prefilter) -> list[GraphReport]:
    """Prove the root graph, every domain's graph and the diagnosis machine.

    Writes lie behind the root's review; the machine proposes nothing itself.
    """
    root = build_root_graph(domains, prefilter)
    return [
        check_graph("root", root, recursion_limit=RECURSION_LIMIT, writes_behind="review"),
        *(
            check_graph(name, builder, recursion_limit=RECURSION_LIMIT)
            for name, builder in sorted(domains.items())
        ),
        prove_diagnosis(),
    ]


def installed_edges(domains: Mapping[str, Builder], prefilter: Prefilter) -> Edges:
    """Read every edge that a turn can take, domains' graphs unfolded."""
    inner = {name: read_edges(builder) for name, builder in domains.items()}
    return flatten(read_edges(build_root_graph(domains, prefilter)), inner)
