"""Records the demonstration's system while it is broken: `python -m demo.diagnosis.record`."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from alfred.probes.probe import Window
from alfred.probes.replay import CALLS_FILE, save_recording, specs_of
from alfred.probes.tool_call import ToolCall
from alfred.probes.tools_file import read_tools
from demo.diagnosis.history import FAULTS
from demo.diagnosis.prometheus import fetch_prometheus, find_prometheus
from demo.diagnosis.recorded import LOOK_BACK, MOMENTS_FILE, RECORDED
from demo.diagnosis.system import System, running_system

HEALTHY_S = 60.0
BROKEN_S = 60.0
PLACE = "/srv/checkout"
"""Stands for the temporary folder in what is recorded."""
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("logs", {"source": "checkout", "level": "error"}),
    ("logs", {"source": "checkout", "level": "warning"}),
    ("logs", {"source": "checkout", "contains": "configuration"}),
    ("logs", {"source": "checkout", "contains": "pool_size"}),
    ("logs", {"source": "checkout"}),
    ("health", {"target": "checkout"}),
    ("health", {}),
    ("changes", {"repository": "checkout"}),
    ("runbooks", {"words": "checkout slow"}),
    ("runbooks", {"words": "connection pool"}),
)


async def record(system: System, commit: str) -> tuple[list[ToolCall], datetime]:
    """Put every question that a planner is likely to; return the calls and when it was asked."""
    asked_at = datetime.now(UTC)
    window = Window(start=asked_at - LOOK_BACK, end=asked_at)
    toolbox = read_tools(system.folder / "tools.yaml")
    calls = await toolbox.first_look(window, {"service": "checkout"})
    metric = next(probe for probe in toolbox.probes if probe.name == "metric")
    names = metric.parameters["properties"]["name"]["enum"]
    questions = [("metric", {"name": name}) for name in names]
    for tool, arguments in (*questions, *QUESTIONS, ("changes", {"commit": commit})):
        calls.append(await toolbox.call(tool, arguments, window, calls, round_=1))
    save_recording(RECORDED, specs_of(toolbox), calls)
    recorded = RECORDED / CALLS_FILE
    told = recorded.read_text(encoding="utf-8").replace(str(system.folder), PLACE)
    recorded.write_text(told, encoding="utf-8")
    await toolbox.aclose()
    return calls, asked_at


def main() -> int:
    """Run the system, break it, record it; return the exit code."""
    program = find_prometheus() or fetch_prometheus()
    if program is None:
        print("Prometheus cannot be fetched here, and without it there is nothing to record.")
        return 1
    with running_system(program) as system:
        time.sleep(HEALTHY_S)
        commit, broken_at = system.break_it(FAULTS["pool"])
        time.sleep(BROKEN_S)
        system.wait_for_alerts(FAULTS["pool"].alerts)
        calls, asked_at = asyncio.run(record(system, commit))
    moments = {"broken_at": broken_at.isoformat(), "asked_at": asked_at.isoformat()}
    (RECORDED / MOMENTS_FILE).write_text(json.dumps(moments) + "\n", encoding="utf-8")
    for call in calls:
        print(f"{call['outcome']:8} {call['tool']} {json.dumps(call['arguments'])}")
        if call["error"]:
            print(f"         {call['error']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
