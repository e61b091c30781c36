"""What a diagnosis brings to its runs: the configured tools, and what a run may spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from alfred.nodes.diagnosis_context import Limits
from alfred.probes.toolbox import Toolbox
from alfred.probes.tools_file import configured_tools
from alfred.settings import Settings


@dataclass(frozen=True)
class DiagnosisTools:
    """Tools and limits, opened once for all runs of a process."""

    toolbox: Toolbox
    limits: Limits = field(default_factory=Limits)
    notices: Sequence[str] = ()
    """Sentences about what works and should be otherwise."""

    async def aclose(self) -> None:
        """Close every tool."""
        await self.toolbox.aclose()


def open_tools(settings: Settings) -> DiagnosisTools:
    """Open the tools that the settings' file lists; errors: `probe.settings`."""
    configured = configured_tools(settings)
    return DiagnosisTools(configured.toolbox, notices=configured.notices)
