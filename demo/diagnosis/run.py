"""`make demo-diagnosis`: a real system is broken by a commit, and Alfred is asked what is wrong."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from demo.diagnosis.history import FAULTS
from demo.diagnosis.prometheus import DOWNLOAD_MB, fetch_prometheus, find_prometheus
from demo.diagnosis.recorded import ASKED_FOR, move_recording
from demo.diagnosis.system import System, SystemFailed, running_system

ALFRED = [sys.executable, "-m", "alfred"]
STILL_PENDING = 3
INTERRUPTED = 130
# The rows of the demonstration belong to a user of their own; models and server are shared. The
# log is in UTC, and so is the time in the question.
ENVIRONMENT = {
    **os.environ,
    "ALFRED_USER": os.environ.get("ALFRED_USER", "demo"),
    "ALFRED_TIMEZONE": "UTC",
}
QUESTIONS = {
    "pool": "Why is checkout slow since {time}?",
    "slow_query": "Why is checkout slow since {time}?",
    "leak": "Why does the memory of checkout grow since {time}?",
}
SCOPE = ("--scope", "service=checkout")


def main() -> int:
    """Run the demonstration; return the exit code."""
    chosen = _options()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _leave)
    try:
        with pulled_model() as pull:
            program = None if chosen.replay else usable_prometheus()
            if program is None:
                return replay(pull, approve=chosen.yes)
            folder = chosen.folder.resolve() if chosen.folder else None
            with running_system(program, folder) as system:
                return live(system, chosen, pull)
    except SystemFailed as failure:
        say(f"The system does not run: {failure}")
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted; everything that was started has been stopped.")
        return INTERRUPTED


def live(system: System, chosen: argparse.Namespace, pull: ModelPull) -> int:
    """Break the running system, ask what is wrong, and say what was."""
    title(f"1. A healthy system, for {chosen.healthy:.0f} s.")
    say(f"   checkout  http://127.0.0.1:{system.service_port}, 25 requests a second")
    say(f"   its log   {system.folder / 'checkout.log'}")
    say(f"   its code  {system.repository}")
    say(f"   figures   http://127.0.0.1:{system.prometheus_port}")
    time.sleep(chosen.healthy)
    say(f"   firing alerts: {', '.join(system.firing()) or 'none'}")
    title("2. Somebody deploys a commit.")
    fault = FAULTS[chosen.fault]
    commit, moment = system.break_it(fault)
    system.wait_for_alerts(fault.alerts)
    waited_s = (datetime.now(UTC) - moment).total_seconds()
    say(f"   firing alerts after {waited_s:.0f} s: {', '.join(system.firing())}")
    if code := pull.finish():
        return code
    title("3. Alfred is asked; it knows the tools of that folder's tools.yaml and nothing else.")
    question = QUESTIONS[chosen.fault].format(time=f"{moment:%H:%M}")
    code = diagnose(question, system.folder / "tools.yaml", approve=chosen.yes)
    title("4. What it was.")
    say(f"   {moment:%H:%M:%SZ} commit {commit}: {fault.commit.subject}")
    system.require_running()
    return code


def replay(pull: ModelPull, *, approve: bool) -> int:
    """Ask about a recorded run of the same system, as if it had happened just now."""
    say("Prometheus or git is not available here: a recorded run of the same system is replayed.")
    if code := pull.finish():
        return code
    with tempfile.TemporaryDirectory(prefix="alfred-recorded-") as made:
        folder = Path(made)
        moment = move_recording(folder / "recording", datetime.now(UTC))
        tools = folder / "tools.yaml"
        tools.write_text("replay: recording\n", encoding="utf-8")
        title("Alfred is asked; its tools answer as they did when the run was recorded.")
        return diagnose(ASKED_FOR.format(time=f"{moment:%H:%M}"), tools, approve=approve)


def diagnose(question: str, tools: Path, *, approve: bool) -> int:
    """Ask; return 0 if an incident note was proposed, be it of a cause or of "not established"."""
    began = time.monotonic()
    environment = {**ENVIRONMENT, "ALFRED_TOOLS": str(tools)}
    asked = ("diagnose", question, "--since", "10m", *SCOPE, "--no-review")
    code = alfred(*asked, environment=environment)
    say(f"({time.monotonic() - began:.0f} s)")
    if code != STILL_PENDING:
        say("No incident note was proposed: the path above says where it ended.")
        return code or 1
    if approve:
        return alfred("review", "--yes", environment=environment)
    user = ENVIRONMENT["ALFRED_USER"]
    say(f"The incident note waits for a decision: ALFRED_USER={user} alfred review")
    return 0


class ModelPull:
    """The embedded model's download, under way while the system runs; none for another model."""

    def __init__(self) -> None:
        listed = subprocess.run(
            [*ALFRED, "model", "list", "--json"], env=ENVIRONMENT, capture_output=True, check=False
        )
        in_use = json.loads(listed.stdout)["in_use"] if listed.returncode == 0 else "embedded:"
        self._arguments = ("model", "pull", *filter(None, [in_use.removeprefix("embedded:")]))
        self.is_needed = in_use.startswith("embedded:")
        self._download: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Download in the background."""
        if self.is_needed:
            quiet = subprocess.DEVNULL
            self._download = subprocess.Popen(
                [*ALFRED, *self._arguments], env=ENVIRONMENT, stdout=quiet, stderr=quiet
            )

    def finish(self) -> int:
        """Show the rest of the download; return its exit code."""
        if not self.is_needed:
            return 0
        # The first download goes on; this command waits for it and shows its progress.
        code = alfred(*self._arguments)
        if code:
            say("Without the model the demonstration ends here; `alfred model pull` resumes.")
        return code

    def stop(self) -> None:
        """End the download, if it still goes on."""
        if self._download is not None:
            self._download.terminate()
            self._download.wait()


@contextmanager
def pulled_model() -> Generator[ModelPull]:
    """Download the model for as long as the block lasts."""
    pull = ModelPull()
    pull.begin()
    try:
        yield pull
    finally:
        pull.stop()


def usable_prometheus() -> Path | None:
    """Find Prometheus or fetch it; None where there is none, or no git to make a history with."""
    if shutil.which("git") is None:
        return None
    found = find_prometheus()
    if found is None:
        say(f"Fetching Prometheus from Debian, at most {DOWNLOAD_MB} MB; nothing is installed.")
        found = fetch_prometheus()
    return found


def alfred(*arguments: str, environment: dict[str, str] | None = None) -> int:
    """Run one command where everybody can see it; return its exit code.

    Whoever interrupts the demonstration interrupts the command, which then has time to end well.
    """
    shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    say(f"$ alfred {shown}")
    command = subprocess.Popen([*ALFRED, *arguments], env=environment or ENVIRONMENT)
    try:
        return command.wait()
    except BaseException:
        for wait_s, told in ((2, signal.SIGINT), (15, signal.SIGKILL)):
            try:
                command.wait(wait_s)  # Ctrl-C has reached it too
            except subprocess.TimeoutExpired:
                command.send_signal(told)
        command.wait()
        raise


def say(text: str) -> None:
    """Print a line at once, in its place among what the commands print."""
    print(text, flush=True)


def title(text: str) -> None:
    """Begin a part."""
    say(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def _leave(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="demo.diagnosis.run", description=__doc__)
    options.add_argument("--fault", choices=sorted(FAULTS), default="pool", help="what breaks")
    options.add_argument("--healthy", type=float, default=25.0, help="seconds before it breaks")
    options.add_argument("--folder", type=Path, help="keep log, history and figures here")
    options.add_argument("--yes", action="store_true", help="approve the incident note")
    options.add_argument("--replay", action="store_true", help="use the recorded run")
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(main())
