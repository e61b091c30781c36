"""What an upgrade does to proposals that wait: `alfred pending --check` tells before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from alfred.app import App
from alfred.engine.database import Role, Row
from alfred.engine.executor import misfit
from alfred.services.queries.inbox import find_drift, list_open_actions


@dataclass(frozen=True, kw_only=True)
class Drift:
    """What differs since a proposal was made, in sentences.

    `changes` leave it as it is; what `breaks` names can't be carried out any more.
    """

    changes: list[str]
    breaks: list[str]

    @property
    def lines(self) -> list[str]:
        return [*self.changes, *self.breaks]


async def find_drifts(app: App, proposals: Sequence[Row]) -> dict[UUID, Drift]:
    """Compare open proposals with the nodes, kinds of actions and graph that are installed now.

    Shapes: `proposals` as `list_open_proposals` gives them; an entry for each.
    """
    digests = {name: manifest.digest for name, manifest in app.registry.manifests.items()}
    unloadable = {str(problem.details.get("node")) for problem in app.registry.problems}
    async with app.database.transaction(Role.READER, app.user_id) as connection:
        actions = await list_open_actions(connection)
    lost = await app.runs.find_lost_pauses(app.user_id, (row["turn_id"] for row in proposals))
    drifts: dict[UUID, Drift] = {}
    for row in proposals:
        misfits = (
            f"action {action['ordinal']} can't be written any more: {reason}"
            for action in actions
            if action["proposal_id"] == row["id"]
            and (reason := misfit(app.kinds, action["kind"], action["args"]))
        )
        pauses = ["the graph does not have the step at which its run waits"]
        drifts[row["id"]] = Drift(
            changes=find_drift(row["manifests"], digests, unloadable),
            breaks=[*misfits, *(pauses if row["turn_id"] in lost else ())],
        )
    return drifts
